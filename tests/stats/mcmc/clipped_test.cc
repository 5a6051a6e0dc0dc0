// Clipped likelihoods: they are sums of cut rows, no row moves a decision by more than is said, and
// what cannot be bounded is refused.
#include "stats/mcmc/clipped.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/error.h"
#include "stats/mcmc/chains.h"
#include "tests/stats/mcmc/registries.h"

namespace partita::stats::mcmc::clipped_test {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;
using testing::Registry;

ErrorCode CodeOf(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.code();
  }
  ADD_FAILURE() << "nothing was thrown";
  return ErrorCode::kInternal;
}

TEST(ByRow, SumsToTheLikelihood) {
  std::srand(5);
  for (const Registry& registry : {testing::Birthwt(), testing::Quine(), testing::Lung()}) {
    const TargetPtr target = testing::PartOf(registry, 0, 1);
    const MatrixXd thetas = MatrixXd::Random(static_cast<Index>(target->dimension()), 4);
    const VectorXd sum = target->ByRow(thetas).colwise().sum().transpose();
    const VectorXd whole = target->LogLikelihood(thetas);
    for (Index c = 0; c < 4; ++c) EXPECT_NEAR(sum(c), whole(c), 1e-9 * std::abs(whole(c)));
  }
  const TargetPtr linear = LinearTarget(MatrixXd::Random(20, 2), VectorXd::Random(20));
  const MatrixXd thetas = MatrixXd::Random(3, 4);
  const VectorXd sum = linear->ByRow(thetas).colwise().sum().transpose();
  EXPECT_LT((sum - linear->LogLikelihood(thetas)).cwiseAbs().maxCoeff(), 1e-12);
}

TEST(Clipped, IsTheSumOfCutRows) {
  const Registry registry = testing::Quine();
  const TargetPtr rows = testing::PartOf(registry, 0, 1);
  const VectorXd reference = VectorXd::Constant(4, 0.2), theta = VectorXd::Constant(4, 0.9);
  const double limit = 3;
  const TargetPtr clipped = ClippedTarget(testing::PartOf(registry, 0, 1), reference, limit);
  double expected = 0;
  Index cut = 0;
  const MatrixXd at = rows->ByRow(theta), before = rows->ByRow(reference);
  for (Index i = 0; i < at.rows(); ++i) {
    const double difference = at(i, 0) - before(i, 0);
    cut += std::abs(difference) > limit ? 1 : 0;
    expected += std::clamp(difference, -limit, limit);
  }
  ASSERT_GT(cut, 0);
  ASSERT_LT(cut, at.rows());
  EXPECT_NEAR(clipped->LogLikelihood(theta)(0), expected,
              static_cast<double>(at.rows()) * limit * 0x1p-16);
  // At the point of reference nothing counts.
  EXPECT_EQ(clipped->LogLikelihood(reference)(0), 0);
}

// Any row against any other, any two points: the log ratio moves by less than the sensitivity, and
// nearly that much is reached.
TEST(Clipped, NoRowMovesARatioByMore) {
  const Registry registry = testing::Quine();
  const double limit = 0.7;
  const VectorXd reference = VectorXd::Zero(4);
  std::srand(9);
  const MatrixXd points = 2 * MatrixXd::Random(4, 30);
  double added = 0, replaced = 0;
  const MatrixXd rows =
      ClippedTarget(testing::PartOf(registry, 0, 1), reference, limit)->ByRow(points);
  for (Index a = 0; a < 30; ++a) {
    for (Index b = 0; b < 30; ++b) {
      const VectorXd ratio = rows.col(b) - rows.col(a);
      added = std::max(added, ratio.cwiseAbs().maxCoeff());
      replaced = std::max(replaced, ratio.maxCoeff() - ratio.minCoeff());
    }
  }
  const double add = ClippedSensitivity(limit, privacy::Adjacency::kAddRemove);
  const double replace = ClippedSensitivity(limit, privacy::Adjacency::kReplace);
  EXPECT_LT(added, add);
  EXPECT_GT(added, 0.99 * add);
  EXPECT_LT(replaced, replace);
  EXPECT_GT(replaced, 0.9 * replace);
}

// A row whose likelihood is no number at the point of reference, or anywhere else, ends no chain
// and moves no ratio by more than another.
TEST(Clipped, ARowThatIsNoNumberSomewhereStopsNothing) {
  VectorXd y(3);
  y << 0, 4, 1;
  MatrixXd x = MatrixXd::Ones(3, 1);
  x(1, 0) = 1e308;
  const double limit = 0.5;
  for (const double at_reference : {0.0, 2.0}) {
    const VectorXd reference = VectorXd::Constant(1, at_reference);
    const TargetPtr clipped = ClippedTarget(PoissonTarget(x, y), reference, limit);
    MatrixXd points(1, 5);
    points << -3, 0, 1, 2, 7;
    const MatrixXd values = clipped->ByRow(points);
    EXPECT_TRUE(values.allFinite());
    EXPECT_LE(values.cwiseAbs().maxCoeff(), limit);
  }
}

// Whatever the length of the table, and to the last bit of its sum.
TEST(Clipped, HoldsForTablesOfAnyLength) {
  const double limit = 1e-3;
  const Index n = (Index{1} << 18) + 1;
  const VectorXd y = VectorXd::Ones(n), reference = VectorXd::Zero(1);
  const MatrixXd x = MatrixXd::Ones(n, 1);
  const TargetPtr more = ClippedTarget(LogisticTarget(x, y), reference, limit);
  const TargetPtr less =
      ClippedTarget(LogisticTarget(x.topRows(n - 1), y.head(n - 1)), reference, limit);
  Differences with(*more), without(*less);
  const MatrixXd from = MatrixXd::Constant(1, 1, -5), step = MatrixXd::Constant(1, 1, 10);
  const double moved = with.Of(from, {step})(0, 0) - without.Of(from, {step})(0, 0);
  EXPECT_LE(moved, ClippedSensitivity(limit, privacy::Adjacency::kAddRemove));
  EXPECT_GT(moved, 0.9999 * ClippedSensitivity(limit, privacy::Adjacency::kAddRemove));
  EXPECT_THROW(ClippedTarget(LogisticTarget(x, y), reference, 0), Error);
}

TEST(Clipped, WhatHasNoBoundIsRefused) {
  const Registry lung = testing::Lung();
  EXPECT_EQ(
      CodeOf([&] {
        ClippedTarget(CoxTarget({lung.x.rightCols(3), lung.y, lung.event}), VectorXd::Zero(3), 1);
      }),
      ErrorCode::kRefused);
  EXPECT_EQ(CodeOf([] {
              ClippedTarget(OwnTarget(1, [](const VectorXd&) { return 0.0; }), VectorXd::Zero(1),
                            1);
            }),
            ErrorCode::kRefused);
  EXPECT_EQ(CodeOf([&] { ClippedTarget(testing::PartOf(lung, 0, 1), VectorXd::Zero(5), 0); }),
            ErrorCode::kUsage);
  EXPECT_EQ(CodeOf([&] { ClippedTarget(testing::PartOf(lung, 0, 1), VectorXd::Zero(4), 1); }),
            ErrorCode::kUsage);
}

// Whatever a row is at a proposal, the chain goes on: that it stopped would tell of the row.
TEST(Clipped, WhatIsNoNumberIsTheLeast) {
  const TargetPtr broken =
      ClippedTarget(LogisticTarget(MatrixXd::Ones(2, 1), VectorXd::Ones(2)), VectorXd::Zero(1), 1);
  EXPECT_NEAR(broken->LogLikelihood(VectorXd::Constant(1, std::nan("")))(0), -2, 1e-3);
  // A count of 0 at a size that is 0 in double precision: log Gamma(0) - log Gamma(0).
  const Registry quine = testing::Quine();
  VectorXd theta = VectorXd::Zero(4);
  const TargetPtr counts = ClippedTarget(testing::PartOf(quine, 0, 1), theta, 1);
  theta(3) = -800;
  const MatrixXd rows = counts->ByRow(theta);
  EXPECT_TRUE(rows.allFinite());
  EXPECT_LE(rows.cwiseAbs().maxCoeff(), 1);
}

}  // namespace
}  // namespace partita::stats::mcmc::clipped_test
