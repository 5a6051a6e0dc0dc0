// The average of the parties' own classifiers, opened once with noise (Pathak, Rane & Raj 2010;
// Rajkumar & Agarwal, eqs. (4), (5)).
//
// Method       Each party minimises its own objective (stats/erm), rounds the coefficients to the
// grid
//              and adds its discrete Gaussian share; the sum of all opens; divided by K it is the
//              noisy average.
// Sensitivity  A replaced row moves one party's minimiser by at most 2/(n_min lambda), plus twice
// what
//              the optimiser leaves (gradient norm g: distance g/lambda) and the rounding.
// Deviation    Gaussian noise on the grid, analytically calibrated, instead of the density
//              exp(-beta |eta|): exact samples, and less noise for more than a few columns.
// Revealed     One noisy average, to the recipient. Public: every party's number of rows (the
// smallest
//              sets the noise).
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
  uint32_t known_shares = 1;   // noise shares that an adversary may know
  int fraction_bits = 40;
  mpc::PartyIndex to = mpc::kEverybody;
};

// On the grid, of the sum of the minimisers; one row replaced.
privacy::GridL2Sensitivity SumSensitivity(const AggregationTask& task);
// Calibrated so that the shares that the adversary does not know meet (epsilon, delta). Throws
// kUsage for a task or a budget out of range.
NoisedSum DesignAggregation(const AggregationTask& task, double epsilon, double delta);

// rows: this party's own, of norm at most 1. Phase "aggregation". The noisy average where it is
// learned, else empty. Throws kBadData to the owner of a table without rows or with fewer than
// n_min.
Eigen::VectorXd RunAggregation(mpc::Engine& engine, const AggregationTask& task,
                               const NoisedSum& sum,
                               const std::optional<stats::erm::LabelledRows>& rows,
                               crypto::RandomSource& random);

}  // namespace partita::methods::classify
