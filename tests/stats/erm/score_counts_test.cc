// Counts by score and label against the rows that they count, and their errors against repetition.
#include "stats/erm/score_counts.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/error.h"
#include "stats/blr/variates.h"
#include "stats/erm/one_versus_rest.h"
#include "tests/stats/blr/random.h"
#include "tests/stats/erm/in_the_clear.h"

namespace partita::stats::erm::score_counts_test {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

struct Scored {
  VectorXd scores, labels;
};

// Calibrated scores: the label is 1 with the predicted probability.
Scored Draw(Index rows, blr::Variates& variates) {
  Scored drawn{VectorXd(rows), VectorXd(rows)};
  for (Index i = 0; i < rows; ++i) {
    drawn.scores(i) = 1.5 * variates.Normal();
    drawn.labels(i) = variates.Uniform() < 1 / (1 + std::exp(-drawn.scores(i))) ? 1 : -1;
  }
  return drawn;
}

TEST(ScoreCounts, HoldEveryRowOnce) {
  blr::TestRandom random(5);
  blr::Variates variates(random);
  const Scored drawn = Draw(500, variates);
  const ScoreCounts counts = CountScores(drawn.scores, drawn.labels, 20);
  const auto result = EvaluateCounts(counts);
  ASSERT_TRUE(result);
  EXPECT_EQ(result->positives, static_cast<double>((drawn.labels.array() > 0).count()));
  EXPECT_EQ(result->positives + result->negatives, 500);
  const LabelledRows rows{drawn.scores, drawn.labels};
  EXPECT_NEAR(result->accuracy.value, 1 - ErrorRate(rows, VectorXd::Ones(1)), 1e-12);
  const Confusion& table = result->confusion;
  EXPECT_EQ(table.true_positive + table.false_negative, result->positives);
  EXPECT_EQ(table.true_negative + table.false_positive, result->negatives);
  EXPECT_NEAR(result->sensitivity.value, table.true_positive / result->positives, 1e-12);
  // The area of the rows themselves lies between what the bins leave open.
  const double exact = RocArea(drawn.scores, drawn.labels);
  EXPECT_LE(result->area_lowest, exact);
  EXPECT_GE(result->area_highest, exact);
  EXPECT_LT(result->area_highest - result->area_lowest, 0.05);
  double rows_in_bins = 0;
  for (const auto& bin : result->calibration) rows_in_bins += bin.rows;
  EXPECT_LE(rows_in_bins, 500);
  EXPECT_EQ(result->roc.size(), 21u);
  EXPECT_EQ(result->roc.back().true_positive, 1);
}

// 2000 repetitions of rows and noise: the standard deviations of area, accuracy and sensitivity are
// the stated errors within 6 standard errors of their own (relative 6 / sqrt(2 * 2000) = 0.095, and
// 0.05 for what is left out: bins and clamps).
TEST(ScoreCounts, StandardErrorsContainRowsAndNoise) {
  blr::TestRandom random(6);
  blr::Variates variates(random);
  for (const double noise : {0.0, 6.0}) {
    constexpr int kDraws = 2000;
    double mean[3] = {}, square[3] = {}, stated[3] = {};
    for (int draw = 0; draw < kDraws; ++draw) {
      const Scored drawn = Draw(600, variates);
      ScoreCounts counts = CountScores(drawn.scores, drawn.labels, 10);
      counts.noise_stddev = noise;
      for (double& count : counts.positive) count += noise * variates.Normal();
      for (double& count : counts.negative) count += noise * variates.Normal();
      const auto result = EvaluateCounts(counts);
      ASSERT_TRUE(result);
      const Estimate estimates[] = {result->area, result->accuracy, result->sensitivity};
      for (int k = 0; k < 3; ++k) {
        mean[k] += estimates[k].value / kDraws;
        square[k] += estimates[k].value * estimates[k].value / kDraws;
        stated[k] += estimates[k].standard_error / kDraws;
      }
    }
    for (int k = 0; k < 3; ++k) {
      const double deviation = std::sqrt(square[k] - mean[k] * mean[k]);
      EXPECT_NEAR(deviation / stated[k], 1, 0.145) << k << " noise " << noise;
    }
  }
}

TEST(ScoreCounts, NothingIsSaidOfRowsThatTheNoiseHides) {
  ScoreCounts counts;
  counts.positive = {3, 5};
  counts.negative = {40, 4};
  counts.noise_stddev = 1.3;
  EXPECT_TRUE(EvaluateCounts(counts));  // 8 > 4 sqrt(2) 1.3 = 7.35
  counts.noise_stddev = 1.5;
  EXPECT_FALSE(EvaluateCounts(counts));
  EXPECT_THROW(CountScores(VectorXd::Ones(2), VectorXd::Ones(2), 3), Error);
  counts.negative.pop_back();
  EXPECT_THROW(EvaluateCounts(counts), Error);
}

// Three clouds in the plane: each level against the rest finds its own.
TEST(OneVersusRest, SeparatesThreeLevels) {
  blr::TestRandom random(7);
  blr::Variates variates(random);
  const double centres[3][2] = {{0.6, 0}, {-0.3, 0.5}, {-0.3, -0.5}};
  LevelRows rows{MatrixXd(300, 3), {}, 3};
  for (Index i = 0; i < 300; ++i) {
    const auto level = static_cast<size_t>(i % 3);
    rows.level.push_back(level);
    rows.x.row(i) << centres[level][0] + 0.1 * variates.Normal(),
        centres[level][1] + 0.1 * variates.Normal(), 0.3;
  }
  Objective objective;
  objective.lambda = 1e-3;
  const MatrixXd w = FitOneVersusRest(
      rows, [&](const LabelledRows& binary, size_t) { return Minimize(binary, objective).w; });
  const MatrixXd table = ConfusionOfLevels(rows, w);
  EXPECT_EQ(table.sum(), 300);
  EXPECT_GT(table.trace(), 290);
  EXPECT_EQ(PredictLevels(rows.x, w).size(), 300u);
  // Of two levels the binary fit and its mirror image.
  LevelRows two = rows;
  two.levels = 2;
  for (size_t& level : two.level) level = level == 0 ? 0 : 1;
  const MatrixXd both = FitOneVersusRest(
      two, [&](const LabelledRows& binary, size_t) { return Minimize(binary, objective).w; });
  EXPECT_LT((both.col(0) + both.col(1)).norm(), 1e-8);
  two.level[0] = 2;
  EXPECT_THROW(CheckLevels(two), Error);
  two.levels = 1;
  EXPECT_THROW(CheckLevels(two), Error);
}

}  // namespace
}  // namespace partita::stats::erm::score_counts_test
