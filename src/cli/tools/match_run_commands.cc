// partita match run (plan, approve: match_approve_commands.cc; show, past: match_result_commands.cc)
#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>
#include <iostream>
#include <nlohmann/json.hpp>

#include "base/text_table.h"
#include "base/utc_time.h"
#include "cli/commands.h"
#include "cli/study/simulate.h"
#include "cli/terminal/interrupt.h"
#include "cli/terminal/json.h"
#include "cli/terminal/new_file.h"
#include "cli/terminal/units.h"
#include "cli/tools/match_party.h"
#include "cli/tools/match_results.h"
#include "report/progress.h"
#include "run/matching/matching_approval.h"
#include "run/matching/matching_run.h"
#include "study/file/text.h"

namespace partita::cli {
namespace {

namespace fs = std::filesystem;

struct MatchRunCommand : MatchParty {
  std::string approval, listen, wait = "10m", latency, bandwidth, ledger, table;
  bool approve = false;
};

std::string MatchSection(const run::MatchedRows& matched) {
  std::string section = fmt::format(
      "[[rows]]\nname = \"matched\"\ncount = {}\n[rows.match]\nlevel = \"{}\"\nmatching = "
      "\"{}\"\nrecord = \"{}\"\n",
      matched.rows.size(), LevelName(matched.level), matched.matching, ToHex(matched.record));
  if (matched.hidden()) section += fmt::format("count = \"{}\"\n", CountName(matched.level));
  if (!matched.linker.empty()) section += fmt::format("linker = \"{}\"\n", matched.linker);
  return section;
}

std::string PassCounts(const run::MatchingFile& file, const std::vector<uint64_t>& counts) {
  std::string text;
  for (size_t pass = 0; pass < counts.size(); ++pass) {
    text += fmt::format("  pass {} ({}): {}\n", pass + 1, run::PassName(file.parties[0], pass),
                        FormatCount(counts[pass]));
  }
  return text;
}

std::string FoundText(const run::MatchingFile& file, const run::MatchedRows& matched) {
  if (matched.hidden()) {
    const std::string found =
        matched.counts.empty()
            ? "how many people are in all lists only " + matched.linker + " knows"
            : fmt::format("{} people are in the lists of {} and of {}{}",
                          FormatCount(TotalOf(matched.counts)), matched.party,
                          study::Join(matched.partners),
                          matched.level == match::Level::kHiddenNoisy
                              ? ", by a number that has noise"
                              : "");
    return fmt::format(
        "{}\nwhich of the {} rows here have a match no holder knows; {} of them have a "
        "place among {} positions\n",
        found, FormatCount(matched.table_rows), FormatCount(PresentIn(matched)),
        FormatCount(matched.rows.size()));
  }
  return fmt::format("{} rows of {} match rows of {}; {} of the {} rows here do not\n",
                     FormatCount(matched.rows.size()), matched.party, study::Join(matched.partners),
                     FormatCount(matched.table_rows - matched.rows.size()),
                     FormatCount(matched.table_rows)) +
         PassCounts(file, matched.counts);
}

std::string MatchedText(const run::MatchingFile& file, const run::MatchingOutcome& outcome,
                        const fs::path& result) {
  const run::MatchedRows& matched = outcome.matched;
  std::string text = FoundText(file, matched);
  text += fmt::format(
      "record (the same at {})\n  {}\nwrote {}: keep it beside the table, for its owner "
      "only\n\nFor "
      "the file of a study of these rows\n\n",
      matched.partners.size() > 1 ? "all holders" : "both", ToHex(matched.record), result.string());
  const std::string section = MatchSection(matched);
  for (size_t line = 0; line < section.size();) {
    const size_t end = section.find('\n', line);
    text += "  " + section.substr(line, end - line + 1);
    line = end + 1;
  }
  return text;
}

// Nothing stays at a linker.
void PrintLinked(const OutputOptions& output, const run::MatchingFile& file,
                 const run::MatchingOutcome& outcome) {
  const run::MatchedRows& matched = outcome.matched;
  PrintResult(output,
              fmt::format("linked {} people who are in the lists of {}\n{}nothing of them stays "
                          "here\n",
                          FormatCount(TotalOf(matched.counts)), study::Join(matched.partners),
                          PassCounts(file, matched.counts)),
              Json{{"matching", matched.matching},
                   {"party", matched.party},
                   {"partners", matched.partners},
                   {"linker", matched.linker},
                   {"at", FormatUtc(matched.at)},
                   {"record", nullptr},
                   {"table_rows", nullptr},
                   {"level", LevelName(matched.level)},
                   {"positions", nullptr},
                   {"matches", TotalOf(matched.counts)},
                   {"matches_by_pass", matched.counts},
                   {"file", nullptr}}
                  .dump());
}

[[noreturn]] void RefuseBelowMinimum(const run::MatchingFile& file,
                                     const run::MatchingOutcome& outcome) {
  const std::string minimum = FormatCount(outcome.minimum);
  if (!file.linked()) {
    throw Error(
        ErrorCode::kRefused,
        fmt::format("{} people are in both lists{}, fewer than the minimum of {}: neither "
                    "party learnt which of its rows they are",
                    FormatCount(TotalOf(outcome.matched.counts)),
                    file.level == match::Level::kHiddenNoisy ? " by a number with noise" : "",
                    minimum),
        "both know the number now, and it is in the record of past matchings; compare how "
        "both write the keys (partita match check)");
  }
  throw Error(ErrorCode::kRefused,
              fmt::format("fewer people are in all lists than the minimum of {}: no holder learnt "
                          "which of its rows they are, or how many",
                          minimum),
              "compare how all holders write the keys (partita match check); the run is in their "
              "records of past matchings");
}

void ApproveMatchingIfNew(const OutputOptions& output, const MatchRunCommand& command,
                          const fs::path& approval) {
  if (fs::exists(approval)) {
    PrintNote(output, fmt::format("{} was signed before; going on with it", approval.string()));
    return;
  }
  MatchApproveCommand sign;
  static_cast<MatchParty&>(sign) = static_cast<const MatchParty&>(command);
  sign.ledger = command.ledger;
  sign.table = command.table;
  PrintNote(output, fmt::format("signed: {}", SignMatching(output, sign).file.string()));
}

// Where the result goes: to what did not come into being during the run, if nothing is to be
// overwritten.
fs::path SaveResult(const OutputOptions& output, const run::MatchedRows& matched,
                    const fs::path& result) {
  if (output.force) {
    run::SaveMatchedRows(matched, result);
    return result;
  }
  fs::path saved = run::SaveNewMatchedRows(matched, result);
  if (saved != result) {
    PrintNote(output,
              fmt::format("{} came into being during the run and was left as it is; a study "
                          "of this result needs it in that place",
                          result.string()));
  }
  return saved;
}

int RunMatchRun(const OutputOptions& output, const MatchRunCommand& command) {
  const run::MatchingFile file = run::LoadMatchingFile(command.file);
  run::MatchingJoin options;
  options.party = PartyOf(command.files, command.party);
  const bool holder = run::MatchingPartyIndex(file, options.party) < file.parties.size();
  options.table = command.files.Data();
  if (holder) options.separator = command.Separator();
  options.key = command.files.Key();
  options.certificate = command.files.Certificate();
  options.roster = command.files.Roster();
  options.approval = command.approval.empty()
                         ? run::MatchingApprovalPath(command.file, file.name, options.party)
                         : fs::path(command.approval);
  const fs::path result = run::MatchedRowsPath(options.table, file.name);
  if (holder) RequireNewFile(result, output.force);
  if (command.approve) ApproveMatchingIfNew(output, command, options.approval);
  options.connect_timeout = MillisecondsOf(command.wait);
  options.listen_address = command.listen;
  if (!command.ledger.empty()) options.ledger = run::LedgerOptions{command.ledger, command.table};
  if (!command.latency.empty()) options.link.latency = ParseDuration(command.latency);
  if (!command.bandwidth.empty()) options.link.bytes_per_second = ParseBandwidth(command.bandwidth);
  report::TerminalProgress terminal(std::cerr, report::DetectProgressStyle(STDERR_FILENO),
                                    options.party, &Interrupted());
  CancellableProgress quiet;
  Progress& progress = output.quiet ? static_cast<Progress&>(quiet) : terminal;
  const run::MatchingOutcome outcome = run::JoinMatching(file, options, progress);
  terminal.Finish();
  if (!outcome.linked) RefuseBelowMinimum(file, outcome);
  if (!holder) {
    PrintLinked(output, file, outcome);
    return kDone;
  }
  const fs::path saved = SaveResult(output, outcome.matched, result);
  PrintResult(output, MatchedText(file, outcome, saved),
              MatchedJson(outcome.matched, saved).dump());
  return kDone;
}

void AddMatchRun(CLI::App& match, Invocation& invocation) {
  auto options = std::make_shared<MatchRunCommand>();
  CLI::App* command = AddCommand(
      &match, "run", "match run",
      "Find with the other parties which rows of all lists are the same person, or link them",
      invocation, [&invocation, options] { return RunMatchRun(invocation.output, *options); });
  AddMatchParty(command, *options);
  CLI::Option* approval =
      command->add_option("--approval", options->approval,
                          "This party's approval (default: match-approval-NAME-PARTY.json beside "
                          "the matching file)");
  command
      ->add_flag("--approve", options->approve,
                 "First show the plan, ask, and sign (match approve); not if it has signed before")
      ->excludes(approval);
  CLI::Option* ledger = command->add_option("--ledger", options->ledger,
                                            "The privacy ledger of this holder: a number of "
                                            "matches with noise needs one, an exact one of "
                                            "level hidden may be entered");
  command
      ->add_option("--table", options->table,
                   "The name of the table in the ledger (default: its only one)")
      ->needs(ledger);
  command->add_option("--listen", options->listen,
                      "HOST:PORT to listen on (default: this party's address in the roster)");
  command->add_option("--wait", options->wait, "How long to wait for the others to come up")
      ->capture_default_str();
  command->add_option("--latency", options->latency)->group("");
  command->add_option("--bandwidth", options->bandwidth)->group("");
  AddForce(*command, invocation);
  command->footer(
      "The result of a holder is NAME.matched beside its table, readable by its owner only; "
      "studies "
      "with\n[rows.match] take their rows from it. A linker keeps nothing. Exit code 5 if the "
      "lists "
      "have\nfewer people in common than the minimum.");
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
