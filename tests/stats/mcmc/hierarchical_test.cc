// The hierarchical normal model, one group per party: chains against the posterior on a grid, where
// the group means are integrated out.
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "stats/mcmc/chains.h"
#include "stats/mcmc/diagnostics.h"
#include "tests/stats/blr/random.h"

namespace partita::stats::mcmc::hierarchical_test {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

const std::vector<std::vector<double>> kGroups = {{1.1, 0.2, 0.7, 1.9},
                                                  {-0.6, 0.3, -0.2},
                                                  {0.9, 1.4, 0.1, 0.8, 1.2},
                                                  {2.3, 1.7, 2.9},
                                                  {0.4, -0.9, 0.6, 0.0}};

std::vector<Prior> Priors() {
  std::vector<Prior> priors(kGroups.size() + 3, ParsePrior("normal(0, 1)"));
  priors[0] = ParsePrior("normal(0, 2)");
  priors[1] = ParsePrior("normal(-0.5, 0.7)");
  return priors;
}

// log of prior times likelihood at (mu, log tau, log sigma), up to a constant: a group's mean is
// N(mu, tau^2 + sigma^2 / n).
double LogDensity(double mu, double log_tau, double log_sigma) {
  const std::vector<Prior> priors = Priors();
  const double tau2 = std::exp(2 * log_tau), sigma2 = std::exp(2 * log_sigma);
  double value =
      LogPrior(priors[0], mu) + LogPrior(priors[1], log_tau) + LogPrior(priors.back(), log_sigma);
  for (const std::vector<double>& group : kGroups) {
    const auto n = static_cast<double>(group.size());
    double mean = 0, squares = 0;
    for (const double y : group) mean += y / n;
    for (const double y : group) squares += (y - mean) * (y - mean);
    const double variance = tau2 + sigma2 / n;
    value -= (n - 1) * log_sigma + squares / (2 * sigma2) + 0.5 * std::log(variance) +
             (mean - mu) * (mean - mu) / (2 * variance);
  }
  return value;
}

struct Moments {
  double mean = 0, sd = 0;
};

// mu, log tau, log sigma; ends more than 5 posterior standard deviations away.
std::vector<Moments> OnAGrid() {
  constexpr int kCells = 80;
  const double low[] = {-4, -4, -1.5}, high[] = {6, 2.5, 1.2};
  double total = 0;
  VectorXd first = VectorXd::Zero(3), second = VectorXd::Zero(3);
  for (int i = 0; i < kCells * kCells * kCells; ++i) {
    const int at[] = {i % kCells, i / kCells % kCells, i / kCells / kCells};
    VectorXd point(3);
    for (Index j = 0; j < 3; ++j) {
      point(j) = low[j] + (high[j] - low[j]) * (at[j] + 0.5) / kCells;
    }
    const double weight = std::exp(LogDensity(point(0), point(1), point(2)));
    total += weight;
    first += weight * point;
    second += weight * point.cwiseAbs2();
  }
  std::vector<Moments> moments;
  for (Index j = 0; j < 3; ++j) {
    const double mean = first(j) / total;
    moments.push_back({mean, std::sqrt(second(j) / total - mean * mean)});
  }
  return moments;
}

// Within 5 Monte Carlo standard errors: 6 comparisons, a false alarm below 4e-6 with another seed.
TEST(Hierarchical, ChainsSampleTheMarginalPosterior) {
  std::vector<TargetPtr> parties;
  std::vector<const LocalTarget*> targets;
  for (size_t g = 0; g < kGroups.size(); ++g) {
    const VectorXd y =
        Eigen::Map<const VectorXd>(kGroups[g].data(), static_cast<Index>(kGroups[g].size()));
    parties.push_back(OwnTarget(kGroups.size() + 3, [y, g](const VectorXd& theta) {
      const double mean = theta(0) + std::exp(theta(1)) * theta(static_cast<Index>(2 + g));
      const double log_sigma = theta(theta.size() - 1);
      return -static_cast<double>(y.size()) * log_sigma -
             0.5 * std::exp(-2 * log_sigma) * (y.array() - mean).square().sum();
    }));
    targets.push_back(parties.back().get());
  }
  blr::TestRandom common(3), secret(4);
  PlainDecisions decisions(targets, Priors(), Acceptance::kMetropolis, secret);
  ChainOptions options;
  options.acceptance = Acceptance::kMetropolis;
  options.warmup = 4000;
  options.draws = 5000;
  options.thin = 20;
  SilentProgress progress;
  const Draws draws = RunChains(MatrixXd::Zero(static_cast<Index>(kGroups.size()) + 3, 4), options,
                                std::ref(decisions), common, progress);
  const auto summaries = Summarise(draws);
  const std::vector<Moments> expected = OnAGrid();
  const size_t parameters[] = {0, 1, summaries.size() - 1};
  for (size_t k = 0; k < 3; ++k) {
    const ParameterSummary& s = summaries[parameters[k]];
    EXPECT_LT(s.rhat, 1.01) << k;
    EXPECT_GT(s.bulk_ess, 1000) << k;
    EXPECT_NEAR(s.mean, expected[k].mean, 5 * s.mcse_mean) << k;
    EXPECT_NEAR(s.sd, expected[k].sd, 5 * s.mcse_sd) << k;
  }
}

}  // namespace
}  // namespace partita::stats::mcmc::hierarchical_test
