// DP-SGD among parties that hold rows: what a user should run (Abadi et al., CCS 2016; secure sums
// as in Rajkumar & Agarwal, Theorem 4.2).
//
// Ideal function   (rows and a noise share of every party) -> after every iteration, to everybody,
//                  the sum over the batch of the clipped gradients at the public w, plus all noise.
// Method           In iteration t each party puts every own row into the batch with probability
//                  `rate`, by its own secret coins (R-g: nobody else ever learns the batch, so that
//                  sampling amplifies against the other parties too). Each row's gradient
//                  phi'(y w'x) y x is clipped to clip_norm and rounded on the grid (clipping.h: its
//                  norm there is at most clip_norm), the party's sum and its discrete Gaussian
//                  share are added up under the engine, the sum opens, and everybody takes the same
//                  step.
// Sensitivity      One row: clip_norm (added or removed), 2 clip_norm (replaced).
// Revealed         The T noisy sums, hence every iterate. The statement covers all of them.
// Cost             T times that of noised_sum.h.
#pragma once

#include <Eigen/Core>
#include <optional>
#include <span>

#include "base/progress.h"
#include "methods/classify/noised_sum.h"
#include "privacy/adjacency.h"
#include "stats/erm/descent.h"

namespace partita::methods::classify {

struct DescentTask {
  stats::erm::MinibatchOptions options;
  uint64_t rows = 0;        // N over all parties; public
  uint64_t party_rows = 0;  // at most this many at one party; bounds the sums
  size_t dimension = 0;
  uint32_t parties = 2;
  // Noise shares that an adversary may know, its own included; the statement is made for it.
  uint32_t known_shares = 1;
  privacy::Adjacency adjacency = privacy::Adjacency::kReplace;
  int fraction_bits = 32;
};

// Standard deviation of the noise, in units of clip_norm, that remains against an adversary who
// knows known_shares: the smallest for which the PLD of all iterations is within the budget. Throws
// kUsage or kBudget as the accountant.
double CalibrateDescent(const DescentTask& task, double epsilon, double delta);

// The sum that an iteration opens, for a noise multiplier of CalibrateDescent.
NoisedSum DesignDescent(const DescentTask& task, double noise_multiplier);

// rows: this party's own, of norm at most 1; none at the dealer and on the PlanEngine. random: for
// the batches and the noise, which is drawn before the first iteration. Phase "descent". Returns
// the coefficients: the average of the second half of the iterates, the same at every party; empty
// at the dealer. Throws kBadData (to the owner) for bad rows.
Eigen::VectorXd RunDescent(mpc::Engine& engine, const DescentTask& task, const NoisedSum& sum,
                           const std::optional<stats::erm::LabelledRows>& rows,
                           crypto::RandomSource& random, Progress& progress);

// One party's part of one iteration without noise, in grid units; also the twin of the tests.
std::vector<Int128> GradientOnGrid(const stats::erm::LabelledRows& rows,
                                   std::span<const Eigen::Index> batch, const DescentTask& task,
                                   const Eigen::VectorXd& w);

}  // namespace partita::methods::classify
