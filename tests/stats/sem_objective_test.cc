// Derivatives of the discrepancy against differences, and the identities that tie them together.
#include <gtest/gtest.h>

#include <Eigen/Cholesky>
#include <cmath>

#include "stats/sem/objective.h"
#include "stats/sem/starts.h"
#include "stats/sem/syntax.h"
#include "tests/stats/sem_models.h"

namespace partita::stats::sem_objective_test {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

struct Problem {
  ParameterTable table;
  RamModel model;
  std::vector<GroupSample> samples;
  VectorXd x;  // a random point near the start values
  SemObjective objective() const { return {model, samples}; }
};

Problem MakeProblem(const ParameterTable& table, unsigned seed) {
  std::mt19937_64 generator(seed);
  std::uniform_real_distribution<double> jitter(-0.08, 0.08);
  std::vector<GroupMoments> moments;
  for (std::size_t g = 0; g < table.groups.size(); ++g) {
    moments.push_back(testing::RandomMoments(static_cast<int>(table.observed.size()),
                                             100 + 50 * static_cast<double>(g), generator));
  }
  Problem p{table, BuildRamModel(table, moments), {}, {}};
  p.samples = ScaleMoments(moments, p.model.variable_unit.head(p.model.num_observed));
  p.x = StartValues(table, p.model, p.samples, StartMethod::kSimple);
  for (double& value : p.x) value += jitter(generator);
  return p;
}

// Central differences with Richardson's step: error O(h^4).
template <typename Function>
VectorXd Difference(Function f, const VectorXd& x, Index k) {
  const auto central = [&](double h) {
    VectorXd up = x, down = x;
    up[k] += h;
    down[k] -= h;
    return VectorXd((f(up) - f(down)) / (2 * h));
  };
  const double h = 1e-3;
  return (4 * central(h / 2) - central(h)) / 3;
}

class SemDerivatives : public ::testing::TestWithParam<unsigned> {
 protected:
  Problem problem_ = MakeProblem(testing::EverythingTable(), GetParam());
};

TEST_P(SemDerivatives, GradientIsTheDerivativeOfTheDiscrepancy) {
  const SemObjective objective = problem_.objective();
  VectorXd gradient;
  const double value = DiscrepancyWithGradient(objective, problem_.x, gradient);
  ASSERT_TRUE(std::isfinite(value));
  EXPECT_NEAR(value, Discrepancy(objective, problem_.x), 1e-14);
  const auto f = [&](const VectorXd& x) {
    return VectorXd::Constant(1, Discrepancy(objective, x));
  };
  for (Index k = 0; k < gradient.size(); ++k) {
    EXPECT_NEAR(gradient[k], Difference(f, problem_.x, k)[0], 1e-8 * (1 + std::abs(gradient[k])))
        << k;
  }
}

TEST_P(SemDerivatives, ObservedInformationIsTheDerivativeOfTheGradient) {
  const SemObjective objective = problem_.objective();
  const MatrixXd hessian = ObservedInformation(objective, problem_.x);
  const auto f = [&](const VectorXd& x) {
    VectorXd gradient;
    DiscrepancyWithGradient(objective, x, gradient);
    return gradient;
  };
  for (Index k = 0; k < hessian.cols(); ++k) {
    const VectorXd column = Difference(f, problem_.x, k);
    EXPECT_LT((hessian.col(k) - column).cwiseAbs().maxCoeff(), 1e-7 * (1 + column.norm())) << k;
  }
}

// Where the model holds exactly the Hessian equals its expectation and the gradient vanishes.
TEST_P(SemDerivatives, InformationsAgreeWhereTheModelHolds) {
  const std::vector<ImpliedMoments> implied = Imply(problem_.model, problem_.x);
  const Index p = problem_.model.num_observed;
  for (std::size_t g = 0; g < implied.size(); ++g) {
    GroupSample& sample = problem_.samples[g];
    sample.covariance = implied[g].covariance.topLeftCorner(p, p);
    sample.mean = implied[g].mean.head(p);
    sample.log_det = 2 * sample.covariance.llt().matrixLLT().diagonal().array().log().sum();
  }
  VectorXd gradient;
  EXPECT_NEAR(DiscrepancyWithGradient(problem_.objective(), problem_.x, gradient), 0, 1e-13);
  EXPECT_LT(gradient.cwiseAbs().maxCoeff(), 1e-13);
  const MatrixXd expected = ExpectedInformation(problem_.objective(), problem_.x);
  const MatrixXd observed = ObservedInformation(problem_.objective(), problem_.x);
  EXPECT_LT((expected - observed).cwiseAbs().maxCoeff(), 1e-12 * expected.cwiseAbs().maxCoeff());
  EXPECT_GT(expected.diagonal().minCoeff(), 0);
}

INSTANTIATE_TEST_SUITE_P(Points, SemDerivatives, ::testing::Range(1U, 21U));

// One variable: F = 1/2 (log v + s/v - log s - 1 + (m - mu)^2 / v).
TEST(SemObjectiveTest, IsTheFormulaForOneVariable) {
  SemModelOptions options;
  options.meanstructure = true;
  const ParameterTable table = BuildParameterTable("y ~~ y", options);
  GroupMoments moments{50, VectorXd::Constant(1, 3.0), MatrixXd::Constant(1, 1, 4.0)};
  const RamModel model = BuildRamModel(table, {moments});
  const std::vector<GroupSample> samples = ScaleMoments({moments}, model.variable_unit);
  VectorXd x(2);  // variance, mean in units of 4 and 2
  const bool variance_first = table.rows[0].op == "~~";
  ASSERT_TRUE(variance_first);
  x << 1.5, 2.0;  // v = 6, mu = 4
  const double expected = 0.5 * (std::log(6.0 / 4) + 4.0 / 6 - 1 + 1.0 / 6);
  EXPECT_NEAR(Discrepancy({model, samples}, x), expected, 1e-14);
}

TEST(SemObjectiveTest, IsInfiniteWhereSigmaIsNotPositiveDefinite) {
  const ParameterTable table = BuildParameterTable("y ~~ y", {});
  GroupMoments moments{50, VectorXd::Zero(1), MatrixXd::Constant(1, 1, 4.0)};
  const RamModel model = BuildRamModel(table, {moments});
  const std::vector<GroupSample> samples = ScaleMoments({moments}, model.variable_unit);
  for (double variance : {0.0, -1.0, std::nan("")}) {
    VectorXd gradient;
    const VectorXd x = VectorXd::Constant(1, variance);
    EXPECT_EQ(Discrepancy({model, samples}, x), std::numeric_limits<double>::infinity());
    EXPECT_EQ(DiscrepancyWithGradient({model, samples}, x, gradient),
              std::numeric_limits<double>::infinity());
  }
}

TEST(SemObjectiveTest, IsInfiniteForASingularFeedbackLoop) {
  SemModelOptions options;
  options.fixed_x = false;
  const ParameterTable table = BuildParameterTable("y1 ~ 2*y2\ny2 ~ 0.5*y1", options);
  std::mt19937_64 generator(3);
  const GroupMoments moments = testing::RandomMoments(2, 50, generator);
  const RamModel model = BuildRamModel(table, {moments});
  const std::vector<GroupSample> samples =
      ScaleMoments({moments}, model.variable_unit.head(model.num_observed));
  const VectorXd x = VectorXd::Ones(model.num_parameters);
  EXPECT_EQ(Discrepancy({model, samples}, x), std::numeric_limits<double>::infinity());
}

}  // namespace
}  // namespace partita::stats::sem_objective_test
