// Numbers on the grid of the release rule (privacy/release_rule.h), rounded on shares: nobody, the
// receiver included, sees a digit more than opens.
//
// Grid        Of an estimate 2^e, e = floor(log2(g SE)), in units in which variances of rows are at
//             most 2^11. Its v is half the variance of a row: SE^2 is 2 v / n, and 2^e <= g SE is
//             n 4^e <= 2 g^2 v, compared on shares for every e that there can be; so n stays secret,
//             too. Of a deviation sqrt(v) it is 2^floor(log2(g sqrt(v))). The bits that hold are the
//             unary e, and with public weights the secret factor 2^-e.
// Rounding    number * 2^-e is cut to kGuardBits bits after the point, half a unit is added, and
//             those bits are taken off: what is left is a whole number. Within (1/2 + 2^-9) steps
//             of the number before.
// No grid     Where v is below the smallest grid's: the number opens as 0 with exponent 0 of the
//             range, and counts as missing.
// Precision   Of v with 40 bits after the point e is that of an SE within 2^-10 of itself for
//             sqrt(v) above 2^-15.
// Cost        Comparisons and bits as mpc/compare.h has them, one product, one cut.
// Timing      constant in shares; not in shapes and bounds (public). Not run by tests/ctime.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "mpc/engine.h"

namespace partita::mpc {

struct ReleaseGrid {
  int bits = 0;  // g = 2^-bits
  Shared rows;   // n: 1 x 1, or one for each variance; no fraction bits
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
  Shared reached;  // how many of the range, no fraction bits; e = lowest - 1 + reached
  Shared factor;   // 2^(highest - e), 0 where none is reached; no fraction bits
};
// variances: v of each estimate, k x 1. The first is of estimates, the second, where they are asked
// for, of deviations.
std::vector<GridMarks> MarkGrids(Engine& engine, const Shared& variances, const ReleaseGrid& grid,
                                 bool deviations);

// Of numbers with squared standard errors 2 v, as if each were of a single row; v at most 2^10. From
// kLeastErrorGrid on each has a grid.
inline constexpr double kLeastErrorGrid = 0x1p-35;
GridMarks MarkErrorGrids(Engine& engine, const Shared& half_squared_errors, int grid_bits);

// numbers[i] (k x 1, at most bound) in steps of its grid; whole numbers with kGuardBits zeros.
inline constexpr int kGuardBits = 10;
struct GridNumbers {
  Shared numbers;
  double bound = 0;
  GridMarks marks;
};
// totals: at most total_bound, in steps of 2^-bits. The last of the result.
std::vector<Shared> RoundToGrids(Engine& engine, std::vector<GridNumbers> on_grids,
                                 const Shared* totals, double total_bound, int bits);

// For numbers that no run in which all follow the protocol opens. Most wrong shares open others, and nobody
// notices.
Error NoSuchOpening(std::string_view what);

// Of what opened: the steps, 0 where no grid was reached, and numbers in their units. Throw NoSuchOpening for
// more grids than there are, and for a number without one.
std::vector<double> GridSteps(const GridRange& range, const IntMatrix& reached);
std::vector<double> InGridSteps(const IntMatrix& numbers, std::span<const double> steps);

}  // namespace partita::mpc
