#include "privacy/sampling/moments_sensitivity.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "privacy/sampling/interval.h"

namespace partita::privacy {
namespace {

PreciseInterval WholeNumber(unsigned value) { return PreciseInterval::Of(UInt128{value}); }

double AddRemove(const PreciseInterval& square, bool releases_count) {
  const PreciseInterval sum = square + square * square;
  return Sqrt(releases_count ? sum + WholeNumber(1) : sum).UpperBound();
}

double ReplaceMany(const PreciseInterval& square) {
  if (square.UpperBound() <= 0.5) return Sqrt(ShiftLeft(square, 2)).UpperBound();
  return Sqrt(ShiftLeft(square * square + square, 1) + PreciseInterval::Of(0.5)).UpperBound();
}

double ReplaceOne(const PreciseInterval& bound, const PreciseInterval& square) {
  const double ends = ShiftLeft(bound, 1).UpperBound();
  if (square.UpperBound() < 2) return ends;
  const PreciseInterval sum = ShiftLeft(bound + Sqrt(Positive(square - WholeNumber(2))), -1);
  const PreciseInterval difference = ShiftLeft(bound, 1) - sum;
  const PreciseInterval inner = difference * Sqrt(WholeNumber(1) + sum * sum);
  return std::max(ends, inner.UpperBound());
}

}  // namespace

L2Sensitivity MomentsSensitivity(const MomentsShape& shape, double row_bound, Adjacency adjacency) {
  if (shape.dimension == 0 || !std::isfinite(row_bound) || row_bound <= 0) {
    throw Error(ErrorCode::kUsage,
                fmt::format("moments of {} columns with row bound {} have no sensitivity",
                            shape.dimension, row_bound),
                "use at least one column and a positive clipping bound");
  }
  const PreciseInterval bound = PreciseInterval::Of(row_bound);
  const PreciseInterval square = bound * bound;
  if (adjacency == Adjacency::kAddRemove) {
    return L2Sensitivity(AddRemove(square, shape.releases_count));
  }
  return L2Sensitivity(shape.dimension == 1 ? ReplaceOne(bound, square) : ReplaceMany(square));
}

}  // namespace partita::privacy
