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
#include "report/document_report.h"
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

namespace {

// A result as it is shown and kept.
struct Rendered {
  std::string text, json, html;
  bool converged = true;
  std::vector<study::DocumentFile> files;
};

Rendered Render(const runtime::PartyOutcome& outcome, const report::RunFacts& facts) {
  if (outcome.document) {
    const study::Document& document = *outcome.document;
    return {report::DocumentSummary(document, outcome.plan, facts),
            report::DocumentJson(document, outcome.plan, facts),
            report::RenderDocumentHtml(document, outcome.plan, facts), document.converged,
            document.files};
  }
  const bool converged =
      std::all_of(outcome.results.begin(), outcome.results.end(),
                  [](const methods::mle::MleResult& result) { return result.fit.converged; });
  return {report::TerminalSummary(outcome.results, outcome.plan, facts),
          report::ResultJson(outcome.results, outcome.plan, facts),
          report::RenderReportHtml(outcome.results, outcome.plan, facts),
          converged,
          {}};
}

// All files of a result; returns their names.
std::vector<std::string> Write(const Rendered& rendered, const std::string& result_file) {
  std::vector<std::string> written = {result_file, ReportFile(result_file)};
  report::WriteFileAtomically(written[0], rendered.json);
  report::WriteFileAtomically(written[1], rendered.html);
  for (const study::DocumentFile& file : rendered.files) {
    written.push_back(std::filesystem::path(result_file).replace_filename(file.name).string());
    report::WriteFileAtomically(written.back(), file.contents);
  }
  return written;
}

}  // namespace

std::string OwnRowsText(const runtime::OwnRows& rows, const data::RepairedCells& cells) {
  const std::string text = fmt::format(
      "Your own table, told to you alone and kept in no file: {} rows, of which {} are not in the "
      "population, {} are incomplete and {} contribute nothing; {} cells moved to their bounds, {} "
      "without a usable value",
      rows.observed, rows.not_in_population, rows.incomplete, rows.neutral, cells.clamped,
      cells.without_value);
  return text + (cells.where.empty() ? "." : ": " + cells.where + ".");
}

int PrintOutcome(const OutputOptions& output, const runtime::PartyOutcome& outcome,
                 const std::string& result_file) {
  if (outcome.is_private && outcome.rows.observed > 0)
    PrintNote(output, OwnRowsText(outcome.rows, outcome.repaired));
  const report::RunFacts facts = FactsOf(outcome);
  if (outcome.results.empty() && !outcome.document) {
    PrintResult(
        output,
        fmt::format("{}: study '{}' is finished; this party learned nothing beyond the plan.\n\n{}",
                    outcome.party, outcome.plan.study, report::RunSummary(outcome.plan, facts)),
        report::RunJson(outcome.plan, facts));
    return kDone;
  }
  const Rendered rendered = Render(outcome, facts);
  // A failing disk must not lose a result that took a run of several parties: it is printed too.
  std::optional<Error> not_written;
  std::vector<std::string> written;
  try {
    if (!result_file.empty()) written = Write(rendered, result_file);
  } catch (const Error& error) {
    not_written = error;
  }
  PrintResult(output, rendered.text, rendered.json, rendered.converged ? "done" : "not-converged");
  if (not_written) {
    OutputOptions text;  // standard output has its object already
    return PrintError(text, *not_written);
  }
  for (size_t i = 0; i < written.size(); ++i) {
    PrintNote(output, fmt::format("{}written to {}",
                                  i == 0   ? "result "
                                  : i == 1 ? "report "
                                           : "",
                                  written[i]));
  }
  return rendered.converged ? kDone : kNotConverged;
}

}  // namespace partita::cli
