// Fisher scoring on shares against its twin in the clear, on every engine, with exactly the messages
// of the plan: estimates, standard errors and fit on their grids; what does not converge; counts.
#include "methods/glm/protocol.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <Eigen/Cholesky>
#include <cmath>
#include <random>

#include "methods/glm/result.h"
#include "stats/glm/robust.h"
#include "stats/glm/wald.h"
#include "tests/methods/glm/tables.h"
#include "tests/mpc/harness.h"
#include "tests/thorough.h"

namespace partita::methods::glm::protocol_test {
namespace {

using mpc::Engine;
using stats::glm::Family;
using testing::Factor;
using testing::Integer;
using testing::Number;
using testing::PlainModel;

constexpr int kGridBits = 6;
// Half a step and the guard bits.
constexpr double kRounding = 0.5 + 0x1p-9;

struct Options {
  std::string kind = "dealer";
  int steps = 3;
  uint64_t max_rows = 0;  // of each holder; 0: as many as it has
  bool to_all = false;
};

Task TaskOf(const PlainModel& model, const std::vector<OwnData>& parts, const Options& options) {
  const CountTables tables(model.spec, model.factors);
  Task task;
  task.spec = model.spec;
  task.spec.steps = options.steps;
  task.table_sizes = tables.sizes;
  task.classes = tables.classes;
  task.grid_bits = kGridBits;
  task.to = options.to_all ? mpc::kEverybody : 1;
  for (size_t h = 0; h < parts.size(); ++h) {
    const auto rows = std::max<uint64_t>(static_cast<uint64_t>(parts[h].rows.y.size()), 1);
    const uint64_t copies = model.spec.copies() ? static_cast<uint64_t>(model.spec.most_weight) : 1;
    task.holders.push_back({h, options.max_rows == 0 ? rows * copies : options.max_rows});
  }
  SetUnits(task);
  return task;
}

std::vector<mpc::Release> ReleasesFor(const Task& task) {
  const auto steps = static_cast<uint64_t>(task.spec.steps);
  return {{kDisclosureRelease, "", "all", "exact", 1, mpc::kEverybody, NumChecks(task)},
          {kIndependenceRelease, "", "all", "exact", 1, mpc::kEverybody, task.num_columns()},
          {kIteratesRelease, "", "all", "exact", steps, mpc::kEverybody, NumIterate(task)},
          {kEstimatesRelease, "", "all", "exact", 1, mpc::kEverybody, NumIterate(task)},
          {kFitRelease, "", "one", "exact", 1, task.to, NumFit(task)}};
}

struct Ran {
  Task task;
  Fitted fitted;
  Collinear collinear;
  std::vector<uint64_t> depth;
};

Ran RunFit(const PlainModel& model, const std::vector<OwnData>& parts, const Options& options) {
  Ran ran;
  ran.task = TaskOf(model, parts, options);
  const Task& task = ran.task;
  const OwnData none = NoData(model.spec, CountTables(model.spec, model.factors));
  mpc::testing::RunOptions run;
  run.kind = options.kind;
  run.num_parties = parts.size();
  run.releases = ReleasesFor(task);
  std::vector<Fitted> fitted(parts.size());
  std::vector<Collinear> collinear(parts.size());
  const auto result = mpc::testing::RunAndComparePlan(run, [&](Engine& engine, size_t) {
    const std::optional<size_t> self = engine.self();
    const OwnData& own = self ? parts[*self] : none;
    const std::vector<mpc::Shared> counts = ShareCounts(engine, task, own);
    Fitter fitter(engine, task, own, TotalsFrom(engine, task, counts, {}));
    const Collinear columns = fitter.First();
    for (int point = 0; point <= task.spec.steps; ++point) fitter.OpenPoint(point);
    const Fitted made = fitter.Finish();
    if (!self) return;
    fitted[*self] = made;
    collinear[*self] = columns;
  });
  result.ThrowIfFailed();
  for (size_t p = 0; p < fitted.size(); ++p) {
    EXPECT_EQ(fitted[p].model.has_value(), options.to_all || p == 1) << p;
    EXPECT_EQ(fitted[p].points, fitted[1].points) << p;
    EXPECT_EQ(collinear[p].columns, collinear[1].columns) << p;
  }
  ran.fitted = fitted[1];
  ran.collinear = collinear[1];
  ran.depth = result.depth;
  return ran;
}

// Of the model, or of the sandwich, at the maximum.
Eigen::VectorXd ErrorsAt(const Spec& spec, const stats::glm::Rows& all,
                         const stats::glm::Fit& twin) {
  if (!spec.robust()) return twin.standard_errors;
  const stats::glm::Limits limits = testing::LimitsOfModel(spec);
  return stats::glm::SandwichErrors(SumsAt(spec.law, all, twin.maximum.point, limits).information,
                                    MeatAt(spec.law, all, twin.maximum.point, limits).meat);
}

// Of the model, or of the sandwich, at a point.
Eigen::MatrixXd CovarianceAt(const Spec& spec, const stats::glm::Rows& all,
                             const Eigen::VectorXd& point) {
  const stats::glm::Limits limits = testing::LimitsOfModel(spec);
  const stats::glm::PointSums sums = SumsAt(spec.law, all, point, limits);
  if (spec.robust()) {
    return stats::glm::SandwichCovariance(sums.information,
                                          MeatAt(spec.law, all, point, limits).meat);
  }
  const double freedom = all.count() - static_cast<double>(all.x.cols());
  const double dispersion = HasDispersion(spec.law) ? sums.pearson / freedom : 1;
  return dispersion *
         sums.information.ldlt().solve(Eigen::MatrixXd::Identity(all.x.cols(), all.x.cols()));
}

// The statistics are of the numbers that opened, so that only their own rounding is left.
void ExpectStatistics(const PlainModel& model, const stats::glm::Rows& all, const Fitted& fitted) {
  const Eigen::MatrixXd covariance = CovarianceAt(model.spec, all, fitted.points.back());
  ASSERT_EQ(fitted.model->statistics.size(), model.spec.terms.size());
  for (size_t t = 0; t < model.spec.terms.size(); ++t) {
    const auto& columns = model.spec.terms[t].columns;
    const double plain =
        stats::glm::WaldStatistic(fitted.points.back(), covariance, columns).value();
    EXPECT_GT(plain, 0);
    EXPECT_NEAR(fitted.model->statistics[t], plain, kRounding * 0x1p-6 + 1e-6 * plain)
        << model.spec.terms[t].name;
  }
}

// Of the points that opened, so that only their own rounding is left; and standard errors are its roots.
void ExpectCovariance(const PlainModel& model, const stats::glm::Rows& all, const Fitted& fitted) {
  const FittedModel& told = *fitted.model;
  if (!model.spec.covariance) {
    EXPECT_EQ(told.covariance.size(), 0);
    return;
  }
  const Eigen::MatrixXd plain = CovarianceAt(model.spec, all, fitted.points.back());
  ASSERT_EQ(told.covariance.rows(), plain.rows());
  for (Eigen::Index i = 0; i < plain.rows(); ++i) {
    EXPECT_EQ(told.standard_errors[i], std::sqrt(told.covariance(i, i)));
    for (Eigen::Index j = 0; j < plain.cols(); ++j) {
      const double step = told.steps[i] * told.steps[j];
      EXPECT_NEAR(told.covariance(i, j), plain(i, j),
                  kRounding * step + 1e-6 * std::sqrt(plain(i, i) * plain(j, j)))
          << i << " " << j;
      EXPECT_EQ(std::remainder(told.covariance(i, j), step), 0);
    }
  }
}

// A step of the grid is 2^floor(log2(g SE)), within the precision that release_grid.h states.
void ExpectStep(double step, double error, double within) {
  const double exponent = std::log2(step), wanted = std::log2(error) - kGridBits;
  EXPECT_EQ(exponent, std::round(exponent));
  EXPECT_LE(exponent, wanted + within);
  EXPECT_GT(exponent, wanted - 1 - within);
}

void ExpectTwin(const PlainModel& model, const std::vector<OwnData>& parts, const Ran& ran) {
  const Spec& spec = model.spec;
  const stats::glm::Rows all = testing::Joined(parts);
  const stats::glm::Fit twin =
      stats::glm::FitRows(spec.law, all, testing::LimitsOfModel(spec), spec.intercept);
  const FittedModel& told = ran.fitted.model.value();
  ASSERT_TRUE(told.converged);
  EXPECT_TRUE(ran.collinear.columns.empty());
  EXPECT_EQ(told.rows, static_cast<uint64_t>(all.count()));
  if (spec.law.binary) {
    EXPECT_EQ(told.events,
              static_cast<uint64_t>(all.copies ? all.weights.dot(all.y) : all.y.sum()));
  }
  EXPECT_EQ(told.clusters, spec.clustered() ? NumClusters(all) : 0);
  const Eigen::VectorXd errors = ErrorsAt(spec, all, twin);
  ASSERT_EQ(ran.fitted.points.size(), static_cast<size_t>(ran.task.spec.steps) + 1);
  for (Eigen::Index j = 0; j < all.x.cols(); ++j) {
    SCOPED_TRACE(spec.columns[static_cast<size_t>(j)].name);
    const double error = errors[j];
    const double step = ran.fitted.estimate_steps[j];
    // Scoring from within half a step of 2^-4 of the maximum leaves 2^-9 of a standard error.
    EXPECT_NEAR(ran.fitted.points.back()[j], twin.maximum.point[j],
                kRounding * step + 0x1p-9 * error);
    EXPECT_EQ(std::remainder(ran.fitted.points.back()[j], step), 0);
    for (int t = 0; t < ran.task.spec.steps; ++t) {
      // As much coarser, within a factor of 2 for the information at another point.
      const int exponent = std::ilogb(error) - ran.task.GridBitsOf(t) - 1;
      EXPECT_EQ(
          std::remainder(ran.fitted.points[static_cast<size_t>(t)][j], std::ldexp(1.0, exponent)),
          0)
          << t;
    }
    // The information is that of the point before, within 2^-5 standard errors.
    ExpectStep(step, error, 0.05);
    EXPECT_NEAR(told.standard_errors[j], error, kRounding * told.steps[j] + 0x1p-8 * error);
    ExpectStep(told.steps[j], error, 0.01);
  }
  ExpectStatistics(model, all, ran.fitted);
  ExpectCovariance(model, all, ran.fitted);
  if (NumTotals(spec) == 0) {
    EXPECT_TRUE(told.totals.empty());
    return;
  }
  const ModelFit fit = FitOf(ran.task, told.rows, told.events, told.totals);
  // The estimates are half a step off at most, which raises the deviance by less than p 4^-6; totals
  // are within half a step of 2^-6.
  const double unit = spec.law.family == Family::kGaussian
                          ? spec.outcome.scale * spec.outcome.scale * spec.weight_unit()
                          : 1;
  const double total = kRounding * 0x1p-6 + 0.001 * static_cast<double>(all.x.cols());
  const double relative = spec.law.family == Family::kGaussian
                              ? twin.deviance * unit * total / static_cast<double>(told.rows)
                              : total;
  EXPECT_NEAR(fit.deviance, twin.deviance * unit, relative);
  if (fit.null_deviance) {
    EXPECT_NEAR(*fit.null_deviance, twin.null_deviance * unit,
                spec.law.family == Family::kGaussian
                    ? twin.null_deviance * unit * total / static_cast<double>(told.rows)
                    : total);
  }
  const bool precision = spec.weights_kind == study::WeightsKind::kPrecision;
  EXPECT_EQ(fit.null_deviance.has_value() || precision,
            spec.law.family != Family::kBinomial || !spec.intercept || spec.offsets.empty());
  if (HasDispersion(spec.law)) {
    EXPECT_NEAR(fit.dispersion, twin.dispersion * unit, 1e-3 * twin.dispersion * unit);
  }
}

// ---- a made-up clinic: numbers, a count, a factor and 0/1 variables

data::Schema ClinicDictionary() {
  data::Schema schema;
  schema.columns = {Number("age", 20, 90),      Number("dose", -1, 1),
                    Integer("smoker", 0, 1),    Factor("stage", {"one", "two", "three"}),
                    Number("years", 0.5, 4),    Integer("event", 0, 1),
                    Integer("visits", 0, 60),   Number("score", -10, 40),
                    Number("cost", 0.1, 400),   Integer("ward", 1, 30),
                    Integer("copies", 0, 5),    Number("weight", 0.25, 4),
                    Number("wide", -8000, 8000)};
  return schema;
}

data::Table ClinicTable(std::mt19937_64& random, size_t rows) {
  const data::Schema dictionary = ClinicDictionary();
  data::Table table;
  table.num_rows = rows;
  for (const data::ColumnSchema& schema : dictionary.columns) {
    table.columns.emplace_back();
    table.columns.back().schema = schema;
  }
  std::uniform_real_distribution<double> uniform;
  const auto add = [&](size_t column, double value) {
    const data::ColumnSchema& schema = dictionary.columns[column];
    table.columns[column].numbers.push_back(std::clamp(value, schema.lower, schema.upper));
  };
  for (size_t r = 0; r < rows; ++r) {
    const double age = 20 + 70 * uniform(random), dose = 2 * uniform(random) - 1;
    const double smoker = uniform(random) < 0.35 ? 1 : 0, years = 0.5 + 3.5 * uniform(random);
    const auto stage = static_cast<int32_t>(random() % 3);
    const double eta = -1 + 0.02 * age - 0.6 * dose + 0.5 * smoker + 0.3 * stage;
    add(0, age);
    add(1, dose);
    add(2, smoker);
    table.columns[3].codes.push_back(stage);
    add(4, years);
    add(5, uniform(random) < 1 / (1 + std::exp(0.6 - eta)) ? 1 : 0);
    add(6, std::poisson_distribution<int>(std::exp(eta) * years)(random));
    const double score = std::normal_distribution<double>(10 + 3 * eta, 4)(random);
    add(7, score);
    add(8, std::gamma_distribution<double>(2.5, std::exp(eta) * 4)(random));
    add(9, 1 + static_cast<double>(r % 30));
    add(10, static_cast<double>((7 * r + 3) % 11 % 6));
    add(11, 0.25 + static_cast<double>(r % 16) * 0.234375);
    add(12, score);
  }
  return table;
}

std::vector<OwnData> ClinicParts(const PlainModel& model, uint64_t seed,
                                 const std::vector<size_t>& rows) {
  std::mt19937_64 random(seed);
  std::vector<OwnData> parts;
  for (const size_t n : rows)
    parts.push_back(testing::DataOf(model, ClinicTable(random, n), ClinicDictionary()));
  return parts;
}

PlainModel Clinic(const std::string& family, const std::string& formula) {
  return testing::PlainModelOf(family, formula, ClinicDictionary());
}

void ExpectClinic(const std::string& family, const std::string& formula, uint64_t seed,
                  const std::vector<size_t>& rows, const Options& options) {
  SCOPED_TRACE(fmt::format("{} {} by {}", family, formula, options.kind));
  const PlainModel model = Clinic(family, formula);
  const std::vector<OwnData> parts = ClinicParts(model, seed, rows);
  ExpectTwin(model, parts, RunFit(model, parts, options));
}

TEST(GlmProtocol, FitsEveryFamily) {
  ExpectClinic("binomial", "event ~ age + dose * smoker + stage", 1, {260, 190}, {});
  ExpectClinic("poisson", "visits ~ age + dose + smoker + offset(log(years))", 2, {200, 250}, {});
  ExpectClinic("gaussian", "score ~ age + dose + stage", 3, {150, 120}, {});
  ExpectClinic("gamma", "cost ~ age + smoker + dose", 4, {300, 200}, {});
}

TEST(GlmProtocol, FitsOnEveryEngine) {
  ExpectClinic("binomial", "event ~ age + smoker", 5, {150, 140, 160}, {.kind = "replicated"});
  ExpectClinic("gamma", "cost ~ age + smoker", 6, {150, 140, 160}, {.kind = "replicated"});
  ExpectClinic("poisson", "visits ~ dose + smoker", 7, {150, 140, 160},
               {.kind = "shamir", .to_all = true});
  ExpectClinic("gaussian", "score ~ dose", 8, {100, 90, 80, 110}, {.kind = "shamir"});
  ExpectClinic("binomial", "event ~ dose", 9, {150, 150, 160}, {.kind = "dealer"});
}

TEST(GlmProtocol, FitsByTransfers) {
  ExpectClinic("binomial", "event ~ smoker", 10, {120, 130}, {.kind = "ot", .steps = 2});
}

TEST(GlmProtocol, FitsWithoutAnInterceptAndWithOffsets) {
  ExpectClinic("gaussian", "score ~ age + dose - 1", 11, {150, 120}, {});
  ExpectClinic("poisson", "visits ~ age + dose - 1", 12, {200, 150}, {});
  ExpectClinic("gamma", "cost ~ age - 1", 13, {300, 100}, {});
  ExpectClinic("binomial", "event ~ age + dose - 1", 14, {200, 150}, {});
  ExpectClinic("binomial", "event ~ dose + offset(log(years))", 15, {200, 150}, {});
  ExpectClinic("gamma", "cost ~ dose + offset(log(years))", 16, {300, 100}, {});
  ExpectClinic("gaussian", "score ~ dose + offset(years)", 17, {300, 100}, {});
  ExpectClinic("poisson", "visits ~ 1", 18, {100, 100}, {});
}

// ---- other errors and weights

PlainModel WithErrors(PlainModel model, Errors errors) {
  model.spec.errors = errors;
  if (errors == Errors::kCluster) model.spec.cluster = "ward";
  return model;
}

PlainModel Weighted(PlainModel model, const std::string& weights, study::WeightsKind kind) {
  model.spec.weights = weights;
  model.spec.weights_kind = kind;
  model.spec.most_weight = ClinicDictionary().Find(weights)->upper;
  return model;
}

void ExpectModel(const PlainModel& model, uint64_t seed, const std::vector<size_t>& rows,
                 const Options& options) {
  SCOPED_TRACE(fmt::format("{} by {}", model.spec.formula, options.kind));
  const std::vector<OwnData> parts = ClinicParts(model, seed, rows);
  ExpectTwin(model, parts, RunFit(model, parts, options));
}

TEST(GlmProtocol, RobustErrors) {
  const auto robust = [](const std::string& family, const std::string& formula) {
    return WithErrors(Clinic(family, formula), Errors::kRobust);
  };
  ExpectModel(robust("binomial", "event ~ age + smoker + stage"), 40, {260, 190}, {});
  ExpectModel(robust("modified-poisson", "event ~ age + smoker"), 41, {200, 190}, {});
  ExpectModel(robust("poisson", "visits ~ dose + smoker"), 42, {200, 150, 0},
              {.kind = "replicated"});
  ExpectModel(robust("gaussian", "score ~ age + dose"), 43, {150, 150, 160},
              {.kind = "shamir", .max_rows = uint64_t{1} << 20});
  ExpectModel(robust("gamma", "cost ~ age + smoker"), 44, {300, 200}, {});
}

PlainModel WithCovariance(PlainModel model) {
  model.spec.covariance = model.spec.pairs = true;
  return model;
}

// In the place of standard errors: of the model with and without a dispersion, of sandwiches, on every
// engine, for any bound of the rows.
TEST(GlmProtocol, Covariances) {
  ExpectModel(WithCovariance(Clinic("binomial", "event ~ age + dose * smoker + stage")), 70,
              {260, 190}, {});
  ExpectModel(WithCovariance(Clinic("gaussian", "score ~ age + stage")), 71, {160, 150, 170},
              {.kind = "replicated"});
  ExpectModel(WithCovariance(Clinic("gamma", "cost ~ age + smoker")), 72, {150, 140, 160},
              {.kind = "shamir", .max_rows = uint64_t{1} << 26, .to_all = true});
  ExpectModel(WithCovariance(Clinic("binomial", "event ~ smoker")), 73, {120, 130},
              {.kind = "ot", .steps = 2});
  ExpectModel(
      WithCovariance(WithErrors(Clinic("poisson", "visits ~ age + stage"), Errors::kRobust)), 74,
      {260, 190}, {.max_rows = uint64_t{1} << 20});
  ExpectModel(
      WithCovariance(WithErrors(Clinic("gaussian", "score ~ stage + smoker"), Errors::kCluster)),
      75, {260, 190}, {});
  ExpectModel(WithCovariance(Clinic("quasi-poisson", "visits ~ age + smoker")), 77, {200, 190}, {});
}

// Of terms of several columns: factors, their products, of the model and of sandwiches, on every
// engine.
TEST(GlmProtocol, TestsTerms) {
  ExpectClinic("gaussian", "score ~ stage * smoker + dose", 60, {160, 150, 170},
               {.kind = "replicated"});
  ExpectClinic("gamma", "cost ~ stage + factor(copies)", 61, {160, 150, 170}, {.kind = "shamir"});
  ExpectModel(WithErrors(Clinic("poisson", "visits ~ stage * dose"), Errors::kRobust), 62,
              {260, 190}, {.max_rows = uint64_t{1} << 20});
  ExpectModel(WithErrors(Clinic("gaussian", "score ~ stage + smoker"), Errors::kCluster), 63,
              {260, 190}, {});
}

// Residuals are 2^-11 of their declared bound.
TEST(GlmProtocol, TestsTermsWithinWideBounds) {
  ExpectModel(WithErrors(Clinic("gaussian", "wide ~ stage * smoker + dose"), Errors::kRobust), 65,
              {260, 190}, {});
}

// A term with more columns than clusters has a singular covariance, and no test; the others have
// theirs.
TEST(GlmProtocol, ASingularCovarianceHasNoTest) {
  PlainModel model =
      WithErrors(Clinic("gaussian", "score ~ stage + factor(copies) + dose"), Errors::kCluster);
  std::vector<OwnData> parts = ClinicParts(model, 64, {200, 190});
  for (OwnData& part : parts) {
    for (uint32_t& cluster : part.rows.clusters) cluster %= 2;
  }
  const Ran ran = RunFit(model, parts, {});
  ASSERT_TRUE(ran.fitted.model->converged);
  const std::vector<double>& statistics = ran.fitted.model->statistics;
  ASSERT_EQ(statistics.size(), 2u);
  EXPECT_GT(statistics[0], 0);
  EXPECT_EQ(statistics[1], kNoStatistic);
  const Regression regression = RegressionOf(ran.task, ran.fitted);
  EXPECT_TRUE(regression.tests[0].p_value.has_value());
  EXPECT_FALSE(regression.tests[1].p_value.has_value());
}

// Wards of one clinic are none of the other.
TEST(GlmProtocol, ErrorsOfClusters) {
  const auto clustered = [](const std::string& family, const std::string& formula) {
    return WithErrors(Clinic(family, formula), Errors::kCluster);
  };
  ExpectModel(clustered("binomial", "event ~ age + smoker"), 45, {260, 190}, {});
  ExpectModel(clustered("gaussian", "score ~ age + dose"), 46, {150, 150, 160},
              {.kind = "replicated"});
}

TEST(GlmProtocol, WeightsOfEveryKind) {
  using study::WeightsKind;
  const PlainModel events = Clinic("binomial", "event ~ age + smoker");
  const PlainModel scores = Clinic("gaussian", "score ~ dose + smoker");
  ExpectModel(Weighted(events, "copies", WeightsKind::kFrequency), 47, {120, 110}, {});
  ExpectModel(Weighted(Clinic("poisson", "visits ~ age"), "copies", WeightsKind::kFrequency), 48,
              {120, 110}, {});
  ExpectModel(Weighted(Clinic("gamma", "cost ~ age"), "copies", WeightsKind::kFrequency), 49,
              {160, 110}, {});
  ExpectModel(Weighted(WithErrors(scores, Errors::kRobust), "copies", WeightsKind::kFrequency), 50,
              {120, 110}, {});
  ExpectModel(Weighted(WithErrors(scores, Errors::kCluster), "copies", WeightsKind::kFrequency), 51,
              {120, 110}, {});
  ExpectModel(Weighted(WithErrors(events, Errors::kRobust), "weight", WeightsKind::kSampling), 52,
              {150, 140, 160}, {.kind = "shamir"});
  ExpectModel(Weighted(WithErrors(events, Errors::kCluster), "weight", WeightsKind::kSampling), 53,
              {220, 210}, {});
  ExpectModel(Weighted(scores, "weight", WeightsKind::kPrecision), 54, {150, 140}, {});
  ExpectModel(Weighted(WithErrors(scores, Errors::kRobust), "weight", WeightsKind::kPrecision), 55,
              {150, 140}, {});
}

TEST(GlmProtocol, QuasiLikelihoodsAndOtherLinks) {
  ExpectClinic("quasi-binomial", "event ~ age + smoker", 56, {200, 190}, {});
  ExpectClinic("quasi-poisson", "visits ~ age + smoker", 57, {200, 190}, {});
  for (const char* link : {"probit", "cloglog"}) {
    ExpectModel(testing::PlainModelOf("binomial", "event ~ age + smoker", ClinicDictionary(), link),
                58, {200, 190}, {.steps = 4});
  }
  ExpectModel(testing::PlainModelOf("binomial", "event ~ smoker", ClinicDictionary(), "log"), 59,
              {200, 190}, {.steps = 5});
}

// As many rows as nobody declared, and far more than there are.
TEST(GlmProtocol, IsAsPreciseForAnyBoundOfRows) {
  for (const uint64_t most : Cases<uint64_t>({uint64_t{1} << 26}, {uint64_t{1} << 20})) {
    for (const auto& [family, formula] :
         std::vector<std::pair<std::string, std::string>>{{"binomial", "event ~ age + smoker"},
                                                          {"gaussian", "score ~ age + smoker"},
                                                          {"gamma", "cost ~ age + smoker"}})
      ExpectClinic(family, formula, 19, {150, 160}, {.max_rows = most});
  }
}

// A holder without rows, and one with a single row.
TEST(GlmProtocol, HoldersMayHaveFewRows) {
  ExpectClinic("binomial", "event ~ age + smoker", 20, {250, 0, 200}, {});
  ExpectClinic("poisson", "visits ~ age + smoker", 21, {250, 1, 100}, {});
  ExpectClinic("gaussian", "score ~ age + smoker", 22, {0, 200}, {});
}

void ExpectNotConverged(const Ran& ran) {
  const FittedModel& told = ran.fitted.model.value();
  EXPECT_FALSE(told.converged);
  EXPECT_EQ(told.standard_errors.norm(), 0);
  EXPECT_EQ(told.covariance.norm(), 0);
  EXPECT_EQ(told.steps.norm(), 0);
  for (const double total : told.totals) EXPECT_EQ(total, 0);
  for (const double statistic : told.statistics) EXPECT_EQ(statistic, 0);
}

// Nobody of stage three has an event: its coefficient runs away, a unit a step.
TEST(GlmProtocol, SeparationDoesNotConverge) {
  const PlainModel model = Clinic("binomial", "event ~ age + stage");
  const PlainModel of_covariance = WithCovariance(model);
  std::mt19937_64 random(23);
  std::vector<OwnData> parts, parts_of_covariance;
  for (int h = 0; h < 2; ++h) {
    data::Table table = ClinicTable(random, 200);
    for (size_t r = 0; r < 200; ++r) {
      if (table.columns[3].codes[r] == 2) table.columns[5].numbers[r] = 0;
    }
    parts.push_back(testing::DataOf(model, table, ClinicDictionary()));
    parts_of_covariance.push_back(testing::DataOf(of_covariance, table, ClinicDictionary()));
  }
  for (const int steps : Cases<int>({3, 12}, {25})) {
    SCOPED_TRACE(steps);
    ExpectNotConverged(RunFit(of_covariance, parts_of_covariance, {.steps = steps}));
    const Ran ran = RunFit(model, parts, {.steps = steps});
    ExpectNotConverged(ran);
    EXPECT_EQ(ran.fitted.model->rows, 400u);
    const Regression regression = RegressionOf(ran.task, ran.fitted);
    EXPECT_FALSE(regression.converged);
    EXPECT_TRUE(regression.coefficients.empty());
    EXPECT_EQ(regression.path.size(), 4u);
  }
}

// The messages tell nothing of how it ended.
TEST(GlmProtocol, CostsTheSameHoweverItEnds) {
  const PlainModel model = Clinic("binomial", "event ~ smoker");
  std::vector<OwnData> parts = ClinicParts(model, 24, {100, 100});
  const Ran converges = RunFit(model, parts, {});
  EXPECT_TRUE(converges.fitted.model->converged);
  for (OwnData& part : parts) part.rows.y = part.rows.x.col(1);
  const Ran diverges = RunFit(model, parts, {});
  ExpectNotConverged(diverges);
  EXPECT_EQ(converges.depth, diverges.depth);
}

TEST(GlmProtocol, NamesCollinearColumns) {
  const PlainModel model = Clinic("gaussian", "score ~ age + dose + smoker");
  std::vector<OwnData> parts = ClinicParts(model, 25, {100, 100});
  for (OwnData& part : parts) part.rows.x.col(2) = part.rows.x.col(1) * 0.5;
  EXPECT_EQ(RunFit(model, parts, {}).collinear.columns, (std::vector<size_t>{2}));
  for (OwnData& part : parts) part.rows.x.col(2).setZero();
  EXPECT_EQ(RunFit(model, parts, {}).collinear.columns, (std::vector<size_t>{2}));
}

// ---- counts

CountAnswers Check(const PlainModel& model, const std::vector<OwnData>& parts, uint64_t min_rows,
                   uint64_t min_cell) {
  const Task task = TaskOf(model, parts, {});
  const OwnData none = NoData(model.spec, CountTables(model.spec, model.factors));
  mpc::testing::RunOptions run;
  run.num_parties = parts.size();
  run.releases = ReleasesFor(task);
  CountAnswers answers;
  const auto result = mpc::testing::RunAndComparePlan(run, [&](Engine& engine, size_t) {
    const std::optional<size_t> self = engine.self();
    const OwnData& own = self ? parts[*self] : none;
    const std::vector<mpc::Shared> counts = ShareCounts(engine, task, own);
    std::vector<mpc::Shared> weights;
    if (ComparesWeights(task.spec))
      weights = RoomOfWeights(engine, task, ShareWeights(engine, task, own));
    const auto checked = CheckCounts(engine, task, counts, weights, min_rows, min_cell);
    EXPECT_EQ(checked.has_value(), self.has_value());
    if (self == size_t{0}) answers = *checked;
  });
  result.ThrowIfFailed();
  return answers;
}

TEST(GlmCounts, TellWhichAreSmall) {
  const PlainModel model = Clinic("binomial", "event ~ age + smoker * stage");
  std::vector<OwnData> parts = ClinicParts(model, 26, {300, 300});
  // stage, smoker, and the two products.
  const CountTables tables(model.spec, model.factors);
  EXPECT_EQ(tables.sizes, (std::vector<size_t>{6, 4, 2, 2}));
  CountAnswers answers = Check(model, parts, 20, 5);
  EXPECT_EQ(answers.tables, (std::vector<bool>{true, true, true, true}));
  EXPECT_TRUE(answers.outcome);
  EXPECT_TRUE(answers.rows);

  // All but two of the smokers of stage three with an event are at the first holder.
  const size_t cell = 6 + 4 + 2 + 1;
  ASSERT_GT(parts[0].counts[cell], 5);
  parts[1].counts[cell] = 2;
  answers = Check(model, parts, 20, 5);
  EXPECT_EQ(answers.tables, (std::vector<bool>{true, true, true, false}));
  parts[1].counts[cell] = 0;
  answers = Check(model, parts, 20, 5);
  EXPECT_EQ(answers.tables, (std::vector<bool>{true, true, true, true}));
}

TEST(GlmCounts, NoWeightDominates) {
  const PlainModel model = Weighted(WithErrors(Clinic("binomial", "event ~ age"), Errors::kRobust),
                                    "weight", study::WeightsKind::kSampling);
  std::vector<OwnData> parts = ClinicParts(model, 30, {60, 60, 60});
  const auto passes = [&] { return Check(model, parts, 20, 5).weights; };
  EXPECT_TRUE(passes());
  // The others' rows alone have sums of 60 x 1/10.
  for (OwnData& part : parts) part.rows.weights.setConstant(0.1);
  parts[2].rows.weights[5] = 1.3;
  EXPECT_TRUE(passes());
  // Below a tenth of the sum over all, but not without the first holder.
  parts[2].rows.weights[5] = 1.4;
  EXPECT_FALSE(passes());
  parts[2].rows.weights[5] = 2.5;
  EXPECT_FALSE(passes());
}

TEST(GlmCounts, NeedClusters) {
  const PlainModel model = WithErrors(Clinic("binomial", "event ~ age + dose"), Errors::kCluster);
  std::vector<OwnData> parts = ClinicParts(model, 31, {200, 200});
  const size_t cell = parts[0].counts.size() - 2;
  EXPECT_EQ(parts[0].counts[cell], 30);
  const auto passes = [&](uint64_t min_cell) { return Check(model, parts, 20, min_cell).clusters; };
  EXPECT_TRUE(passes(5));
  EXPECT_FALSE(passes(31));
  parts[1].counts[cell] = 4;
  EXPECT_FALSE(passes(5));
  // Three columns need four clusters.
  parts[0].counts[cell] = parts[1].counts[cell] = 2;
  EXPECT_TRUE(passes(1));
  parts[0].counts[cell] = 1;
  EXPECT_FALSE(passes(1));
}

TEST(GlmCounts, NeedBothOutcomesAndRows) {
  const PlainModel model = Clinic("binomial", "event ~ dose");
  std::vector<OwnData> parts = ClinicParts(model, 27, {50, 60});
  EXPECT_TRUE(Check(model, parts, 110, 5).rows);
  EXPECT_FALSE(Check(model, parts, 111, 5).rows);
  for (OwnData& part : parts) part.counts = {Int128{50}, Int128{0}, Int128{50}};
  EXPECT_FALSE(Check(model, parts, 20, 5).outcome);
  parts = ClinicParts(model, 28, {5, 6});
  // Two columns and ten more rows are needed.
  EXPECT_FALSE(Check(model, parts, 1, 1).rows);
  parts = ClinicParts(model, 28, {6, 6});
  EXPECT_TRUE(Check(model, parts, 1, 1).rows);
}

// Every count is of rows of the table.
TEST(GlmCounts, AreOfTheRows) {
  const PlainModel model = Clinic("binomial", "event ~ smoker * stage");
  const OwnData data = ClinicParts(model, 29, {200}).front();
  const std::vector<Int128>& counts = data.counts;
  ASSERT_EQ(counts.size(), CountTables(model.spec, model.factors).total());
  EXPECT_EQ(counts.back(), 200);
  const auto events = static_cast<Int128>(data.rows.y.sum());
  EXPECT_EQ(counts[counts.size() - 2], events);
  EXPECT_EQ(counts[counts.size() - 3], 200 - events);
  EXPECT_EQ(counts[1] + counts[3] + counts[5], events);
  EXPECT_EQ(counts[0] + counts[2] + counts[4], 200 - events);
  EXPECT_EQ(counts[7] + counts[9], events);
  EXPECT_EQ(counts[8] + counts[9], static_cast<Int128>(data.rows.x.col(1).sum()));
}

}  // namespace
}  // namespace partita::methods::glm::protocol_test
