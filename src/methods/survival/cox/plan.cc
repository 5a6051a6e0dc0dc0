// What the plan says of a model of proportional hazards.
#include <fmt/format.h>

#include <algorithm>

#include "methods/survival/cox/document.h"
#include "methods/survival/cox/study.h"
#include "methods/survival/spec.h"
#include "privacy/release_rule.h"
#include "run/method/covariate_table.h"
#include "run/method/plan_privacy.h"

namespace partita::methods::survival {
namespace {

constexpr size_t kCoxNumberBytes = 32, kColumnsOfCox = 10;  // of coefficients.csv, at most

std::string ToldName(const CoxStudy& study) {
  return study.task.to == mpc::kEverybody ? "all" : study.parties[study.receiver].name;
}

std::string CoxModelText(const CoxSpec& spec) {
  std::string text =
      fmt::format("{}: Cox's proportional hazards, {} columns", spec.formula, spec.columns.size());
  if (spec.by_site) text += ", a baseline for each holder";
  if (spec.clustered()) return text + fmt::format(", errors of the clusters of {}", spec.cluster);
  return spec.robust ? text + ", robust standard errors" : text;
}

std::string ToldErrorsText(const CoxTask& task) {
  const char* kind = task.spec.robust ? "robust " : "";
  if (!task.spec.covariance) {
    return fmt::format("{} {}standard errors on a grid of 2^-{} of themselves", task.num_columns(),
                       kind, task.grid_bits);
  }
  return fmt::format(
      "the {}covariance matrix of {} log hazard ratios, {} numbers in steps of the products of two "
      "standard errors' grids (2^-{} of a standard error), with the exponents of the grids,",
      kind, task.num_columns(), task.num_errors(), task.grid_bits);
}

std::string ReportTimesText(const CoxSpec& spec) {
  std::string text;
  for (const size_t cell : spec.report)
    text += (text.empty() ? "" : ", ") + fmt::format("{:g}", spec.grid.End(cell));
  return text;
}

std::string HazardText(const CoxTask& task) {
  const CoxSpec& spec = task.spec;
  if (spec.report.empty()) return "";
  return fmt::format(
      "; {}the logarithm of the cumulative hazard at {} {} on a grid of 2^-{} of 1 / sqrt(events "
      "up "
      "to then), with the exponents of the grids, and whether it opens",
      spec.stratum.empty() ? "" : "of every stratum ", spec.outcome.time_column,
      ReportTimesText(spec), task.grid_bits);
}

}  // namespace

std::string CoxClustersRule(const CoxTask& task, uint64_t min_cell) {
  return fmt::format("at least {} clusters, and min_cell = {} also without each holder's own rows",
                     std::max<uint64_t>(task.num_columns() + 1, min_cell), min_cell);
}

std::string CoxOwnRowsText(const CoxTask& task) {
  return task.spec.covariance && task.spec.by_site ? ", and of these, as each holder is a stratum"
                                                   : "";
}

std::string TiesText(const CoxSpec& spec) {
  return fmt::format("no cell of time has more than {} events (most_ties)", spec.most_ties);
}

double CoxIterateBits(const CoxStudy& study) {
  double bits = 0;
  for (int point = 1; point <= study.task.spec.steps; ++point)
    bits += privacy::NumberBits(study.task.num_columns(), study.task.GridBitsOf(point));
  return bits;
}

double CoxOpenedBits(const CoxStudy& study) {
  const CoxTask& task = study.task;
  return CoxIterateBits(study) +
         (task.spec.covariance
              ? privacy::NumberBits(task.num_errors(), mpc::CovarianceNumberBits(task.grid_bits))
              : privacy::NumberBits(task.num_errors(), task.grid_bits)) +
         privacy::NumberBits(task.num_totals(), task.grid_bits) +
         privacy::NumberBits(task.num_hazards(), task.grid_bits) +
         // The concordance is within [0, 2^kConcordanceLog2] on the grid of the others.
         (task.spec.concordance ? kConcordanceLog2 : 0) +
         (task.spec.clustered() ? 2 : 1) * privacy::CountBits(task.max_rows());
}

study::PlanBits CoxBits(const CoxStudy& study, double opened) {
  // Rows that enter and leave in one cell of time are never at risk: how many there are nobody declares.
  const bool left_out =
      !study.task.spec.entry.empty() ||
      LeavesRowsOut(study, study.file.design.missing != study::MissingPolicy::kRefuse);
  // Of the patterns without times and strata, which are fewer; of robust errors, which tell the rows of
  // a pattern apart by outcome, without these, too.
  const run::CovariateTable table{
      run::LeastUnknown(
          study, run::PatternColumnsOf(study, study.factors, study.task.spec.covariates), left_out),
      study.task.spec.robust};
  return run::BitsAgainst(opened, {table}, study.task.grid_bits);
}

std::vector<mpc::Release> CoxReleases(const CoxStudy& study) {
  const CoxTask& task = study.task;
  const size_t p = task.num_columns();
  const uint64_t point = 2 * p;
  return {{kCoxDisclosure, "one bit for each count that is checked", "all", "exact", 1,
           mpc::kEverybody, NumCoxChecks(task)},
          {kIndependence, "which columns follow from those before them", "all", "exact", 1,
           mpc::kEverybody, p},
          {kIterates,
           fmt::format("{} log hazard ratios on the way: the first two on grids of 2^-{} of their "
                       "standard errors, then of 2^-{}, with the exponents of the grids",
                       p, task.GridBitsOf(1), task.GridBitsOf(3)),
           "all", "exact", static_cast<uint64_t>(task.spec.steps) - 1, mpc::kEverybody, point},
          {kEstimatesRelease,
           fmt::format("{} log hazard ratios after the last step on a grid of 2^-{} of their "
                       "standard errors, with the exponents of the grids",
                       p, task.grid_bits),
           "all", "exact", 1, mpc::kEverybody, point},
          {kFitRelease,
           fmt::format("whether the fit converged, the numbers of rows{} and of events, and if it "
                       "converged {} and two partial log-likelihoods, the score test and "
                       "Wald's{}{}{} on one of 2^-{}{}",
                       task.spec.clustered() ? ", of clusters" : "", ToldErrorsText(task),
                       task.spec.robust ? " (or that there is none)" : "",
                       task.spec.proportional ? " and tests of proportional hazards" : "",
                       task.spec.concordance ? " and the concordance times 16" : "", task.grid_bits,
                       HazardText(task)),
           ToldName(study), "exact", 1, task.to, task.num_of_fit()}};
}

void CoxStudy::Describe(study::Plan& plan) const {
  const CoxSpec& spec = task.spec;
  const std::string& name = Analysis().name;
  std::string that;
  if (file.design.missing != study::MissingPolicy::kRefuse) that = "that lack no variable of it";
  if (!spec.entry.empty())
    that += (that.empty() ? "" : " and ") + std::string("that enter before the cell of their time");
  plan.analyses.push_back({name, kCoxProtocol, CoxModelText(spec),
                           run::RowsText(*this, Analysis().subset, that), task.num_columns()});
  const uint64_t least = LeastCoxRows(task, file.disclosure.min_rows);
  plan.checks.push_back({name, "rows", fmt::format("at least {} rows", least), least, false});
  const uint64_t min_cell = file.disclosure.min_cell;
  for (const std::string& variable : checked) {
    plan.checks.push_back(
        {name, variable,
         fmt::format(
             "each count of {} with the event and without is 0 or at least {}, also without "
             "each holder's own rows{}",
             variable, min_cell, CoxOwnRowsText(task)),
         min_cell, false});
  }
  if (spec.clustered()) {
    plan.checks.push_back({name, spec.cluster, CoxClustersRule(task, min_cell), min_cell, false});
    plan.notes.push_back(fmt::format(
        "Rows with the same {} may depend on each other; a cluster lies within one holder: equal "
        "values at two holders are two clusters.",
        spec.cluster));
  }
  plan.checks.push_back(
      {name, spec.outcome.name,
       fmt::format("at least {} events and as many rows without one, also without "
                   "each holder's own rows",
                   min_cell),
       min_cell, false});
  if (!spec.report.empty()) {
    plan.checks.push_back(
        {name, spec.outcome.name,
         fmt::format("between two report times the events, the rows that leave without one{}, and "
                     "after the last all that leave{}{} are 0 or at least {}, also without each "
                     "holder's own rows; else no cumulative hazard opens",
                     spec.entry.empty() ? "" : " and those that enter",
                     spec.entry.empty() ? "" : " and all that enter",
                     spec.stratum.empty() ? "" : " of each stratum", min_cell),
         min_cell, true});
  }
  if (spec.most_ties > 1) {
    plan.checks.push_back({name, spec.outcome.name, TiesText(spec), spec.most_ties, false});
  }
  plan.leakage_level = kCoxProtocol;
  run::AddNoBounds(*this, plan.privacy);
  plan.assumptions.emplace_back(
      "Sums of rows, of one holder or of all, open to nobody, nor does who is at risk at any time: "
      "sums by time are persons, as the difference of two of them is who leaves in between. The "
      "coefficients after every step open to all computing parties, rounded, whoever is told the "
      "rest. Nothing limits what they say about single persons (no differential privacy).");
  if (spec.covariance) {
    plan.assumptions.push_back(fmt::format(
        "Whoever is told the covariance matrix ({}) has the information of all rows at the "
        "estimates, rounded: about how many events the rows with each two levels of factors and "
        "0/1 variables were to have, which of few rows is how long they were followed, of products "
        "of these that of all levels of each two terms together, and second moments of numbers. "
        "Rows with such levels, with the event and without, are counted and checked as those of "
        "single levels are.",
        ToldName(*this)));
  }
  plan.assumptions.emplace_back(
      "The checks are of this model alone. Models of other columns or rows can be compared with "
      "it, "
      "and no min_cell is asked of the differences: a holder's own machine refuses rows that "
      "differ "
      "from earlier ones by few, not other terms over the same rows.");
  plan.notes.push_back(fmt::format(
      "Times count in {} cells of {:g}{}; times within a cell are tied, by {}.", spec.grid.cells,
      spec.grid.width, spec.outcome.unit.empty() ? "" : " " + spec.outcome.unit,
      spec.most_ties > 1 ? "Efron" : "Breslow"));
  plan.notes.push_back(fmt::format("The coefficients are also written as {}.", kCoxFile));
}

std::vector<std::string> CoxStudy::Warnings() const {
  if (task.grid_bits == file.release.grid_bits) return {};
  return {
      fmt::format("The estimates open on a grid of 2^-{} of their standard errors, so that they "
                  "tell at most half of the bits of the {}.",
                  task.grid_bits, run::kTableOfCovariates)};
}

std::vector<study::PlanExposure> CoxStudy::Exposures() const {
  const uint64_t p = task.num_columns();
  const auto points = static_cast<uint64_t>(task.spec.steps);
  // Score, information and likelihood at every point; at the last what robust errors are made of.
  const uint64_t statistics =
      (points + 1) * (p * (p + 3) / 2 + 1) + (task.spec.robust ? p * (p + 1) / 2 : 0);
  study::PlanExposure path;
  path.of = fmt::format("{} and {}", kIterates, kEstimatesRelease);
  path.to = "all";
  path.opened = points * 2 * p;
  path.statistics = statistics;
  path.level = kCoxProtocol;
  path.bits = CoxBits(*this, CoxIterateBits(*this));
  study::PlanExposure all;
  all.of = "all releases of this study";
  all.to = ToldName(*this);
  all.opened = path.opened + task.num_of_fit();
  all.statistics = statistics;
  all.level = kCoxProtocol;
  all.exposes = {"the exact number of events"};
  if (task.spec.clustered())
    all.exposes.push_back(fmt::format("the exact number of clusters of {}", task.spec.cluster));
  all.bits = CoxBits(*this, CoxOpenedBits(*this));
  return {path, all};
}

std::vector<std::string> CoxStudy::FileNames() const { return {kCoxFile}; }

uint64_t CoxStudy::FileBytes() const {
  uint64_t bytes = kColumnsOfCox * kCoxNumberBytes;
  for (const data::ModelColumn& column : task.spec.columns)
    bytes += 2 * column.name.size() + kColumnsOfCox * kCoxNumberBytes;
  return bytes;
}

}  // namespace partita::methods::survival
