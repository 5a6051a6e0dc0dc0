// Tests of terms on shares with covariances whose diagonals are far from 1, as those of points whose
// information is not what it was at the first, against the same in the clear.
#include "methods/glm/wald.h"

#include <gtest/gtest.h>

#include <Eigen/LU>
#include <cmath>

#include "methods/glm/protocol.h"
#include "stats/glm/wald.h"
#include "tests/mpc/evaluate.h"

namespace partita::methods::glm::wald_test {
namespace {

using mpc::Engine;
using mpc::Shared;
using mpc::testing::TestInput;

constexpr int kInverseBits = 40, kVarianceBits = 50;
const std::vector<size_t> kTerm = {1, 2, 3};

TestInput InputOf(const Eigen::MatrixXd& matrix, double bound, int fraction_bits) {
  TestInput input{{{static_cast<size_t>(matrix.rows()), static_cast<size_t>(matrix.cols())}, {}},
                  bound,
                  fraction_bits};
  for (Eigen::Index i = 0; i < matrix.rows(); ++i) {
    for (Eigen::Index j = 0; j < matrix.cols(); ++j)
      input.values.values.push_back(mpc::EncodeFixed(matrix(i, j), fraction_bits));
  }
  return input;
}

Task TaskOfOneTerm() {
  Task task;
  task.spec.columns.resize(4);
  task.spec.parameters.resize(4);
  task.spec.terms = {{"x", kTerm}};
  return task;
}

// Correlated columns whose informations have grown to 64, 16 and 2 and shrunk to 2^-7.
Eigen::MatrixXd Inverse() {
  Eigen::MatrixXd correlation = Eigen::MatrixXd::Constant(4, 4, 0.6);
  correlation.diagonal().setOnes();
  const Eigen::Vector4d roots(std::sqrt(2.0), 8, 4, std::sqrt(0x1p-7));
  return Eigen::MatrixXd(roots.asDiagonal() * correlation * roots.asDiagonal()).inverse();
}

double StatisticOf(const mpc::testing::Setting& setting, const Eigen::MatrixXd& inverse,
                   const Eigen::VectorXd& errors, const Eigen::VectorXd& estimates,
                   const Eigen::VectorXd& is_true) {
  const Task task = TaskOfOneTerm();
  const Eigen::VectorXd variances = errors.cwiseAbs2() / 2;
  const std::vector<mpc::testing::Opened> opened = mpc::testing::Evaluate(
      setting,
      {InputOf(inverse, 0x1p20, kInverseBits),
       InputOf(variances, mpc::kMostVariance, kVarianceBits), InputOf(is_true, 1, 0)},
      [&](Engine& engine, const std::vector<Shared>& inputs) -> std::vector<Shared> {
        mpc::SolvedStep solved;
        solved.covariance = inputs[0];
        solved.variances = inputs[1];
        solved.is_true = inputs[2];
        return {WaldStatistics(engine, task, solved, estimates)};
      });
  return opened.front()[0];
}

TEST(GlmWald, InformationsMayHaveChanged) {
  const Eigen::MatrixXd inverse = Inverse();
  const Eigen::Vector4d errors(0.1, 0.02, 0.3, 1.5), estimates(3, 0.05, -0.7, 2);
  const Eigen::VectorXd scale = (errors.array() / inverse.diagonal().array().sqrt()).matrix();
  const auto expected = stats::glm::WaldStatistic(
      estimates, scale.asDiagonal() * inverse * scale.asDiagonal(), kTerm);
  ASSERT_TRUE(expected.has_value());
  for (const mpc::testing::Setting& setting : mpc::testing::kSettings) {
    SCOPED_TRACE(setting.kind);
    EXPECT_NEAR(StatisticOf(setting, inverse, errors, estimates, Eigen::Vector4d::Ones()),
                *expected, 1e-6 * *expected);
  }
}

// Whatever stands in its place.
TEST(GlmWald, AColumnThatIsNotTrueHasNoTest) {
  Eigen::MatrixXd inverse = Inverse();
  inverse.row(2).setConstant(-0x1p19);
  const Eigen::Vector4d errors(0.1, 0.02, 0, 1.5), estimates(3, 0.05, 0, 2);
  EXPECT_EQ(StatisticOf({"dealer", 2}, inverse, errors, estimates, Eigen::Vector4d(1, 1, 0, 1)),
            kNoStatistic);
}

}  // namespace
}  // namespace partita::methods::glm::wald_test
