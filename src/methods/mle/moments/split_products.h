// Q = sum t t' on shares, of rows whose columns several parties hold: fourth moments that nobody
// sees, for robust standard errors (robust.h).
//
// Input             u_j = (y_j - mu_j) / sigma_j of every row at the holder of column j, with the
//                   mean and standard deviation that the model implies (public here).
// Method            t = (1, u, u_a u_b for a <= b). The holders input u and the products of two
//                   columns of their own; products of two holders' columns are one secure product
//                   each. A group's rows are those that its selectors keep, multiplied into one
//                   shared column as for the moments; every selecting holder but the first costs a
//                   round of products. Then t is multiplied by the selector, Q = t' (s t), and Q is
//                   divided by 2^RowBits and truncated.
// Source            stats/sem/robust.h, stats/sem/column_frame.h.
// Exactness         u has f bits, t and its own products 2 f, Q 4 f, nothing truncated until the
//                   end: f = floor((124 - 24 - ceil(log2 rows)) / 4), 22 bits for 300 rows, 20 for
//                   a million. So products of two holders are within 2^-f of what they are.
//                   About the public bounds (BoundedProducts) cells are rounded to f bits first,
//                   f = min(f_in, floor((124 - ceil(log2 rows)) / 4)): 28 for 4096 rows, 26 for a
//                   million. Products of such whole numbers are exact, and so is Q.
// Range             |u| < 64, else kBadData, to the holder only. In a sample of up to 4096 rows
//                   nothing is farther from its mean than that in units of its standard deviation.
//                   A row that its holder keeps out of a cell counts as zero there. About the
//                   public bounds |u| <= 1 without a check.
// Revealed          Nothing.
// Cost              Per block of n rows and group, in elements that are multiplied: n for every
//                   pair of columns of two holders, n D if the group has selectors, D^2 for Q and
//                   D (D + 1) / 2 truncations, D = 1 + p + p (p + 1) / 2.
#pragma once

#include <vector>

#include "methods/mle/likelihood/robust.h"
#include "mpc/engine.h"
#include "stats/sem/linear_statistics.h"
#include "stats/sem/robust.h"

namespace partita::methods::mle {

// Every |u|; entries of a row's t t' are at most the fourth power.
inline constexpr double kLargestDeviation = 64;
inline constexpr double kLargestProduct =
    kLargestDeviation * kLargestDeviation * kLargestDeviation * kLargestDeviation;

// ceil(log2 max_rows): sums over rows are divided by 2^RowBits, so that they are of order 1.
int RowBits(const RobustTask& task);

bool IsSplit(const RowBlock& block);
bool HasSplitBlocks(const RobustTask& task);

// Groups x products, one column: the upper triangles of Q / 2^RowBits at `bits`, of the split
// blocks only. frames: by group, column frames; empty where engine.self() is.
mpc::Shared SplitProducts(mpc::Engine& engine, const RobustTask& task, const RobustLocal& local,
                          const stats::StatisticsScale& scale,
                          const std::vector<stats::FeatureFrame>& frames, int bits);

// The same with u = (y - centre) / half-width by the public bounds of the dictionary, for which
// nobody is told an estimate. f of the header.
int BoundedCellBits(const RobustTask& task);
mpc::Shared BoundedProducts(mpc::Engine& engine, const RobustTask& task, const RobustLocal& local,
                            int bits);

}  // namespace partita::methods::mle
