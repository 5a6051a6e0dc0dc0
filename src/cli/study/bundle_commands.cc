// partita study bundle | open
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/files.h"
#include "base/utc_time.h"
#include "cli/commands.h"
#include "cli/study/party_files.h"
#include "cli/terminal/new_file.h"
#include "crypto/certificate.h"
#include "methods/prepare_study.h"
#include "net/roster.h"
#include "run/party/build_plan.h"
#include "run/party/join.h"
#include "study/approval/bundle.h"
#include "study/plan/hashes.h"

namespace partita::cli {
namespace {

namespace fs = std::filesystem;

constexpr mode_t kBundleMode = 0644;

std::string RosterText(const net::Roster& roster, const std::string& own) {
  std::string text;
  for (const net::RosterEntry& entry : roster) {
    text += fmt::format("  {:<16} {:<24} {}{}\n", entry.name, entry.address, entry.fingerprint,
                        entry.name == own ? "  (this party)" : "");
  }
  return text;
}

nlohmann::ordered_json PartiesJson(const net::Roster& roster) {
  nlohmann::ordered_json parties = nlohmann::ordered_json::array();
  for (const net::RosterEntry& entry : roster) {
    parties.push_back(
        {{"name", entry.name}, {"address", entry.address}, {"fingerprint", entry.fingerprint}});
  }
  return parties;
}

// The party of the study whose certificate this is. Throws kUsage if there is none.
std::string OwnParty(const net::Roster& roster, const std::string& fingerprint,
                     const std::string& what) {
  for (const net::RosterEntry& entry : roster) {
    if (entry.fingerprint == fingerprint) return entry.name;
  }
  throw Error(
      ErrorCode::kUsage,
      fmt::format("{} lists no party with the certificate of this folder, {}", what, fingerprint),
      "name the folder with this party's key.pem and cert.pem (--folder), or let its "
      "card.toml be put in");
}

// A party for each of the study, from the cards; a card may hold several.
net::Roster Gather(const run::Study& study, const std::vector<std::string>& cards) {
  net::Roster all;
  for (const std::string& card : cards) {
    for (net::RosterEntry& entry : net::LoadRoster(card)) {
      const auto same = std::find_if(all.begin(), all.end(), [&](const net::RosterEntry& other) {
        return other.name == entry.name;
      });
      if (same == all.end()) {
        all.push_back(std::move(entry));
      } else if (*same != entry) {
        throw Error(
            ErrorCode::kBadInput,
            fmt::format("{} and another card say different things of party '{}'", card, entry.name),
            "ask that party which one is right, and leave the other out");
      }
    }
  }
  net::Roster roster;
  for (const study::Party& party : study.parties) {
    const auto entry = std::find_if(all.begin(), all.end(), [&](const net::RosterEntry& other) {
      return other.name == party.name;
    });
    if (entry == all.end()) {
      throw Error(ErrorCode::kBadInput, fmt::format("no card of party '{}'", party.name),
                  "that party makes it: partita init --party " + party.name +
                      " --address HOST:PORT; then add --card FILE");
    }
    roster.push_back(*entry);
  }
  return roster;
}

struct BundleOptions {
  std::string study_file, output;
  std::vector<std::string> cards;
  PartyFiles files;
};

int MakeBundle(const OutputOptions& output, const BundleOptions& options) {
  const std::string text =
      ReadFile(options.study_file, study::kMaxStudyFileBytes, "the study file");
  const std::unique_ptr<const run::Study> study =
      methods::PrepareStudy(methods::LoadStudyFile(options.study_file));
  const net::Roster roster = Gather(*study, options.cards);
  const crypto::Identity identity =
      crypto::LoadIdentity(options.files.Certificate(), options.files.Key());
  const std::string party =
      OwnParty(roster, crypto::Fingerprint(*identity.certificate), "the cards");
  const std::string plan_hash = ToHex(study::PlanHash(run::BuildPlan(*study)));
  const std::string roster_text = net::FormatRoster(roster);
  const fs::path file = options.output.empty() ? fs::path(study->file.name + ".bundle.json")
                                               : fs::path(options.output);
  RequireNewFile(file, output.force);
  WriteOutput(output, file,
              study::RenderBundle(study::SignBundle(
                  {party, study->file.name, NowUtc(), text, roster_text}, identity)),
              kBundleMode, "the bundle");
  PrintResult(output,
              fmt::format("{}: the study '{}' for {} parties, signed by {}\n\n{}\nplan hash  {}\n\n"
                          "Send it to every party; each opens it with: partita study open {}",
                          file.string(), study->file.name, roster.size(), party,
                          RosterText(roster, party), plan_hash, file.filename().string()),
              nlohmann::ordered_json{{"file", file.string()},
                                     {"study", study->file.name},
                                     {"party", party},
                                     {"plan_hash", plan_hash},
                                     {"parties", PartiesJson(roster)}}
                  .dump());
  return kDone;
}

struct OpenOptions {
  std::string file;
  PartyFiles files;
};

// Writes a file of a bundle unless it is there as it should be.
void WriteText(const fs::path& file, const std::string& text, bool force, const std::string& what) {
  if (fs::exists(file)) {
    if (ReadFile(file, study::kMaxBundleBytes, what) == text) return;
    if (!force) {
      throw Error(ErrorCode::kUsage,
                  fmt::format("{} is there already, and is another", file.string()),
                  "use another folder for each study, or say --force to replace it");
    }
    fs::remove(file);
  }
  WriteNewFile(file, text, kBundleMode, what);
}

// What a roster that is there says otherwise: a line for each party whose certificate is another.
std::string ChangedParties(const fs::path& file, const net::Roster& roster) {
  if (!fs::exists(file)) return "";
  std::string text;
  for (const net::RosterEntry& before : net::LoadRoster(file)) {
    for (const net::RosterEntry& entry : roster) {
      if (entry.name != before.name || entry.fingerprint == before.fingerprint) continue;
      text += fmt::format("  {} had the certificate {} until now: ask why it has another\n",
                          entry.name, before.fingerprint);
    }
  }
  return text;
}

int OpenBundle(const OutputOptions& output, const OpenOptions& options) {
  const study::SignedBundle document = study::ParseBundle(
      ReadFile(options.file, study::kMaxBundleBytes, "the bundle"), options.file);
  const study::Bundle& bundle = document.bundle;
  const net::Roster roster = net::ParseRoster(bundle.roster, options.file + ": its roster");
  study::RequireSigned(document, roster[net::FindParty(roster, bundle.party)].fingerprint);
  const std::string own =
      OwnParty(roster, crypto::Fingerprint(*crypto::LoadCertificate(options.files.Certificate())),
               options.file);
  // As people name files of their own folder.
  const fs::path folder = options.files.folder == "." ? fs::path() : fs::path(options.files.folder);
  const fs::path study_file = folder / "study.toml", roster_file = folder / "roster.toml";
  // Read as a study before anything is written.
  const std::unique_ptr<const run::Study> study = methods::PrepareStudy(
      methods::ParseStudyFile(bundle.study_file, options.file + ": its study file"));
  if (study->file.name != bundle.study) {
    throw Error(ErrorCode::kBadInput,
                fmt::format("{}: it says study '{}' and holds '{}'", options.file, bundle.study,
                            study->file.name),
                "ask whoever made it");
  }
  const std::string plan_hash = ToHex(study::PlanHash(run::BuildPlan(*study)));
  const std::string changed = ChangedParties(roster_file, roster);
  WriteText(study_file, bundle.study_file, output.force, "the study file");
  WriteText(roster_file, bundle.roster, output.force, "the roster");
  PrintResult(
      output,
      fmt::format(
          "The study '{}', put together by {} on {}; this is party {}\n\n{}{}\nplan hash  {}\n\n"
          "Compare every fingerprint with its owner, by telephone or signed mail.\n"
          "wrote {} and {}\n\nNext: partita study join {}{} --approve{}",
          bundle.study, bundle.party, FormatUtc(bundle.made_at), own, RosterText(roster, own),
          changed, plan_hash, study_file.string(), roster_file.string(), study_file.string(),
          folder.empty() ? "" : " --folder " + folder.string(),
          run::NeedsLedger(*study, own)
              ? " --ledger FILE\nThe study spends from the privacy budget of your table, which a "
                "ledger keeps over all studies; a new one: partita ledger open FILE --table NAME "
                "--epsilon E --delta D"
              : ""),
      nlohmann::ordered_json{{"study", bundle.study},
                             {"made_by", bundle.party},
                             {"made_at", FormatUtc(bundle.made_at)},
                             {"party", own},
                             {"plan_hash", plan_hash},
                             {"parties", PartiesJson(roster)},
                             {"study_file", study_file.string()},
                             {"roster", roster_file.string()}}
          .dump());
  return kDone;
}

}  // namespace

void AddBundleCommands(CLI::App& study, Invocation& invocation) {
  auto bundle = std::make_shared<BundleOptions>();
  CLI::App* make = AddCommand(
      &study, "bundle", "study bundle",
      "Put a study file and the parties' cards into one signed file for all of them", invocation,
      [&invocation, bundle] { return MakeBundle(invocation.output, *bundle); });
  make->add_option("STUDY", bundle->study_file, "The study file")->required();
  make->add_option("--card", bundle->cards,
                   "A party's card, from its partita init; or a roster with several parties")
      ->required();
  AddPartyFolder(make, bundle->files, "Where this party's key.pem and cert.pem are");
  AddNewFile(*make, invocation, "--output", bundle->output,
             "The file to write (default: STUDY.bundle.json)");

  auto open = std::make_shared<OpenOptions>();
  CLI::App* take =
      AddCommand(&study, "open", "study open",
                 "Check a bundle and take the study file and the roster out of it", invocation,
                 [&invocation, open] { return OpenBundle(invocation.output, *open); });
  take->add_option("BUNDLE", open->file, "What partita study bundle made")->required();
  AddPartyFolder(take, open->files, "Where cert.pem is, and where the files go");
  AddForce(*take, invocation);
}

}  // namespace partita::cli
