// What the plan says of method `glm`.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "methods/glm/aggregates.h"
#include "methods/glm/document.h"
#include "methods/glm/hidden.h"
#include "methods/glm/read_errors.h"
#include "methods/glm/sealed/fitter.h"
#include "methods/glm/sealed/plan_clusters.h"
#include "methods/glm/study.h"
#include "run/method/covariate_table.h"
#include "run/method/plan_privacy.h"
#include "run/method/sum_columns.h"

namespace partita::methods::glm {
namespace {

constexpr size_t kNumberBytes = 32;  // of coefficients.csv, at most
constexpr size_t kColumnsOfCsv = 10;
constexpr uint64_t kNumbersOfMean = 96, kNumbersOfBins = 130, kNumbersOfCut = 8,
                   kNumbersOfScore = 12;
// Of level sealed, for a row and evaluation, and of risk groups for a row (bench/glm_sealed_bench.cc).
constexpr double kSecondsOfMean = 2.2e-6, kSecondsOfColumn = 6e-8, kSecondsOfRisk = 1e-5;
// Once, for a row and value of the clusters' variable.
constexpr double kSecondsOfMember = 2.5e-7;
// Once, for a value at one holder and column.
constexpr double kSecondsOfScore = 2e-6;
constexpr double kTimesByShamir = 16;

std::string ModelText(const GlmStudy& study) {
  const Spec& spec = study.task.spec;
  std::string text =
      fmt::format("{} (family {}, link {}), {} columns", spec.formula, FamilyName(spec.law),
                  LinkName(spec.law.link), spec.columns.size());
  if (HasMoreParameters(spec.law)) text += fmt::format(", {} coefficients", spec.parameters.size());
  if (!spec.weights.empty())
    text += fmt::format(", {} {}", WeightsName(spec.weights_kind), spec.weights);
  if (spec.sites > 0) text += ", an intercept for each holder";
  if (spec.ridge > 0) text += fmt::format(", ridge {:g}", spec.ridge);
  if (spec.firth) text += ", Firth's penalty";
  if (!spec.lasso.empty()) text += fmt::format(", lasso of {} penalties", spec.lasso.size());
  if (spec.clustered()) return text + fmt::format(", errors of the clusters of {}", spec.cluster);
  return spec.robust() ? text + ", robust errors" : text;
}

// By row, of what is compared of each value of the clusters' variable: rows without each group, and scores.
uint64_t NumbersOfClusters(const GlmStudy& study) {
  if (!study.task.spec.seals_clusters()) return 0;
  const uint64_t values = study.layout.cluster_values * NumClusterHolders(study),
                 groups = study.layout.groups.size(), sets = groups > 1 ? groups + 1 : 1,
                 numbers =
                     values * (sets * kNumbersOfCut + study.task.num_columns() * kNumbersOfScore),
                 rows = study.layout.rows();
  return (numbers + rows - 1) / rows;
}

std::string FitText(const Task& task) {
  const Spec& spec = task.spec;
  std::string errors = fmt::format(
      "whether the fit converged, the number of rows{}{}, and if it converged {} "
      "standard errors on a grid of 2^-{} of themselves",
      spec.law.binary ? " and of events" : "", spec.clustered() ? " and of clusters" : "",
      spec.parameters.size(), task.grid_bits);
  if (spec.covariance) {
    errors = fmt::format(
        "whether the fit converged, the number of rows{}{}, and if it converged the covariance "
        "matrix "
        "of {} coefficients, {} numbers in steps of the products of two standard errors' grids "
        "(2^-{} "
        "of a standard error), with the exponents of the grids",
        spec.law.binary ? " and of events" : "", spec.clustered() ? " and of clusters" : "",
        spec.parameters.size(), NumErrors(task), task.grid_bits);
  }
  if (spec.sealed) {
    errors = fmt::format(
        "whether the fit converged, the number of rows{}{}, and if it converged {} coefficients "
        "and "
        "their standard errors on a grid of 2^-{} of the standard errors, with the exponents of "
        "the "
        "grids",
        spec.law.binary ? " and of events" : "", spec.clustered() ? " and of clusters" : "",
        spec.parameters.size(), task.grid_bits);
  }
  if (task.hidden_rows) {
    errors = fmt::format(
        "the number of rows, whether the fit converged, no checked count is small and no column "
        "follows from others, and if so{} {} coefficients and their standard errors on a grid of "
        "2^-{} of the standard errors, with the exponents of the grids",
        spec.law.binary ? " the number of events," : "", spec.parameters.size(), task.grid_bits);
  }
  if (!spec.terms.empty()) {
    errors += fmt::format(", {} Wald statistic{} of terms of several columns on one of 2^-{}",
                          spec.terms.size(), spec.terms.size() == 1 ? "" : "s", task.grid_bits);
  }
  if (!spec.cuts.empty()) {
    errors += fmt::format(
        ", of {} groups by predicted probability rows, events and expected events if each cell has "
        "none or min_cell, the area under the curve with its error",
        spec.cuts.size() + 1);
  }
  if (NumTotals(spec) == 0) return errors;
  return fmt::format(
      "{} and the fit (deviances, {}constants of the likelihood: {} in all) on one of 2^-{}",
      errors, HasPearson(spec.law) ? "Pearson's sum, " : "", NumTotals(spec), task.grid_bits);
}

std::vector<mpc::Release> ReleasesOfSums(const GlmStudy& study, const Task& task) {
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
       fmt::format(
           "the number of rows{}{}{}", task.spec.law.binary ? " and of events" : "",
           task.spec.clustered() ? " and of clusters" : "",
           task.spec.cuts.empty()
               ? ""
               : fmt::format("; of {} groups by predicted probability at the last point rows, "
                             "events and expected events if each cell has none or min_cell, "
                             "the area under the curve with its error",
                             task.spec.cuts.size() + 1)),
       ToldName(study), "exact", 1, task.to, NumFitCounts(task)}};
}

std::vector<mpc::Release> ReleasesOfTask(const GlmStudy& study, const Task& task) {
  const size_t p = task.num_columns();
  const auto steps = static_cast<uint64_t>(task.spec.steps);
  if (task.spec.aggregates) return ReleasesOfSums(study, task);
  if (task.hidden_rows) {
    return {{kDisclosureRelease, "whether there are enough rows", "all", "exact", 1,
             mpc::kEverybody, NumChecks(task)},
            {kFitRelease, FitText(task), ToldName(study), "exact", 1, task.to, NumSealedFit(task)}};
  }
  if (task.spec.sealed) {
    return {{kDisclosureRelease, "one bit for each count that is checked", "all", "exact", 1,
             mpc::kEverybody, NumChecks(task)},
            {kIndependenceRelease, "which columns follow from those before them", "all", "exact", 1,
             mpc::kEverybody, p},
            {kFitRelease, FitText(task), ToldName(study), "exact", 1, task.to, NumSealedFit(task)}};
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
          {kFitRelease, FitText(task), ToldName(study), "exact", 1, task.to, NumFit(task)}};
}

}  // namespace

const std::string& ToldName(const GlmStudy& study) {
  static const std::string all = "all";
  return study.task.to == mpc::kEverybody ? all : study.parties[study.receiver].name;
}

std::vector<mpc::Release> ReleasesOf(const GlmStudy& study) {
  std::vector<mpc::Release> releases = ReleasesOfTask(study, study.task);
  if (!study.smaller) return releases;
  // Counts are checked once.
  for (mpc::Release release : ReleasesOfTask(study, *study.smaller)) {
    if (release.id == kDisclosureRelease) continue;
    release.id = study.smaller->prefix + release.id;
    releases.push_back(std::move(release));
  }
  return releases;
}

void GlmStudy::Describe(study::Plan& plan) const {
  const Spec& spec = task.spec;
  const std::string& name = Analysis().name;
  const bool lacking = file.design.missing != study::MissingPolicy::kRefuse;
  plan.analyses.push_back(
      {name, task.spec.level(), ModelText(*this),
       run::RowsText(*this, Analysis().subset, lacking ? "that lack no variable of it" : ""),
       task.num_columns()});
  const uint64_t least = LeastRows(task, file.disclosure.min_rows);
  plan.checks.push_back({name, "rows", fmt::format("at least {} rows", least), least, false});
  const uint64_t min_cell = file.disclosure.min_cell;
  for (const std::string& variable : checked) {
    plan.checks.push_back(
        {name, variable,
         fmt::format("each count of {}{} is 0 or at least {}{}", variable,
                     task.classes > 1 ? " with one outcome" : "", min_cell, BesideOwnText(*this)) +
             NotToldText(task),
         min_cell, false});
  }
  if (task.classes > 1) {
    plan.checks.push_back(
        {name, spec.outcome.name,
         fmt::format("at least {} rows with each outcome{}", min_cell, BesideOwnText(*this)) +
             NotToldText(task),
         min_cell, false});
  }
  if (spec.clustered()) {
    plan.checks.push_back(
        {name, spec.cluster, ClustersRule(task, min_cell, BesideOwnText(*this)), min_cell, false});
  }
  if (spec.seals_clusters())
    plan.checks.push_back({name, spec.cluster, LargestClusterRule(BesideOwnText(*this)), 0, false});
  if (ComparesWeights(spec))
    plan.checks.push_back({name, spec.weights, WeightsRule(*this), 0, false});
  if (!spec.cuts.empty()) {
    plan.checks.push_back(
        {name, "risk groups",
         fmt::format("rows with and without an event of each risk group are 0 or at least {}{}, "
                     "else the groups are withheld",
                     min_cell, BesideOwnText(*this)),
         min_cell, false});
  }
  plan.leakage_level = task.spec.level();
  run::AddNoBounds(*this, plan.privacy);
  if (spec.sealed) {
    plan.assumptions.emplace_back(
        "Nothing opens on the way: points, sums of rows and the choice of steps stay on shares. "
        "What "
        "the estimates say about single persons nothing limits (no differential privacy).");
    if (task.hidden_rows) plan.assumptions.push_back(HiddenText(*this));
    if (spec.clustered()) plan.assumptions.push_back(ClustersText(*this));
    if (!shared_blocks.empty()) {
      plan.assumptions.emplace_back(
          "A holder of some columns of a row knows these. Counts are checked over the rows of all "
          "and without each group of blocks of the same holders, not beside what such a holder "
          "knows of them, or of several groups. Several holders leave rows out together, and a "
          "holder's own machine compares only those that it leaves out itself with earlier ones: "
          "two studies with other conditions of another holder may differ by one person, whose "
          "outcome their counts then tell.");
    }
    if (!shared_blocks.empty() && !spec.cuts.empty()) {
      plan.assumptions.push_back(fmt::format(
          "Risk groups are counted where columns are split: whoever is told them ({}) and holds "
          "the outcome, or most of what a prediction is made of, may know of rows in which group "
          "they are, and takes these away. No min_cell is asked of what is left. Whoever of these "
          "holds the covariates (or an offset) knows each row's prediction to the grid of the "
          "estimates: two studies of the same rows with other cut points may differ by one "
          "person whom it can name, whose outcome their counts then tell, and a group without "
          "events, or of events alone, tells the outcome of all its rows.",
          ToldName(*this)));
    }
  } else if (spec.aggregates) {
    plan.assumptions.push_back(fmt::format(
        "Sums of all holders' rows open to {} at every point, never those of one holder. Whoever "
        "has "
        "them may compute how many rows have each combination of discrete covariates, and of "
        "continuous ones up to {} rows in principle ({} points of {} columns{}). {} computes the "
        "points from these sums and sends them to all; with points of its own choice it could "
        "single "
        "out rows.",
        ToldName(*this), RowsDetermined(task), spec.steps + 1, spec.parameters.size(),
        spec.robust() || HasMoreParameters(spec.law) || spec.copies()
            ? "; with robust errors, several levels or frequencies more, up to some times as many"
            : "",
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
  if (!spec.weights.empty() && !spec.copies()) {
    plan.assumptions.emplace_back(
        "Counts that are checked are of rows, whatever they weigh: of a level whose rows but one "
        "weigh "
        "next to nothing the estimates are about that row.");
  }
  if (task.input_bits > 0) {
    plan.notes.push_back(
        fmt::format("Columns over the largest magnitude of their bounds, and the outcome over the "
                    "half-width of its own, are rounded to 2^-{} before sums are formed.",
                    task.input_bits));
    if (task.input_bits <= data::kMostSumBits) plan.assumptions.emplace_back(run::kPushedSumsText);
  }
  if (spec.covariance) {
    plan.assumptions.push_back(
        fmt::format("Whoever is told the covariance matrix ({}) has the information of all rows at "
                    "the estimates, "
                    "rounded: about how many rows have each two levels of factors and 0/1 "
                    "variables, of products of these all levels of each two terms together, and "
                    "second moments of numbers. Each such count is checked as those of single "
                    "levels are.",
                    ToldName(*this)));
  }
  if (smaller) {
    std::string names;
    for (const std::string& term : spec.dropped) names += (names.empty() ? "" : ", ") + term;
    plan.assumptions.push_back(
        fmt::format("The model without {} is fit to the same rows as well, to test these terms: "
                    "what opens of the "
                    "model opens of that one, too.",
                    names));
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

uint64_t GlmStudy::NumbersPerRow() const {
  if (!task.spec.sealed) return 0;
  // Columns, what they are multiplied with, and a logistic function's bits and powers; indicators of bins
  // and of clusters.
  const uint64_t cuts = task.spec.cuts.size();
  return 2 * task.num_columns() + kNumbersOfMean + layout.cluster_values +
         (cuts == 0 ? 0 : kNumbersOfBins + cuts * kNumbersOfCut) + NumbersOfClusters(*this);
}

run::ComputeSeconds GlmStudy::Compute() const {
  if (!task.spec.sealed) return {};
  const auto p = static_cast<double>(task.num_columns());
  const double times = file.engine.name == "shamir" ? kTimesByShamir : 1;
  const double of_row = times * (kSecondsOfMean + p * kSecondsOfColumn);
  const double evaluations = task.spec.steps == 0 ? 1 : task.spec.steps + 2;
  const double of_risk = task.spec.cuts.empty() ? 0 : times * kSecondsOfRisk;
  const double of_clusters = static_cast<double>(layout.cluster_values) * kSecondsOfMember;
  const double scores = static_cast<double>(layout.cluster_values * NumClusterHolders(*this)) * p;
  return {static_cast<double>(layout.rows()) * (evaluations * of_row + of_risk + of_clusters) +
              scores * times * kSecondsOfScore,
          0};
}

std::vector<std::string> GlmStudy::FileNames() const {
  if (task.spec.terms.empty()) return {kCoefficientsFile};
  return {kCoefficientsFile, kTermsFile};
}

uint64_t GlmStudy::FileBytes() const {
  uint64_t bytes = kColumnsOfCsv * kNumberBytes;
  for (const Parameter& parameter : task.spec.parameters)
    bytes += 2 * parameter.name.size() + kColumnsOfCsv * kNumberBytes;
  for (const data::ModelTerm& term : task.spec.terms)
    bytes += 2 * term.name.size() + kColumnsOfCsv * kNumberBytes;
  return bytes;
}

}  // namespace partita::methods::glm
