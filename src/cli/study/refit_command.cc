// partita study refit: another model of the moments that a study released.
#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>
#include <iostream>

#include "base/files.h"
#include "cli/commands.h"
#include "cli/terminal/interrupt.h"
#include "cli/terminal/new_file.h"
#include "cli/tools/sem_models.h"
#include "methods/all.h"
#include "methods/mle/report/report.h"
#include "methods/mle/report/statements.h"
#include "report/progress.h"
#include "report/result_json.h"

namespace partita::cli {
namespace {

using methods::mle::MleResult;

struct RefitCommand {
  std::string result, analysis, html, csv, output;
  SemModelSpec spec;
};

std::string RefitNote(const report::StoredResult& stored, const MleResult& source) {
  std::string note = fmt::format(
      "Fitted again by partita study refit, to the moments that study '{}' released to {} for its "
      "analysis '{}' (run {}, {}): nothing more was released, and nobody else took part.",
      stored.plan.study, stored.facts.party, methods::mle::AnalysisName(source),
      stored.facts.run_id, stored.facts.started_at);
  if (source.robust) note += " Robust standard errors need the rows: these are the ordinary ones.";
  return note;
}

// The analysis whose moments are fitted.
const MleResult& SourceOf(std::span<const MleResult> analyses, const std::string& name) {
  std::string names;
  for (const MleResult& analysis : analyses) {
    if (methods::mle::AnalysisName(analysis) == name || (name.empty() && analyses.size() == 1))
      return analysis;
    names += (names.empty() ? "" : ", ") + methods::mle::AnalysisName(analysis);
  }
  if (names.empty()) {
    throw Error(ErrorCode::kBadInput, "this is no result of method mle",
                "results of other methods are not made of moments that could be fitted again");
  }
  throw Error(ErrorCode::kUsage, "the result has several analyses",
              fmt::format("say --analysis with one of {}", names));
}

int RunRefit(const OutputOptions& output, const RefitCommand& command) {
  report::StoredResult stored = report::LoadResultJson(command.result, methods::ReadResult);
  const MleResult& source =
      SourceOf(methods::mle::AnalysesOf(stored.result.get()), command.analysis);
  SemModelSpec spec = command.spec;
  spec.name = std::filesystem::path(spec.file).stem().string();
  if (spec.function.empty()) spec.function = source.function;
  report::TerminalProgress progress(std::cerr, report::DetectProgressStyle(STDERR_FILENO), "",
                                    &Interrupted());
  MleResult fitted = FitModelFile(spec, methods::mle::MomentsOf(source), progress);
  progress.Finish();
  fitted.notes.insert(fitted.notes.begin(), RefitNote(stored, source));
  // What the run said of its own fit.
  stored.facts.history.clear();
  stored.facts.digits_of_agreement.reset();
  const methods::mle::MleReport refit({std::move(fitted)});
  const std::string json = refit.Json(stored.plan, stored.facts);
  if (!command.output.empty()) WriteFileAtomically(command.output, json);
  if (!command.html.empty())
    WriteFileAtomically(command.html, refit.Html(stored.plan, stored.facts));
  if (!command.csv.empty()) WriteFileAtomically(command.csv, *refit.Csv());
  const bool converged = refit.ending() == study::Ending::kConverged;
  PrintResult(output, refit.Text(stored.plan, stored.facts), json,
              converged ? "done" : std::string(study::EndingName(refit.ending())));
  return converged ? kDone : kNotConverged;
}

}  // namespace

void AddRefitCommand(CLI::App& study, Invocation& invocation) {
  auto options = std::make_shared<RefitCommand>();
  options->spec.function.clear();
  CLI::App* command = AddCommand(
      &study, "refit", "study refit",
      "Fit another model to the moments that a study released, without another release", invocation,
      [&invocation, options] { return RunRefit(invocation.output, *options); });
  command->add_option("RESULT", options->result, "The receiver's result.json")->required();
  command->add_option("--model", options->spec.file, "Text of the model in lavaan's syntax")
      ->required();
  command->add_option("--analysis", options->analysis,
                      "Whose moments, where the study has several analyses");
  command->add_option("--function", options->spec.function,
                      "cfa, sem, growth, lavaan, regression, path, mediation, saturated or pca "
                      "(default: that of the analysis)");
  command
      ->add_option("--group-equal", options->spec.group_equal,
                   "What is equal in all groups: loadings,intercepts,residuals,...")
      ->delimiter(',');
  command->add_flag("--std-lv", options->spec.std_lv,
                    "Latent variances 1 instead of first loadings");
  AddNewFile(*command, invocation, "--output", options->output, "Write the new result.json here");
  AddNewFile(*command, invocation, "--html", options->html,
             "Write the report as a page to this file");
  AddNewFile(*command, invocation, "--csv", options->csv,
             "Write the estimates as a table to this file");
}

}  // namespace partita::cli
