#include "cli/terminal/outcome.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <optional>

#include "base/files.h"
#include "cli/terminal/new_file.h"
#include "cli/terminal/output.h"
#include "report/result_json.h"
#include "report/run_summary.h"
#include "run/party/facts.h"

namespace partita::cli {
std::string ReportFile(const std::string& result_file) {
  std::filesystem::path path = result_file;
  if (path.filename() == "result.json") return path.replace_filename("report.html").string();
  return path.replace_extension(path.extension() == ".html" ? ".report.html" : ".html").string();
}

namespace {

// A result as it is shown and kept.
struct Rendered {
  Rendered(const report::Result& result, const study::Plan& plan, const report::RunFacts& facts)
      : text(result.Text(plan, facts)),
        json(result.Json(plan, facts)),
        html(result.Html(plan, facts)),
        files(result.Files()) {}

  const std::string text, json, html;
  const std::vector<study::DocumentFile> files;
};

std::string PathBeside(const std::string& result_file, const std::string& name) {
  return std::filesystem::path(result_file).replace_filename(name).string();
}

// All files of a result; returns their names.
std::vector<std::string> Write(const Rendered& rendered, const std::string& result_file) {
  std::vector<std::string> written = {result_file, ReportFile(result_file)};
  WriteFileAtomically(written[0], rendered.json);
  WriteFileAtomically(written[1], rendered.html);
  for (const study::DocumentFile& file : rendered.files) {
    written.push_back(PathBeside(result_file, file.name));
    WriteFileAtomically(written.back(), file.contents);
  }
  return written;
}

// Whether something is released to a party, so that it has a result.
bool IsTold(const run::Study& study, size_t party) {
  return std::any_of(study.releases.begin(), study.releases.end(),
                     [&](const mpc::Release& release) {
                       return release.to == "all" || release.to == study.parties[party].name;
                     });
}

// Where the files of a result are that could not be written to their place; empty: nowhere.
std::string KeepElsewhere(const Rendered& rendered, const std::string& result_file) {
  std::error_code none;
  std::string folder =
      (std::filesystem::temp_directory_path(none) / "partita-result-XXXXXX").string();
  if (none || ::mkdtemp(folder.data()) == nullptr) return "";
  try {
    Write(rendered,
          (std::filesystem::path(folder) / std::filesystem::path(result_file).filename()).string());
    return folder;
  } catch (const Error&) {
    std::filesystem::remove_all(folder, none);
    return "";
  }
}

// A failing disk must not lose a result that took a run of several parties.
int PrintUnwritten(const OutputOptions& output, const Rendered& rendered,
                   const std::string& result_file, const Error& error) {
  const std::string folder = KeepElsewhere(rendered, result_file);
  if (folder.empty() && !output.json()) {
    PrintResult(output, rendered.json, rendered.json);
    for (const study::DocumentFile& file : rendered.files)
      PrintResult(output, fmt::format("{}:\n{}", file.name, file.contents), "{}");
  }
  OutputOptions text;  // standard output has its object already
  return PrintError(
      text,
      Error(ErrorCode::kStorage, error.message(),
            folder.empty()
                ? fmt::format("{} printed above and kept nowhere: copy it. What was opened stays "
                              "charged, and a new run would be charged again",
                              output.json() ? "the result, without the files beside it, is"
                                            : "the result is")
                : fmt::format("the result is kept in {}: move it away. What was opened stays "
                              "charged, and a new run would be charged again",
                              folder)));
}

// Whether a run writes files at this party.
bool WritesResult(const run::Study& study, size_t party, const std::string& result_file) {
  return !result_file.empty() && (party == study.receiver || IsTold(study, party));
}

}  // namespace

void RequireNewResult(const run::Study& study, size_t party, const std::string& result_file,
                      bool force) {
  if (!WritesResult(study, party, result_file)) return;
  RequireNewFile(result_file, force);
  RequireNewFile(ReportFile(result_file), force);
  for (const std::string& name : study.FileNames())
    RequireNewFile(PathBeside(result_file, name), force);
}

std::string OwnRowsText(const run::OwnRows& rows, const data::RepairedCells& cells) {
  const std::string text = fmt::format(
      "Your own table, told to you alone and kept in no file: {} rows, of which {} are not in the "
      "population, {} are incomplete and {} contribute nothing; {} cells moved to their bounds, {} "
      "faulty in another way",
      rows.observed, rows.not_in_population, rows.incomplete, rows.neutral, cells.clamped,
      cells.without_value);
  return text + (cells.where.empty() ? "." : ": " + cells.where + ".");
}

std::unique_ptr<RoomOnDisk> RoomForResult(const run::Study& study, size_t party,
                                          const std::string& result_file) {
  if (!WritesResult(study, party, result_file)) return nullptr;
  // A page with its plots takes below 2 MB; so does what result.json says beside the files.
  constexpr uint64_t kReportBytes = uint64_t{8} << 20;
  try {
    return std::make_unique<RoomOnDisk>(result_file, kReportBytes + study.FileBytes());
  } catch (const Error& error) {
    throw Error(error.code(), error.message() + "; nothing was opened and nothing is charged",
                "make room, or name a file on another disk with --output");
  }
}

std::function<void(const study::DocumentFile&)> WriterBeside(const OutputOptions& output,
                                                             const run::Study& study, size_t party,
                                                             const std::string& result_file) {
  if (!WritesResult(study, party, result_file)) return nullptr;
  return [output, result_file](const study::DocumentFile& file) {
    try {
      WriteFileAtomically(PathBeside(result_file, file.name), file.contents);
    } catch (const Error& error) {
      PrintNote(output, fmt::format("{} could not be written before the result was made: {}",
                                    PathBeside(result_file, file.name), error.message()));
    }
  };
}

int PrintOutcome(const OutputOptions& output, const run::PartyOutcome& outcome,
                 const std::string& result_file, std::unique_ptr<RoomOnDisk> room) {
  if (outcome.is_private && outcome.rows.observed > 0)
    PrintNote(output, OwnRowsText(outcome.rows, outcome.repaired));
  const report::RunFacts facts = FactsOf(outcome);
  if (outcome.result == nullptr) {
    PrintResult(
        output,
        fmt::format(
            "{}: study '{}' is finished{}; this party learned nothing beyond the plan.\n\n{}",
            outcome.party, outcome.plan.study,
            outcome.not_trained
                ? ", and its model is NOT TRAINED: interruptions took openings from it"
                : "",
            report::RunSummary(outcome.plan, facts)),
        report::RunJson(outcome.plan, facts), outcome.not_trained ? "not-trained" : "done");
    return outcome.not_trained ? kNotConverged : kDone;
  }
  const Rendered rendered(*outcome.result, outcome.plan, facts);
  std::optional<Error> not_written;
  room.reset();
  std::vector<std::string> written;
  try {
    if (!result_file.empty()) written = Write(rendered, result_file);
  } catch (const Error& error) {
    not_written = error;
  }
  const study::Ending ending = outcome.result->ending();
  const bool converged = ending == study::Ending::kConverged;
  PrintResult(output, rendered.text, rendered.json,
              converged ? "done" : std::string(study::EndingName(ending)));
  if (not_written) return PrintUnwritten(output, rendered, result_file, *not_written);
  for (size_t i = 0; i < written.size(); ++i) {
    PrintNote(output, fmt::format("{}written to {}",
                                  i == 0   ? "result "
                                  : i == 1 ? "report "
                                           : "",
                                  written[i]));
  }
  if (!written.empty() && !outcome.result->Holds().empty())
    PrintNote(output, outcome.result->Holds());
  return converged ? kDone : kNotConverged;
}

}  // namespace partita::cli
