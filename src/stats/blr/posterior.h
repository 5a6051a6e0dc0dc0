// The posterior of a linear regression from its sufficient statistics, and predictions.
//
//   y | x, beta ~ N(x beta, s2),  beta_j ~ N(m_j, v_j) independent:
//   precision = X'X / s2 + V^-1,  mean = precision^-1 (X'y / s2 + V^-1 m).
//
// PlainPosterior takes noised statistics at their word, as Heikkila et al. (2017, section 3.2) do:
// its intervals leave the privacy noise out and are too short wherever that matters. NoiseAware
// (noise_aware.h) is the default estimator.
#pragma once

#include <Eigen/Core>
#include <optional>
#include <vector>

#include "stats/blr/statistics.h"

namespace partita::stats::blr {

// What makes a noised X'X positive semidefinite again. kAbsolute is the paper's code; the floor of
// both is 0, the prior precision does the rest.
enum class Repair { kNone, kClip, kAbsolute };
Eigen::MatrixXd RepairGram(const Eigen::MatrixXd& gram, Repair repair);

// In the units of the statistics.
struct PlainPrior {
  Eigen::VectorXd mean, variance;
  std::optional<double> noise_variance;  // s2; empty: residual mean square, at least 1e-12 y'y / n
};
// The prior of raw coefficients N(mean, variance) and of raw noise, in scaled units. Without
// intercept only for centred columns; with one, its own prior is that at the centres.
PlainPrior ScaledPrior(const Design& design, double mean, double variance,
                       std::optional<double> noise_variance);

struct PlainPosterior {
  Eigen::VectorXd mean;
  Eigen::MatrixXd covariance;
  double noise_variance = 0;
};
// Throws kBadInput for a variance that is not positive; kNotConverged if the precision is not
// positive definite (a gram that was not repaired).
PlainPosterior FitPlain(const Statistics& statistics, const PlainPrior& prior, Repair repair);

struct Interval {
  double lower = 0, upper = 0;
};
// Central, of a normal law; level in (0, 1).
Interval NormalInterval(double mean, double stddev, double level);

}  // namespace partita::stats::blr
