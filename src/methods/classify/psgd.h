// PSGD (Rajkumar & Agarwal, Algorithm 1 and Procedure 3, with the secure sums of Theorem 4.2):
// gradient descent on noisy sums of gradients, noise eta drawn once and rho in every iteration.
//
// Ideal function   (rows, eta^k and rho_t^k of every party) -> in every iteration t, to everybody,
//                  sum_k (gradient of party k at w_t + eta^k + rho_t^k).
// What protects    The LAST iterate of a run that converged is the minimiser of the objective
//                  perturbed by eta, and has objective perturbation's (epsilon, delta) with the
//                  corrected sigma* (stats/erm/objective_noise.h). Somebody who sees the TRANSCRIPT
//                  sees T gradients whose differences do not contain eta: against it only rho
//                  protects, and composes. The paper's theorem says nothing about it,
//                  the statement does (statement.h).
// Deviation        rho is a discrete Gaussian on the grid instead of the density exp(-beta |rho|):
//                  exact samples, and a composition that can be stated tightly.
// Revealed         T noisy sums, hence all iterates, to everybody.
// Cost             T times that of noised_sum.h.
#pragma once

#include <Eigen/Core>
#include <optional>

#include "base/progress.h"
#include "methods/classify/noised_sum.h"
#include "stats/erm/descent.h"
#include "stats/erm/objective_noise.h"

namespace partita::methods::classify {

struct PsgdTask {
  stats::erm::PsgdOptions options;
  uint64_t rows = 0;        // over all parties; public
  uint64_t party_rows = 0;  // at most this many at one party
  size_t dimension = 0;
  uint32_t parties = 2;
  uint32_t known_shares = 1;  // noise shares that an adversary may know
  double eta_stddev = 0;      // sigma* that remains against the adversary
  double rho_stddev = 0;      // of the sum of all rho of an iteration that remains
  int fraction_bits = 40;
};

// sum.noise is that of rho; eta likewise.
struct PsgdNoise {
  NoisedSum sum;
  privacy::DistributedNoise eta;
};
PsgdNoise DesignPsgd(const PsgdTask& task);

// rows: this party's own, of norm at most 1. Phase "psgd". The last iterate, the same everywhere;
// empty at the dealer. Throws kBadData to the owner of bad rows.
Eigen::VectorXd RunPsgd(mpc::Engine& engine, const PsgdTask& task, const PsgdNoise& noise,
                        const std::optional<stats::erm::LabelledRows>& rows,
                        crypto::RandomSource& random, Progress& progress);

}  // namespace partita::methods::classify
