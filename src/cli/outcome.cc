#include "cli/outcome.h"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <optional>

#include "base/version.h"
#include "cli/output.h"
#include "report/atomic_file.h"
#include "report/report_html.h"
#include "report/result_json.h"
#include "report/terminal_summary.h"

namespace partita::cli {
namespace {

std::string Now() { return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr))); }

// Local work, in the order of the run: the fit comes last.
void AppendSteps(const runtime::PartyOutcome& outcome, bool fit, report::RunFacts& facts) {
  for (const runtime::LocalStep& step : outcome.local_steps) {
    if ((step.name == "fit") != fit) continue;
    report::PhaseFacts phase;
    phase.phase = step.name;
    phase.seconds = step.seconds;
    facts.phases.push_back(std::move(phase));
  }
}

void AppendTraffic(const runtime::PartyOutcome& outcome, report::RunFacts& facts) {
  for (const net::PhaseTraffic& traffic : outcome.traffic) {
    report::PhaseFacts phase;
    phase.phase = traffic.phase;
    phase.rounds = traffic.rounds;
    phase.seconds = traffic.seconds;
    for (const net::LinkTraffic& link : traffic.links) {
      phase.messages_sent += link.messages_sent;
      phase.messages_received += link.messages_received;
      phase.bytes_sent += link.bytes_sent;
      phase.bytes_received += link.bytes_received;
    }
    facts.phases.push_back(std::move(phase));
  }
}

}  // namespace

report::RunFacts FactsOf(const runtime::PartyOutcome& outcome) {
  report::RunFacts facts;
  facts.party = outcome.party;
  facts.study_file_hash = outcome.study_file_hash;
  facts.study_hash = outcome.study_hash;
  facts.plan_hash = outcome.plan_hash;
  facts.run_id = outcome.run_id;
  facts.software_version = kVersion;
  facts.started_at = Now();
  facts.seconds_total = outcome.seconds;
  AppendSteps(outcome, false, facts);
  AppendTraffic(outcome, facts);
  AppendSteps(outcome, true, facts);
  for (const mpc::CountingReleaseGate::Count& count : outcome.releases) {
    facts.releases.push_back({count.release.id, count.release.what, count.release.to,
                              count.release.mechanism, count.release.max_count, count.opened});
  }
  return facts;
}

std::string ReportFile(const std::string& result_file) {
  std::filesystem::path path = result_file;
  if (path.filename() == "result.json") return path.replace_filename("report.html").string();
  return path.replace_extension(path.extension() == ".html" ? ".report.html" : ".html").string();
}

void RequireNewFile(const std::string& file, bool force) {
  namespace fs = std::filesystem;
  for (const std::string& written : {file, ReportFile(file)}) {
    std::error_code ignored;
    if (force || !fs::exists(written, ignored)) continue;
    throw Error(ErrorCode::kUsage, written + " exists already",
                "move it away, name another file with --output, or say --force");
  }
  const fs::path folder = fs::absolute(file).parent_path();
  if (::access(folder.c_str(), W_OK) != 0) {
    throw Error(ErrorCode::kUsage,
                fmt::format("cannot write to {}: {}", folder.string(), std::strerror(errno)),
                "name a file in another folder with --output");
  }
}

int PrintOutcome(const OutputOptions& output, const runtime::PartyOutcome& outcome,
                 const std::string& result_file) {
  const report::RunFacts facts = FactsOf(outcome);
  if (!outcome.result) {
    PrintResult(
        output,
        fmt::format("{}: study '{}' is finished; this party learned nothing beyond the plan.\n\n{}",
                    outcome.party, outcome.plan.study, report::RunSummary(outcome.plan, facts)),
        report::RunJson(outcome.plan, facts));
    return kDone;
  }
  const std::vector<methods::mle::MleResult> results = {*outcome.result};
  const std::string json = report::ResultJson(results, outcome.plan, facts);
  // A failing disk must not lose a result that took a run of several parties: it is printed first.
  std::optional<Error> not_written;
  try {
    if (!result_file.empty()) {
      report::WriteFileAtomically(result_file, json);
      report::WriteFileAtomically(ReportFile(result_file),
                                  report::RenderReportHtml(results, outcome.plan, facts));
    }
  } catch (const Error& error) {
    not_written = error;
  }
  const bool converged = outcome.result->fit.converged;
  PrintResult(output, report::TerminalSummary(results, outcome.plan, facts), json,
              converged ? "done" : "not-converged");
  if (not_written) {
    OutputOptions text;  // standard output has its object already
    return PrintError(text, *not_written);
  }
  if (!result_file.empty()) {
    PrintNote(output, "result written to " + result_file);
    PrintNote(output, "report written to " + ReportFile(result_file));
  }
  return converged ? kDone : kNotConverged;
}

}  // namespace partita::cli
