// The gradient of the log density of rows, split as DPVI-VPD splits it (Tajeddine et al., eqs. 18
// to 30; derivation of the sums below in methods.md, 4.1).
//
// Per party, in the clear at its owner: log densities log F_p (K x N) and squared norms of scores
// D_p (K x N). Jointly, in the clear here and on shares in the secure protocol:
//   r_nk = pi_k prod_p F_p / den_n,   den_n = sum_k pi_k prod_p F_p
//   ||g_n||^2 = sum_k (r_nk - pi_k)^2 + sum_k r_nk^2 sum_p D_nk^p
//   s_n = min(1, C / ||g_n||),   t_nk = s_n r_nk
// Then sums, linear in t and s: sum_n s_n (r_nk - pi_k) for the logits of pi, and
// sum_n t_nk d_nkj for the others, which is the public Jacobian applied to sum_n t_nk T_j(x_n).
//
// Matrices have one line per component and one column per row, so that loops over components run
// over neighbouring numbers.
#pragma once

#include <Eigen/Core>
#include <cstdint>
#include <span>

#include "stats/mixture/components.h"
#include "stats/mixture/rows.h"

namespace partita::stats::mixture {

// What becomes of values that are none under the current parameters.
enum class NotANumber { kRefuse, kKeep };

// K x N: log F of one feature set. Throws kBadData if one is not finite (its owner sees it before
// anything is sent), naming the row.
Eigen::ArrayXXd LogDensities(const Layout& layout, const Components& components, const Rows& rows,
                             std::span<const uint32_t> selected,
                             NotANumber otherwise = NotANumber::kRefuse);

// K x N: D_nk = ||d_nk||^2 of one feature set. Throws kBadData likewise.
Eigen::ArrayXXd SquaredScores(const Layout& layout, const Components& components, const Rows& rows,
                              std::span<const uint32_t> selected,
                              NotANumber otherwise = NotANumber::kRefuse);

// K x J: sum_n weights_kn T_j(x_n).
Eigen::ArrayXXd WeightedStatistics(const Layout& layout, const Rows& rows,
                                   std::span<const uint32_t> selected,
                                   const Eigen::ArrayXXd& weights);

// K x J: the public Jacobian applied to weighted statistics. weight_sums: K, sum_n t_nk.
Eigen::ArrayXXd ScoreSums(const Components& components, const Eigen::ArrayXXd& weighted,
                          const Eigen::ArrayXd& weight_sums);

struct ClippedRows {
  Eigen::ArrayXd log_density;  // N: log den_n
  Eigen::ArrayXd norm;         // N: ||g_n|| before clipping
  Eigen::ArrayXd scale;        // N: s_n
  Eigen::ArrayXXd weights;     // K x N: t_nk
};

// From sums over parties of the first two. log_pi: K. clip: C, or infinity for none.
ClippedRows ClipRows(const Eigen::ArrayXd& log_pi, const Eigen::ArrayXXd& log_densities,
                     const Eigen::ArrayXXd& squared_scores, double clip);

// K x (1 + J): the clipped sum of gradients of the selected rows, one feature set for all: the
// oracle of the protocol. `clipped`, if not null, receives the parts.
Eigen::ArrayXXd ClippedGradientSum(const Layout& layout, const Rows& rows,
                                   std::span<const uint32_t> selected, const Eigen::ArrayXXd& theta,
                                   double clip, ClippedRows* clipped = nullptr);

}  // namespace partita::stats::mixture
