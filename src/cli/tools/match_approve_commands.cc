// partita match plan | approve
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/text_table.h"
#include "base/utc_time.h"
#include "cli/study/approve.h"
#include "cli/terminal/json.h"
#include "cli/terminal/new_file.h"
#include "cli/tools/match_party.h"
#include "cli/tools/match_results.h"
#include "run/matching/matching_approval.h"
#include "run/matching/matching_charge.h"
#include "run/matching/matching_run.h"
#include "run/matching/past_matchings.h"
#include "run/party/join.h"

namespace partita::cli {
namespace {

namespace fs = std::filesystem;

std::string CertainHash(const run::MatchingFile& file, const run::MatchingPlan& plan) {
  const std::vector<std::string> none(file.Names().size());
  return ToHex(run::TermsOfMatching(file, plan, none).plan_hash);
}

Json PlanJson(const run::MatchingFile& file, const run::MatchingPlan& plan) {
  Json parties = Json::array(), phases = Json::array();
  const std::vector<std::string> names = file.Names();
  for (size_t party = 0; party < names.size(); ++party) {
    const bool holder = party < file.parties.size();
    parties.push_back({{"name", names[party]},
                       {"role", holder ? "holder" : "linker"},
                       {"rows", holder ? Json(file.parties[party].rows) : Json()},
                       {"learns", plan.learns[party]}});
  }
  for (const run::MatchingPhase& phase : plan.phases) {
    Json bytes = Json::array();
    for (size_t party = 0; party < names.size(); ++party) bytes.push_back(phase.BytesOf(party));
    phases.push_back(
        {{"name", phase.name}, {"rounds", phase.LongestRounds()}, {"bytes_sent", bytes}});
  }
  return {{"matching", file.name},
          {"level", LevelName(file.level)},
          {"count", file.hidden() ? Json(CountName(file.level)) : Json()},
          {"minimum", file.minimum},
          {"unicode", plan.unicode},
          {"parties", parties},
          {"not_prevented", plan.not_prevented},
          {"privacy", plan.privacy ? Json::parse(privacy::StatementJson(*plan.privacy)) : Json()},
          {"phases", phases},
          {"plan_hash", CertainHash(file, plan)}};
}

std::string TableText(const run::MatchingParty& party, const fs::path& table,
                      const match::KeyReport& report) {
  std::string text =
      fmt::format("The table {}: {} rows\n", table.string(), FormatCount(report.rows));
  for (size_t pass = 0; pass < report.passes.size(); ++pass) {
    text += fmt::format("  pass {} ({}): {} rows can match\n", pass + 1, run::PassName(party, pass),
                        FormatCount(report.passes[pass].usable));
  }
  return text;
}

// What a holder is shown of its own list; with too many past matchings of it nothing is signed.
std::string ShowOwnList(const run::MatchingFile& file, const MatchApproveCommand& command,
                        const run::MatchingApprovalRequest& request, const match::KeyList& list,
                        crypto::RandomSource& random) {
  const run::MatchingParty& party = file.parties[request.party];
  const run::PastMatchings past(run::PastMatchingsPath(command.files.Key()), random);
  const std::vector<run::Partner> partners =
      run::PartnersOf(file, request.party, request.fingerprints);
  const run::ListMark mark = past.MarkOf(list, match::ColumnsDigest(party.keys, party.headers),
                                         match::PassesDigest(party.keys));
  const int64_t now = NowUtc();
  past.Require(partners, mark, now);
  return run::PastMatchingsText(past, partners, mark, now) + "\n" +
         TableText(party, command.files.Data(), list.report) + "\n";
}

// What it is that will be signed.
std::string SignedText(const run::MatchingFile& file, size_t party,
                       const study::Approval& approval) {
  const std::string what =
      party < file.parties.size()
          ? "the keys of this table are matched with those of the other holders"
          : "this party links the pseudonyms of the holders' lists";
  const std::string below = file.minimum == 0
                                ? "no minimum of matches is tested"
                                : fmt::format("fewer than {} matches: no row is linked",
                                              FormatCount(approval.disclosure.min_rows));
  return fmt::format("What will be signed\n  {}, for {}, until {}; {}\n\n", what,
                     RunsText(approval.runs), FormatUtc(approval.valid_until), below);
}

int RunMatchApprove(const OutputOptions& output, const MatchApproveCommand& command) {
  const SignedMatching made = SignMatching(output, command);
  PrintResult(output,
              fmt::format("party {} approves the matching '{}': {}", made.approval.party,
                          made.approval.study, made.file.string()),
              Json{{"party", made.approval.party},
                   {"matching", made.approval.study},
                   {"minimum", made.approval.disclosure.min_rows},
                   {"runs", made.approval.runs},
                   {"valid_until", FormatUtc(made.approval.valid_until)},
                   {"file", made.file.string()}}
                  .dump());
  if (made.has_secret) {
    PrintNote(output, fmt::format("keep {} beside it and show it to nobody",
                                  run::SecretPath(made.file).string()));
  }
  return kDone;
}

}  // namespace

void AddMatchParty(CLI::App* command, MatchParty& options) {
  command->add_option("FILE", options.file, "The matching file")->required();
  AddParty(command, options.party, "matching");
  AddPartyFolder(command, options.files, "Where data.csv, key.pem, cert.pem and roster.toml are");
  AddPartyData(command, options.files);
  AddPartyIdentity(command, options.files);
  AddSeparator(*command, options.separator, "what the header has most of");
}

SignedMatching SignMatching(const OutputOptions& output, const MatchApproveCommand& command) {
  const run::MatchingFile file = run::LoadMatchingFile(command.file);
  const run::MatchingPlan plan = run::PlanMatching(file);
  const std::string name = PartyOf(command.files, command.party);
  run::MatchingApprovalRequest request;
  request.party = run::MatchingPartyIndex(file, name);
  const fs::path beside = run::MatchingApprovalPath(command.file, file.name, name);
  const fs::path written =
      command.output.empty() ? beside : fs::path(command.output) / beside.filename();
  RequireNewFile(written, output.force);
  request.fingerprints =
      run::Fingerprints(run::RosterOf(file.Names(), command.files.Roster(), "matching"));
  request.identity = crypto::LoadIdentity(command.files.Certificate(), command.files.Key());
  request.minimum = command.minimum;
  request.runs = command.runs;
  if (!command.until.empty()) request.valid_until = UntilOf(command.until);
  crypto::SystemRandom random;
  std::string shown = run::MatchingPlanText(file, plan) + "\n";
  std::optional<match::KeyList> list;
  if (request.party < file.parties.size()) {
    const run::MatchingParty& party = file.parties[request.party];
    const std::string table = command.files.Data().string();
    list = run::ReadKeyList(party, table, command.Separator());
    match::RequireUsable(party.keys, list->report, table);
    shown += ShowOwnList(file, command, request, *list, random);
    if (!command.ledger.empty())
      shown += run::PriceText(run::PriceOfMatching(file, {command.ledger, command.table})) + "\n";
  }
  const run::MadeApproval made =
      run::MakeMatchingApproval(file, run::TermsOfMatching(file, plan, request.fingerprints),
                                request, list ? &*list : nullptr, random);
  const study::Approval& approval = made.document.approval;
  Confirm(output, shown + SignedText(file, request.party, approval),
          fmt::format("Approve this matching as party {}?", name), "partita match plan FILE");
  run::SaveApproval(made, written);
  return {approval, written, list.has_value()};
}

void AddMatchPlan(CLI::App& match, Invocation& invocation) {
  auto name = std::make_shared<std::string>();
  CLI::App* command = AddCommand(
      &match, "plan", "match plan",
      "Say what each party learns by a matching, what is not prevented, and what it costs",
      invocation, [&invocation, name] {
        const run::MatchingFile file = run::LoadMatchingFile(*name);
        const run::MatchingPlan plan = run::PlanMatching(file);
        PrintResult(invocation.output,
                    fmt::format("{}\nPlan hash (the parties compare it when they connect)\n  {}\n",
                                run::MatchingPlanText(file, plan), CertainHash(file, plan)),
                    PlanJson(file, plan).dump());
        return kDone;
      });
  command->add_option("FILE", *name, "The matching file")->required();
}

void AddMatchApprove(CLI::App& match, Invocation& invocation) {
  auto options = std::make_shared<MatchApproveCommand>();
  CLI::App* command = AddCommand(
      &match, "approve", "match approve",
      "Show the plan of a matching and this holder's record of past ones, ask, and sign",
      invocation, [&invocation, options] { return RunMatchApprove(invocation.output, *options); });
  AddMatchParty(command, *options);
  command->add_option("--output", options->output,
                      "The folder to write to (default: where the matching file is)");
  command->add_option("--until", options->until, "Last day of validity (default: 90 days)");
  CLI::Option* ledger = command->add_option(
      "--ledger", options->ledger,
      "The privacy ledger of this holder: also says what the matching takes from the budget");
  command
      ->add_option("--table", options->table,
                   "The name of the table in the ledger (default: its only one)")
      ->needs(ledger);
  command->add_option("--minimum", options->minimum, "Raise the matching's minimum of matches");
  command->add_option("--runs", options->runs, "How many runs it is for")
      ->check(CLI::Range(uint64_t{1}, study::kMaxApprovedRuns))
      ->capture_default_str();
  AddForce(*command, invocation);
}

}  // namespace partita::cli
