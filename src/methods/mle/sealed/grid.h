// Numbers of a sealed fit on the grid of the release rule (privacy/release_rule.h), rounded on
// shares: nobody, the receiver included, sees a digit more than opens.
//
// Grid        Of a parameter 2^e in units of half-widths, e = floor(log2(g SE)). With v the inverse
//             information of F (point.h), which is twice that of a row, SE^2 is 2 v / n, and
//             2^e <= g SE is n 4^e <= 2 g^2 v, compared on shares for every e that there can be; so
//             n stays secret, too. The bits that hold are the unary
//             e, and with public weights the secret factor 2^-e.
// Rounding    number * 2^-e is cut to kGuardBits bits after the point, half a unit is added, and
//             those bits are taken off: what is left is a whole number. Within (1/2 + 2^-9) steps
//             of the number before.
// No grid     Where v is below the smallest grid's, as where the information cannot be inverted:
//             the number opens as 0 with exponent 0 of the range, and counts as missing.
// Precision   v has 40 bits after the point, in units of half-widths squared: e is that of an SE
//             within 2^-10 of itself for standard deviations sqrt(v) above 2^-15 half-widths.
// Cost        Comparisons and bits as mpc/compare.h has them, one product, one cut.
#pragma once

#include <span>
#include <vector>

#include "methods/mle/sealed/values.h"
#include "mpc/engine.h"

namespace partita::methods::mle {

struct SealedGrid {
  int bits = 0;      // g = 2^-bits
  mpc::Shared rows;  // 1 x 1, no fraction bits
  double max_rows = 0;
};

// The exponents that there can be: lowest, lowest + 1, .., lowest + count - 1.
struct GridRange {
  int lowest = 0;
  size_t count = 0;
};
// Of estimates over up to max_rows rows, and of deviations sqrt(v), whose grid is
// 2^floor(log2(g sqrt(v))).
GridRange EstimateGrids(int grid_bits, double max_rows);
GridRange DeviationGrids(int grid_bits);

// By entry of a column.
struct GridMarks {
  GridRange range;
  mpc::Shared reached;  // how many of the range, no fraction bits; e = lowest - 1 + reached
  mpc::Shared factor;   // 2^(highest - e), 0 where none is reached; no fraction bits
};
// variances: v of each estimate, k x 1 at kSealedBits. The first is of estimates, the second, where
// they are asked for, of deviations.
std::vector<GridMarks> MarkGrids(mpc::Engine& engine, const mpc::Shared& variances,
                                 const SealedGrid& grid, bool deviations);

// numbers[i] (k x 1, at most bound) in steps of its grid; whole numbers with kGuardBits zeros.
inline constexpr int kGuardBits = 10;
struct GridNumbers {
  mpc::Shared numbers;
  double bound = 0;
  GridMarks marks;
};
// totals: at kSealedBits, at most total_bound, in steps of 2^-bits. The last of the result.
std::vector<mpc::Shared> RoundToGrids(mpc::Engine& engine, std::vector<GridNumbers> on_grids,
                                      const mpc::Shared* totals, double total_bound, int bits);

}  // namespace partita::methods::mle
