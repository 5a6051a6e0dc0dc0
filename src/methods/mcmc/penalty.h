// The penalty method: noisy log ratios open, and Metropolis's rule with a penalty for the noise
// keeps the posterior exact (Ceperley & Dewing, J. Chem. Phys. 1999; as a private chain Yildirim &
// Ermis, Stat. Comput. 2019; federated as in Aslett's text).
//
// Rule        accept if log U <= (prior's difference) + y - s^2 / 2, y = sum_j (difference_j +
//             lambda_j), sum_j lambda_j ~ N(0, s^2): E min(1, exp(x + s z - s^2/2)) satisfies
//             detailed balance for x. Each of m parties draws N(0, s^2/m).
// Scale       s = tau n^alpha c(theta, theta*), n a public number of rows, c a public bound of what
//             one row contributes to |log r|. What opens is y / s with noise of variance 1, so one
//             row moves it by at most 1 / (tau n^alpha), whatever the proposal (by twice that if
//             rows are replaced): all openings of a chain are one Gaussian mechanism, many times.
// Noise       Discrete Gaussian shares on the grid 2^-40 (privacy/sampling), so s differs from the
//             continuous one by less than 2^-70.
// U           Public, a function of the key and the number of the decision: it protects nothing.
// Revealed    To everybody y / s of every chain. A party knows its own share: (m - 1)/m of the
//             variance remain against it.
// Rounds      An input and an opening of C numbers.
#pragma once

#include <Eigen/Core>
#include <vector>

#include "crypto/random.h"
#include "methods/mcmc/decisions.h"
#include "privacy/sampling/discrete_gaussian.h"
#include "privacy/sampling/distributed_noise.h"

namespace partita::methods::mcmc {

inline constexpr char kPenaltyRelease[] = "noisy-log-ratios";

// c(theta, theta*) = constant + slope ||theta - theta*||: 2 L and 0 for contributions that are
// clipped to L (stats/mcmc/clipped.h), 0 and B for Lipschitz ones.
struct PenaltyScale {
  double tau = 1, alpha = 0;
  double rows = 1;
  double constant = 0, slope = 0;
};
// s, by chain. Throws kUsage unless all are positive and finite.
Eigen::VectorXd ScaleOf(const PenaltyScale& scale, const Eigen::MatrixXd& step);
// What one added or removed row moves y / s by, at most, with room for the rounding to the grid.
double StandardisedSensitivity(const PenaltyScale& scale);

// Noise of variance 1 that all parties make together.
privacy::DistributedNoise UnitNoise(size_t parties, size_t chains);

mpc::Release PenaltyReleaseOf(size_t chains, uint64_t decisions);

struct PenaltyQuestion {
  uint64_t number = 0;  // of the decision, from 0: chooses U
  Eigen::VectorXd prior, scale;
};

class PenaltyDecisions {
 public:
  // random: this party's, for its noise. public_key: everybody's, for U.
  PenaltyDecisions(mpc::Engine& engine, size_t chains, const crypto::Key& public_key,
                   crypto::RandomSource& random);
  // own: 1 by chains; empty, as the question, at the dealer, where the result is empty too.
  Bits Decide(const Eigen::MatrixXd& own, const PenaltyQuestion& question);

 private:
  mpc::Engine& engine_;
  size_t chains_;
  const crypto::Key& public_key_;
  crypto::RandomSource& random_;
  privacy::DiscreteGaussian noise_;
};

}  // namespace partita::methods::mcmc
