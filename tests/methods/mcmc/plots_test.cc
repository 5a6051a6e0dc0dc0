#include "methods/mcmc/plots.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "stats/mcmc/diagnostics.h"

namespace partita::methods::mcmc::plots_test {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

ChainSpec Spec(ChainModel model) {
  ChainSpec spec;
  spec.model = model;
  spec.outcome = "y";
  spec.predictors = {"age"};
  return spec;
}

// Chains of two parameters: normal scores in an order that mixes, shifted by the chain.
stats::mcmc::Draws Draws(size_t chains, double shift) {
  constexpr Eigen::Index kRows = 500;
  stats::mcmc::Draws draws;
  for (size_t c = 0; c < chains; ++c) {
    Eigen::MatrixXd& chain = draws.chains.emplace_back(kRows, 2);
    for (Eigen::Index i = 0; i < kRows; ++i) {
      const double u = (static_cast<double>(i * 197 % kRows) + 0.5) / kRows;
      const double logistic = std::log(u / (1 - u));
      chain(i, 0) = logistic - 3;
      chain(i, 1) = 0.1 * logistic + shift * static_cast<double>(c);
    }
  }
  return draws;
}

ChainSummary Summary(const stats::mcmc::Draws& draws) {
  ChainSummary summary;
  const std::vector<std::string> names = {"intercept", "age"};
  const auto all = stats::mcmc::Summarise(draws);
  for (size_t j = 0; j < names.size(); ++j) {
    const stats::mcmc::ParameterSummary& s = all[j];
    summary.parameters.push_back({names[j], s.mean, s.sd, s.mcse_mean, s.q2_5, s.median, s.q97_5,
                                  s.rhat, s.bulk_ess, s.tail_ess});
  }
  return summary;
}

TEST(PlotsTest, TraceAndDensityStandTogetherWithTheirNumbers) {
  const stats::mcmc::Draws draws = Draws(4, 0);
  const auto plots = ChainPlots(Spec(ChainModel::kLogistic), Summary(draws), draws);
  ASSERT_EQ(plots.size(), 4U);
  EXPECT_EQ(plots[2].title, "Trace of age");
  EXPECT_EQ(plots[2].y_label, "age (log odds ratio)");
  EXPECT_EQ(plots[0].y_label, "intercept");
  EXPECT_THAT(plots[2].note, HasSubstr("R-hat "));
  EXPECT_THAT(plots[2].note, HasSubstr("(bulk)"));
  EXPECT_EQ(plots[2].series.size(), 4U);
  EXPECT_EQ(plots[3].title, "Posterior of age");
  EXPECT_EQ(plots[3].x_label, "age (log odds ratio)");
  EXPECT_THAT(plots[3].note, HasSubstr("95 % from "));
}

TEST(PlotsTest, DensitiesAreOneInAllAndShadeTheInterval) {
  const stats::mcmc::Draws draws = Draws(4, 0);
  const ChainSummary summary = Summary(draws);
  const auto plots = ChainPlots(Spec(ChainModel::kLinear), summary, draws);
  const study::DocumentSeries& density = plots[1].series.at(0);
  double mass = 0;
  for (size_t i = 1; i < density.x.size(); ++i)
    mass += (density.y[i] + density.y[i - 1]) / 2 * (density.x[i] - density.x[i - 1]);
  EXPECT_NEAR(mass, 1, 0.005);  // the outermost kernels have tails beyond
  const study::DocumentSeries& interval = plots[1].series.at(1);
  EXPECT_GE(interval.x.front(), summary.parameters[0].q2_5);
  EXPECT_LE(interval.x.back(), summary.parameters[0].q97_5);
  EXPECT_EQ(interval.upper.size(), interval.x.size());
  EXPECT_LT(density.x.front(), -3);  // negative draws are where they are
}

TEST(PlotsTest, ManyChainsAreABandWithTheirMean) {
  const stats::mcmc::Draws draws = Draws(kMostLines + 1, 1);
  const auto plots = ChainPlots(Spec(ChainModel::kCox), Summary(draws), draws);
  const std::vector<study::DocumentSeries>& series = plots[2].series;
  ASSERT_EQ(series.size(), 2U);
  EXPECT_EQ(series[0].name, "lowest to highest of 7 chains");
  EXPECT_NEAR(series[0].upper[0] - series[0].y[0], kMostLines, 1e-12);
  EXPECT_NEAR(series[1].y[0], (series[0].upper[0] + series[0].y[0]) / 2, 1e-12);
}

TEST(PlotsTest, DrawsThatStandStillHaveNoDensity) {
  stats::mcmc::Draws draws = Draws(2, 0);
  for (Eigen::MatrixXd& chain : draws.chains) chain.setConstant(1.5);
  const auto plots = ChainPlots(Spec(ChainModel::kPoisson), Summary(draws), draws);
  ASSERT_EQ(plots.size(), 2U);
  EXPECT_THAT(plots[0].note, HasSubstr("stand still"));
}

TEST(PlotsTest, RanksHaveWhatIsExpected) {
  const stats::mcmc::Draws draws = Draws(3, 0);
  const auto plots = RankPlots(Summary(draws), draws);
  ASSERT_EQ(plots.size(), 2U);
  ASSERT_EQ(plots[1].series.size(), 4U);
  EXPECT_EQ(plots[1].series[3].y, (std::vector<double>{25, 25}));
}

// Ranks of superchains are those of their chains together.
TEST(PlotsTest, RanksOfSuperchainsStandTogether) {
  stats::mcmc::Draws draws = Draws(6, 1);
  draws.superchains = 3;
  const auto counts = RankCounts(draws, 1, 3);
  ASSERT_EQ(counts.size(), 3U);
  double in_all = 0;
  for (const double count : counts[0]) in_all += count;
  EXPECT_EQ(in_all, 1000);
  EXPECT_GT(counts[0][0], 900);  // shifted by the chain
  EXPECT_GT(counts[2][2], 900);
  const auto plots = RankPlots(Summary(draws), draws);
  ASSERT_EQ(plots[1].series.size(), 4U);
  EXPECT_EQ(plots[1].series[0].name, "superchain 1");
  EXPECT_EQ(plots[1].series[3].y, (std::vector<double>{50, 50}));
}

TEST(PlotsTest, CoefficientsHaveTheirUnit) {
  EXPECT_EQ(CoefficientUnit(ChainModel::kLogistic), "log odds ratio");
  EXPECT_EQ(CoefficientUnit(ChainModel::kPoisson), "log rate ratio");
  EXPECT_EQ(CoefficientUnit(ChainModel::kNegativeBinomial), "log rate ratio");
  EXPECT_EQ(CoefficientUnit(ChainModel::kCox), "log hazard ratio");
  EXPECT_EQ(CoefficientUnit(ChainModel::kWeibull), "log time ratio");
  EXPECT_THAT(CoefficientUnit(ChainModel::kLinear), IsEmpty());
}

}  // namespace
}  // namespace partita::methods::mcmc::plots_test
