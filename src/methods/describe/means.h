// Means and standard deviations on the grid of the release rule, from sums on shares.
//
// Input     n, the number of values of each entry; s, the sum of z; q, that of z^2 (own_numbers.h):
//           whole multiples of 1, 2^-30 and 2^-60, at most max_rows each.
// Method    d = n q - s^2 = n (n - 1) var is exact and never negative, so that nothing cancels;
//           var = d / (n (n - 1)), mean = s / n (mpc/functions/division.h). The grid is that of the
//           mean (release_grid.h): 2^e, e = floor(log2(g sd / sqrt(n))), and the standard deviation
//           opens on it too, which is between 0.7 g and 1.5 g of its own standard error where the
//           values are normal.
// Error     Before rounding at most 2^-43 of a mean and 2^-48 + 2^-43 var + 2^-b / (n (n - 1)) of
//           var, with b = min(60, 76 - 2 log2(max_rows)), all in units of half-widths.
// No grid   Where var is below 2^-33: all of it is 0 then. What a check withholds is for the caller to
//           multiply by its bit.
// Cost      compare.h, division.h, reciprocal.h and beside it the marks of release_grid.h, its
//           rounding, for as many values as entries; a product.
#pragma once

#include "mpc/engine.h"
#include "mpc/functions/release_grid.h"

namespace partita::methods::describe {

struct Sums {
  mpc::Shared n, s, q;  // entries x 1
};

struct GridMeans {
  mpc::GridRange range;
  mpc::Shared reached;            // e = range.lowest - 1 + reached; 0: no grid
  mpc::Shared means, deviations;  // in steps of 2^e, at mpc::kGuardBits
};

GridMeans MeansOnGrid(mpc::Engine& engine, const Sums& sums, double max_rows, int grid_bits);

}  // namespace partita::methods::describe
