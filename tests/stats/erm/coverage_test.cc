// How often 95 % intervals of private logistic coefficients contain the truth. The classifier that
// is the starting point comes from full-batch descent with 60 % of the budget, the sums of the
// Newton step have the rest (for the Gaussian: shares of mu^2). delta = 1e-6, one row replaced, no
// row beyond the bounds.
//
// 2000 data sets in each of 9 cells, one coefficient of each, in turn: coefficients of one data set
// depend. Gated: every cell's count must lie in the range that a coverage of 0.95 leaves with
// probability 1e-6 over all cells, about 0.92 to 0.975. Printed, not gated: the share of intervals
// whose noise is left out, and of data sets for which the report says that there are none or warns
// of a long step.
#include "tests/stats/blr/coverage.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <vector>

#include "privacy/accounting/normal.h"
#include "stats/erm/descent.h"
#include "stats/erm/noise_aware.h"
#include "stats/erm/simulated.h"
#include "tests/stats/blr/random.h"

namespace partita::stats::erm {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

constexpr size_t kDataSets = 2000, kCells = 9;
constexpr double kLevel = blr::kLevel, kDelta = 1e-6;
constexpr double kWeight = 4;  // of the curvature
constexpr size_t kIterations = 20;
constexpr double kLongStep = 2;  // standard errors, of which the report warns

struct Cell {
  Index rows = 0;
  Index dimension = 0;
  double epsilon = 0;
};

struct Outcome {
  size_t intervals = 0, covered = 0, plain_covered = 0, long_steps = 0;
};

LabelledRows DrawRows(const VectorXd& truth, Index rows, blr::Variates& variates) {
  LabelledRows drawn{MatrixXd(rows, truth.size()), VectorXd(rows)};
  const double scale = 1 / std::sqrt(static_cast<double>(truth.size()));
  for (Index i = 0; i < rows; ++i) {
    for (Index j = 0; j < truth.size(); ++j) {
      drawn.x(i, j) = j == 0 ? scale : scale * (2 * variates.Uniform() - 1);
    }
    const double probability = 1 / (1 + std::exp(-drawn.x.row(i).dot(truth)));
    drawn.y(i) = variates.Uniform() < probability ? 1 : -1;
  }
  return drawn;
}

NewtonSums AddNoise(NewtonSums sums, double stddev, blr::Variates& variates) {
  sums.gradient_stddev = stddev;
  sums.hessian_stddev = stddev / kWeight;
  for (double& entry : sums.gradient) entry += stddev * variates.Normal();
  for (Index i = 0; i < sums.hessian.rows(); ++i) {
    for (Index j = i; j < sums.hessian.cols(); ++j) {
      const double noise = sums.hessian_stddev / (i == j ? 1 : std::sqrt(2.0)) * variates.Normal();
      sums.hessian(i, j) += noise;
      if (i != j) sums.hessian(j, i) += noise;
    }
  }
  return sums;
}

bool Contains(const CoefficientIntervals& intervals, Index j, double truth) {
  return intervals.lower(j) <= truth && truth <= intervals.upper(j);
}

Outcome Simulate(const Cell& cell) {
  blr::TestRandom random(static_cast<uint64_t>(cell.rows * 100 + cell.dimension) +
                         static_cast<uint64_t>(10 * cell.epsilon));
  blr::Variates variates(random);
  const double mu = privacy::GaussianMu(cell.epsilon, kDelta);
  const double fit_mu = std::sqrt(0.6) * mu, step_mu = std::sqrt(0.4) * mu;
  const double descent_noise = 2 * std::sqrt(static_cast<double>(kIterations)) / fit_mu;
  const double sums_noise = std::sqrt(6.0) / step_mu;
  VectorXd truth(cell.dimension);
  for (Index j = 0; j < cell.dimension; ++j) truth(j) = j % 2 == 0 ? 1 : -0.5;
  Outcome outcome;
  for (size_t set = 0; set < kDataSets; ++set) {
    const LabelledRows rows = DrawRows(truth, cell.rows, variates);
    const DescentOptions options{{}, 1e-4, 8, 1, kIterations};
    const VectorXd w = NoisyDescent(rows, options, [&](size_t) {
      return DrawNormal(static_cast<size_t>(cell.dimension), descent_noise, variates);
    });
    const NewtonSums sums = AddNoise(SumsAt(rows, w), sums_noise, variates);
    const auto result = NoiseAwareIntervals(w, sums, kLevel);
    if (!result) continue;
    NewtonSums silent = sums;
    silent.gradient_stddev = silent.hessian_stddev = 0;
    const auto plain = NoiseAwareIntervals(w, silent, kLevel);
    const Index j = static_cast<Index>(set) % cell.dimension;
    ++outcome.intervals;
    outcome.covered += Contains(*result, j, truth(j)) ? 1 : 0;
    outcome.plain_covered += plain && Contains(*plain, j, truth(j)) ? 1 : 0;
    outcome.long_steps += result->step > kLongStep ? 1 : 0;
  }
  return outcome;
}

class PrivateCoverageTest : public ::testing::TestWithParam<Cell> {};

TEST_P(PrivateCoverageTest, IsThatOfTheLevel) {
  const Cell& cell = GetParam();
  const Outcome outcome = Simulate(cell);
  ASSERT_GT(outcome.intervals, 0u);
  const auto share = [&](size_t count) {
    return static_cast<double>(count) / static_cast<double>(outcome.intervals);
  };
  fmt::print(
      "n {} d {} epsilon {}: coverage {:.4f}, noise left out {:.4f}, long steps {:.3f}, no "
      "intervals {:.3f}\n",
      cell.rows, cell.dimension, cell.epsilon, share(outcome.covered), share(outcome.plain_covered),
      share(outcome.long_steps), 1 - static_cast<double>(outcome.intervals) / kDataSets);
  std::fflush(stdout);
  const blr::CountRange range = blr::BinomialRange(outcome.intervals, kLevel, 1e-6 / kCells);
  EXPECT_GE(outcome.covered, range.lower);
  EXPECT_LE(outcome.covered, range.upper);
}

std::vector<Cell> Cells() {
  return {{2000, 3, 1},  {2000, 3, 3},  {10000, 3, 0.5}, {10000, 3, 1}, {10000, 3, 3},
          {10000, 6, 1}, {10000, 6, 3}, {20000, 6, 1},   {20000, 6, 3}};
}
INSTANTIATE_TEST_SUITE_P(EveryCell, PrivateCoverageTest, ::testing::ValuesIn(Cells()));

}  // namespace
}  // namespace partita::stats::erm
