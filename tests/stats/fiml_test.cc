// Full-information maximum likelihood against lavaan's missing = "fiml".
#include "stats/sem/fiml.h"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <limits>
#include <random>

#include "base/error.h"
#include "stats/sem/fit_objective.h"
#include "stats/sem/information.h"
#include "stats/sem/starts.h"
#include "tests/stats/incomplete_rows.h"
#include "tests/stats/scoring.h"
#include "tests/stats/sem_reference.h"

namespace partita::stats::fiml_test {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;
using testing::Json;
using testing::Number;

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

SemFitOptions Observed() {
  SemFitOptions options;
  options.information = Information::kObserved;
  return options;
}

class FimlReference : public ::testing::TestWithParam<std::string> {};

TEST_P(FimlReference, EqualsLavaan) {
  const auto [reference, table, patterns] = testing::LoadIncomplete(GetParam());
  SilentProgress progress;
  EXPECT_GT(patterns.size(), 1u);
  const SemFit fit = FitFiml(table, patterns, Observed(), progress);
  EXPECT_TRUE(fit.converged);
  const auto expected = testing::KeptRows(reference);
  for (size_t r = 0; r < expected.size(); ++r) {
    const double se = Number(expected[r]["se"]);
    if (!(se > 0)) continue;
    const std::string name = expected[r]["lhs"].get<std::string>() +
                             expected[r]["op"].get<std::string>() +
                             expected[r]["rhs"].get<std::string>();
    EXPECT_NEAR(fit.estimates[r].estimate, Number(expected[r]["est"]), 1e-4 * se) << name;
    EXPECT_NEAR(fit.estimates[r].standard_error, se, 1e-4 * se) << name;
  }
  const Json& measures = reference["fit"];
  const double n = Number(measures["ntotal"]);
  EXPECT_NEAR(fit.fit_measures.at("logl"), Number(measures["logl"]), 1e-6 * n);
  EXPECT_NEAR(fit.fit_measures.at("unrestricted.logl"), Number(measures["unrestricted.logl"]),
              1e-6 * n);
  EXPECT_NEAR(fit.fit_measures.at("chisq"), Number(measures["chisq"]), 1e-4);
  EXPECT_NEAR(fit.fit_measures.at("baseline.chisq"), Number(measures["baseline.chisq"]), 1e-3);
  EXPECT_EQ(fit.fit_measures.at("df"), Number(measures["df"]));
  for (const char* name : {"cfi", "tli", "rmsea", "srmr"}) {
    EXPECT_NEAR(fit.fit_measures.at(name), Number(measures[name]), 1e-5) << name;
  }
}

// What protocol `sealed` does: a fixed number of steps on the patterns, by the expected information
// and then the observed one, which standard errors are from.
TEST_P(FimlReference, FixedScoringEqualsLavaan) {
  const auto [reference, table, patterns] = testing::LoadIncomplete(GetParam());
  const GroupMoments available = AvailableMoments(table, patterns, 0);
  const RamModel model = BuildRamModel(table, {available});
  const std::vector<GroupSample> samples = testing::Samples(patterns, model.variable_unit);
  const SemObjective objective{model, samples};
  const VectorXd start = StartValues(
      table, model, ScaleMoments({available}, model.variable_unit.head(model.num_observed)),
      StartMethod::kSimple);
  const ScoringEnd end = ScoreSteps(objective, start, {2, 10});
  EXPECT_LT(end.scaled_gradient, 1e-9);
  double n = 0;
  for (const PatternMoments& pattern : patterns) n += pattern.moments.n;
  const auto k = static_cast<Index>(model.num_parameters);
  const MatrixXd covariance =
      InvertInformation(ObservedInformation(objective, end.x), TangentSpace(MatrixXd(0, k), k), n)
          .covariance;
  const auto expected = testing::KeptRows(reference);
  size_t compared = 0;
  for (size_t r = 0; r < expected.size(); ++r) {
    const int parameter = model.row_parameter[r];
    if (parameter < 0) continue;
    const double se = Number(expected[r]["se"]), unit = model.parameter_unit[parameter];
    EXPECT_NEAR(unit * end.x[parameter], Number(expected[r]["est"]), 1e-4 * se);
    EXPECT_NEAR(unit * std::sqrt(covariance(parameter, parameter)), se, 1e-4 * se);
    ++compared;
  }
  EXPECT_GE(compared, static_cast<size_t>(model.num_parameters));
}

INSTANTIATE_TEST_SUITE_P(Lavaan, FimlReference,
                         ::testing::Values("hs_cfa3_fiml", "growth_linear6_fiml"));

constexpr char kModel[] = "f =~ x1 + x2 + x3 + x4\n";

ParameterTable OneFactor() {
  SemModelOptions options;
  options.family = SemFamily::kCfa;
  options.meanstructure = true;
  return BuildParameterTable(kModel, options);
}

MatrixXd FactorRows(std::mt19937_64& random, Index rows) {
  std::normal_distribution<double> normal;
  MatrixXd values(rows, 4);
  for (Index r = 0; r < rows; ++r) {
    const double f = normal(random);
    for (Index v = 0; v < 4; ++v) values(r, v) = 1 + 0.7 * f + 0.7 * normal(random);
  }
  return values;
}

// Nothing is missing: one pattern, and the fit of the moments.
TEST(Fiml, IsTheFitOfTheMomentsOfCompleteRows) {
  std::mt19937_64 random(3);
  const std::vector<PatternMoments> patterns = PatternsOf(FactorRows(random, 200), 0);
  ASSERT_EQ(patterns.size(), 1u);
  SilentProgress progress;
  const ParameterTable table = OneFactor();
  const SemFit fiml = FitFiml(table, patterns, Observed(), progress);
  const SemFit fit = FitSem(table, {patterns[0].moments}, Observed(), progress);
  for (size_t r = 0; r < table.rows.size(); ++r) {
    EXPECT_NEAR(fiml.estimates[r].estimate, fit.estimates[r].estimate, 1e-7);
    EXPECT_NEAR(fiml.estimates[r].standard_error, fit.estimates[r].standard_error, 1e-7);
  }
  for (const char* name : {"logl", "chisq", "baseline.chisq", "srmr"}) {
    EXPECT_NEAR(fiml.fit_measures.at(name), fit.fit_measures.at(name), 1e-6) << name;
  }
}

// Rows in another order and split over two lists, as holders have them, give the same patterns'
// sums.
TEST(Fiml, DoesNotDependOnTheOrderOfRows) {
  std::mt19937_64 random(4);
  MatrixXd rows = FactorRows(random, 150);
  for (Index r = 0; r < rows.rows(); ++r) {
    if (r % 3 == 0) rows(r, 0) = kNaN;
    if (r % 5 == 0) rows(r, 2) = kNaN;
  }
  rows.row(7).setConstant(kNaN);
  SilentProgress progress;
  const ParameterTable table = OneFactor();
  const SemFit fit = FitFiml(table, PatternsOf(rows, 0), Observed(), progress);
  EXPECT_EQ(fit.fit_measures.at("ntotal"), 149);
  const SemFit other =
      FitFiml(table, PatternsOf(rows.colwise().reverse(), 0), Observed(), progress);
  for (size_t r = 0; r < table.rows.size(); ++r) {
    EXPECT_NEAR(fit.estimates[r].estimate, other.estimates[r].estimate, 1e-7);
  }
}

TEST(Fiml, RefusesWhatItCannotFit) {
  std::mt19937_64 random(5);
  const ParameterTable table = OneFactor();
  const auto refused = [&](const ParameterTable& model, const MatrixXd& rows) {
    SilentProgress progress;
    try {
      FitFiml(model, PatternsOf(rows, 0), Observed(), progress);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kBadInput);
      EXPECT_FALSE(error.hint().empty());
      return error.message();
    }
    return std::string();
  };
  const MatrixXd rows = FactorRows(random, 60);
  EXPECT_EQ(refused(table, rows), "");
  MatrixXd absent = rows, constant = rows;
  absent.col(1).setConstant(kNaN);
  EXPECT_NE(refused(table, absent).find("'x2'"), std::string::npos);
  constant.col(2).setConstant(5);
  EXPECT_NE(refused(table, constant).find("'x3'"), std::string::npos);
  EXPECT_NE(refused(table, MatrixXd(0, 4)), "");
  SemModelOptions options;
  options.family = SemFamily::kCfa;
  EXPECT_NE(refused(BuildParameterTable(kModel, options), rows), "");
}

}  // namespace
}  // namespace partita::stats::fiml_test
