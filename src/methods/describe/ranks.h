// The rank statistic of groups, on shares: Kruskal and Wallis' H from the histograms of a number
// (layout.h), values of one cell tied. With two groups its root is the |z| of Wilcoxon's rank-sum
// test without correction for continuity.
//
// Input     Of every number the cells' counts c_gk of the groups, over all holders: whole numbers.
// Method    With t_k = sum_g c_gk values in cell k, n in all and u_k = t_1 + .. + t_(k-1) + t_1 + ..
//           + t_k - n, twice the distance of the cell's rank from the mean rank: d_g = sum_k c_gk u_k
//           and s = sum_k t_k u_k^2 are exact, and H = (n - 1) sum_g d_g^2 / (n_g s), ties corrected
//           by s itself. n = c 2^(e + 1) with its mantissa c in [1/2, 1) is normalised
//           (normalise.h), and d, s and n_g are multiplied by the secret powers 2^(-2 (e + 1)),
//           2^(-3 (e + 1)) and 2^(-(e + 1)), so that nothing depends on how many rows there may be.
// Opens     The root of H on the absolute grid 2^-grid_bits, since its standard error is about 1.
// Error     Before rounding at most 2^-11 of the root, in groups of more than one in 2^10 rows.
// Withheld  Where all values lie in one cell.
// Cost      cells products and two kGram for each number, normalise.h, reciprocal.h, division.h and
//           release_grid.h of as many values as numbers and groups; a product.
// Revealed  Nothing.
// Source    W. H. Kruskal, W. A. Wallis, "Use of ranks in one-criterion variance analysis", Journal
//           of the American Statistical Association 1952.
#pragma once

#include <vector>

#include "mpc/engine.h"

namespace partita::methods::describe {

// histograms: of each number cells x groups. Returns numbers x 1: 1 more than the root in steps of the
// grid, at mpc::kGuardBits; 0: withheld.
mpc::Shared RankRoots(mpc::Engine& engine, const std::vector<mpc::Shared>& histograms,
                      double max_rows, int grid_bits);

}  // namespace partita::methods::describe
