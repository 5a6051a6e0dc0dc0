// partita match plan | approve | run (show, past: match_result_commands.cc)
#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>
#include <iostream>
#include <nlohmann/json.hpp>

#include "base/text_table.h"
#include "base/utc_time.h"
#include "cli/commands.h"
#include "cli/study/approve.h"
#include "cli/study/party_files.h"
#include "cli/study/simulate.h"
#include "cli/terminal/interrupt.h"
#include "cli/terminal/json.h"
#include "cli/terminal/new_file.h"
#include "cli/terminal/separator.h"
#include "cli/terminal/units.h"
#include "cli/tools/match_results.h"
#include "crypto/certificate.h"
#include "report/progress.h"
#include "run/matching/matching_approval.h"
#include "run/matching/matching_run.h"
#include "run/matching/past_matchings.h"
#include "run/party/join.h"

namespace partita::cli {
namespace {

namespace fs = std::filesystem;

// What approve and run have in common.
struct MatchParty {
  std::string file, party, separator;
  PartyFiles files;

  char Separator() const { return SeparatorOf(separator).value_or(','); }
};

void AddMatchParty(CLI::App* command, MatchParty& options) {
  command->add_option("FILE", options.file, "The matching file")->required();
  command->add_option("--party", options.party,
                      "Which party of the matching this is (default: the certificate's)");
  AddPartyFolder(command, options.files, "Where data.csv, key.pem, cert.pem and roster.toml are");
  AddPartyData(command, options.files);
  AddPartyIdentity(command, options.files);
  AddSeparator(*command, options.separator, "a comma");
}

std::string PartyOf(const MatchParty& options) {
  if (!options.party.empty()) return options.party;
  return crypto::Describe(*crypto::LoadCertificate(options.files.Certificate())).name;
}

std::string CertainHash(const run::MatchingFile& file, const run::MatchingPlan& plan) {
  const std::vector<std::string> none(file.parties.size());
  return ToHex(run::TermsOfMatching(file, plan, none).plan_hash);
}

// ---- plan

Json PlanJson(const run::MatchingFile& file, const run::MatchingPlan& plan) {
  Json parties = Json::array(), phases = Json::array();
  for (size_t party = 0; party < file.parties.size(); ++party) {
    parties.push_back({{"name", file.parties[party].name},
                       {"rows", file.parties[party].rows},
                       {"learns", plan.learns[party]}});
  }
  for (const run::MatchingPhase& phase : plan.phases) {
    phases.push_back({{"name", phase.name},
                      {"rounds", phase.rounds},
                      {"bytes_sent", {phase.bytes[0], phase.bytes[1]}}});
  }
  return {{"matching", file.name},   {"level", "matched-ids"},
          {"minimum", file.minimum}, {"unicode", plan.unicode},
          {"parties", parties},      {"not_prevented", plan.not_prevented},
          {"phases", phases},        {"plan_hash", CertainHash(file, plan)}};
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

// ---- approve

struct MatchApproveCommand : MatchParty {
  std::string until, output;
  std::optional<uint64_t> minimum;
  uint64_t runs = 1;
};

struct SignedMatching {
  study::Approval approval;
  fs::path file;
};

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

// Shows plan, record and table, asks, and signs.
SignedMatching SignMatching(const OutputOptions& output, const MatchApproveCommand& command) {
  const run::MatchingFile file = run::LoadMatchingFile(command.file);
  const run::MatchingPlan plan = run::PlanMatching(file);
  const std::string name = PartyOf(command);
  run::MatchingApprovalRequest request;
  request.party = run::MatchingPartyIndex(file, name);
  const fs::path beside = run::MatchingApprovalPath(command.file, file.name, name);
  const fs::path written =
      command.output.empty() ? beside : fs::path(command.output) / beside.filename();
  RequireNewFile(written, output.force);
  request.fingerprints = run::Fingerprints(
      run::RosterOf(run::MatchingPartyNames(file), command.files.Roster(), "matching"));
  request.identity = crypto::LoadIdentity(command.files.Certificate(), command.files.Key());
  request.minimum = command.minimum;
  request.runs = command.runs;
  if (!command.until.empty()) request.valid_until = UntilOf(command.until);
  const fs::path table = command.files.Data();
  const run::MatchingParty& party = file.parties[request.party];
  const match::KeyList list = run::ReadKeyList(party, table.string(), command.Separator());
  match::RequireUsable(party.keys, list.report, table.string());
  crypto::SystemRandom random;
  const std::string& peer = file.parties[1 - request.party].name;
  const run::PastMatchings past(run::PastMatchingsPath(table), random);
  const int64_t now = NowUtc();
  const run::Partner partner{peer, request.fingerprints[1 - request.party]};
  past.Require(partner, now);
  const run::MadeApproval made = run::MakeMatchingApproval(
      file, run::TermsOfMatching(file, plan, request.fingerprints), request, list, random);
  const study::Approval& approval = made.document.approval;
  Confirm(output,
          fmt::format(
              "{}\n{}\n{}\nWhat will be signed\n  the keys of this table are matched with "
              "{}'s, for {}, until {}; fewer than {} matches: no row is linked\n\n",
              run::MatchingPlanText(file, plan),
              run::PastMatchingsText(past, partner, list, match::ColumnsDigest(party.keys), now),
              TableText(party, table, list.report), peer, RunsText(approval.runs),
              FormatUtc(approval.valid_until), FormatCount(approval.disclosure.min_rows)),
          fmt::format("Approve this matching as party {}?", name), "partita match plan FILE");
  run::SaveApproval(made, written);
  return {approval, written};
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
  PrintNote(output, fmt::format("keep {} beside it and show it to nobody",
                                run::SecretPath(made.file).string()));
  return kDone;
}

void AddMatchApprove(CLI::App& match, Invocation& invocation) {
  auto options = std::make_shared<MatchApproveCommand>();
  CLI::App* command = AddCommand(
      &match, "approve", "match approve",
      "Show the plan of a matching and this table's record of past ones, ask, and sign", invocation,
      [&invocation, options] { return RunMatchApprove(invocation.output, *options); });
  AddMatchParty(command, *options);
  command->add_option("--output", options->output,
                      "The folder to write to (default: where the matching file is)");
  command->add_option("--until", options->until, "Last day of validity (default: 90 days)");
  command->add_option("--minimum", options->minimum, "Raise the matching's minimum of matches");
  command->add_option("--runs", options->runs, "How many runs it is for")
      ->check(CLI::Range(uint64_t{1}, study::kMaxApprovedRuns))
      ->capture_default_str();
  AddForce(*command, invocation);
}

// ---- run

struct MatchRunCommand : MatchParty {
  std::string approval, listen, wait = "10m", latency, bandwidth;
  bool approve = false;
};

std::string MatchSection(const run::MatchedRows& matched) {
  return fmt::format(
      "[[rows]]\nname = \"matched\"\ncount = {}\n[rows.match]\nlevel = \"matched-ids\"\nmatching = "
      "\"{}\"\nrecord = \"{}\"\n",
      matched.rows.size(), matched.matching, ToHex(matched.record));
}

std::string MatchedText(const run::MatchingFile& file, const run::MatchingOutcome& outcome,
                        const fs::path& result) {
  const run::MatchedRows& matched = outcome.matched;
  std::string text = fmt::format("{} rows of {} match rows of {}; {} of the {} rows here do not\n",
                                 FormatCount(matched.rows.size()), matched.party, matched.peer,
                                 FormatCount(matched.table_rows - matched.rows.size()),
                                 FormatCount(matched.table_rows));
  for (size_t pass = 0; pass < matched.counts.size(); ++pass) {
    text += fmt::format("  pass {} ({}): {}\n", pass + 1, run::PassName(file.parties[0], pass),
                        FormatCount(matched.counts[pass]));
  }
  text += fmt::format(
      "record (the same at both)\n  {}\nwrote {}: keep it beside the table, for its owner "
      "only\n\nFor "
      "the file of a study of these rows\n\n",
      ToHex(matched.record), result.string());
  const std::string section = MatchSection(matched);
  for (size_t line = 0; line < section.size();) {
    const size_t end = section.find('\n', line);
    text += "  " + section.substr(line, end - line + 1);
    line = end + 1;
  }
  return text;
}

void ApproveMatchingIfNew(const OutputOptions& output, const MatchRunCommand& command,
                          const fs::path& approval) {
  if (fs::exists(approval)) {
    PrintNote(output, fmt::format("{} was signed before; going on with it", approval.string()));
    return;
  }
  MatchApproveCommand sign;
  static_cast<MatchParty&>(sign) = static_cast<const MatchParty&>(command);
  PrintNote(output, fmt::format("signed: {}", SignMatching(output, sign).file.string()));
}

int RunMatchRun(const OutputOptions& output, const MatchRunCommand& command) {
  const run::MatchingFile file = run::LoadMatchingFile(command.file);
  run::MatchingJoin options;
  options.party = PartyOf(command);
  run::MatchingPartyByName(file, options.party);
  options.table = command.files.Data();
  options.separator = command.Separator();
  options.key = command.files.Key();
  options.certificate = command.files.Certificate();
  options.roster = command.files.Roster();
  options.approval = command.approval.empty()
                         ? run::MatchingApprovalPath(command.file, file.name, options.party)
                         : fs::path(command.approval);
  const fs::path result = run::MatchedRowsPath(options.table, file.name);
  RequireNewFile(result, output.force);
  if (command.approve) ApproveMatchingIfNew(output, command, options.approval);
  options.connect_timeout = MillisecondsOf(command.wait);
  options.listen_address = command.listen;
  if (!command.latency.empty()) options.link.latency = ParseDuration(command.latency);
  if (!command.bandwidth.empty()) options.link.bytes_per_second = ParseBandwidth(command.bandwidth);
  report::TerminalProgress terminal(std::cerr, report::DetectProgressStyle(STDERR_FILENO),
                                    options.party, &Interrupted());
  CancellableProgress quiet;
  Progress& progress = output.quiet ? static_cast<Progress&>(quiet) : terminal;
  const run::MatchingOutcome outcome = run::JoinMatching(file, options, progress);
  terminal.Finish();
  if (!outcome.linked) {
    throw Error(
        ErrorCode::kRefused,
        fmt::format("{} people are in both lists, fewer than the minimum of {}: neither "
                    "party learnt which of its rows they are",
                    FormatCount(TotalOf(outcome.matched.counts)), FormatCount(outcome.minimum)),
        "both know the number now, and it is in the record of past matchings; compare how "
        "both write the keys (partita match check)");
  }
  // Another run may have written there meanwhile.
  fs::path saved = result;
  if (output.force) {
    run::SaveMatchedRows(outcome.matched, result);
  } else {
    saved = run::SaveNewMatchedRows(outcome.matched, result);
  }
  if (saved != result) {
    PrintNote(output,
              fmt::format("{} came into being during the run and was left as it is; a study "
                          "of this result needs it in that place",
                          result.string()));
  }
  PrintResult(output, MatchedText(file, outcome, saved),
              MatchedJson(outcome.matched, saved).dump());
  return kDone;
}

void AddMatchRun(CLI::App& match, Invocation& invocation) {
  auto options = std::make_shared<MatchRunCommand>();
  CLI::App* command = AddCommand(
      &match, "run", "match run",
      "Find with the other party which rows of both lists are the same person", invocation,
      [&invocation, options] { return RunMatchRun(invocation.output, *options); });
  AddMatchParty(command, *options);
  CLI::Option* approval =
      command->add_option("--approval", options->approval,
                          "This party's approval (default: match-approval-NAME-PARTY.json beside "
                          "the matching file)");
  command
      ->add_flag("--approve", options->approve,
                 "First show the plan, ask, and sign (match approve); not if it has signed before")
      ->excludes(approval);
  command->add_option("--listen", options->listen,
                      "HOST:PORT to listen on (default: this party's address in the roster)");
  command->add_option("--wait", options->wait, "How long to wait for the other to come up")
      ->capture_default_str();
  command->add_option("--latency", options->latency)->group("");
  command->add_option("--bandwidth", options->bandwidth)->group("");
  AddForce(*command, invocation);
  command->footer(
      "The result is NAME.matched beside the table, readable by its owner only; studies with\n"
      "[rows.match] take their rows from it. Exit code 5 if the lists have fewer people in common "
      "than\nthe minimum.");
}

}  // namespace

void AddMatchRunCommands(CLI::App& match, Invocation& invocation) {
  AddMatchPlan(match, invocation);
  AddMatchApprove(match, invocation);
  AddMatchRun(match, invocation);
  AddMatchShow(match, invocation);
  AddMatchPast(match, invocation);
}

}  // namespace partita::cli
