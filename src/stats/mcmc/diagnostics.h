// Whether chains have converged and what their draws are worth (Vehtari, Gelman, Simpson, Carpenter
// & Buerkner, Bayesian Analysis 2021), and the same of many short chains (Margossian, Hoffman,
// Sountsov, Riou-Durand, Vehtari & Gelman, "Nested R-hat", Bayesian Analysis 2024).
#pragma once

#include <Eigen/Core>
#include <span>
#include <vector>

#include "stats/mcmc/chains.h"

namespace partita::stats::mcmc {

// draws by chains, one parameter; at least 4 draws per chain (kUsage).
// The larger of the rank-normalised split R-hat of the draws and of their distances from the
// median.
double RankRhat(const Eigen::MatrixXd& draws);
// Nested R-hat of K = `superchains` groups of M neighbouring columns each: sqrt(1 + B / W), B the
// variance of the groups' means, W the average over groups of the variance of the means of their
// chains (0 if M = 1) and of the average variance within a chain. Chains of a group begin at one
// point, so that B / W is above its 1 / (effective draws of a group) as long as they remember it,
// however short a chain is. Throws kUsage unless 1 < K divides the columns.
double NestedRhat(const Eigen::MatrixXd& draws, size_t superchains);
// As RankRhat: the larger one of the rank-normalised draws and of their distances from the median,
// the halves of a group's chains as two groups, so that it sees what all chains still do together.
double RankNestedRhat(const Eigen::MatrixXd& draws, size_t superchains);
// Effective sample size of the rank-normalised split draws: for the location.
double BulkEss(const Eigen::MatrixXd& draws);
// The smaller one of the indicators below the 5 % and the 95 % quantile.
double TailEss(const Eigen::MatrixXd& draws);
// Of the plain split draws: what the standard error of the mean follows from.
double MeanEss(const Eigen::MatrixXd& draws);

struct ParameterSummary {
  double mean = 0, sd = 0, q2_5 = 0, median = 0, q97_5 = 0;
  double mcse_mean = 0, mcse_sd = 0, mcse_median = 0;
  double rhat = 0, bulk_ess = 0, tail_ess = 0;
};
// One per parameter. rhat: of superchains nested.
std::vector<ParameterSummary> Summarise(const Draws& draws);

// What chains must reach, everywhere: that paper's recommendations.
inline constexpr double kLargestRhat = 1.01, kSmallestEss = 400;
bool HasConverged(const ParameterSummary& parameter);
// Every parameter has, and every chain has moved. Of fewer than 4 draws per chain none has.
bool HaveConverged(const Draws& draws);
// Whether a chain's draws are one point.
bool NeverMoved(const Eigen::MatrixXd& draws);

// About how many decisions a chain makes until they have, of those that it may: by the length of
// its stages and what decisions of a random walk in so many dimensions are worth where the
// proposals have the posterior's covariance. A forecast.
uint64_t ExpectedDecisions(const ChainOptions& options, size_t parameters);

// Monte Carlo standard error of a quantile, by the quantiles of its beta law.
double QuantileMcse(const Eigen::MatrixXd& draws, double probability);

}  // namespace partita::stats::mcmc
