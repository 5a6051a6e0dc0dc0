#include "node/web/site.h"

#include <arpa/inet.h>
#include <fmt/format.h>

#include <cstring>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/hex.h"
#include "node/port/gate.h"

namespace partita::node::web {
namespace {

constexpr size_t kMostNames = 4096;
constexpr std::chrono::milliseconds kNotePatience{2000};
constexpr size_t kBytesAtOnce = size_t{4} << 20;

WebJson Asked(const Ask& ask, const WebJson& request, std::chrono::milliseconds patience) {
  WebJson said =
      WebJson::parse(ask(request.dump(-1, ' ', false, WebJson::error_handler_t::replace), patience),
                     nullptr, false);
  if (!said.is_object())
    throw Error(ErrorCode::kInternal, "what was asked gave no answer", "please report this");
  return said;
}

}  // namespace

std::optional<StudyNames::Names> StudyNames::Find(const std::string& study) const {
  const std::lock_guard lock(mutex_);
  const auto found = names_.find(study);
  if (found == names_.end()) return std::nullopt;
  return found->second;
}

StudyNames::Names StudyNames::Read(const std::string& study, const std::string& file) {
  if (std::optional<Names> known = Find(study)) return std::move(*known);
  const std::lock_guard one(reading_);
  if (std::optional<Names> known = Find(study)) return std::move(*known);
  Names names;
  try {
    const FileRead read = reader_(file, FileDepth::kNames);
    names = {read.name, read.title};
  } catch (const Error&) {
    // A peer wrote it: it is not tried again.
  }
  Keep(study, names);
  return names;
}

void StudyNames::Keep(const std::string& study, const Names& names) {
  const std::lock_guard lock(mutex_);
  if (names_.size() >= kMostNames) names_.erase(names_.begin());
  names_[study] = names;
}

void StudyNames::Learn(const std::vector<Study>& studies) {
  if (!many_ || studies.size() < 2) return;
  const std::lock_guard one(reading_);
  for (size_t begin = 0; begin < studies.size();) {
    std::vector<std::string> texts;
    size_t end = begin, bytes = 0;
    while (end < studies.size() && (texts.empty() || bytes < kBytesAtOnce)) {
      bytes += studies[end].file.size();
      texts.push_back(studies[end++].file);
    }
    try {
      const std::vector<FileNames> read = many_(texts);
      for (size_t i = begin; i < end; ++i)
        Keep(studies[i].id, {read.at(i - begin).name, read.at(i - begin).title});
    } catch (const Error&) {
      // One of them is too much for a reader: which one, shows when each is read by itself.
      return;
    }
    begin = end;
  }
}

WebJson Site::AskNode(const WebJson& request, std::chrono::milliseconds patience) const {
  try {
    return Asked(node, request, patience);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kUnreachable || request.at("do") == "join") throw;
    // In its own words it names folders.
    throw Error(ErrorCode::kUnreachable, "this site's node does not answer",
                "Ask its operator to start it: partita node serve");
  }
}

WebJson Site::AskNodeFor(const Call& call, WebJson request) const {
  request["account"] = call.session->account;
  return AskNode(request);
}

void Site::Note(const std::string& account, const std::string& action, const std::string& subject,
                const std::string& outcome) const {
  WebJson request = {
      {"do", "note"}, {"action", action}, {"subject", subject}, {"outcome", outcome}};
  if (!account.empty()) request["account"] = account;
  try {
    AskNode(request, kNotePatience);
  } catch (const Error& error) {
    log.Write(error, "noting " + action);
  }
}

void Site::NoteFailedLogin(const std::string& account, int64_t now) {
  int64_t before = 0;
  {
    const std::lock_guard lock(mutex);
    if (noted_failure == now) {
      ++unnoted_failures;
      return;
    }
    noted_failure = now;
    before = std::exchange(unnoted_failures, 0);
  }
  Note("", "login-failed", account,
       before == 0 ? "" : fmt::format("and {} more since the one before", before));
}

WebJson Site::AskSigner(const WebJson& request) const {
  if (!signer) {
    throw Error(ErrorCode::kRefused, "these pages have no signer",
                "Decide at the terminal (partita node approve), or start the pages with --sign.");
  }
  try {
    return Asked(signer, request, kSignerPatience);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kUnreachable) throw;
    throw Error(ErrorCode::kUnreachable, "this site's signer does not answer",
                "Ask its steward to start it: partita node sign");
  }
}

std::string Site::Name() {
  {
    const std::lock_guard lock(mutex);
    if (!own_name.empty()) return own_name;
  }
  try {
    std::string name = AskNode({{"do", "status"}}).value("name", "");
    const std::lock_guard lock(mutex);
    own_name = name;
    return name;
  } catch (const Error&) {
    return "";
  }
}

std::string AddressOfRemote(const std::string& remote) {
  std::string address = remote.substr(0, remote.rfind(':'));
  if (address.size() >= 2 && address.front() == '[' && address.back() == ']')
    address = address.substr(1, address.size() - 2);
  return address;
}

std::string NetworkOf(const std::string& address) {
  sockaddr_storage storage{};
  sockaddr_in ipv4{};
  sockaddr_in6 ipv6{};
  // A zone ("fe80::1%eth0") is of this machine.
  const std::string plain = address.substr(0, address.find('%'));
  if (::inet_pton(AF_INET, plain.c_str(), &ipv4.sin_addr) == 1) {
    ipv4.sin_family = AF_INET;
    std::memcpy(&storage, &ipv4, sizeof ipv4);
  } else if (::inet_pton(AF_INET6, plain.c_str(), &ipv6.sin6_addr) == 1) {
    ipv6.sin6_family = AF_INET6;
    std::memcpy(&storage, &ipv6, sizeof ipv6);
  } else {
    return address;
  }
  const AddressKey key = KeyOfAddress(storage);
  return (key.is_ipv6 ? "ipv6 " : "ipv4 ") + ToHex(key.bytes);
}

bool IsLoopback(const std::string& address) {
  return address == "::1" || address.starts_with("127.") || address.starts_with("::ffff:127.");
}

}  // namespace partita::node::web
