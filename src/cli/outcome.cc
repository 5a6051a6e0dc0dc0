#include "cli/outcome.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <optional>

#include "cli/facts.h"
#include "cli/output.h"
#include "report/atomic_file.h"
#include "report/report_html.h"
#include "report/result_json.h"
#include "report/terminal_summary.h"

namespace partita::cli {
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
  if (outcome.results.empty()) {
    PrintResult(
        output,
        fmt::format("{}: study '{}' is finished; this party learned nothing beyond the plan.\n\n{}",
                    outcome.party, outcome.plan.study, report::RunSummary(outcome.plan, facts)),
        report::RunJson(outcome.plan, facts));
    return kDone;
  }
  const std::string json = report::ResultJson(outcome.results, outcome.plan, facts);
  // A failing disk must not lose a result that took a run of several parties: it is printed first.
  std::optional<Error> not_written;
  try {
    if (!result_file.empty()) {
      report::WriteFileAtomically(result_file, json);
      report::WriteFileAtomically(ReportFile(result_file),
                                  report::RenderReportHtml(outcome.results, outcome.plan, facts));
    }
  } catch (const Error& error) {
    not_written = error;
  }
  const bool converged =
      std::all_of(outcome.results.begin(), outcome.results.end(),
                  [](const methods::mle::MleResult& result) { return result.fit.converged; });
  PrintResult(output, report::TerminalSummary(outcome.results, outcome.plan, facts), json,
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
