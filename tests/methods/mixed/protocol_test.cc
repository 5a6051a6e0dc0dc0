// Linear mixed models on shares against the same in the clear, on every engine, with exactly the
// messages of the plan: fits of random tables and R's, singular ones, and those that there are not.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/methods/mixed/tables.h"
#include "tests/mpc/harness.h"
#include "tests/paths.h"
#include "tests/thorough.h"

namespace partita::methods::mixed::protocol_test {
namespace {

using mpc::Engine;
using stats::mixed::Criterion;
using stats::mixed::Profile;
using testing::Draw;
using testing::Drawn;
using testing::Index;
using testing::SplitUp;
using testing::Table;
using testing::TaskOf;

// Half a step, the guard bits, and what the arithmetic errs before it is rounded.
constexpr double kRounding = 0.5 + 0x1p-9 + 0x1p-8;
// Of errors, whose grid is of a variance that is cut.
constexpr double kOfItself = 1e-4;

struct Ran {
  OpenedFit fit;
  std::vector<size_t> collinear;
};

struct Options {
  std::string kind = "dealer";
  int grid_bits = 6;
  bool covariance = false;
};

Ran RunFit(Task task, const std::vector<OwnData>& own, const Options& options = {}) {
  task.grid_bits = options.grid_bits;
  task.spec.covariance = options.covariance;
  mpc::testing::RunOptions run;
  run.kind = options.kind;
  run.num_parties = own.size();
  run.releases = {
      {kIndependenceRelease, "columns", "all", "exact", 1, mpc::kEverybody, task.num_columns()},
      {kFitRelease, "fit", "one", "exact", 1, task.to, NumFit(task)}};
  std::vector<std::optional<OpenedFit>> fits(own.size());
  std::vector<std::vector<size_t>> collinear(own.size());
  const OwnData none{
      stats::mixed::SumRows(Eigen::MatrixXd(0, own.front().sums.xx.rows()), Eigen::VectorXd(0), {}),
      {0, 0}};
  const auto result = mpc::testing::RunAndComparePlan(run, [&](Engine& engine, size_t) {
    const std::optional<size_t> self = engine.self();
    const OwnData& mine = self && *self < own.size() ? own[*self] : none;
    const SharedTotals totals = TotalsFrom(engine, task, ShareCounts(engine, task, mine));
    Fitter fitter(engine, task, mine, totals);
    const std::vector<size_t> columns = fitter.OpenCollinear();
    const std::optional<OpenedFit> fit = fitter.Fit();
    if (!self) return;
    collinear[*self] = columns;
    fits[*self] = fit;
  });
  result.ThrowIfFailed();
  for (size_t h = 0; h < own.size(); ++h) EXPECT_EQ(fits[h].has_value(), h == 1) << h;
  return {fits[1].value(), collinear[1]};
}

struct Twin {
  Profile fit;
  double rows = 0, log_residual = 0, log_lambda = 0, criterion = 0;
  double log_lambda_error = 0, falls = 0;  // as of OpenedFit
};

// The profile at lambda, of all sites.
Profile ProfileOfSites(const std::vector<stats::mixed::RowSums>& sites, double log_lambda,
                       Criterion criterion) {
  const double lambda = std::exp(log_lambda);
  stats::mixed::LambdaSums sums = SumsAt(sites.front(), lambda);
  for (size_t s = 1; s < sites.size(); ++s) sums += SumsAt(sites[s], lambda);
  return ProfileAt(sums, lambda, criterion);
}

// The standard error by the slope's secant between the neighbours in the ladder, in numbers: twice the
// step over what the derivative of -2 log-likelihood rises by; the residual variance's fall by a
// difference.
void AddObserved(const std::vector<stats::mixed::RowSums>& sites, const Task& task,
                 Criterion criterion, Twin& twin) {
  const double h = LogStep(), from = task.LogOfFirst(),
               low = from + std::floor((twin.log_lambda - from) / h) * h;
  const auto slope = [&](double log_lambda) {
    return std::exp(log_lambda) * ProfileOfSites(sites, log_lambda, criterion).slope;
  };
  twin.log_lambda_error = std::sqrt(2 * h / (slope(low + h) - slope(low)));
  constexpr double kDifference = 1e-4;
  const auto log_residual = [&](double log_lambda) {
    return std::log(ProfileOfSites(sites, log_lambda, criterion).sigma_squared);
  };
  twin.falls =
      (log_residual(twin.log_lambda - kDifference) - log_residual(twin.log_lambda + kDifference)) /
      (2 * kDifference);
}

Twin TwinOf(const std::vector<OwnData>& own, Criterion criterion) {
  std::vector<stats::mixed::RowSums> sites;
  Twin twin;
  for (const OwnData& data : own) {
    sites.push_back(data.sums);
    twin.rows += data.sums.rows;
  }
  twin.fit = Fit(sites, criterion);
  const auto p = static_cast<double>(own.front().sums.xx.rows());
  const bool reml = criterion == Criterion::kReml;
  const double freedom = twin.rows - (reml ? p : 0);
  twin.log_residual = std::log(twin.fit.sigma_squared * freedom / twin.rows);
  twin.log_lambda = std::log(twin.fit.tau_squared / twin.fit.sigma_squared);
  if (twin.fit.tau_squared > 0)
    AddObserved(sites, TaskOf(own.front().sums.xx.rows(), own, criterion), criterion, twin);
  // As OpenedFit::criterion is of the one of stats/mixed.
  twin.criterion = twin.fit.criterion - freedom * (1 + std::log(2 * std::numbers::pi)) -
                   freedom * std::log(twin.rows / freedom) - (reml ? p * std::log(twin.rows) : 0);
  return twin;
}

// before: what numbers may be off before they are rounded, in standard errors, and of variances.
void ExpectTwin(const OpenedFit& fit, const Twin& twin, int grid_bits) {
  ASSERT_TRUE(fit.converged);
  EXPECT_EQ(static_cast<double>(fit.rows), twin.rows);
  for (Index i = 0; i < fit.estimates.size(); ++i) {
    const double error = twin.fit.standard_errors[i], step = fit.steps[i];
    EXPECT_LE(step, std::ldexp(error, -grid_bits) * (1 + 1e-3));
    EXPECT_GT(step, std::ldexp(error, -grid_bits - 1) * (1 - 1e-3));
    EXPECT_NEAR(fit.estimates[i], twin.fit.estimates[i], kRounding * step + 1e-4 * error) << i;
    EXPECT_NEAR(fit.standard_errors[i], error, kRounding * step + kOfItself * error) << i;
  }
  EXPECT_NEAR(fit.log_residual, twin.log_residual, kRounding * fit.log_residual_step + 1e-5);
  EXPECT_NEAR(fit.criterion, twin.criterion, std::ldexp(kRounding, -grid_bits) + 1e-4);
  EXPECT_EQ(fit.singular, twin.fit.tau_squared == 0);
  if (fit.singular) return;
  EXPECT_NEAR(fit.log_lambda, twin.log_lambda, kRounding * fit.log_lambda_step + 1e-5);
  if (twin.log_lambda_error < 30) {  // at most 2^5 opens
    EXPECT_NEAR(fit.log_lambda_error, twin.log_lambda_error,
                kRounding * fit.log_lambda_step + kOfItself * twin.log_lambda_error);
  }
  EXPECT_NEAR(fit.falls, twin.falls, std::ldexp(kRounding, -grid_bits) + 1e-4);
}

// Each entry on the product of two grids. Errors of variances count twice in it.
void ExpectCovariance(const OpenedFit& fit, const Twin& twin) {
  const Eigen::MatrixXd& plain = twin.fit.covariance;
  ASSERT_EQ(fit.covariance.rows(), plain.rows());
  for (Index i = 0; i < plain.rows(); ++i) {
    EXPECT_DOUBLE_EQ(fit.standard_errors[i], std::sqrt(fit.covariance(i, i)));
    for (Index j = 0; j < plain.cols(); ++j) {
      const double step = fit.steps[i] * fit.steps[j],
                   errors = twin.fit.standard_errors[i] * twin.fit.standard_errors[j];
      EXPECT_NEAR(fit.covariance(i, j), plain(i, j), kRounding * step + 2 * kOfItself * errors)
          << i << " " << j;
      EXPECT_EQ(fit.covariance(i, j), step * std::round(fit.covariance(i, j) / step));
    }
  }
}

void ExpectFit(const Table& table, size_t holders, Criterion criterion,
               const Options& options = {}) {
  SCOPED_TRACE(options.kind + (criterion == Criterion::kMl ? " ML" : " REML"));
  const std::vector<OwnData> own = SplitUp(table, holders);
  const Ran ran = RunFit(TaskOf(static_cast<size_t>(table.x.cols()), own, criterion), own, options);
  EXPECT_TRUE(ran.collinear.empty());
  ExpectTwin(ran.fit, TwinOf(own, criterion), options.grid_bits);
  EXPECT_EQ(ran.fit.covariance.size() > 0, options.covariance);
  if (options.covariance) ExpectCovariance(ran.fit, TwinOf(own, criterion));
}

TEST(MixedProtocol, FitsOnEveryEngine) {
  const Table table = Draw(1, {});
  for (const char* engine : {"dealer", "replicated", "shamir"}) {
    ExpectFit(table, 3, Criterion::kReml, {.kind = engine});
    if (Thorough()) ExpectFit(table, 3, Criterion::kMl, {.kind = engine});
  }
}

TEST(MixedProtocol, CovarianceMatricesOpenInThePlaceOfErrors) {
  ExpectFit(Draw(1, {}), 3, Criterion::kReml, {.kind = "replicated", .covariance = true});
  ExpectFit(Draw(3, {.tau = 3}), 3, Criterion::kMl, {.kind = "shamir", .covariance = true});
  for (const uint64_t seed : Cases<uint64_t>({12, 104}, {13, 14, 100, 108, 112})) {
    SCOPED_TRACE(seed);
    const Table table = Draw(seed, {.clusters = 30, .tau = seed < 100 ? 0.4 : 0});
    ExpectFit(table, 2, Criterion::kReml, {.covariance = true});
    ExpectFit(table, 2, Criterion::kReml, {.grid_bits = 13, .covariance = true});
  }
  // All but collinear columns, whose covariances are large beside what is left of them.
  Table close = Draw(5, {.clusters = 40});
  close.x.col(2) = 0.98 * close.x.col(1) + 0.02 * close.x.col(2);
  ExpectFit(close, 2, Criterion::kReml, {.covariance = true});
  if (Thorough()) ExpectFit(Draw(2, {}), 2, Criterion::kReml, {.kind = "ot", .covariance = true});
}

// Beside the errors of log lambda and log R: as many numbers less as there are columns, and the matrix.
TEST(MixedProtocol, CovariancesAreCounted) {
  const std::vector<OwnData> own = SplitUp(Draw(1, {}), 2);
  Task task = TaskOf(3, own, Criterion::kReml);
  EXPECT_EQ(NumFit(task), 21u);
  task.spec.covariance = true;
  EXPECT_EQ(NumFit(task), 21u - 3 + 6);
}

TEST(MixedProtocol, FitsByTransfers) {
  ExpectFit(Draw(2, {}), 2, Criterion::kReml, {.kind = "ot"});
}

// On a grid so fine that the numbers before they are rounded are seen: variances within 1e-5 of
// themselves, coefficients within 1e-4 standard errors.
TEST(MixedProtocol, IsExactBeforeItIsRounded) {
  for (const uint64_t seed : Cases<uint64_t>({12, 13}, {10, 11, 14, 15})) {
    SCOPED_TRACE(seed);
    const Table table = Draw(seed, {.clusters = 30, .tau = seed % 2 == 0 ? 0.4 : 2});
    ExpectFit(table, 2, seed % 3 == 0 ? Criterion::kMl : Criterion::kReml, {.grid_bits = 20});
  }
}

// For `./test` each size of tau once, and another time with the other number of holders.
TEST(MixedProtocol, FitsRandomTables) {
  size_t singular = 0;
  const uint64_t tables = Thorough() ? 16 : 6;
  for (uint64_t seed = 100; seed < 100 + tables; ++seed) {
    SCOPED_TRACE(seed);
    const double tau = std::vector<double>{0, 0.1, 0.5, 3}[seed % 4];
    const Table table =
        Draw(seed, {.clusters = 8 + seed % 20, .most_rows = 3 + seed % 9, .tau = tau});
    const Criterion criterion = seed % 2 == 0 ? Criterion::kReml : Criterion::kMl;
    ExpectFit(table, 2 + seed % 2, criterion);
    singular += TwinOf(SplitUp(table, 2), criterion).fit.tau_squared == 0 ? 1 : 0;
  }
  EXPECT_GT(singular, 1u);
  EXPECT_LT(4 * singular, 3 * tables);
}

// Clusters that are all alike, sites that are clusters, one large cluster, a correlation within
// clusters of nearly one, an outcome of a hundredth of its bounds.
TEST(MixedProtocol, HoldsAtTheEdges) {
  Table alike = Draw(3, {.tau = 0, .sigma = 1});
  ExpectFit(alike, 2, Criterion::kReml);
  ExpectFit(Draw(4, {.clusters = 3, .most_rows = 200}), 3, Criterion::kReml);
  Table large = Draw(5, {.clusters = 12});
  for (size_t i = 0; i < large.clusters.size() / 2; ++i) large.clusters[i] = 0;
  ExpectFit(large, 2, Criterion::kReml);
  ExpectFit(Draw(6, {.tau = 3, .sigma = 0.15}), 2, Criterion::kReml);
  Table small = Draw(7, {});
  small.y /= 100;
  ExpectFit(small, 2, Criterion::kReml);
  Table single = Draw(8, {});
  single.x = single.x.leftCols(1).eval();
  ExpectFit(single, 2, Criterion::kReml);
}

nlohmann::json TablesOfR() {
  nlohmann::json tables;
  for (const char* name : {"mixed", "packages"}) {
    std::ifstream file(FixturePath(fmt::format("references/mixed/{}.json", name)));
    tables.update(nlohmann::json::parse(file));
  }
  return tables;
}

TEST(MixedProtocol, FitsRsTables) {
  const nlohmann::json tables = TablesOfR();
  EXPECT_EQ(tables.size(), 9u);
  size_t number = 0;
  for (const auto& [name, of_r] : tables.items()) {
    SCOPED_TRACE(name);
    ++number;
    const std::vector<double> y = of_r["y"], x = of_r["x"];
    const auto n = static_cast<Index>(y.size());
    using RowMajor = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
    Table table{Eigen::Map<const RowMajor>(x.data(), n, static_cast<Index>(x.size()) / n),
                Eigen::Map<const Eigen::VectorXd>(y.data(), n), of_r["cluster"]};
    for (Index c = 0; c < table.x.cols(); ++c)
      table.x.col(c) /= table.x.col(c).cwiseAbs().maxCoeff();
    table.y /= 2 * table.y.cwiseAbs().maxCoeff();
    // For `./test` each table by one of the two.
    if (Thorough() || number % 3 != 0) ExpectFit(table, 2, Criterion::kReml);
    if (Thorough() || number % 3 == 0) ExpectFit(table, 2, Criterion::kMl);
  }
}

// As TaskOf, where nothing is known of the rows but that they are at most 2^22, or so many.
Task TaskOfMany(const std::vector<OwnData>& own, Criterion criterion,
                uint64_t most = uint64_t{1} << 22) {
  Task task = TaskOf(3, own, criterion);
  for (run::RowHolder& holder : task.holders) holder.max_rows = most / own.size();
  return task;
}

// Far more rows assumed than there are, and an outcome of a hundredth of its bounds: where lambda is
// sought the slope is small, and its sign is right all the same, for groups that differ and for groups
// that do not.
TEST(MixedProtocol, FindsSmallOutcomesAmongManyAssumedRows) {
  size_t singular = 0;
  for (const uint64_t seed : Cases<uint64_t>({200, 203, 205}, {201, 202, 204, 206, 207})) {
    SCOPED_TRACE(seed);
    Table table =
        Draw(seed, {.clusters = 300, .tau = std::vector<double>{0.45, 0, 1, 0.3}[seed % 4]});
    table.y /= 100;
    const std::vector<OwnData> own = SplitUp(table, 2);
    const Criterion criterion = seed % 2 == 0 ? Criterion::kReml : Criterion::kMl;
    const Options options{.kind = seed == 200 ? "replicated" : "dealer"};
    if (options.kind == "replicated") {
      const std::vector<OwnData> three = SplitUp(table, 3);
      ExpectTwin(RunFit(TaskOfMany(three, criterion), three, options).fit, TwinOf(three, criterion),
                 6);
      continue;
    }
    Twin twin = TwinOf(own, criterion);
    ExpectTwin(RunFit(TaskOfMany(own, criterion), own).fit, twin, 6);
    singular += twin.fit.tau_squared == 0 ? 1 : 0;
  }
  EXPECT_GE(singular, 1u);
}

// With the most rows that there can be everything fits into every engine's numbers.
TEST(MixedProtocol, TakesTheMostRows) {
  Table table = Draw(210, {.clusters = 100});
  table.y /= 10;
  const std::vector<OwnData> own = SplitUp(table, 3);
  for (const char* engine : {"dealer", "replicated", "shamir"}) {
    SCOPED_TRACE(engine);
    const Task task = TaskOfMany(own, Criterion::kReml, kMostMixedRows);
    ExpectTwin(RunFit(task, own, {.kind = engine}).fit, TwinOf(own, Criterion::kReml), 6);
  }
}

// Below what the arithmetic can tell, of the residual and of standard errors, there is no fit instead
// of a wrong one.
TEST(MixedProtocol, TooSmallOutcomesAreNoFit) {
  Table table = Draw(12, {.clusters = 400});
  table.y /= 1000;
  std::vector<OwnData> own = SplitUp(table, 2);
  const Task many = TaskOfMany(own, Criterion::kReml);
  ASSERT_LT(std::exp(TwinOf(own, Criterion::kReml).log_residual), many.LeastResidual());
  OpenedFit fit = RunFit(many, own).fit;
  EXPECT_FALSE(fit.converged);
  EXPECT_TRUE(fit.steps.isZero(0));

  table.y *= 2.5;
  own = SplitUp(table, 2);
  const Twin twin = TwinOf(own, Criterion::kReml);
  const Task task = TaskOf(3, own, Criterion::kReml);
  ASSERT_GT(std::exp(twin.log_residual), 2 * task.LeastResidual());
  ASSERT_LT(twin.fit.standard_errors.minCoeff(), kLeastStandardError);
  fit = RunFit(task, own).fit;
  EXPECT_FALSE(fit.converged);
  EXPECT_TRUE(fit.estimates.isZero(0));
  EXPECT_TRUE(fit.steps.isZero(0));
}

// Where there is no interval to step over: groups explain everything, or nothing, on every engine.
TEST(MixedProtocol, EndsOfTheLadderHoldOnEveryEngine) {
  for (const char* engine : {"dealer", "replicated", "shamir"}) {
    SCOPED_TRACE(engine);
    std::vector<OwnData> own = SplitUp(Draw(10, {.tau = 3, .sigma = 1e-3}), 3);
    const OpenedFit fit = RunFit(TaskOf(3, own, Criterion::kReml), own, {.kind = engine}).fit;
    EXPECT_FALSE(fit.converged);
    EXPECT_TRUE(fit.estimates.isZero(0));
    ExpectFit(Draw(3, {.tau = 0}), 3, Criterion::kReml, {.kind = engine});
  }
}

// A column of zeros, a copy of another; groups that explain everything; a perfect fit.
TEST(MixedProtocol, SaysWhereThereIsNoFit) {
  Table table = Draw(9, {});
  table.x.col(2) = table.x.col(1) - 0.5 * table.x.col(0);
  std::vector<OwnData> own = SplitUp(table, 2);
  EXPECT_EQ(RunFit(TaskOf(3, own, Criterion::kReml), own).collinear, std::vector<size_t>{2});
  table.x.col(2).setZero();
  own = SplitUp(table, 2);
  EXPECT_EQ(RunFit(TaskOf(3, own, Criterion::kReml), own).collinear, std::vector<size_t>{2});

  Table everything = Draw(10, {.tau = 3, .sigma = 1e-4});
  own = SplitUp(everything, 2);
  Ran ran = RunFit(TaskOf(3, own, Criterion::kReml), own);
  EXPECT_FALSE(ran.fit.converged);
  EXPECT_TRUE(ran.fit.estimates.isZero(0));
  EXPECT_EQ(ran.fit.criterion, 0);
  EXPECT_FALSE(ran.fit.singular);

  Table perfect = Draw(11, {});
  perfect.y = perfect.x.col(1) / 2;
  own = SplitUp(perfect, 2);
  EXPECT_FALSE(RunFit(TaskOf(3, own, Criterion::kMl), own).fit.converged);
}

// Where sites are the groups there are five, and none of a row or two.
TEST(MixedProtocol, SmallSitesAreNoGroups) {
  struct Case {
    std::vector<int> rows;
    uint64_t min_cell;
    bool groups, rows_of_sites;
  };
  for (const Case& tried : std::vector<Case>{{{40, 30, 30, 20, 5}, 5, true, true},
                                             {{40, 30, 30, 20, 1}, 5, true, false},
                                             {{40, 30, 30, 20, 4}, 1, true, false},
                                             {{40, 30, 30, 20, 5}, 6, true, false},
                                             {{40, 30, 30, 20, 0}, 5, false, true},
                                             {{40, 30, 30, 0, 0}, 5, false, true}}) {
    std::vector<OwnData> own(5);
    for (size_t h = 0; h < 5; ++h) {
      own[h].sums.rows = 100;
      own[h].counts = {tried.rows[h] > 0 ? 1 : 0, tried.rows[h]};
    }
    Task task = TaskOf(3, own, Criterion::kReml);
    task.spec.group.clear();
    mpc::testing::RunOptions run;
    run.num_parties = 5;
    run.releases = {{kDisclosureRelease, "bits", "all", "exact", 1, mpc::kEverybody, 4}};
    ASSERT_EQ(NumChecks(task), 4u);
    std::vector<std::optional<CountAnswers>> answers(5);
    const OwnData none{{}, {0, 0}};
    mpc::testing::RunAndComparePlan(run, [&](Engine& engine, size_t) {
      const OwnData& mine = engine.self() ? own[*engine.self()] : none;
      const auto told =
          CheckCounts(engine, task, ShareCounts(engine, task, mine), 70, tried.min_cell);
      if (engine.self()) answers[*engine.self()] = told;
    }).ThrowIfFailed();
    for (const auto& answer : answers) {
      EXPECT_EQ(answer->groups, tried.groups);
      EXPECT_EQ(answer->rows_of_sites, tried.rows_of_sites);
      EXPECT_TRUE(answer->rows && answer->rows_in_groups);
    }
  }
}

// What counts open of few groups, rows, and rows in groups.
TEST(MixedProtocol, CountsAreComparedFirst) {
  struct Case {
    std::vector<std::pair<int, int>> groups_rows;
    uint64_t min_rows, min_cell;
    bool groups, rows, rows_in_groups;
  };
  for (const Case& tried : std::vector<Case>{{{{6, 40}, {5, 30}}, 70, 5, true, true, true},
                                             {{{6, 40}, {5, 30}}, 71, 5, true, false, true},
                                             {{{6, 40}, {5, 30}}, 70, 6, false, true, true},
                                             {{{2, 40}, {2, 30}}, 70, 1, false, true, true},
                                             {{{30, 40}, {31, 30}}, 70, 5, true, true, false},
                                             {{{30, 40}, {30, 30}}, 70, 5, true, true, true}}) {
    std::vector<OwnData> own(2);
    for (size_t h = 0; h < 2; ++h) {
      own[h].sums.rows = 100;
      own[h].counts = {4, 0, tried.groups_rows[h].first, tried.groups_rows[h].second};
    }
    Task task = TaskOf(3, own, Criterion::kReml);
    task.table_sizes = {2};
    mpc::testing::RunOptions run;
    run.releases = {{kDisclosureRelease, "bits", "all", "exact", 1, mpc::kEverybody, 4}};
    std::vector<std::optional<CountAnswers>> answers(2);
    const OwnData none{{}, {0, 0, 0, 0}};
    mpc::testing::RunAndComparePlan(run, [&](Engine& engine, size_t) {
      const OwnData& mine = engine.self() ? own[*engine.self()] : none;
      const auto told = CheckCounts(engine, task, ShareCounts(engine, task, mine), tried.min_rows,
                                    tried.min_cell);
      if (engine.self()) answers[*engine.self()] = told;
    }).ThrowIfFailed();
    for (const auto& answer : answers) {
      EXPECT_EQ(answer->groups, tried.groups);
      EXPECT_EQ(answer->rows, tried.rows);
      EXPECT_EQ(answer->rows_in_groups, tried.rows_in_groups);
      // Four rows beside the other holder's four.
      EXPECT_EQ(answer->tables.front(), tried.min_cell <= 4);
    }
  }
}

}  // namespace
}  // namespace partita::methods::mixed::protocol_test
