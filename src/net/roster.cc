#include "net/roster.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <toml++/toml.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <sstream>
#include <system_error>

#include "base/files.h"
#include "base/stray_character.h"
#include "crypto/certificate.h"

namespace partita::net {
namespace {

constexpr size_t kMaxFileBytes = size_t{1} << 20;
constexpr mode_t kRosterMode = 0644;  // no secret
constexpr std::array<std::string_view, 4> kKeys = {"name", "address", "fingerprint", "steward"};

[[noreturn]] void Bad(std::string_view file, const toml::source_region& where,
                      const std::string& message, const std::string& hint) {
  throw Error(ErrorCode::kBadInput,
              fmt::format("{}:{}:{}: {}", file, where.begin.line, where.begin.column, message),
              hint);
}

// Levenshtein distance.
size_t Distance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  for (size_t j = 0; j < row.size(); ++j) row[j] = j;
  for (size_t i = 0; i < a.size(); ++i) {
    size_t diagonal = std::exchange(row[0], i + 1);
    for (size_t j = 0; j < b.size(); ++j) {
      const size_t replaced = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, row[j] + 1, diagonal + 1});
    }
  }
  return row.back();
}

template <typename Names>
std::string DidYouMean(std::string_view word, const Names& names) {
  for (std::string_view name : names) {
    if (word.size() < 64 && Distance(word, name) <= 2)
      return fmt::format("Did you mean '{}'?", name);
  }
  return fmt::format("Known are: {}.", fmt::join(names, ", "));
}

void RefuseUnknownKeys(const toml::table& entry, std::string_view file) {
  for (auto&& [key, value] : entry) {
    if (std::find(kKeys.begin(), kKeys.end(), key.str()) == kKeys.end()) {
      Bad(file, key.source(), fmt::format("unknown key '{}' in [[party]]", key.str()),
          DidYouMean(key.str(), kKeys));
    }
  }
}

std::string TextOf(const toml::table& entry, std::string_view key, std::string_view file) {
  const toml::node* node = entry.get(key);
  if (node == nullptr) {
    Bad(file, entry.source(), fmt::format("this [[party]] has no '{}'", key),
        fmt::format("Add a line: {} = \"...\"", key));
  }
  if (!node->is_string()) {
    Bad(file, node->source(), fmt::format("'{}' must be a text in quotes", key),
        fmt::format("Write: {} = \"...\"", key));
  }
  return node->as_string()->get();
}

RosterEntry ParseEntry(const toml::table& entry, std::string_view file) {
  RefuseUnknownKeys(entry, file);
  RosterEntry party;
  party.name = TextOf(entry, "name", file);
  if (!crypto::IsPartyName(party.name)) {
    Bad(file, entry.get("name")->source(),
        fmt::format("'{}' cannot be the name of a party", party.name), crypto::kPartyNameHint);
  }
  party.address = TextOf(entry, "address", file);
  try {
    ParseAddress(party.address);
  } catch (const Error& error) {
    Bad(file, entry.get("address")->source(), error.message(), error.hint());
  }
  const auto fingerprint_of = [&](std::string_view key) {
    const std::optional<std::string> fingerprint =
        crypto::NormalFingerprint(TextOf(entry, key, file));
    if (!fingerprint) {
      Bad(file, entry.get(key)->source(),
          fmt::format("the {} of party {} is not 64 hexadecimal digits", key, party.name),
          fmt::format("Ask {} for the output of 'partita cert show'.", party.name));
    }
    return *fingerprint;
  };
  party.fingerprint = fingerprint_of("fingerprint");
  if (entry.contains("steward")) party.steward = fingerprint_of("steward");
  return party;
}

void RefuseRepeats(const Roster& roster, const toml::table& entry, std::string_view file) {
  const RosterEntry& last = roster.back();
  auto refuse = [&](std::string_view key, const std::string& value, const std::string& owner) {
    Bad(file, entry.get(key)->source(),
        fmt::format("the {} '{}' was given before, to party {}", key, value, owner),
        "Every party has its own name, address and certificate.");
  };
  for (size_t i = 0; i + 1 < roster.size(); ++i) {
    const RosterEntry& other = roster[i];
    if (other.name == last.name) refuse("name", last.name, other.name);
    if (other.address == last.address) refuse("address", last.address, other.name);
    if (other.fingerprint == last.fingerprint) {
      refuse("fingerprint", last.fingerprint.substr(0, 16) + "...", other.name);
    }
    // A key speaks for one party.
    if (last.fingerprint == other.steward)
      refuse("fingerprint", last.fingerprint.substr(0, 16) + "...", other.name);
    if (!last.steward.empty() &&
        (last.steward == other.steward || last.steward == other.fingerprint))
      refuse("steward", last.steward.substr(0, 16) + "...", other.name);
  }
}

bool WriteAll(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t wrote = write(fd, text.data(), text.size());
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote <= 0) return false;
    text.remove_prefix(static_cast<size_t>(wrote));
  }
  return true;
}

// Best effort, so that a rename survives a power failure.
void SyncFolder(const std::filesystem::path& folder) {
  const int fd = open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return;
  fsync(fd);
  close(fd);
}

std::string Quoted(const std::string& text) {
  std::ostringstream out;
  out << toml::value<std::string>(text);
  return out.str();
}

}  // namespace

Address ParseAddress(std::string_view text) {
  const size_t colon = text.rfind(':');
  const std::string_view hint = "Write host:port, for example north.example.org:7400.";
  if (colon == std::string_view::npos || colon == 0) {
    throw Error(ErrorCode::kBadInput, fmt::format("the address '{}' has no port", text),
                std::string(hint));
  }
  std::string_view host = text.substr(0, colon);
  const std::string_view port = text.substr(colon + 1);
  if (host.front() == '[' && host.back() == ']') {
    host = host.substr(1, host.size() - 2);
  } else if (host.find(':') != std::string_view::npos) {
    throw Error(ErrorCode::kBadInput, fmt::format("the address '{}' has too many colons", text),
                "Put an IPv6 address into brackets: [2001:db8::1]:7400.");
  }
  const bool plain =
      std::all_of(host.begin(), host.end(), [](char c) { return c > ' ' && c < 127; });
  if (host.empty() || host.size() > 253 || !plain) {
    throw Error(ErrorCode::kBadInput, fmt::format("the address '{}' has no valid host", text),
                std::string(hint));
  }
  unsigned number = 0;
  const auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), number);
  if (error != std::errc() || end != port.data() + port.size() || number < 1 || number > 65535) {
    throw Error(ErrorCode::kBadInput,
                fmt::format("the port of the address '{}' is not a number of 1 to 65535", text),
                std::string(hint));
  }
  return {std::string(host), std::to_string(number)};
}

Roster ParseRoster(std::string_view text, std::string_view file) {
  if (const auto stray = FindStrayCharacter(text)) {
    throw Error(ErrorCode::kBadInput,
                fmt::format("{}:{}:{}: a character outside of texts and comments that is not ASCII",
                            file, stray->line, stray->column),
                kStrayCharacterHint);
  }
  toml::table document;
  try {
    document = toml::parse(text, file);
  } catch (const toml::parse_error& error) {
    Bad(file, error.source(), fmt::format("not valid TOML: {}", error.description()),
        "Correct that line; the roster's layout is explained in the documentation.");
  }
  for (auto&& [key, value] : document) {
    if (key.str() != "party") {
      Bad(file, key.source(), fmt::format("unknown key '{}'", key.str()),
          "A roster holds [[party]] entries only.");
    }
  }
  const toml::array* entries = document["party"].as_array();
  if (entries == nullptr || entries->empty() || entries->size() > kMaxParties) {
    throw Error(ErrorCode::kBadInput,
                fmt::format("{}: a roster needs 1 to {} [[party]] entries", file, kMaxParties),
                "Add an entry with name, address and fingerprint for every party.");
  }
  Roster roster;
  for (const toml::node& node : *entries) {
    if (!node.is_table()) {
      Bad(file, node.source(), "'party' must be written as [[party]]", "Write [[party]].");
    }
    roster.push_back(ParseEntry(*node.as_table(), file));
    RefuseRepeats(roster, *node.as_table(), file);
  }
  return roster;
}

Roster LoadRoster(const std::filesystem::path& file) {
  return ParseRoster(ReadFile(file, kMaxFileBytes, "the roster"), file.string());
}

std::string FormatRoster(const Roster& roster) {
  std::string text =
      "# Who takes part, in order. Compare every fingerprint with its owner by another way than\n"
      "# the one this file came.\n";
  for (const RosterEntry& party : roster) {
    text += fmt::format("\n[[party]]\nname = {}\naddress = {}\nfingerprint = {}\n",
                        Quoted(party.name), Quoted(party.address), Quoted(party.fingerprint));
    if (!party.steward.empty()) text += fmt::format("steward = {}\n", Quoted(party.steward));
  }
  return text;
}

void SaveRoster(const Roster& roster, const std::filesystem::path& file) {
  ParseRoster(FormatRoster(roster), file.string());  // nothing is written that cannot be read
  // A new file of an unguessable name beside it: follows no link and takes nobody else's place.
  std::string partial = file.string() + ".XXXXXX";
  const int fd = mkostemp(partial.data(), O_CLOEXEC);
  bool good = fd >= 0 && WriteAll(fd, FormatRoster(roster)) && fchmod(fd, kRosterMode) == 0 &&
              fsync(fd) == 0;
  if (fd >= 0) good = close(fd) == 0 && good;
  good = good && rename(partial.c_str(), file.c_str()) == 0;
  if (good) return SyncFolder(file.parent_path());
  const std::string reason = std::strerror(errno);
  if (fd >= 0) unlink(partial.c_str());
  throw Error(ErrorCode::kUsage,
              fmt::format("cannot write the roster {}: {}", file.string(), reason),
              "Choose a folder that exists and that you may write to.");
}

PartyIndex FindParty(const Roster& roster, std::string_view name) {
  for (PartyIndex i = 0; i < roster.size(); ++i) {
    if (roster[i].name == name) return i;
  }
  throw Error(ErrorCode::kBadInput, fmt::format("the roster has no party '{}'", name),
              DidYouMean(name, Names(roster)));
}

std::vector<std::string> Names(const Roster& roster) {
  std::vector<std::string> names;
  for (const RosterEntry& party : roster) names.push_back(party.name);
  return names;
}

bool NamesStewards(const Roster& roster) {
  return std::any_of(roster.begin(), roster.end(),
                     [](const RosterEntry& party) { return !party.steward.empty(); });
}

}  // namespace partita::net
