// partita sem fit | anova | modindices | measures
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "base/text_table.h"
#include "cli/commands.h"
#include "cli/terminal/interrupt.h"
#include "cli/terminal/json.h"
#include "cli/tools/sem_models.h"
#include "methods/all.h"
#include "methods/mle/fit/comparison.h"
#include "methods/mle/report/json.h"
#include "methods/mle/report/report.h"
#include "methods/mle/report/sem_summary.h"
#include "report/cell_tables.h"
#include "report/document_json.h"
#include "report/numbers.h"
#include "report/progress.h"
#include "report/result_json.h"

namespace partita::cli {
namespace {

using methods::mle::MleResult;

constexpr size_t kShownIndices = 10;

struct SemCommand {
  std::vector<std::string> results, models, analyses;
  std::string moments;
  SemModelSpec spec;  // of every model
  bool invariance = false;
};

report::TerminalProgress MakeProgress() {
  return {std::cerr, report::DetectProgressStyle(STDERR_FILENO), "", &Interrupted()};
}

// Configural, metric, scalar and strict invariance: what is equal in all groups.
struct InvarianceStep {
  const char* name;
  std::vector<std::string> equal;
};
std::vector<InvarianceStep> InvarianceSteps() {
  return {{"configural", {}},
          {"metric", {"loadings"}},
          {"scalar", {"loadings", "intercepts"}},
          {"strict", {"loadings", "intercepts", "residuals"}}};
}

std::string Stem(const std::string& file) { return std::filesystem::path(file).stem().string(); }

std::vector<MleResult> FitModels(const SemCommand& command) {
  const methods::mle::NamedMoments moments =
      ReadMomentsFile(command.moments, command.analyses.empty() ? "" : command.analyses.front());
  report::TerminalProgress progress = MakeProgress();
  std::vector<MleResult> fitted;
  for (const std::string& model : command.models) {
    SemModelSpec spec = command.spec;
    spec.file = model;
    spec.name = Stem(model);
    if (!command.invariance) {
      fitted.push_back(FitModelFile(spec, moments, progress));
      continue;
    }
    if (moments.labels.size() < 2) {
      throw Error(ErrorCode::kUsage, "invariance is a question about groups, and there is one",
                  "give moments of two groups or more");
    }
    for (const InvarianceStep& step : InvarianceSteps()) {
      spec.name = step.name;
      spec.group_equal = step.equal;
      fitted.push_back(FitModelFile(spec, moments, progress));
    }
  }
  progress.Finish();
  return fitted;
}

bool IsWanted(const SemCommand& command, const std::string& name) {
  return command.analyses.empty() || std::find(command.analyses.begin(), command.analyses.end(),
                                               name) != command.analyses.end();
}

std::vector<MleResult> LoadAnalyses(const SemCommand& command) {
  std::vector<MleResult> loaded;
  for (const std::string& file : command.results) {
    const report::StoredResult stored = report::LoadResultJson(file, methods::ReadResult);
    for (const MleResult& result : methods::mle::AnalysesOf(stored.result.get())) {
      if (!IsWanted(command, result.name)) continue;
      loaded.push_back(result);
      if (command.results.size() > 1) loaded.back().name = file + ", " + result.name;
    }
  }
  if (!loaded.empty()) return loaded;
  throw Error(ErrorCode::kBadInput, "no analysis of these results has such a name",
              "leave out --analysis, or name an [[analysis]] of the study");
}

std::vector<MleResult> Models(const SemCommand& command) {
  if (command.results.empty() == command.moments.empty()) {
    throw Error(ErrorCode::kUsage, "give result files, or --moments with --model",
                "partita sem anova result.json, or partita sem anova --moments moments.json "
                "--model a.lav --model b.lav");
  }
  if (!command.results.empty()) return LoadAnalyses(command);
  if (command.models.empty()) {
    throw Error(ErrorCode::kUsage, "--moments without a model",
                "add --model FILE, a text in lavaan's syntax");
  }
  return FitModels(command);
}

// Chi-squares of fits that did not converge mean nothing.
void RequireConverged(const std::vector<MleResult>& models) {
  for (const MleResult& model : models) {
    if (model.fit.converged) continue;
    throw Error(ErrorCode::kBadInput, "the fit of '" + model.name + "' did not converge",
                "look at its warnings with partita sem fit or partita study report");
  }
}

// Nor do those of moments with noise, which they do not contain.
void RequireExact(const std::vector<MleResult>& models) {
  for (const MleResult& model : models) {
    if (!model.moments || !model.moments->noise) continue;
    throw Error(ErrorCode::kBadInput,
                "'" + model.name +
                    "' was fitted to moments that were released with noise, and differences of "
                    "chi-square do not contain the noise",
                "look at the estimates, whose standard errors contain it: partita sem fit");
  }
}

void RequireSameVariables(const std::vector<MleResult>& models) {
  const auto names = [](const MleResult& model) {
    return std::set<std::string>(model.table.observed.begin(), model.table.observed.end());
  };
  for (const MleResult& model : models) {
    if (names(model) == names(models.front())) continue;
    throw Error(
        ErrorCode::kBadInput,
        "'" + models.front().name + "' and '" + model.name + "' are models of different variables",
        "fix a path to zero (y ~ 0*x) instead of leaving its variable out");
  }
}

// ------------------------------------------------------------------------------------- run

int RunFit(const OutputOptions& output, const SemCommand& command) {
  const std::vector<MleResult> models = FitModels(command);
  std::string text;
  Json data = Json::array();
  bool converged = true;
  for (const MleResult& model : models) {
    text += (models.size() > 1 ? "Model " + model.name + "\n\n" : "") +
            methods::mle::SemSummary(model) + "\n";
    data.push_back(Json::parse(methods::mle::AnalysisResultJson(model)));
    converged = converged && model.fit.converged;
  }
  PrintResult(output, text, Json{{"models", data}}.dump(), converged ? "done" : "not-converged");
  return converged ? kDone : kNotConverged;
}

int RunAnova(const OutputOptions& output, const SemCommand& command) {
  const std::vector<MleResult> models = Models(command);
  RequireConverged(models);
  RequireExact(models);
  RequireSameVariables(models);
  std::vector<stats::ComparedModel> compared;
  for (const MleResult& model : models) compared.push_back(methods::mle::ComparedModelOf(model));
  const CellTable table = methods::mle::ComparisonTable(stats::CompareNested(std::move(compared)));
  PrintResult(output,
              report::CellTableText(table) + "\n" +
                  WrapText("Each model is tested against the one above it. That it is nested in "
                           "that one, and fitted to the same rows, is for you to know: only the "
                           "numbers of rows and the variables were compared.",
                           2),
              Json{{"comparison", report::CellTableJson(table)}}.dump());
  return kDone;
}

std::vector<CellTable> StoredIndices(const std::vector<MleResult>& models) {
  std::vector<CellTable> tables;
  for (const MleResult& model : models) {
    for (const CellTable& table : model.tables) {
      if (table.title != methods::mle::kModificationTitle) continue;
      tables.push_back(table);
      if (models.size() > 1) tables.back().title += " of " + model.name;
    }
  }
  if (!tables.empty()) return tables;
  throw Error(ErrorCode::kBadInput, "these results have no modification indices",
              "they need the moments: say modification_indices = true in the [[analysis]] before "
              "the run");
}

int RunModindices(const OutputOptions& output, SemCommand command, size_t most) {
  command.spec.modification_indices = true;
  const std::vector<MleResult> models = Models(command);
  if (command.results.empty()) {
    RequireConverged(models);
    RequireExact(models);
  }
  std::string text;
  Json data = Json::array();
  for (CellTable table : StoredIndices(models)) {
    data.push_back(report::CellTableJson(table));
    if (table.rows.size() > most) table.rows.resize(most);
    text += report::CellTableText(table);
  }
  PrintResult(output, text, Json{{"tables", data}}.dump());
  return kDone;
}

int RunMeasures(const OutputOptions& output, const SemCommand& command) {
  CellTable table{"", {"measure"}, {}};
  std::set<std::string> names;
  std::vector<std::map<std::string, double>> measures;
  for (const MleResult& model : Models(command)) {
    table.columns.push_back(model.name);
    measures.push_back(model.fit.fit_measures);
    if (model.robust)
      measures.back().insert(model.robust->fit_measures.begin(), model.robust->fit_measures.end());
    for (const auto& [name, value] : measures.back()) names.insert(name);
  }
  for (const std::string& name : names) {
    std::vector<TableCell> row = {name};
    for (const auto& of_model : measures) {
      const auto found = of_model.find(name);
      row.emplace_back(found == of_model.end() ? std::numeric_limits<double>::quiet_NaN()
                                               : found->second);
    }
    table.rows.push_back(std::move(row));
  }
  PrintResult(output, report::CellTableText(table),
              Json{{"measures", report::CellTableJson(table)}}.dump());
  return kDone;
}

// ------------------------------------------------------------------------------- registering

void AddModelOptions(CLI::App& command, SemCommand& options) {
  command.add_option("--moments", options.moments,
                     "Means and covariances in a JSON file, or a result.json that has them "
                     "(docs/sem-commands.md)");
  command.add_option("--model", options.models, "Text of a model in lavaan's syntax; repeatable");
  command
      .add_option("--function", options.spec.function,
                  "cfa, sem, growth, lavaan, regression, path, mediation, saturated or pca")
      ->capture_default_str();
  command
      .add_option("--group-equal", options.spec.group_equal,
                  "What is equal in all groups: loadings,intercepts,residuals,...")
      ->delimiter(',');
  command.add_flag("--std-lv", options.spec.std_lv, "Latent variances 1 instead of first loadings");
}

void AddResultOptions(CLI::App& command, SemCommand& options) {
  command.add_option("RESULT", options.results, "result.json of studies");
  command.add_option("--analysis", options.analyses, "Only the analyses of these names");
  AddModelOptions(command, options);
}

CLI::App* AddSem(CLI::App& sem, Invocation& invocation, const std::string& name,
                 const std::string& description) {
  CLI::App* command = sem.add_subcommand(name, description);
  AddOutputOptions(*command, invocation, "sem " + name);
  return command;
}

void AddFit(CLI::App& sem, Invocation& invocation) {
  auto options = std::make_shared<SemCommand>();
  CLI::App* fit = AddSem(sem, invocation, "fit", "Fit models to means and covariances in a file");
  AddModelOptions(*fit, *options);
  fit->get_option("--moments")->required();
  fit->get_option("--model")->required();
  fit->add_option("--analysis", options->analyses,
                  "Whose moments, where the file has several analyses")
      ->expected(1);
  fit->add_option("--bootstrap", options->spec.bootstrap,
                  "Samples of the fitted model, for intervals of := rows")
      ->check(CLI::Range(100, 100000));
  fit->callback([&invocation, options] {
    invocation.run = [&invocation, options] { return RunFit(invocation.output, *options); };
  });
}

void AddAnova(CLI::App& sem, Invocation& invocation) {
  auto options = std::make_shared<SemCommand>();
  CLI::App* anova = AddSem(sem, invocation, "anova",
                           "Test nested models against each other by differences of chi-square");
  AddResultOptions(*anova, *options);
  anova->add_flag("--invariance", options->invariance,
                  "Of one model and moments of groups: configural, metric, scalar, strict");
  anova->callback([&invocation, options] {
    invocation.run = [&invocation, options] { return RunAnova(invocation.output, *options); };
  });
}

void AddModindices(CLI::App& sem, Invocation& invocation) {
  auto options = std::make_shared<SemCommand>();
  auto most = std::make_shared<size_t>(kShownIndices);
  CLI::App* modindices =
      AddSem(sem, invocation, "modindices",
             "By how much chi-square would fall about if a fixed parameter were free");
  AddResultOptions(*modindices, *options);
  modindices->add_option("--top", *most, "Show so many in text; JSON has all")
      ->check(CLI::Range(1, 100000))
      ->capture_default_str();
  modindices->callback([&invocation, options, most] {
    invocation.run = [&invocation, options, most] {
      return RunModindices(invocation.output, *options, *most);
    };
  });
}

void AddMeasures(CLI::App& sem, Invocation& invocation) {
  auto options = std::make_shared<SemCommand>();
  CLI::App* measures =
      AddSem(sem, invocation, "measures", "All fit measures of models, side by side");
  AddResultOptions(*measures, *options);
  measures->callback([&invocation, options] {
    invocation.run = [&invocation, options] { return RunMeasures(invocation.output, *options); };
  });
}

}  // namespace

void AddSemCommands(CLI::App& app, Invocation& invocation) {
  CLI::App* sem = app.add_subcommand(
      "sem", "Compare and examine fitted models, and fit models to moments in a file");
  sem->require_subcommand(1);
  AddFit(*sem, invocation);
  AddAnova(*sem, invocation);
  AddModindices(*sem, invocation);
  AddMeasures(*sem, invocation);
}

}  // namespace partita::cli
