#include "stats/mcmc/diagnostics.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/error.h"
#include "tests/stats/blr/random.h"

namespace partita::stats::mcmc::diagnostics_test {
namespace {

using Eigen::MatrixXd;

// Autoregressive chains: x' = a x + sqrt(1 - a^2) e, whose mean has an effective size of
// n (1 - a) / (1 + a).
MatrixXd Chains(double a, Eigen::Index draws, Eigen::Index chains, uint64_t seed) {
  blr::TestRandom random(seed);
  blr::Variates variates(random);
  MatrixXd x(draws, chains);
  for (Eigen::Index c = 0; c < chains; ++c) {
    double state = variates.Normal();
    for (Eigen::Index i = 0; i < draws; ++i) {
      x(i, c) = state;
      state = a * state + std::sqrt(1 - a * a) * variates.Normal();
    }
  }
  return x;
}

TEST(Diagnostics, EffectiveSizeOfAutoregressiveChains) {
  for (const double a : {0.0, 0.5, 0.9, -0.3}) {
    const MatrixXd x = Chains(a, 20000, 4, 9);
    const double expected = 80000 * (1 - a) / (1 + a);
    EXPECT_NEAR(MeanEss(x) / expected, 1, 0.1) << a;
    EXPECT_NEAR(BulkEss(x) / expected, 1, 0.1) << a;
    EXPECT_NEAR(RankRhat(x), 1, 0.002);
    EXPECT_GT(TailEss(x), 0.5 * expected);
  }
}

TEST(Diagnostics, NoticeChainsThatDisagree) {
  MatrixXd shifted = Chains(0, 1000, 4, 2);
  shifted.col(2).array() += 1;
  EXPECT_GT(RankRhat(shifted), 1.05);
  EXPECT_LT(BulkEss(shifted), 100);
  MatrixXd wider = Chains(0, 1000, 4, 2);  // same place, other scale: only the folded part sees it
  wider.col(1) *= 4;
  EXPECT_GT(RankRhat(wider), 1.05);
  MatrixXd drifting = Chains(0, 1000, 4, 2);
  for (Eigen::Index i = 0; i < 1000; ++i) drifting.row(i).array() += 0.003 * static_cast<double>(i);
  EXPECT_GT(RankRhat(drifting), 1.05);  // halves of one chain disagree
  MatrixXd stuck = MatrixXd::Zero(1000, 2);
  stuck.col(1).setOnes();
  EXPECT_GT(RankRhat(stuck), 1.05);
  EXPECT_THROW(RankRhat(MatrixXd::Zero(3, 2)), Error);
}

// The stated errors are those of repeated runs: 200 runs, ratio of standard deviations within 25 %
// (6 standard errors of a standard deviation from 200 values).
TEST(Diagnostics, StatedErrorsAreTheSpreadOfRepeatedRuns) {
  constexpr int kRuns = 200;
  std::vector<double> means, medians, sds, low;
  double stated_mean = 0, stated_median = 0, stated_sd = 0, stated_low = 0;
  for (int run = 0; run < kRuns; ++run) {
    const MatrixXd x = Chains(0.6, 500, 4, 100 + static_cast<uint64_t>(run));
    Draws draws;
    for (Eigen::Index c = 0; c < 4; ++c) draws.chains.emplace_back(x.col(c));
    const ParameterSummary s = Summarise(draws).front();
    means.push_back(s.mean);
    medians.push_back(s.median);
    sds.push_back(s.sd);
    low.push_back(s.q2_5);
    stated_mean += s.mcse_mean / kRuns;
    stated_median += s.mcse_median / kRuns;
    stated_sd += s.mcse_sd / kRuns;
    stated_low += QuantileMcse(x, 0.025) / kRuns;
  }
  const auto spread = [](const std::vector<double>& values) {
    double sum = 0, squares = 0;
    for (const double value : values) {
      sum += value;
      squares += value * value;
    }
    return std::sqrt((squares - sum * sum / kRuns) / (kRuns - 1));
  };
  EXPECT_NEAR(stated_mean / spread(means), 1, 0.3);
  EXPECT_NEAR(stated_median / spread(medians), 1, 0.3);
  EXPECT_NEAR(stated_sd / spread(sds), 1, 0.3);
  EXPECT_NEAR(stated_low / spread(low), 1, 0.3);
}

}  // namespace
}  // namespace partita::stats::mcmc::diagnostics_test
