// Linear models with a random intercept and slope on shares against the same in the clear, on every engine, with exactly the
// messages of the plan: made-up tables and lme4's, and those that have no fit.
#include "methods/mixed/slope_path.h"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/mpc/harness.h"
#include "tests/paths.h"
#include "tests/stats/mixed/slope_tables.h"
#include "tests/thorough.h"

namespace partita::methods::mixed::slope_path_test {
namespace {

using Eigen::Index;
using mpc::Engine;
using stats::mixed::Criterion;
using stats::mixed::kDeviations;
using stats::mixed::SlopeSums;
using stats::mixed::testing::DrawSloped;
using stats::mixed::testing::SlopedTable;
using stats::mixed::testing::SplitSloped;
using stats::mixed::testing::TableOfR;

struct Options {
  std::string kind = "dealer";
  size_t holders = 2;
  Criterion criterion = Criterion::kReml;
  int steps = 6, grid_bits = 6;
  bool covariance = false;
};

struct Ran {
  Task task;
  std::vector<SlopeSums> sites;
  std::vector<size_t> collinear;
  PathFitted fitted;
};

Ran RunFit(const SlopedTable& table, const Options& options = {}) {
  Ran ran;
  for (const SlopedTable& own : SplitSloped(table, options.holders))
    ran.sites.push_back(stats::mixed::SumSlopes(own.x, own.y, own.clusters, own.slope));
  Task& task = ran.task;
  task.spec.columns.resize(static_cast<size_t>(table.x.cols()));
  task.spec.slope = static_cast<size_t>(table.slope);
  task.spec.criterion = options.criterion;
  task.spec.group = "group";
  task.spec.steps = options.steps;
  task.spec.covariance = options.covariance;
  task.grid_bits = options.grid_bits;
  task.to = 1;
  std::vector<OwnData> own(options.holders);
  for (size_t h = 0; h < options.holders; ++h) {
    own[h].slopes = ran.sites[h];
    own[h].counts = {static_cast<Int128>(ran.sites[h].groups.size()),
                     static_cast<Int128>(ran.sites[h].rows)};
    task.holders.push_back({h, static_cast<uint64_t>(ran.sites[h].rows) + h + 1});
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
  none.slopes = stats::mixed::SumSlopes(Eigen::MatrixXd(0, table.x.cols()), Eigen::VectorXd(0), {},
                                        table.slope);
  none.counts = {0, 0};
  std::vector<PathFitted> fitted(options.holders);
  std::vector<std::vector<size_t>> collinear(options.holders);
  mpc::testing::RunAndComparePlan(run, [&](Engine& engine, size_t) {
    const std::optional<size_t> self = engine.self();
    const OwnData& mine = self && *self < own.size() ? own[*self] : none;
    SlopeFitter fitter(engine, task, mine,
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
  const stats::mixed::SlopeFit twin = FitSlopes(ran.sites, ran.task.spec.criterion);
  ASSERT_TRUE(twin.converged);
  const PathModel& model = ran.fitted.model.value();
  ASSERT_TRUE(model.converged);
  const Eigen::VectorXd& last = ran.fitted.points.back();
  double rows = 0, groups = 0;
  for (const SlopeSums& site : ran.sites) {
    rows += site.rows;
    groups += static_cast<double>(site.groups.size());
  }
  EXPECT_EQ(static_cast<double>(model.rows), rows);
  EXPECT_EQ(static_cast<double>(model.groups), groups);
  for (Index i = 0; i < last.size(); ++i) {
    SCOPED_TRACE(i);
    const double step = ran.fitted.estimate_steps[i], error = twin.standard_errors[i];
    EXPECT_LE(step, std::ldexp(error, -ran.task.grid_bits) * 1.1);
    EXPECT_NEAR(last[i], twin.point[i], 1.51 * step);
    EXPECT_NEAR(model.standard_errors[i], error, 1.51 * step);
  }
  // Half of the grid, and half a squared step for each number.
  const double beside = 1.5 * 1.5 * static_cast<double>(last.size()) / 2;
  EXPECT_NEAR(
      model.log_likelihood, -twin.criterion / 2,
      std::ldexp(0.51, -ran.task.grid_bits) + std::ldexp(beside, -2 * ran.task.grid_bits) + 1e-4);
}

// Within a step of the maximum, so that errors differ by 1.5 steps at most, and products of two by that for each.
void ExpectCovariance(const Ran& ran) {
  const stats::mixed::SlopeFit twin = FitSlopes(ran.sites, ran.task.spec.criterion);
  const PathModel& model = ran.fitted.model.value();
  ASSERT_TRUE(model.converged);
  const Index p = twin.covariance.rows();
  ASSERT_EQ(model.covariance.rows(), p);
  ASSERT_EQ(model.standard_errors.size(), p + kDeviations);
  for (Index i = 0; i < p; ++i) {
    EXPECT_NEAR(model.standard_errors[i], std::sqrt(model.covariance(i, i)), 1e-12);
    for (Index j = 0; j < p; ++j) {
      const double a = model.covariance_steps[i], b = model.covariance_steps[j];
      EXPECT_NEAR(model.covariance(i, j), twin.covariance(i, j),
                  1.51 * (a * twin.standard_errors[j] + b * twin.standard_errors[i]));
      EXPECT_EQ(model.covariance(i, j), a * b * std::round(model.covariance(i, j) / (a * b)));
    }
  }
}

TEST(SlopePath, CovarianceMatricesOpenInThePlaceOfErrors) {
  const SlopedTable table = DrawSloped(1, {.clusters = 40});
  for (const Criterion criterion : {Criterion::kReml, Criterion::kMl}) {
    const Ran ran = RunFit(table, {.kind = criterion == Criterion::kReml ? "dealer" : "replicated",
                                   .holders = 3,
                                   .criterion = criterion,
                                   .covariance = true});
    ExpectTwin(ran);
    ExpectCovariance(ran);
  }
}

TEST(SlopePath, FitsOnEveryEngine) {
  const SlopedTable table = DrawSloped(1, {.clusters = 40});
  for (const char* kind : {"dealer", "replicated", "shamir"}) {
    SCOPED_TRACE(kind);
    ExpectTwin(RunFit(table, {.kind = kind, .holders = 3}));
  }
  ExpectTwin(RunFit(table, {.kind = "replicated", .holders = 3, .criterion = Criterion::kMl}));
}

// Columns in [-1, 1], and the outcome in half of that.
SlopedTable Scaled(const nlohmann::json& of_r) {
  SlopedTable table = TableOfR(of_r);
  for (Index c = 0; c < table.x.cols(); ++c) table.x.col(c) /= table.x.col(c).cwiseAbs().maxCoeff();
  table.y /= 2 * table.y.cwiseAbs().maxCoeff();
  return table;
}

nlohmann::json TablesOfR() {
  std::ifstream file(FixturePath("references/mixed/slopes.json"));
  return nlohmann::json::parse(file);
}

TEST(SlopePath, FitsLme4sTables) {
  size_t number = 0;
  const nlohmann::json tables = TablesOfR();
  for (const auto& [name, of_r] : tables.items()) {
    if (name == "dialyzer") continue;
    SCOPED_TRACE(name);
    ++number;
    // For `./test` each table by one of the two.
    if (Thorough() || number % 2 == 0) ExpectTwin(RunFit(Scaled(of_r), {.steps = 9}));
    if (Thorough() || number % 2 == 1)
      ExpectTwin(RunFit(Scaled(of_r), {.criterion = Criterion::kMl, .steps = 9}));
  }
}

// On a grid so fine that what the arithmetic errs is seen: variances within 1e-5 of themselves, coefficients within 1e-4
// standard errors, these within 1e-4 of themselves.
TEST(SlopePath, IsExactBeforeItIsRounded) {
  const Ran ran = RunFit(Scaled(TablesOfR()["sleepstudy"]), {.steps = 12, .grid_bits = 20});
  const stats::mixed::SlopeFit twin = FitSlopes(ran.sites, Criterion::kReml);
  const PathModel& model = ran.fitted.model.value();
  ASSERT_TRUE(model.converged);
  const Eigen::VectorXd& last = ran.fitted.points.back();
  const Index p = last.size() - kDeviations;
  for (Index i = 0; i < last.size(); ++i) {
    SCOPED_TRACE(i);
    EXPECT_NEAR(last[i], twin.point[i], i < p ? 1e-4 * twin.standard_errors[i] : 5e-6);
    EXPECT_NEAR(model.standard_errors[i], twin.standard_errors[i], 1e-4 * twin.standard_errors[i]);
  }
  EXPECT_NEAR(model.log_likelihood, -twin.criterion / 2, 1e-4);
}

TEST(SlopePath, FitsMadeUpTables) {
  for (uint64_t seed = 20; seed < 24; ++seed) {
    SCOPED_TRACE(seed);
    ExpectTwin(
        RunFit(DrawSloped(seed, {.clusters = 30 + 10 * (seed % 3), .most_rows = 12}),
               {.criterion = seed % 2 == 0 ? Criterion::kReml : Criterion::kMl, .steps = 8}));
  }
}

TEST(SlopePath, SaysWhereThereIsNoFit) {
  SlopedTable table = DrawSloped(5, {.clusters = 30});
  SlopedTable collinear = table;
  collinear.x.col(2) = collinear.x.col(1) - 0.5 * collinear.x.col(0);
  EXPECT_EQ(RunFit(collinear).collinear, std::vector<size_t>{2});
  // lme4's fit is singular.
  const auto expect_none = [](const Ran& ran) {
    const PathModel& model = ran.fitted.model.value();
    EXPECT_FALSE(model.converged);
    EXPECT_TRUE(model.standard_errors.isZero(0));
    EXPECT_EQ(model.log_likelihood, 0);
  };
  const nlohmann::json tables = TablesOfR();
  expect_none(RunFit(Scaled(tables["dialyzer"])));
  expect_none(RunFit(Scaled(tables["dialyzer"]), {.criterion = Criterion::kMl, .steps = 12}));
  // Nothing is left within groups.
  Eigen::VectorXd at(7);
  at << 0.2, 0.3, -0.1, std::log(0.2), std::log(0.2), 0, -20;
  expect_none(RunFit(DrawSloped(7, {.clusters = 30, .at = at}), {.steps = 10}));
}

// Of groups that do not differ some tables have deviations all the same, as lme4 has them, and others have none.
TEST(SlopePath, AlikeGroupsHaveAFitOrNone) {
  Eigen::VectorXd at(7);
  at << 0.2, 0.3, -0.1, -30, -30, 0, std::log(0.1);
  size_t none = 0;
  for (uint64_t seed = 6; seed < 10; ++seed) {
    SCOPED_TRACE(seed);
    const Ran ran = RunFit(DrawSloped(seed, {.clusters = 30, .at = at}), {.steps = 10});
    const stats::mixed::SlopeFit twin = FitSlopes(ran.sites, Criterion::kReml);
    if (twin.converged && twin.standard_errors.tail(kDeviations).maxCoeff() < 0.9 * kMostPsiError) {
      ExpectTwin(ran);
      continue;
    }
    ++none;
    EXPECT_FALSE(ran.fitted.model->converged);
  }
  EXPECT_GE(none, 1u);
}

// A holder of few groups, and one without rows, have a part all the same.
TEST(SlopePath, HoldersMayHaveHardlyAnyRows) {
  SlopedTable table = DrawSloped(8, {.clusters = 41});
  for (uint32_t& cluster : table.clusters)
    cluster =
        cluster == 0 ? 1 : 3 * cluster;  // of three holders the second has one, the third none
  ExpectTwin(RunFit(table, {.kind = "replicated", .holders = 3}));
}

}  // namespace
}  // namespace partita::methods::mixed::slope_path_test
