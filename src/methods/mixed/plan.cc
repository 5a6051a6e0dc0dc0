// What the plan says of method `mixed`.
#include <fmt/format.h>

#include <algorithm>

#include "methods/mixed/study.h"
#include "privacy/release_rule.h"
#include "run/method/covariate_table.h"
#include "run/method/plan_privacy.h"

namespace partita::methods::mixed {
namespace {

// Beside coefficients and their errors: log lambda and its error, log R, the criterion, -R'/R. The error
// of log R follows from the rows.
constexpr uint64_t kOtherNumbers = 5;

// Of all points, the estimates among them.
double PointBits(const MixedStudy& study) {
  double bits = 0;
  for (int point = 0; point <= study.task.spec.steps; ++point)
    bits += privacy::NumberBits(study.task.num_of_point(), GridBitsOf(study.task, point));
  return bits;
}

// Of standard errors of coefficients, or of their covariances.
double ErrorBits(const Task& task) {
  return privacy::NumberBits(task.num_errors(), task.spec.covariance
                                                    ? mpc::CovarianceNumberBits(task.grid_bits)
                                                    : task.grid_bits);
}

// Points, standard errors and log-likelihood.
double PathBits(const MixedStudy& study) {
  const Task& task = study.task;
  const size_t others = task.num_of_point() - task.num_columns();
  return PointBits(study) + ErrorBits(task) + privacy::NumberBits(others + 1, task.grid_bits) +
         privacy::CountBits(task.max_rows());
}

double OpenedBits(const MixedStudy& study) {
  const Task& task = study.task;
  if (task.spec.by_path()) return PathBits(study);
  const double singular = 1;
  return privacy::NumberBits(task.num_columns() + kOtherNumbers, task.grid_bits) + ErrorBits(task) +
         singular + (task.spec.by_site() ? 0 : privacy::CountBits(task.max_rows()));
}

std::string ModelText(const Spec& spec) {
  const std::string groups =
      spec.by_site() ? "holders" : fmt::format("values of {} at each holder", spec.group);
  if (spec.linear()) {
    return fmt::format("{} by {}, {} columns; groups are the {}", spec.formula,
                       spec.reml() ? kReml : kMl, spec.columns.size(), groups);
  }
  return fmt::format(
      "{}: {} with the link {} by Laplace's approximation, {} columns; groups are the {}",
      spec.formula, stats::glm::FamilyName(spec.law), stats::glm::LinkName(spec.law.link),
      spec.columns.size(), groups);
}

// What a point has beside coefficients.
std::string DeviationsText(const Spec& spec) {
  return spec.slope ? "the logarithms of three standard deviations (of intercepts, of slopes, "
                      "within groups) and the correlation of intercepts and slopes (its inverse "
                      "hyperbolic tangent)"
                    : "the standard deviation between groups";
}

std::string CovarianceText(const Task& task) {
  return fmt::format(
      "the covariance matrix of {} coefficients ({} numbers in steps of the products of two "
      "standard errors' grids)",
      task.num_columns(), task.num_errors());
}

std::vector<mpc::Release> PathReleases(const MixedStudy& study) {
  const Task& task = study.task;
  const size_t p = task.num_columns();
  const uint64_t point = NumOfPoint(task);
  return {{kDisclosureRelease, "one bit for each count that is checked", "all", "exact", 1,
           mpc::kEverybody, NumChecks(task)},
          {kIndependenceRelease, "which columns follow from those before them", "all", "exact", 1,
           mpc::kEverybody, p},
          {kIteratesRelease,
           fmt::format("{} coefficients and {} on the way: the "
                       "first {} times on grids of 2^-{} of their standard errors, then of 2^-{}, "
                       "with the exponents of the grids",
                       p, DeviationsText(task.spec), std::min(kCoarsePoints, task.spec.steps),
                       kCoarseGridBits, LaterGridBits(task)),
           "all", "exact", static_cast<uint64_t>(task.spec.steps), mpc::kEverybody, point},
          {kEstimatesRelease,
           fmt::format("{} coefficients and {} after the last "
                       "step on a grid of 2^-{} of their standard errors, with the exponents of "
                       "the grids",
                       p, DeviationsText(task.spec), task.grid_bits),
           "all", "exact", 1, mpc::kEverybody, point},
          {kFitRelease,
           fmt::format("whether the fit converged, the numbers of rows and groups, and if it "
                       "converged {} standard errors on a grid of 2^-{} of themselves{} and the "
                       "log-likelihood on one of 2^-{}",
                       task.num_of_point() - (task.spec.covariance ? p : 0), task.grid_bits,
                       task.spec.covariance ? ", " + CovarianceText(task) : std::string(),
                       task.grid_bits),
           study.told(), "exact", 1, task.to, NumOfPathFit(task)}};
}

}  // namespace

std::string OutcomeRule(const MixedStudy& study, uint64_t min_cell) {
  return fmt::format(
      "at least {} {} with one outcome and as many with the other, also without each "
      "holder's own rows",
      min_cell, study.CountsGroups() ? "groups" : "rows");
}

std::string RowsInGroupsRule(const Task& task) {
  return fmt::format("at least {} rows more than {}groups", kRowsInGroups,
                     task.spec.slope ? "twice as many as " : "");
}

std::string SitesRule(uint64_t min_cell) {
  return fmt::format("no holder has rows, but fewer than {}", LeastRowsOfSite(min_cell));
}

std::string GroupsRule(const MixedStudy& study, uint64_t min_cell) {
  const uint64_t least = LeastGroups(study.task, min_cell);
  if (study.task.spec.by_site()) return fmt::format("at least {} holders with rows", least);
  return fmt::format("at least {} groups of {}, also without each holder's own", least,
                     study.task.spec.group);
}

std::string TableRule(const MixedStudy& study, const std::string& variable, uint64_t min_cell) {
  return fmt::format(
      "each count of {}{}{} is 0 or at least min_cell = {}, also without each holder's "
      "own rows",
      variable, study.task.spec.binary() ? " with one outcome" : "",
      study.CountsGroups() ? " by groups" : "", min_cell);
}

namespace {

study::PlanBits BitsAgainstTable(const MixedStudy& study, double opened) {
  const bool left_out =
      LeavesRowsOut(study, study.file.design.missing != study::MissingPolicy::kRefuse);
  const run::PatternColumns columns =
      run::PatternColumnsOf(study, study.factors, study.task.spec.covariates);
  // A person's rows count as one.
  std::vector<privacy::UnknownRows> unknown = run::LeastUnknown(study, columns, left_out);
  for (privacy::UnknownRows& part : unknown) part.rows /= study.RowsOfPerson();
  return run::BitsAgainst(opened, {{unknown, false}}, study.task.grid_bits);
}

}  // namespace

study::PlanBits BitsOf(const MixedStudy& study) {
  return BitsAgainstTable(study, OpenedBits(study));
}

std::vector<mpc::Release> ReleasesOf(const MixedStudy& study) {
  const Task& task = study.task;
  if (task.spec.by_path()) return PathReleases(study);
  const size_t p = task.num_columns();
  return {{kDisclosureRelease, "one bit for each count that is checked", "all", "exact", 1,
           mpc::kEverybody, NumChecks(task)},
          {kIndependenceRelease, "which columns follow from those before them", "all", "exact", 1,
           mpc::kEverybody, p},
          {kFitRelease,
           fmt::format(
               "whether there is a fit, the numbers of rows and groups, and if there is one "
               "whether the variance between groups is 0, and on a grid of 2^-{0} of their "
               "standard errors {1} coefficients, the logarithms of the ratio of the two variances "
               "and of the residual variance, with {2}; the criterion and how the "
               "residual variance moves with the ratio on one of 2^-{0}",
               task.grid_bits, p,
               task.spec.covariance ? "the errors of the last two and " + CovarianceText(task)
                                    : std::string("these errors")),
           study.told(), "exact", 1, task.to, NumFit(task)}};
}

namespace {

std::string OnTheWayText(const Spec& spec) {
  if (!spec.by_path()) {
    return "Nothing opens on the way: sums of rows, of one holder or of all, and the variances "
           "that are tried stay on shares. Effects of single groups open to nobody. What the "
           "estimates say about single persons nothing limits (no differential privacy).";
  }
  if (spec.slope) {
    return "Sums of rows and of groups, of one holder or of all, open to nobody, nor do effects of "
           "single groups. The coefficients, the three standard deviations and the correlation "
           "after every step open to all computing parties, rounded, whoever is told the rest: all "
           "of them see the estimates. Nothing limits what they say about single persons (no "
           "differential privacy).";
  }
  return "Sums of rows and of groups, of one holder or of all, open to nobody, nor do effects of "
         "single groups. The coefficients and the standard deviation between groups after every "
         "step open to all computing parties, rounded, whoever is told the rest; whether that "
         "deviation is 0 they see, too. Nothing limits what they say about single persons (no "
         "differential privacy).";
}

}  // namespace

void MixedStudy::Describe(study::Plan& plan) const {
  const Spec& spec = task.spec;
  const std::string& name = Analysis().name;
  const bool lacking = file.design.missing != study::MissingPolicy::kRefuse;
  plan.analyses.push_back(
      {name, spec.level(), ModelText(spec),
       run::RowsText(*this, Analysis().subset, lacking ? "that lack no variable of it" : ""),
       task.num_parameters()});
  const uint64_t least = LeastRows(task, file.disclosure.min_rows),
                 min_cell = file.disclosure.min_cell;
  plan.checks.push_back({name, "rows", fmt::format("at least {} rows", least), least, false});
  for (const std::string& variable : checked)
    plan.checks.push_back({name, variable, TableRule(*this, variable, min_cell), min_cell, false});
  if (spec.binary()) {
    plan.checks.push_back({name, spec.outcome, OutcomeRule(*this, min_cell), min_cell, false});
  }
  plan.checks.push_back(
      {name, spec.group_name(), GroupsRule(*this, min_cell), LeastGroups(task, min_cell), false});
  plan.checks.push_back({name, "rows in groups", RowsInGroupsRule(task), kRowsInGroups, false});
  if (spec.by_site()) {
    plan.checks.push_back(
        {name, "rows of sites", SitesRule(min_cell), LeastRowsOfSite(min_cell), false});
  }
  plan.leakage_level = spec.level();
  run::AddNoBounds(*this, plan.privacy);
  plan.assumptions.push_back(OnTheWayText(spec));
  if (spec.covariance) {
    plan.assumptions.push_back(fmt::format(
        "Whoever is told the covariance matrix ({}) has the information of all rows at the "
        "estimates, rounded: about how many rows, and how many pairs of rows of one group, have "
        "each two levels of factors and 0/1 variables, of products of these all levels of each two "
        "terms together, and second moments of numbers. Rows with two levels, rows with one whose "
        "group has another row with the other, and those whose group has none, are counted and "
        "checked as those of single levels are.",
        told()));
    if (spec.linear()) {
      plan.assumptions.emplace_back(
          "With the covariance matrix of a linear model of method glm over the same rows, which "
          "tells sums over rows, that of this study gives sums over pairs of rows of one group "
          "alone.");
    }
  }
  if (spec.by_site()) {
    plan.assumptions.push_back(fmt::format(
        "The estimates say two things of the {} holders' adjusted means: their weighted sum and "
        "how "
        "they vary. So all holders but two that pool their own learn the means of those two "
        "exactly, and fewer learn something of the rest.",
        partition.holders.size()));
  }
  if (!spec.by_site()) {
    plan.assumptions.push_back(fmt::format(
        "A value of {} at two holders is two groups. A group of two holders would be taken for "
        "two, and the variance between groups for more certain than it is.",
        spec.group));
  }
  if (CountsGroups()) {
    plan.assumptions.push_back(fmt::format(
        "A person has up to {0} rows, and all of them in one group of {1}: counts of levels are of "
        "groups, and bits are counted against a row in {0}. min_rows is of rows.",
        file.population.max_rows_per_person, spec.group));
  }
  plan.assumptions.emplace_back(
      "The checks are of this model alone. Models of other columns or rows can be compared with "
      "it, and no min_cell is asked of the differences: a holder's own machine refuses rows that "
      "differ from earlier ones by few, not other terms over the same rows.");
}

std::vector<std::string> MixedStudy::Warnings() const {
  if (task.grid_bits == file.release.grid_bits) return {};
  return {
      fmt::format("The estimates open on a grid of 2^-{} of their standard errors, so that "
                  "they tell at most half of the bits of the {}.",
                  task.grid_bits, run::kTableOfCovariates)};
}

std::vector<std::string> MixedStudy::AlsoLearns(size_t /*party*/) const { return {}; }

std::vector<study::PlanExposure> MixedStudy::Exposures() const {
  study::PlanExposure exposure;
  exposure.of = "all releases of this study";
  exposure.to = told();
  exposure.opened = NumFit(task);
  exposure.statistics = NumSums(task.num_columns());
  exposure.level = task.spec.level();
  if (!task.spec.by_site())
    exposure.exposes = {fmt::format("the exact number of groups of {}", task.spec.group)};
  exposure.bits = BitsOf(*this);
  if (!task.spec.by_path()) return {exposure};
  // Score and information of one point determine no other point.
  const uint64_t q = task.num_of_point(), points = static_cast<uint64_t>(task.spec.steps) + 1;
  exposure.statistics = points * (q * (q + 1) / 2 + q + 2);
  study::PlanExposure path = exposure;
  path.of = fmt::format("{} and {}", kIteratesRelease, kEstimatesRelease);
  path.to = "all";
  path.opened = points * NumOfPoint(task);
  path.exposes.clear();
  path.bits = BitsAgainstTable(*this, PointBits(*this));
  exposure.opened = path.opened + NumOfPathFit(task);
  return {path, exposure};
}

}  // namespace partita::methods::mixed
