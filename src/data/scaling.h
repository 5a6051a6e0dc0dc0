// The map between a column's own units and [-1, 1], and pooled moments mapped back without loss.
//
// z = (x - centre) / half_width with centre = (lower + upper) / 2, half_width = (upper - lower)
// / 2.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/int128.h"
#include "data/schema.h"

namespace partita::data {

struct ColumnScale {
  double centre = 0, half_width = 1;
};

// Throws kBadInput unless the column is numeric, integer, a date or an ordered variable with scores
// (data/design.h), with lower < upper.
ColumnScale ScaleOf(const ColumnSchema& column);

// z, clamped to [-1, 1] against the last rounding at the bounds.
double ToUnitInterval(double x, const ColumnScale& scale);

// Rounds z in [-1, 1] half away from zero to the grid 2^-fraction_bits, 1 <= fraction_bits <= 62.
// Exact: multiplying by a power of two does not round.
int64_t RoundToGrid(double z, int fraction_bits);

// f_in = min(50, floor((125 - ceil(log2 n)) / 2)): the most fraction bits with which a sum of n
// products of two numbers in [-1, 1] stays below 2^125 (architecture.md, "Numbers on the wire").
// num_rows >= 1; below 2^64 the result is at least 30.
int MomentFractionBits(uint64_t num_rows);

// Exact sums over n rows of z (at f bits) and of z z^T (at 2 f bits).
struct PooledMoments {
  uint64_t num_rows = 0;
  int fraction_bits = 0;
  std::vector<Int128> sums;            // p
  std::vector<Int128> cross_products;  // p x p, symmetric, row-major
};

// In the columns' own units; the covariance has divisor n.
struct SampleMoments {
  uint64_t num_rows = 0;
  std::vector<double> mean;        // p
  std::vector<double> covariance;  // p x p, symmetric, row-major
};

// cov_z = (n Sum zz^T - Sum z Sum z^T) / n^2 is computed in exact integers (up to 2^316) and
// rounded at the end, so that nothing cancels: each mean is the nearest double, each covariance is
// within 1e-15 relative of the exact value for the rounded z. Throws kPeerFault if the numbers
// cannot be moments of n values in [-1, 1] (not symmetric, too large, a negative variance).
SampleMoments ToOriginalUnits(const PooledMoments& moments, std::span<const ColumnScale> scales);

}  // namespace partita::data
