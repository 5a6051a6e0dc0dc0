// What the plan says of method `glm`.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "methods/glm/aggregates.h"
#include "methods/glm/document.h"
#include "methods/glm/read_errors.h"
#include "methods/glm/sealed/fitter.h"
#include "methods/glm/study.h"
#include "privacy/release_rule.h"
#include "run/method/covariate_table.h"
#include "run/method/plan_privacy.h"

namespace partita::methods::glm {
namespace {

// What is open on the way: nothing, the points, or the sums as well.
const char* LevelOf(const GlmStudy& study) { return study.task.spec.level(); }

constexpr size_t kNumberBytes = 32;  // of coefficients.csv, at most
constexpr size_t kColumnsOfCsv = 10;
constexpr uint64_t kNumbersOfMean = 96;
// Of level sealed, for a row and evaluation (bench/glm_bench.cc).
constexpr double kSecondsOfMean = 2.2e-6, kSecondsOfColumn = 6e-8, kTimesByShamir = 16;

std::string ModelText(const GlmStudy& study) {
  const Spec& spec = study.task.spec;
  std::string text =
      fmt::format("{} (family {}, link {}), {} columns", spec.formula, FamilyName(spec.law),
                  LinkName(spec.law.link), spec.columns.size());
  if (!spec.weights.empty())
    text += fmt::format(", {} {}", WeightsName(spec.weights_kind), spec.weights);
  if (spec.sites > 0) text += ", an intercept for each holder";
  if (spec.ridge > 0) text += fmt::format(", ridge {:g}", spec.ridge);
  if (spec.clustered()) return text + fmt::format(", errors of the clusters of {}", spec.cluster);
  return spec.robust() ? text + ", robust errors" : text;
}

std::string FitText(const GlmStudy& study) {
  const Spec& spec = study.task.spec;
  std::string errors = fmt::format(
      "whether the fit converged, the number of rows{}{}, and if it converged {} "
      "standard errors on a grid of 2^-{} of themselves",
      spec.law.binary ? " and of events" : "", spec.clustered() ? " and of clusters" : "",
      spec.columns.size(), study.task.grid_bits);
  if (spec.sealed) {
    errors = fmt::format(
        "whether the fit converged, the number of rows{}, and if it converged {} coefficients and "
        "their standard errors on a grid of 2^-{} of the standard errors, with the exponents of "
        "the "
        "grids",
        spec.law.binary ? " and of events" : "", spec.columns.size(), study.task.grid_bits);
  }
  if (!spec.terms.empty()) {
    errors +=
        fmt::format(", {} Wald statistic{} of terms of several columns on one of 2^-{}",
                    spec.terms.size(), spec.terms.size() == 1 ? "" : "s", study.task.grid_bits);
  }
  if (NumTotals(spec) == 0) return errors;
  return fmt::format(
      "{} and the fit (deviances, constants of the likelihood: {} in all) on one of 2^-{}", errors,
      NumTotals(spec), study.task.grid_bits);
}

const std::string& ToldName(const GlmStudy& study) {
  static const std::string all = "all";
  return study.task.to == mpc::kEverybody ? all : study.parties[study.receiver].name;
}

}  // namespace

double IterateBits(const GlmStudy& study) {
  if (study.task.spec.sealed) return 0;
  if (study.task.spec.aggregates) {
    const auto points = static_cast<uint64_t>(study.task.spec.steps) + 1;
    return privacy::NumberBits(points * study.task.num_columns(), 0);
  }
  double bits = 0;
  for (int point = 0; point <= study.task.spec.steps; ++point)
    bits += privacy::NumberBits(study.task.num_columns(), study.task.GridBitsOf(point));
  return bits;
}

double OpenedBits(const GlmStudy& study) {
  const Task& task = study.task;
  double bits = IterateBits(study);
  if (task.spec.aggregates) {
    const auto points = static_cast<uint64_t>(task.spec.steps) + 1;
    bits += privacy::NumberBits(NumFirstSums(task) + points * NumSums(task), 0);
  } else {
    const size_t estimates = task.spec.sealed ? task.num_columns() : 0;
    bits += privacy::NumberBits(
        estimates + task.num_columns() + NumTotals(task.spec) + task.spec.terms.size(),
        task.grid_bits);
  }
  if (task.classes > 1) bits += privacy::CountBits(task.max_rows());
  if (task.spec.clustered()) bits += privacy::CountBits(task.max_rows());
  return bits;
}

study::PlanBits BitsOf(const GlmStudy& study, double opened) {
  const Spec& spec = study.task.spec;
  const bool weightless =
      !spec.weights.empty() && study.file.dictionary.Find(spec.weights)->lower == 0;
  const bool left_out = LeavesRowsOut(
      study, weightless || study.file.design.missing != study::MissingPolicy::kRefuse);
  run::PatternColumns columns = run::PatternColumnsOf(study, study.factors, spec.covariates);
  // Where all columns are split a holder may lack the outcome of each row. Where some blocks have one
  // holder their outcomes are not counted, as in studies of whole rows.
  const std::vector<data::Segment>& segments = study.partition.segments;
  if (std::all_of(segments.begin(), segments.end(),
                  [](const data::Segment& segment) { return segment.shared(); })) {
    const std::string source = run::SourceVariable(study, spec.outcome.name);
    if (const data::ColumnSchema* outcome = study.file.dictionary.Find(source))
      columns.emplace_back(source, spec.law.binary ? 1 : run::ValueBits(*outcome));
  }
  run::CovariateTable table{run::LeastUnknown(study, columns, left_out), spec.robust()};
  // Robust errors tell the rows of a pattern apart by outcome.
  for (privacy::UnknownRows& part : table.unknown) part.log2_patterns += spec.robust() ? 1 : 0;
  return run::BitsAgainst(opened, {table}, study.task.grid_bits);
}

std::vector<mpc::Release> ReleasesOfSums(const GlmStudy& study) {
  const Task& task = study.task;
  const size_t p = task.num_columns();
  const auto points = static_cast<uint64_t>(task.spec.steps) + 1;
  return {
      {kDisclosureRelease, "one bit for each count that is checked", "all", "exact", 1,
       mpc::kEverybody, NumChecks(task)},
      {kFirstRelease, "information of all rows, and that times the holders' own estimates",
       ToldName(study), "exact", 1, task.to, NumFirstSums(task)},
      {kIndependenceRelease, "which columns follow from those before them", "all", "exact", 1,
       mpc::kEverybody, p},
      {kIteratesRelease, fmt::format("{} coefficients after every step, with all their digits", p),
       "all", "exact", points, mpc::kEverybody, p},
      {kSumsRelease,
       "score, information, deviance and what else the fit needs of all rows at every point, "
       "with all their digits",
       ToldName(study), "exact", points, task.to, NumSums(task)},
      {kFitRelease,
       fmt::format("the number of rows{}{}", task.classes > 1 ? " and of events" : "",
                   task.spec.clustered() ? " and of clusters" : ""),
       ToldName(study), "exact", 1, task.to, NumFitCounts(task)}};
}

std::vector<mpc::Release> ReleasesOf(const GlmStudy& study) {
  const Task& task = study.task;
  const size_t p = task.num_columns();
  const auto steps = static_cast<uint64_t>(task.spec.steps);
  if (task.spec.aggregates) return ReleasesOfSums(study);
  if (task.spec.sealed) {
    return {
        {kDisclosureRelease, "one bit for each count that is checked", "all", "exact", 1,
         mpc::kEverybody, NumChecks(task)},
        {kIndependenceRelease, "which columns follow from those before them", "all", "exact", 1,
         mpc::kEverybody, p},
        {kFitRelease, FitText(study), ToldName(study), "exact", 1, task.to, NumSealedFit(task)}};
  }
  return {{kDisclosureRelease, "one bit for each count that is checked", "all", "exact", 1,
           mpc::kEverybody, NumChecks(task)},
          {kIndependenceRelease, "which columns follow from those before them", "all", "exact", 1,
           mpc::kEverybody, p},
          {kIteratesRelease,
           fmt::format("{} coefficients on the way: the first on a grid of 2^-{} of their standard "
                       "errors, then of 2^-{}, with the exponents of the grids",
                       p, task.GridBitsOf(0), task.GridBitsOf(1)),
           "all", "exact", steps, mpc::kEverybody, NumIterate(task)},
          {kEstimatesRelease,
           fmt::format("{} coefficients after the last step on a grid of 2^-{} of their standard "
                       "errors, with the exponents of the grids",
                       p, task.grid_bits),
           "all", "exact", 1, mpc::kEverybody, NumIterate(task)},
          {kFitRelease, FitText(study), ToldName(study), "exact", 1, task.to, NumFit(task)}};
}

void GlmStudy::Describe(study::Plan& plan) const {
  const Spec& spec = task.spec;
  const std::string& name = Analysis().name;
  const bool lacking = file.design.missing != study::MissingPolicy::kRefuse;
  plan.analyses.push_back(
      {name, LevelOf(*this), ModelText(*this),
       run::RowsText(*this, Analysis().subset, lacking ? "that lack no variable of it" : ""),
       task.num_columns()});
  const uint64_t least = LeastRows(task, file.disclosure.min_rows);
  plan.checks.push_back({name, "rows", fmt::format("at least {} rows", least), least, false});
  const uint64_t min_cell = file.disclosure.min_cell;
  for (const std::string& variable : checked) {
    plan.checks.push_back(
        {name, variable,
         fmt::format("each count of {}{} is 0 or at least {}{}", variable,
                     task.classes > 1 ? " with one outcome" : "", min_cell, BesideOwnText(*this)),
         min_cell, false});
  }
  if (task.classes > 1) {
    plan.checks.push_back(
        {name, spec.outcome.name,
         fmt::format("at least {} rows with each outcome{}", min_cell, BesideOwnText(*this)),
         min_cell, false});
  }
  if (spec.clustered())
    plan.checks.push_back({name, spec.cluster, ClustersRule(task, min_cell), min_cell, false});
  if (ComparesWeights(spec)) plan.checks.push_back({name, spec.weights, kWeightsRule, 0, false});
  plan.leakage_level = LevelOf(*this);
  plan.privacy.push_back(
      {"every party but a dealer", "",
       "no bound: the releases are exact, and nothing limits what they say about one person"});
  run::AddEngineBounds(*this, plan.privacy);
  if (spec.sealed) {
    plan.assumptions.emplace_back(
        "Nothing opens on the way: points, sums of rows and the choice of steps stay on shares. "
        "What "
        "the estimates say about single persons nothing limits (no differential privacy).");
    if (!shared_blocks.empty()) {
      plan.assumptions.emplace_back(
          "A holder of some columns of a row knows these. Counts are checked over the rows of all "
          "and without each group of blocks of the same holders, not beside what such a holder "
          "knows of them, or of several groups. Several holders leave rows out together, and a "
          "holder's own machine compares only those that it leaves out itself with earlier ones: "
          "two studies with other conditions of another holder may differ by one person, whose "
          "outcome their counts then tell.");
    }
  } else if (spec.aggregates) {
    plan.assumptions.push_back(fmt::format(
        "Sums of all holders' rows open to {} at every point, never those of one holder. Whoever "
        "has "
        "them may compute how many rows have each combination of discrete covariates, and of "
        "continuous ones up to {} rows in principle ({} points of {} columns). {} computes the "
        "points from these sums and sends them to all; with points of its own choice it could "
        "single "
        "out rows.",
        ToldName(*this), RowsDetermined(task), spec.steps + 1, spec.columns.size(),
        parties[receiver].name));
  } else {
    plan.assumptions.emplace_back(
        "Sums of rows, of one holder or of all, open to nobody: score and information stay on "
        "shares, "
        "and each step is solved there. The coefficients after every step open to all computing "
        "parties, rounded, whoever is told the rest. Nothing limits what they say about single "
        "persons "
        "(no differential privacy).");
  }
  plan.assumptions.emplace_back(
      "The checks are of this model alone. Models of other columns or rows can be compared with "
      "it, "
      "and no min_cell is asked of the differences: a holder's own machine refuses rows that "
      "differ "
      "from earlier ones by few, not other terms over the same rows.");
  if (spec.law.family == stats::glm::Family::kBinomial && spec.intercept && !spec.offsets.empty()) {
    plan.notes.emplace_back(
        "The null deviance is left out: with an offset it needs a fit of its own.");
  }
  plan.notes.push_back(
      fmt::format("The coefficients are also written as {}{}.", kCoefficientsFile,
                  spec.terms.empty() ? "" : fmt::format(", the tests of terms as {}", kTermsFile)));
}

std::vector<std::string> GlmStudy::Warnings() const {
  if (task.spec.aggregates || task.grid_bits == file.release.grid_bits) return {};
  return {
      fmt::format("The estimates open on a grid of 2^-{} of their standard errors, so that "
                  "they tell at most half of the bits of the {}.",
                  task.grid_bits, run::kTableOfCovariates)};
}

std::vector<std::string> GlmStudy::AlsoLearns(size_t /*party*/) const { return {}; }

std::vector<study::PlanExposure> GlmStudy::Exposures() const {
  const uint64_t p = task.num_columns();
  const uint64_t points = task.spec.sealed ? 1 : static_cast<uint64_t>(task.spec.steps) + 1;
  // Score, information, of robust errors the meat, and deviance at every point.
  const uint64_t meat = task.spec.robust() ? p * (p + 1) / 2 : 0;
  const uint64_t statistics = points * (p * (p + 3) / 2 + meat + 1);
  study::PlanExposure path;
  path.of = task.spec.aggregates ? kIteratesRelease
                                 : fmt::format("{} and {}", kIteratesRelease, kEstimatesRelease);
  path.to = "all";
  if (!task.spec.sealed) path.opened = points * (task.spec.aggregates ? p : NumIterate(task));
  path.statistics = statistics;
  path.level = LevelOf(*this);
  path.bits = BitsOf(*this, IterateBits(*this));
  study::PlanExposure all;
  all.of = "all releases of this study";
  all.to = ToldName(*this);
  all.opened = path.opened + (task.spec.aggregates
                                  ? NumFirstSums(task) + points * NumSums(task) + NumFitCounts(task)
                              : task.spec.sealed ? NumSealedFit(task)
                                                 : NumFit(task));
  all.statistics = statistics;
  all.level = LevelOf(*this);
  if (task.classes > 1)
    all.exposes = {fmt::format(
        "the exact number of rows where {} is {}", task.spec.outcome.name,
        task.spec.outcome.levels ? factors.Find(task.spec.outcome.name)->levels.back() : "1")};
  if (task.spec.clustered())
    all.exposes.push_back(fmt::format("the exact number of clusters of {}", task.spec.cluster));
  all.bits = BitsOf(*this, OpenedBits(*this));
  if (task.spec.sealed) return {all};
  return {path, all};
}

uint64_t GlmStudy::NumbersPerRow() const {
  // Columns, what they are multiplied with, and a logistic function's bits and powers.
  return task.spec.sealed ? 2 * task.num_columns() + kNumbersOfMean : 0;
}

run::ComputeSeconds GlmStudy::Compute() const {
  if (!task.spec.sealed) return {};
  const auto p = static_cast<double>(task.num_columns());
  const double times = file.engine.name == "shamir" ? kTimesByShamir : 1;
  const double of_row = times * (kSecondsOfMean + p * kSecondsOfColumn);
  const double evaluations = task.spec.steps == 0 ? 1 : task.spec.steps + 2;
  return {evaluations * static_cast<double>(task.max_rows()) * of_row, 0};
}

std::vector<std::string> GlmStudy::FileNames() const {
  if (task.spec.terms.empty()) return {kCoefficientsFile};
  return {kCoefficientsFile, kTermsFile};
}

uint64_t GlmStudy::FileBytes() const {
  uint64_t bytes = kColumnsOfCsv * kNumberBytes;
  for (const data::ModelColumn& column : task.spec.columns)
    bytes += 2 * column.name.size() + kColumnsOfCsv * kNumberBytes;
  for (const data::ModelTerm& term : task.spec.terms)
    bytes += 2 * term.name.size() + kColumnsOfCsv * kNumberBytes;
  return bytes;
}

}  // namespace partita::methods::glm
