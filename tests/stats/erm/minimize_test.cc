#include "stats/erm/minimize.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "base/error.h"
#include "stats/erm/local_aggregation.h"
#include "stats/erm/unit_ball.h"
#include "tests/paths.h"
#include "tests/stats/erm/reference.h"

namespace partita::stats::erm::minimize_test {
namespace {

using Eigen::MatrixXd;
using Eigen::VectorXd;
using testing::AsVector;
using testing::Parts;
using testing::Reference;
using testing::SmallTable;

TEST(Loss, SlopesAndCurvaturesAreDerivatives) {
  for (const Loss& loss : {Loss{}, Loss{LossKind::kHuber, 0.5}, Loss{LossKind::kHuber, 0.1}}) {
    double largest = 0;
    for (double z = -6; z < 6; z += 0.0137) {
      const double h = 1e-5;
      EXPECT_NEAR((LossValue(loss, z + h) - LossValue(loss, z - h)) / (2 * h), LossSlope(loss, z),
                  1e-4);
      EXPECT_LE(std::abs(LossSlope(loss, z)), kMaxSlope);
      EXPECT_LE(LossCurvature(loss, z), MaxCurvature(loss));
      largest = std::max(largest, LossCurvature(loss, z));
    }
    EXPECT_NEAR(largest, MaxCurvature(loss), 1e-4);
  }
  EXPECT_THROW(MaxCurvature({LossKind::kHuber, 0}), Error);
}

TEST(Loss, NeitherOverflowsNorLosesSmallValues) {
  EXPECT_DOUBLE_EQ(LossValue({}, -1000), 1000);
  EXPECT_DOUBLE_EQ(LossValue({}, 700), std::exp(-700));
  EXPECT_DOUBLE_EQ(LossSlope({}, -1000), -1);
}

TEST(Minimize, EqualsTheReference) {
  const auto checks = Reference("psgd.json")["deterministic_checks"];
  const LabelledRows rows = SmallTable();
  ASSERT_EQ(AsVector(checks["y"]), rows.y);
  const VectorXd at_zero = SumOfGradients(rows, {}, VectorXd::Zero(3)) / 24;
  EXPECT_LT((at_zero - AsVector(checks["gradient_of_mean_loss_at_0"])).norm(), 1e-12);
  ASSERT_EQ(checks["results"].size(), 3u);
  for (const auto& check : checks["results"]) {
    Objective objective;
    objective.lambda = check["lambda"];
    EXPECT_LT((Minimize(rows, objective).w - AsVector(check["w_erm"])).norm(), 1e-6);

    const auto fits = LocalFits(Parts(rows, {6, 6, 6, 6}), {}, objective.lambda);
    for (size_t k = 0; k < 4; ++k) {
      EXPECT_LT((fits[k] - AsVector(check["w_local_4"][k])).norm(), 1e-6);
    }
    EXPECT_LT((Average(fits) - AsVector(check["w_la_4"])).norm(), 1e-6);
    EXPECT_NEAR(AggregationSensitivity(4, 6, objective.lambda), check["sensitivity_la_4"], 1e-9);
    const auto unequal = LocalFits(Parts(rows, {2, 8, 14}), {}, objective.lambda);
    EXPECT_LT((Average(unequal) - AsVector(check["w_la_3_unequal"])).norm(), 1e-6);
    EXPECT_NEAR(AggregationSensitivity(3, 2, objective.lambda), check["sensitivity_la_3_unequal"],
                1e-9);

    for (const auto& perturbed : check["w_gop"]) {
      Objective noisy = objective;
      noisy.slack = perturbed["Delta"];
      noisy.noise = Eigen::Vector3d(1, -0.5, 0.25);
      EXPECT_LT((Minimize(rows, noisy).w - AsVector(perturbed["w"])).norm(), 1e-6);
    }
  }
}

// Independent folds of a fit with an intercept that is not penalised, columns standardised.
TEST(Minimize, EqualsTheBreastCancerFits) {
  std::ifstream file(FixturePath("tables/breast_cancer_wdbc.csv"));
  std::string line;
  ASSERT_TRUE(std::getline(file, line));
  const auto reference = Reference("logistic.json")["breast_cancer"];
  const auto folds = reference["fold"].get<std::vector<int>>();
  const auto n = static_cast<Eigen::Index>(folds.size());
  MatrixXd x(n, 30);
  VectorXd y(n);
  // The outcome is the last column, 1 for benign.
  for (Eigen::Index i = 0; i < n; ++i) {
    ASSERT_TRUE(std::getline(file, line));
    std::stringstream cells(line);
    std::string cell;
    for (int j = 0; j < 30; ++j) {
      ASSERT_TRUE(std::getline(cells, cell, ','));
      x(i, j) = std::stod(cell);
    }
    ASSERT_TRUE(std::getline(cells, cell, ','));
    y(i) = std::stod(cell) > 0.5 ? 1 : -1;
  }
  for (const auto& setting : reference["l2"]) {
    for (int fold = 0; fold < 5; ++fold) {
      std::vector<Eigen::Index> train;
      for (Eigen::Index i = 0; i < n; ++i) {
        if (folds[static_cast<size_t>(i)] != fold) train.push_back(i);
      }
      const auto count = static_cast<double>(train.size());
      LabelledRows rows{MatrixXd::Ones(static_cast<Eigen::Index>(train.size()), 31), y(train)};
      MatrixXd own = x(train, Eigen::all);
      for (Eigen::Index j = 0; j < 30; ++j) {
        own.col(j).array() -= own.col(j).mean();
        own.col(j) /= std::sqrt(own.col(j).squaredNorm() / count);
      }
      rows.x.leftCols(30) = own;
      Objective objective;
      objective.lambda = setting["lambda"].get<double>() / count;
      objective.free_intercept = true;
      const VectorXd w = Minimize(rows, objective).w;
      const VectorXd expected = AsVector(setting["weights_per_fold_intercept_first"][fold]);
      EXPECT_NEAR(w(30), expected(0), 1e-5);
      EXPECT_LT((w.head(30) - expected.tail(30)).cwiseAbs().maxCoeff(), 1e-5);
    }
  }
}

TEST(Minimize, HuberHasAZeroGradientAndNoBetterNeighbour) {
  const LabelledRows rows = SmallTable();
  Objective objective;
  objective.loss = {LossKind::kHuber, 0.5};
  objective.lambda = 0.02;
  const Minimum at = Minimize(rows, objective);
  EXPECT_LT(ObjectiveGradient(rows, objective, at.w).norm(), 1e-11);
  for (int j = 0; j < 3; ++j) {
    for (const double step : {-1e-3, 1e-3}) {
      EXPECT_GT(ObjectiveValue(rows, objective, at.w + step * VectorXd::Unit(3, j)), at.value);
    }
  }
}

// Replacing a row moves a local minimiser by at most 2 / (n lambda): the proof behind the noise of
// local aggregation, on the worst rows too.
TEST(LocalAggregation, SensitivityIsABound) {
  const double lambda = 0.05;
  LabelledRows rows = SmallTable();
  rows.x.row(3) = Eigen::RowVector3d(1, 0, 0);
  Objective objective;
  objective.lambda = lambda;
  const VectorXd before = Minimize(rows, objective).w;
  double largest = 0;
  for (int direction = 0; direction < 50; ++direction) {
    LabelledRows other = rows;
    other.x.row(3) =
        Eigen::RowVector3d(std::cos(direction), std::sin(2 * direction), std::sin(direction * 1.7))
            .normalized();
    other.y(3) = direction % 2 == 0 ? 1 : -1;
    largest = std::max(largest, (Minimize(other, objective).w - before).norm());
  }
  const double bound = AggregationSensitivity(1, 24, lambda);
  EXPECT_LE(largest, bound);
  EXPECT_GT(largest, bound / 4);  // the bound is not far away
}

TEST(Minimize, RefusesWhatItCannotFit) {
  LabelledRows rows = SmallTable();
  Objective free;
  const auto code = [](auto&& call) {
    try {
      call();
    } catch (const Error& error) {
      return error.code();
    }
    return ErrorCode::kInternal;
  };
  LabelledRows separable = rows;
  separable.y = (separable.x.col(0).array() > 0.01).select(VectorXd::Ones(24), -VectorXd::Ones(24));
  EXPECT_EQ(code([&] { Minimize(separable, free, {1e-11, 30}); }), ErrorCode::kNotConverged);
  rows.y(5) = 0;
  EXPECT_EQ(code([&] { Minimize(rows, free); }), ErrorCode::kBadData);
  rows.y(5) = 1;
  rows.x(7, 1) = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(code([&] { Minimize(rows, free); }), ErrorCode::kBadData);
  EXPECT_EQ(code([&] { Minimize({}, free); }), ErrorCode::kUsage);
  const auto parts = Parts(SmallTable(), {24, 0});
  EXPECT_EQ(code([&] { LocalFits(parts, {}, 0.1); }), ErrorCode::kBadData);
  rows = SmallTable();
  rows.x.col(2) = rows.x.col(0);
  EXPECT_EQ(code([&] { Covariance(rows, free, VectorXd::Zero(3)); }), ErrorCode::kNotConverged);
}

TEST(UnitBall, ScalesByPublicBoundsAndCounts) {
  MatrixXd x(4, 2);
  x << 20, 150, 70, 200, 45, 175, 95, 175;
  const UnitBallScaling scaling{{{20, 70}, {150, 200}}, 1.2, true};
  const ScaledRows scaled = ScaleToUnitBall(x, scaling);
  EXPECT_EQ(scaled.clipped_values, 1u);  // 95 is beyond 70
  EXPECT_EQ(scaled.clipped_rows, 3u);    // sqrt(3) > 1.2 twice, sqrt(2) > 1.2 once
  EXPECT_LE(scaled.x.rowwise().norm().maxCoeff(), 1);
  EXPECT_NEAR(scaled.x(2, 2), 1 / 1.2, 1e-12);
  EXPECT_NEAR(scaled.x(0, 0), -1 / std::sqrt(3.0), 1e-12);

  const VectorXd w = Eigen::Vector3d(0.3, -2, 0.7);
  const VectorXd original = OriginalUnits(w, scaling);
  EXPECT_NEAR(scaled.x.row(2).dot(w), original(0) * 45 + original(1) * 175 + original(2), 1e-12);

  // Rounding leaves no row of many columns longer than 1.
  const MatrixXd wide = MatrixXd::Random(50, 999).array().sign();
  const UnitBallScaling unit{std::vector<ColumnBounds>(999, {-1, 1}), 1, false};
  EXPECT_LE(ScaleToUnitBall(wide, unit).x.rowwise().norm().maxCoeff(), 1);
  EXPECT_THROW(ScaleToUnitBall(x, {{{20, 70}}, 1, false}), Error);
  EXPECT_THROW(ScaleToUnitBall(x, {{{20, 20}, {0, 1}}, 1, false}), Error);
  EXPECT_THROW(ScaleToUnitBall(x, {{{20, 70}, {150, 200}}, 1.5, false}), Error);
  x(1, 1) = std::numeric_limits<double>::infinity();
  EXPECT_THROW(ScaleToUnitBall(x, scaling), Error);
}

}  // namespace
}  // namespace partita::stats::erm::minimize_test
