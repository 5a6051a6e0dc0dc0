// Quantiles from noisy counts.
#include "stats/marginals/quantiles.h"

#include <gtest/gtest.h>

#include <vector>

#include "base/error.h"
#include "tests/stats/marginals/coded_table.h"

namespace partita::stats::marginals::quantiles_test {
namespace {

TEST(MarginalQuantiles, ByHand) {
  const std::vector<double> counts = {10, 20, 40, 30};
  const QuantileLevels median = QuantileOf(counts, 0, 0.5);
  EXPECT_EQ(median.first, 2u);
  EXPECT_EQ(median.middle, 2u);
  EXPECT_EQ(median.last, 2u);
  EXPECT_DOUBLE_EQ(median.within, 0.5);
  EXPECT_EQ(QuantileOf(counts, 0, 0.05).middle, 0u);
  EXPECT_EQ(QuantileOf(counts, 0, 0.99).middle, 3u);
  // D(2) = -20, D(3) = 20; at both sides sd = sigma: 1.96 sigma > 20 lets in the neighbours.
  EXPECT_EQ(QuantileOf(counts, 10, 0.5).first, 2u);
  EXPECT_EQ(QuantileOf(counts, 10.3, 0.5).first, 1u);
  EXPECT_EQ(QuantileOf(counts, 10.3, 0.5).last, 3u);
  EXPECT_EQ(QuantileOf(counts, 1e6, 0.5).first, 0u);
  EXPECT_EQ(QuantileOf(std::vector<double>{5}, 3, 0.5).last, 0u);
}

TEST(MarginalQuantiles, NoRowsOrOnlyNoise) {
  const std::vector<double> negative = {-3, -1, -2}, zero = {0, 0, 0};
  for (const std::vector<double>& counts : {negative, zero}) {
    const QuantileLevels levels = QuantileOf(counts, 2, 0.5);
    EXPECT_LE(levels.first, levels.middle);
    EXPECT_LE(levels.middle, levels.last);
    EXPECT_LT(levels.last, 3u);
  }
  EXPECT_THROW(QuantileOf({}, 1, 0.5), Error);
  EXPECT_THROW(QuantileOf(zero, 1, 0), Error);
  EXPECT_THROW(QuantileOf(zero, 1, 1), Error);
}

// 4000 draws of noise: the levels have the true one at least as often as said. The seed is fixed.
TEST(MarginalQuantiles, HaveTheQuantileAsOftenAsSaid) {
  const std::vector<double> counts = {31, 54, 90, 120, 80, 40, 20, 12, 6, 3};
  crypto::Prg source = SeededSource(51);
  blr::Variates variates(source);
  for (const double probability : {0.1, 0.25, 0.5, 0.9}) {
    const size_t truth = QuantileOf(counts, 0, probability).middle;
    int inside = 0;
    constexpr int kDraws = 4000;
    for (int draw = 0; draw < kDraws; ++draw) {
      std::vector<double> noisy = counts;
      for (double& count : noisy) count += 12 * variates.Normal();
      const QuantileLevels levels = QuantileOf(noisy, 12, probability);
      inside += levels.first <= truth && truth <= levels.last ? 1 : 0;
    }
    EXPECT_GE(inside, kQuantileLevel * kDraws) << probability;
  }
}

}  // namespace
}  // namespace partita::stats::marginals::quantiles_test
