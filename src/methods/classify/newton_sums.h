// The sums from which intervals for coefficients are made (stats/erm/noise_aware.h): gradient and
// Hessian of the logistic loss at public coefficients, opened once with noise.
//
// Released    (g, kappa triu(H)), off-diagonal entries times sqrt(2), so that the second part has
// the
//             Frobenius norm of kappa H. d + d (d + 1) / 2 numbers.
// Sensitivity With |x| <= 1 a row's gradient is no longer than 1 and its Hessian, positive
//             semidefinite, no longer than 1/4. Added or removed: sqrt(1 + kappa^2/16). Replaced:
//             sqrt(4 + kappa^2/8), for |A - B|^2 <= |A|^2 + |B|^2 where <A, B> >= 0. Each party's
//             sum is rounded once, which is added.
// Revealed    These noisy sums, to the recipient.
#pragma once

#include <Eigen/Core>
#include <optional>

#include "methods/classify/noised_sum.h"
#include "methods/classify/statement.h"
#include "privacy/adjacency.h"
#include "stats/erm/noise_aware.h"

namespace partita::methods::classify {

struct NewtonTask {
  size_t dimension = 0;
  uint64_t party_rows = 0;  // of one party, at most; public
  uint32_t parties = 2;
  uint32_t known_shares = 1;
  privacy::Adjacency adjacency = privacy::Adjacency::kReplace;
  double curvature_weight = 4;  // kappa
  int fraction_bits = 32;
  mpc::PartyIndex to = mpc::kEverybody;
};

// On the grid.
privacy::GridL2Sensitivity NewtonSensitivity(const NewtonTask& task, privacy::Adjacency adjacency);

// Calibrated so that the shares that the adversary does not know meet (epsilon, delta).
NoisedSum DesignNewton(const NewtonTask& task, double epsilon, double delta);

// rows: this party's own, of norm at most 1. Phase "intervals". The sums with the standard
// deviations of all noise where they are learned, else empty. Throws kBadData to the owner of bad
// rows.
stats::erm::NewtonSums RunNewton(mpc::Engine& engine, const NewtonTask& task, const NoisedSum& sum,
                                 const std::optional<stats::erm::LabelledRows>& rows,
                                 const Eigen::VectorXd& w, crypto::RandomSource& random);

// The vector of a party without noise, real units; and back.
Eigen::VectorXd NewtonVector(const stats::erm::NewtonSums& sums, double curvature_weight);
stats::erm::NewtonSums NewtonSumsOf(const Eigen::VectorXd& vector, size_t dimension,
                                    double curvature_weight, double noise_stddev);

privacy::Statement StateNewton(const NewtonTask& task, const NoisedSum& sum,
                               const Audience& audience);

}  // namespace partita::methods::classify
