// Logistic and Poisson models with a random intercept on shares against the same in the clear, on every engine, with
// exactly the messages of the plan: made-up tables and lme4's, singular fits, and those that there are not.
#include "methods/mixed/laplace_fit.h"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/mpc/harness.h"
#include "tests/paths.h"
#include "tests/stats/mixed/laplace_tables.h"

namespace partita::methods::mixed::laplace_fit_test {
namespace {

using Eigen::Index;
using mpc::Engine;
using stats::mixed::GroupedRows;
using stats::mixed::testing::DrawGrouped;
using stats::mixed::testing::GroupedOf;
using stats::mixed::testing::SplitGroups;

stats::glm::Law Logistic() { return stats::glm::LawOf(stats::glm::Family::kBinomial); }
stats::glm::Law Poisson() { return stats::glm::LawOf(stats::glm::Family::kPoisson); }

struct Options {
  std::string kind = "dealer";
  size_t holders = 2;
  int steps = 6;
  bool covariance = false;
};

struct Ran {
  Task task;
  std::vector<GroupedRows> sites;
  std::vector<size_t> collinear;
  PathFitted fitted;
};

Ran RunFit(const stats::glm::Law& law, const GroupedRows& rows, const Options& options = {}) {
  Ran ran;
  ran.sites = SplitGroups(rows, options.holders);
  Task& task = ran.task;
  task.spec.columns.resize(static_cast<size_t>(rows.x.cols()));
  for (data::ModelColumn& column : task.spec.columns) column.scale = 1;
  task.spec.law = law;
  task.spec.group = "group";
  task.spec.steps = options.steps;
  task.spec.covariance = options.covariance;
  task.spec.upper = std::max(1.0, rows.y.maxCoeff());
  task.to = 1;
  std::vector<OwnData> own(options.holders);
  for (size_t h = 0; h < options.holders; ++h) {
    own[h].rows = ran.sites[h];
    own[h].counts = std::vector<Int128>(law.family == stats::glm::Family::kBinomial ? 2 : 0, 0);
    own[h].counts.push_back(static_cast<Int128>(own[h].rows.sizes.size()));
    own[h].counts.push_back(static_cast<Int128>(own[h].rows.y.size()));
    task.holders.push_back({h, static_cast<uint64_t>(own[h].rows.y.size()) + h + 1});
  }
  mpc::testing::RunOptions run;
  run.kind = options.kind;
  run.num_parties = options.holders;
  run.releases = {
      {kIndependenceRelease, "columns", "all", "exact", 1, mpc::kEverybody, task.num_columns()},
      {kIteratesRelease, "points", "all", "exact", static_cast<uint64_t>(task.spec.steps),
       mpc::kEverybody, NumOfPoint(task)},
      {kEstimatesRelease, "last", "all", "exact", 1, mpc::kEverybody, NumOfPoint(task)},
      {kFitRelease, "fit", "one", "exact", 1, task.to, NumOfPathFit(task)}};
  OwnData none;
  none.rows.x.resize(0, rows.x.cols());
  none.counts = std::vector<Int128>(own.front().counts.size(), 0);
  std::vector<PathFitted> fitted(options.holders);
  std::vector<std::vector<size_t>> collinear(options.holders);
  mpc::testing::RunAndComparePlan(run, [&](Engine& engine, size_t) {
    const std::optional<size_t> self = engine.self();
    const OwnData& mine = self && *self < own.size() ? own[*self] : none;
    LaplaceFitter fitter(engine, task, mine,
                         TotalsFrom(engine, task, ShareCounts(engine, task, mine)));
    const std::vector<size_t> columns = fitter.First();
    for (int point = 0; point <= task.spec.steps; ++point) fitter.OpenPoint(point);
    PathFitted made = fitter.Finish();
    if (!self) return;
    collinear[*self] = columns;
    fitted[*self] = std::move(made);
  }).ThrowIfFailed();
  for (size_t h = 0; h < options.holders; ++h) {
    EXPECT_EQ(fitted[h].model.has_value(), h == 1) << h;
    EXPECT_EQ(fitted[h].points.size(), static_cast<size_t>(task.spec.steps) + 1);
    EXPECT_EQ(fitted[h].points.back(), fitted[1].points.back());
  }
  ran.collinear = collinear[1];
  ran.fitted = std::move(fitted[1]);
  return ran;
}

// The last point is one step of its grid from the maximum at most, and half a step by rounding; standard errors are
// those at the last point, which over so small a way change by less than a step.
void ExpectTwin(const Ran& ran) {
  const stats::mixed::LaplaceFit twin =
      FitLaplace(ran.task.spec.law, ran.sites, UnitsOf(ran.task).limits);
  ASSERT_TRUE(twin.converged);
  const PathModel& model = ran.fitted.model.value();
  ASSERT_TRUE(model.converged);
  const Eigen::VectorXd& last = ran.fitted.points.back();
  const Index p = last.size() - 1;
  EXPECT_EQ(last[p] == 0, twin.singular);
  double rows = 0, groups = 0;
  for (const GroupedRows& site : ran.sites) {
    rows += static_cast<double>(site.y.size());
    groups += static_cast<double>(site.sizes.size());
  }
  EXPECT_EQ(static_cast<double>(model.rows), rows);
  EXPECT_EQ(static_cast<double>(model.groups), groups);
  for (Index i = 0; i < p + (twin.singular ? 0 : 1); ++i) {
    SCOPED_TRACE(i);
    const double step = ran.fitted.estimate_steps[i], error = twin.standard_errors[i];
    EXPECT_LE(step, std::ldexp(error, -ran.task.grid_bits) * 1.05);
    EXPECT_NEAR(last[i], twin.point[i], 1.51 * step);
    EXPECT_NEAR(model.standard_errors[i], error, 1.51 * step);
  }
  // Half of the grid, and half a squared step for each number.
  const double beside = 1.5 * 1.5 * static_cast<double>(p + 1) / 2;
  EXPECT_NEAR(
      model.log_likelihood, twin.log_likelihood,
      std::ldexp(0.51, -ran.task.grid_bits) + std::ldexp(beside, -2 * ran.task.grid_bits) + 1e-4);
}

// Within a step of the maximum, so that errors differ by 1.5 steps at most, and products of two by that for each.
void ExpectCovariance(const Ran& ran) {
  const stats::mixed::LaplaceFit twin =
      FitLaplace(ran.task.spec.law, ran.sites, UnitsOf(ran.task).limits);
  const PathModel& model = ran.fitted.model.value();
  ASSERT_TRUE(model.converged);
  const Index p = twin.covariance.rows();
  ASSERT_EQ(model.covariance.rows(), p);
  ASSERT_EQ(model.standard_errors.size(), p + 1);
  for (Index i = 0; i < p; ++i) {
    EXPECT_DOUBLE_EQ(model.standard_errors[i], std::sqrt(model.covariance(i, i)));
    for (Index j = 0; j < p; ++j) {
      const double a = model.covariance_steps[i], b = model.covariance_steps[j];
      EXPECT_NEAR(model.covariance(i, j), twin.covariance(i, j),
                  1.51 * (a * twin.standard_errors[j] + b * twin.standard_errors[i]));
      EXPECT_EQ(model.covariance(i, j), a * b * std::round(model.covariance(i, j) / (a * b)));
    }
  }
}

TEST(LaplaceFit, CovarianceMatricesOpenInThePlaceOfErrors) {
  const GroupedRows rows = DrawGrouped(Logistic(), 1, {.groups = 30});
  const Ran ran = RunFit(Logistic(), rows, {.holders = 3, .covariance = true});
  ExpectTwin(ran);
  ExpectCovariance(ran);
  const Ran counts = RunFit(Poisson(), DrawGrouped(Poisson(), 2, {}),
                            {.kind = "replicated", .holders = 3, .covariance = true});
  ExpectTwin(counts);
  ExpectCovariance(counts);
  // R's matrices, of lme4's tables.
  std::ifstream tables(FixturePath("references/mixed/laplace.json")),
      matrices(FixturePath("references/mixed/covariance.json"));
  const nlohmann::json of_r = nlohmann::json::parse(tables)["herds"],
                       matrix = nlohmann::json::parse(matrices)["herds"];
  GroupedRows herds = GroupedOf(of_r);
  const Eigen::VectorXd scales = herds.x.cwiseAbs().colwise().maxCoeff().transpose();
  for (Index c = 0; c < herds.x.cols(); ++c) herds.x.col(c) /= scales[c];
  const Ran fit = RunFit(Logistic(), herds, {.covariance = true});
  ExpectCovariance(fit);
  const PathModel& model = fit.fitted.model.value();
  for (Index i = 0; i < herds.x.cols(); ++i) {
    for (Index j = 0; j < herds.x.cols(); ++j) {
      const double unit = scales[i] * scales[j];
      const double wanted = matrix[static_cast<size_t>(i)][static_cast<size_t>(j)];
      const double steps = model.covariance_steps[i] * model.standard_errors[j] +
                           model.covariance_steps[j] * model.standard_errors[i];
      EXPECT_NEAR(model.covariance(i, j) / unit, wanted, 1.6 * steps / unit) << i << " " << j;
    }
  }
}

TEST(LaplaceFit, FitsOnEveryEngine) {
  const GroupedRows rows = DrawGrouped(Logistic(), 1, {.groups = 30});
  for (const char* kind : {"dealer", "replicated", "shamir"}) {
    SCOPED_TRACE(kind);
    ExpectTwin(RunFit(Logistic(), rows, {.kind = kind, .holders = 3}));
  }
  ExpectTwin(
      RunFit(Poisson(), DrawGrouped(Poisson(), 2, {}), {.kind = "replicated", .holders = 3}));
}

TEST(LaplaceFit, FitsLme4sTables) {
  std::ifstream file(FixturePath("references/mixed/laplace.json"));
  const nlohmann::json tables = nlohmann::json::parse(file);
  for (const auto& [name, of_r] : tables.items()) {
    SCOPED_TRACE(name);
    GroupedRows rows = GroupedOf(of_r);
    Eigen::VectorXd scales = rows.x.cwiseAbs().colwise().maxCoeff().transpose();
    for (Index c = 0; c < rows.x.cols(); ++c) rows.x.col(c) /= scales[c];
    const Ran ran = RunFit(stats::glm::LawByName(of_r["family"].get<std::string>()), rows);
    ExpectTwin(ran);
    const Eigen::VectorXd& last = ran.fitted.points.back();
    for (Index i = 0; i < rows.x.cols(); ++i) {
      EXPECT_NEAR(last[i] / scales[i], of_r["estimate"][static_cast<size_t>(i)].get<double>(),
                  1.6 * ran.fitted.estimate_steps[i] / scales[i]);
    }
    EXPECT_NEAR(last[rows.x.cols()], of_r["tau"].get<double>(),
                1.6 * ran.fitted.estimate_steps[rows.x.cols()]);
  }
}

// Groups that are alike, and that differ much.
TEST(LaplaceFit, FitsMadeUpTables) {
  for (uint64_t seed = 14; seed < 20; ++seed) {
    SCOPED_TRACE(seed);
    const stats::glm::Law law = seed % 2 == 0 ? Logistic() : Poisson();
    const double tau = std::vector<double>{0, 0.3, 0.7, 1.5}[(seed / 2) % 4];
    const Ran ran =
        RunFit(law, DrawGrouped(law, seed, {.groups = 40, .most_rows = 12, .tau = tau}));
    ExpectTwin(ran);
  }
}

TEST(LaplaceFit, SaysWhereThereIsNoFit) {
  GroupedRows rows = DrawGrouped(Logistic(), 5, {.groups = 30});
  GroupedRows collinear = rows;
  collinear.x.col(2) = collinear.x.col(1) - 0.5 * collinear.x.col(0);
  EXPECT_EQ(RunFit(Logistic(), collinear).collinear, std::vector<size_t>{2});
  for (Index i = 0; i < rows.y.size(); ++i) rows.y[i] = rows.x(i, 1) > 0 ? 1 : 0;
  const Ran separated = RunFit(Logistic(), rows);
  const PathModel& model = separated.fitted.model.value();
  EXPECT_FALSE(model.converged);
  EXPECT_TRUE(model.standard_errors.isZero(0));
  EXPECT_EQ(model.log_likelihood, 0);
  // Too few steps for the size of the variance.
  const Ran few =
      RunFit(Logistic(), DrawGrouped(Logistic(), 6, {.groups = 60, .tau = 3}), {.steps = 4});
  EXPECT_FALSE(few.fitted.model->converged);
}

// Of so large counts a deviation of a hundredth is seen; 0 is not its maximum, and nothing smaller than 2^-6 is
// another point.
TEST(LaplaceFit, ZeroIsNoFitWhereTheLikelihoodRisesFromThere) {
  const GroupedRows rows =
      DrawGrouped(Poisson(), 4, {.groups = 40, .most_rows = 60, .tau = 0.01, .b = {5, 0.3, 0.2}});
  const Ran ran = RunFit(Poisson(), rows);
  const stats::mixed::LaplaceFit twin = FitLaplace(Poisson(), ran.sites, UnitsOf(ran.task).limits);
  ASSERT_TRUE(twin.converged && !twin.singular);
  ASSERT_LT(twin.point[3], kNoTau);
  ASSERT_EQ(ran.fitted.points.back()[3], 0);
  EXPECT_FALSE(ran.fitted.model->converged);
}

TEST(LaplaceFit, TauMovesByItsSquare) {
  EXPECT_EQ(NextTau(Stage::kHeld, 0.5, 3), kHeldTau);
  // A step of the variance from 0.25 to 0.36.
  EXPECT_NEAR(NextTau(Stage::kScoring, 0.5, 0.5 + 0.11), 0.6, 1e-12);
  EXPECT_EQ(NextTau(Stage::kScoring, 0.5, -1), 0.125);
  EXPECT_EQ(NextTau(Stage::kScoring, 0.5, 100), 2);
  EXPECT_EQ(NextTau(Stage::kScoring, 0.125, 0), 0);
  EXPECT_EQ(NextTau(Stage::kScoring, 0, 1), 0);
  EXPECT_EQ(NextTau(Stage::kNewton, 0.2, 0.015), 0);
  EXPECT_EQ(NextTau(Stage::kNewton, 0.2, 0.25), 0.25);
}

}  // namespace
}  // namespace partita::methods::mixed::laplace_fit_test
