// What private logistic regression costs in accuracy on a real table: Wisconsin breast cancer, 569
// rows, 5 equal parties, delta = 1e-3, one row replaced, bounds that are literal public constants.
// Full-batch descent with exact composition; one noise share may be known, so the sum carries 5/4
// of the variance.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <numeric>
#include <sstream>

#include "stats/erm/breast_cancer.h"
#include "stats/erm/descent.h"
#include "stats/erm/evaluate.h"
#include "stats/erm/simulated.h"
#include "stats/erm/unit_ball.h"
#include "tests/paths.h"
#include "tests/stats/blr/random.h"

namespace partita::stats::erm::accuracy_test {
namespace {

using Eigen::Index;
using Eigen::VectorXd;

constexpr size_t kIterations = 30;
constexpr double kStep = 8;  // 2 / c
constexpr double kDelta = 1e-3;
constexpr size_t kParties = 5, kSplits = 50;

LabelledRows BreastCancer(size_t* clipped_rows) {
  std::ifstream file(FixturePath("tables/breast_cancer_wdbc.csv"));
  std::string line;
  std::getline(file, line);
  Eigen::MatrixXd x(569, 30);
  VectorXd y(569);
  for (Index i = 0; i < 569; ++i) {
    std::getline(file, line);
    std::stringstream cells(line);
    std::string cell;
    for (Index j = 0; j <= 30 && std::getline(cells, cell, ','); ++j) {
      (j < 30 ? x(i, j) : y(i)) = std::stod(cell);
    }
  }
  const ScaledRows scaled = ScaleToUnitBall(x, BreastCancerScaling());
  *clipped_rows = scaled.clipped_rows;
  return {scaled.x, y.array() * 2 - 1};
}

double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return (values[values.size() / 2] + values[(values.size() - 1) / 2]) / 2;
}

// Median test accuracy over the splits; epsilon 0: without noise.
double MedianAccuracy(const LabelledRows& all, double epsilon) {
  blr::TestRandom random(1);  // the same splits for every epsilon
  blr::TestRandom noise_random(2);
  blr::Variates variates(random), noise(noise_random);
  std::vector<double> accuracies;
  for (size_t split = 0; split < kSplits; ++split) {
    const std::vector<double> weights = {4, 1};
    const auto parts = SplitRows(all, weights, variates);
    const double shared = std::sqrt(kParties / (kParties - 1.0));
    const double stddev = epsilon == 0 ? 0 : shared * DescentNoise(2, kIterations, epsilon, kDelta);
    const DescentOptions options{{}, 0.001, kStep, 1, kIterations};
    const VectorXd w =
        NoisyDescent(parts[0], options, [&](size_t) { return DrawNormal(31, stddev, noise); });
    accuracies.push_back(1 - ErrorRate(parts[1], w));
  }
  return Median(accuracies);
}

TEST(BreastCancer, AccuracyStaysNearThatWithoutPrivacy) {
  size_t clipped = 0;
  const LabelledRows rows = BreastCancer(&clipped);
  EXPECT_GT(clipped, 500u);
  Objective objective;
  objective.lambda = 1e-3;
  const double reference = 0.979;  // the best of logistic.json over its penalties
  EXPECT_GT(1 - ErrorRate(rows, Minimize(rows, objective).w), 0.95);
  EXPECT_GT(MedianAccuracy(rows, 4), reference - 0.03);
  EXPECT_GT(MedianAccuracy(rows, 1), reference - 0.08);
  // The noise is there: a tenth of the budget costs much more.
  EXPECT_LT(MedianAccuracy(rows, 0.1), 0.85);
}

}  // namespace
}  // namespace partita::stats::erm::accuracy_test
