// partita init: what an institution needs before its first study.
#include <fmt/format.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/files.h"
#include "cli/commands.h"
#include "crypto/certificate.h"
#include "data/describe.h"
#include "net/roster.h"

namespace partita::cli {
namespace {

namespace fs = std::filesystem;

constexpr mode_t kDraftMode = 0600, kCardMode = 0644;

struct InitOptions {
  std::string party, address, folder = ".", table, separator;
  int days = 730;
};

// Nothing is overwritten, and nothing is begun that would stop half way.
void RequireNew(const std::vector<fs::path>& files) {
  for (const fs::path& file : files) {
    if (!fs::exists(file)) continue;
    throw Error(ErrorCode::kUsage, fmt::format("{} is there already", file.string()),
                "this party was set up before: go on with it, or name another --folder");
  }
}

int Init(const OutputOptions& output, const InitOptions& options) {
  net::ParseAddress(options.address);
  const fs::path folder = options.folder;
  // As people name files of their own folder.
  const fs::path within = folder == "." ? fs::path() : folder;
  const fs::path key = within / "key.pem", certificate = within / "cert.pem",
                 card = within / (options.party + ".card.toml"),
                 dictionary = within / "dictionary.toml";
  std::vector<fs::path> files = {key, certificate, card};
  std::string draft;
  if (!options.table.empty()) {
    files.push_back(dictionary);
    std::optional<char> separator;
    if (!options.separator.empty())
      separator = options.separator == "tab" ? '\t' : options.separator[0];
    draft = data::DraftDictionary(data::ProfileTableFile(options.table, separator));
  }
  RequireNew(files);
  const crypto::Identity identity =
      crypto::MakeIdentity({.name = options.party, .days = options.days});
  const crypto::CertificateInfo info = crypto::Describe(*identity.certificate);
  fs::create_directories(folder);
  crypto::SaveIdentity(identity, certificate, key);
  WriteNewFile(card, net::FormatRoster({{info.name, options.address, info.fingerprint}}), kCardMode,
               "the card");
  if (!draft.empty()) WriteNewFile(dictionary, draft, kDraftMode, "the draft");
  std::string text =
      fmt::format("party        {}\naddress      {}\nvalid        {} to {}\nfingerprint  {}\n",
                  info.name, options.address, info.valid_from, info.valid_until, info.fingerprint);
  text += fmt::format(
      "\n{}  for whoever puts the study together; compare the fingerprint by telephone\n"
      "{}  the private key; it stays on this host\n",
      card.string(), key.string());
  if (!draft.empty()) {
    text += fmt::format(
        "{}  a draft of the table's dictionary, for its owner only; where another writes the\n"
        "  study, remove the lines that begin with #! (grep -v '^#!') before you give it away\n",
        dictionary.string());
  }
  const std::string in_folder = folder == "." ? "" : " --folder " + folder.string();
  text += fmt::format(
      "\nNext: partita study open BUNDLE{}, once somebody has sent one. Who writes the study: "
      "partita study new FILE{}\n",
      in_folder, draft.empty() ? "" : " --dictionary " + dictionary.string());
  nlohmann::ordered_json data{{"party", info.name},
                              {"address", options.address},
                              {"valid_from", info.valid_from},
                              {"valid_until", info.valid_until},
                              {"fingerprint", info.fingerprint},
                              {"card", card.string()},
                              {"dictionary", nullptr}};
  if (!draft.empty()) data["dictionary"] = dictionary.string();
  PrintResult(output, text, data.dump());
  return kDone;
}

}  // namespace

void AddInitCommand(CLI::App& app, Invocation& invocation) {
  auto options = std::make_shared<InitOptions>();
  CLI::App* command = app.add_subcommand(
      "init", "Set this institution up: a key, a certificate, a card for the others, a dictionary");
  AddOutputOptions(*command, invocation, "init");
  command->add_option("--party", options->party, "The party's name in study files")->required();
  command
      ->add_option("--address", options->address,
                   "HOST:PORT at which the others reach this host, for example "
                   "north.example.org:7400")
      ->required();
  command->add_option("--folder", options->folder, "Where the files go")->capture_default_str();
  CLI::Option* table = command->add_option(
      "--table", options->table, "The institution's table (CSV): also drafts its dictionary");
  command
      ->add_option("--separator", options->separator,
                   "Between the table's fields (default: what the header has most of)")
      ->check(CLI::IsMember({",", ";", "tab"}))
      ->needs(table);
  command->add_option("--days", options->days, "How long the certificate is valid")
      ->check(CLI::Range(1, 3650))
      ->capture_default_str();
  command->callback([&invocation, options] {
    invocation.run = [&invocation, options] { return Init(invocation.output, *options); };
  });
}

}  // namespace partita::cli
