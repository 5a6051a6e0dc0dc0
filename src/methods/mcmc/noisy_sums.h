// Versions 1 and 2 of Aslett's confidential accept-reject, for comparison with Version 3
// (decisions.h): what opens is a noisy number, of which everybody reads the decision. Metropolis's
// rule only.
//
// Version 1   sum_j (difference_j + V_j), accepted if >= 0, V_j ~ Gamma(1/m, 1) drawn by party j.
// Version 2   (sum_j (difference_j + V_j)) (sum_j W_j), W_j likewise.
// Noise       privacy::GammaShare on the grid 2^-40: the sum of all m is exactly floor(2^40 E)
//             2^-40 for E ~ Exp(1). So Version 1 decides as with E unless |log r + E| < (m + 1)
//             2^-40. Version 2's product is cut to 2^-40, so that the factors cannot be read off an
//             exact product; its sign errs with a probability below 2^-30.
// Revealed    To everybody the number itself. A party subtracts its own V_j, so that Gamma((m -
//             1)/m, 1) remains against it (trade_offs.h): much weaker than Version 3. No claim over
//             a chain is made.
// Rounds      Version 1: an input and an opening. Version 2: also a product and a cut.
#pragma once

#include <Eigen/Core>
#include <vector>

#include "methods/mcmc/decisions.h"
#include "privacy/sampling/polya.h"

namespace partita::methods::mcmc {

inline constexpr char kNoisySumsRelease[] = "noisy-sums";

struct NoisySumTask {
  size_t chains = 1;
  bool times_exponential = false;  // Version 2
};

mpc::Release ReleaseOf(const NoisySumTask& task, uint64_t decisions);

class NoisySums {
 public:
  NoisySums(mpc::Engine& engine, const NoisySumTask& task, crypto::RandomSource& random);
  // own: 1 by chains; empty at the dealer. What opened, 1 by chains; empty at the dealer.
  Eigen::VectorXd Open(const Eigen::MatrixXd& own);
  // One decision of every chain.
  Bits Decide(const Eigen::MatrixXd& own);

 private:
  mpc::Shared Sum(const std::vector<Int128>& own, double bound);

  mpc::Engine& engine_;
  NoisySumTask task_;
  crypto::RandomSource& random_;
  privacy::PolyaShare gamma_;
};

}  // namespace partita::methods::mcmc
