#include "stats/mcmc/diagnostics.h"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "tests/paths.h"
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

// By R, from the definition; the mean of ranks of both halves as RankNestedRhat takes them.
TEST(Diagnostics, NestedRhatIsThatOfR) {
  std::ifstream file(FixturePath("references/mcmc/nested_rhat.json"));
  for (const auto& reference : nlohmann::json::parse(file)) {
    SCOPED_TRACE(reference["name"]);
    const auto values = reference["draws"].get<std::vector<double>>();
    const auto rows = reference["iterations"].get<Eigen::Index>();
    const MatrixXd draws = Eigen::Map<const MatrixXd>(
        values.data(), rows, static_cast<Eigen::Index>(values.size()) / rows);
    const auto superchains = reference["superchains"].get<size_t>();
    EXPECT_NEAR(NestedRhat(draws, superchains), reference["nested"].get<double>(), 1e-12);
    EXPECT_NEAR(RankNestedRhat(draws, superchains),
                std::max(reference["bulk"].get<double>(), reference["folded"].get<double>()), 1e-9);
  }
}

// Four superchains of 25 chains with 20 draws: a single chain is far too short.
TEST(Diagnostics, NestedRhatJudgesManyShortChains) {
  const MatrixXd settled = Chains(0.5, 20, 100, 5);
  EXPECT_GT(RankRhat(settled), 1.03);
  EXPECT_LT(RankNestedRhat(settled, 4), 1.01);
  // Each superchain still near where it began.
  MatrixXd remembering = settled;
  for (Eigen::Index c = 0; c < 100; ++c) {
    remembering.col(c).array() += 0.4 * static_cast<double>(c / 25 - 1);
  }
  EXPECT_GT(RankNestedRhat(remembering, 4), 1.05);
  MatrixXd wider = settled;  // one of them elsewhere in scale
  wider.leftCols(25) *= 2;
  EXPECT_GT(RankNestedRhat(wider, 4), 1.05);
  MatrixXd drifting = settled;  // all on their way together
  for (Eigen::Index i = 0; i < 20; ++i) drifting.row(i).array() += 0.05 * static_cast<double>(i);
  EXPECT_LT(NestedRhat(drifting, 4), 1.01);
  EXPECT_GT(RankNestedRhat(drifting, 4), 1.02);
}

TEST(Diagnostics, SuperchainsAreGroupsOfChains) {
  const MatrixXd x = Chains(0, 10, 6, 4);
  EXPECT_THROW(NestedRhat(x, 1), Error);
  EXPECT_THROW(NestedRhat(x, 4), Error);
  EXPECT_THROW(RankNestedRhat(Chains(0, 3, 6, 4), 2), Error);
  EXPECT_EQ(NestedRhat(MatrixXd::Ones(10, 6), 3), 1);
  MatrixXd stuck = MatrixXd::Ones(10, 6);
  stuck.leftCols(2).setZero();
  EXPECT_EQ(NestedRhat(stuck, 3), HUGE_VAL);
  // What a summary says is of the superchains, if there are any.
  Draws draws;
  for (Eigen::Index c = 0; c < 6; ++c) draws.chains.emplace_back(x.col(c));
  EXPECT_EQ(Summarise(draws).front().rhat, RankRhat(x));
  draws.superchains = 3;
  EXPECT_EQ(Summarise(draws).front().rhat, RankNestedRhat(x, 3));
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
