// Simulation-based calibration: whether prior, likelihood, decisions and chains belong together.
//
// Parameters are drawn from the prior, data from the model at them, and chains run on the data: if
// all is right, the rank of a parameter among independent draws is uniform (Cook, Gelman & Rubin
// 2006; Talts, Betancourt, Simpson, Vehtari & Gelman 2018).
#pragma once

#include <Eigen/Core>
#include <functional>
#include <vector>

#include "stats/mcmc/chains.h"

namespace partita::stats::mcmc {

struct CalibrationModel {
  std::vector<Prior> priors;  // proper
  Eigen::VectorXd start;      // of every chain
  // Every party's log likelihood of data drawn at theta.
  std::function<std::vector<TargetPtr>(const Eigen::VectorXd& theta, blr::Variates& variates)>
      simulate;
};

struct CalibrationOptions {
  size_t data_sets = 4000;
  size_t chains = 3, draws = 33;  // of each chain; ranks go from 0 to chains x draws
  size_t warmup = 400;
  // Decisions between two draws, at first. Doubled, and the chains begun anew, until the effective
  // size of chains seen four times between two draws is at least twice the number of draws, so that
  // draws count as independent; at most 8 times (kNotConverged).
  size_t thin = 40;
  Acceptance acceptance = Acceptance::kBarker;
};

// Data sets by parameters. Throws kUsage for improper priors and a thin that 4 does not divide.
Eigen::MatrixXd CalibrationRanks(const CalibrationModel& model, const CalibrationOptions& options,
                                 crypto::RandomSource& source, Progress& progress);

// Two tests of one parameter's ranks. Their p-values are bounds, for every number of data sets.
struct RankCheck {
  // Distribution function at 0, 1, ..., largest - 1: exact binomial tails, times their number.
  double ecdf_p = 1;
  // Mean squared distance from the middle, over that of uniform ranks: above 1 if posteriors are
  // too narrow, below 1 if too wide. By Bernstein's inequality.
  double variance_ratio = 1, variance_p = 1;
};
// ranks: whole numbers from 0 to largest. Throws kUsage for others.
RankCheck CheckRanks(const Eigen::VectorXd& ranks, size_t largest);

// The smallest errors of a normal posterior that CheckRanks finds at this level with probability
// 0.8: a shift, in its standard deviations, by the distribution function at the middle; a standard
// deviation too small or too large by this factor less 1, by the variance. To the accuracy of the
// central limit theorem.
struct DetectableErrors {
  double shift = 0, narrower = 0, wider = 0;
};
DetectableErrors SmallestDetectable(size_t data_sets, size_t largest, double level);

}  // namespace partita::stats::mcmc
