// The average of the parties' own classifiers, opened once with noise (Pathak, Rane & Raj 2010;
// Rajkumar & Agarwal, eqs. (4), (5)).
//
// Method       Each party minimises its own objective (stats/erm), rounds the coefficients to the
//              grid and adds its discrete Gaussian share; the sum of all opens; divided by K it is
//              the noisy average.
// Sensitivity  A replaced row moves one party's exact minimiser by at most 2/(n_min lambda). What a
//              party adds is not the exact one: it is within g/lambda of it, by strong convexity,
//              where g bounds the EXACT gradient there. The optimiser stops at a computed gradient
//              of 1e-11, and gradient_rounding.h bounds what computing it gets wrong, so that
//                g = 1e-11 + GradientRounding(n_max, ...),
//              twice, for both neighbours; and half a grid unit of rounding for every coefficient.
//              Coefficients longer than LargestFit, which no minimiser is, are refused, for the
//              bound of rounding needs one.
// Deviation    Gaussian noise on the grid, analytically calibrated, instead of the density
//              exp(-beta |eta|): exact samples, and less noise for more than a few columns.
// Revealed     One noisy average, to the recipient. Public: every party's number of rows (the
//              smallest sets the noise).
#pragma once

#include <Eigen/Core>
#include <optional>

#include "methods/classify/noised_sum.h"
#include "stats/erm/local_aggregation.h"

namespace partita::methods::classify {

struct AggregationTask {
  stats::erm::Loss loss;
  double lambda = 0.1;
  size_t dimension = 0;
  uint32_t parties = 2;
  uint64_t smallest_rows = 1;  // n_min
  uint64_t largest_rows = 1;   // n_max
  uint32_t known_shares = 1;   // noise shares that an adversary may know
  int fraction_bits = 40;
  mpc::PartyIndex to = mpc::kEverybody;
};

// J(w) <= J(0) = phi(0) bounds the exact minimiser, with room for the computed one.
double LargestFit(const AggregationTask& task);

// On the grid, of the sum of the minimisers; one row replaced.
privacy::GridL2Sensitivity SumSensitivity(const AggregationTask& task);
// Calibrated so that the shares that the adversary does not know meet (epsilon, delta). Throws
// kUsage for a task or a budget out of range.
NoisedSum DesignAggregation(const AggregationTask& task, double epsilon, double delta);

// rows: this party's own, of norm at most 1. Phase "aggregation". The noisy average where it is
// learned, else empty. Throws kBadData to the owner of a table with fewer rows than
// n_min or more than n_max, or a row that is longer than 1.
Eigen::VectorXd RunAggregation(mpc::Engine& engine, const AggregationTask& task,
                               const NoisedSum& sum,
                               const std::optional<stats::erm::LabelledRows>& rows,
                               crypto::RandomSource& random);

}  // namespace partita::methods::classify
