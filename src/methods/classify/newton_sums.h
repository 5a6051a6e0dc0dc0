// The sums from which intervals for coefficients are made (stats/erm/noise_aware.h): gradient and
// Hessian of the logistic loss at public coefficients, opened once with noise.
//
// On the grid  A row's x and weight h = phi''(y w'x) <= 1/4 give v = 2 sqrt(h) x, no longer than 1,
//             which is rounded ONCE: q = clip(v) with 22 fraction bits, |q| <= 2^22 (clipping.h).
//             Everything that follows is exact in integers. The row adds
//               k = (round(2^51 phi'(y w'x) y x), clipped to 2^51;  128 q_i^2;
//                    181 q_i q_j, i < j),
//             that is, on the grid of 2^-51 its gradient and 4 times its Hessian, entries off the
//             diagonal times 181/128, just below sqrt(2).
// Sensitivity Exactly 2^51 sqrt(2) for a row that is added or removed, 2^51 sqrt(6) for one that is
//             replaced, rounding included. Proof: let h(q) be the second part of k.
//               |h(q)|^2 = 2^14 sum q_i^4 + 181^2 sum_(i<j) q_i^2 q_j^2 <= 2^14 |q|^4 <= 2^102,
//             because 181^2 < 2 * 2^14; and
//               <h(a), h(b)> = (2^14 - 181^2/2) sum a_i^2 b_i^2 + 181^2/2 (sum a_i b_i)^2 >= 0,
//             so that |h(a) - h(b)|^2 <= 2 * 2^102. Gradients are no longer than 2^51, two of them
//             no more than 2^52 apart.  [] The sums over rows are exact, too: blocks of 512 rows
//             stay below 2^53 in doubles.
// Revealed    These sums with noise, d + d (d + 1) / 2 numbers, to the recipient.
#pragma once

#include <Eigen/Core>
#include <optional>
#include <span>
#include <vector>

#include "methods/classify/noised_sum.h"
#include "methods/classify/statement.h"
#include "privacy/adjacency.h"
#include "stats/erm/noise_aware.h"

namespace partita::methods::classify {

inline constexpr int kNewtonRowBits = 22;                   // of q
inline constexpr int kNewtonBits = 2 * kNewtonRowBits + 7;  // of what is opened
inline constexpr double kCurvatureWeight = 4;               // of the Hessian beside the gradient
// Where the rounding of q is certain not to lengthen it.
inline constexpr size_t kMaxNewtonDimension = 1024;

struct NewtonTask {
  size_t dimension = 0;     // at most kMaxNewtonDimension
  uint64_t party_rows = 0;  // of one party, at most; public
  uint32_t parties = 2;
  uint32_t known_shares = 1;
  privacy::Adjacency adjacency = privacy::Adjacency::kReplace;
  mpc::PartyIndex to = mpc::kEverybody;
};

privacy::GridL2Sensitivity NewtonSensitivity(privacy::Adjacency adjacency);

// Calibrated so that the shares that the adversary does not know meet (epsilon, delta).
NoisedSum DesignNewton(const NewtonTask& task, double epsilon, double delta);

// rows: this party's own, of norm at most 1. Phase "intervals". The sums with the standard
// deviations of all noise where they are learned, else empty. Throws kBadData to the owner of bad
// rows.
stats::erm::NewtonSums RunNewton(mpc::Engine& engine, const NewtonTask& task, const NoisedSum& sum,
                                 const std::optional<stats::erm::LabelledRows>& rows,
                                 const Eigen::VectorXd& w, crypto::RandomSource& random);

// The vector of a party without noise, in grid units. Rows longer than 1 count as if shortened.
std::vector<Int128> NewtonOnGrid(const stats::erm::LabelledRows& rows, const Eigen::VectorXd& w);
// What an opened vector says. The noise of entries off the diagonal is 128/181 of that on it, which
// the intervals take for 1/sqrt(2), 1.1e-4 less. noise_stddev: of every opened number, real units.
stats::erm::NewtonSums NewtonSumsOf(std::span<const Int128> opened, size_t dimension,
                                    double noise_stddev);

privacy::Statement StateNewton(const NewtonTask& task, const NoisedSum& sum,
                               const Audience& audience);

}  // namespace partita::methods::classify
