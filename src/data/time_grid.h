// The public cells that times are counted in. Cell 0 is the lower bound itself, cell c the times
// after lower + (c - 1) width up to and including lower + c width, so that a curve at the end of a
// cell is exact, and times in whole units of the width are told apart as R does.
#pragma once

#include <cstddef>
#include <optional>

#include "data/schema.h"

namespace partita::data {

inline constexpr size_t kMostCells = 8192;

struct TimeGrid {
  double lower = 0, width = 1;
  size_t cells = 1;

  size_t Of(double time) const;  // of times beyond the bounds the first or the last
  double End(size_t cell) const { return lower + static_cast<double>(cell) * width; }
  // The cell that ends at this time, if there is one.
  std::optional<size_t> EndingAt(double time) const;
};

// The cells of a survival variable within its bounds. Throws kBadInput if there are more than
// kMostCells.
TimeGrid GridOf(const ColumnSchema& schema, double width);

}  // namespace partita::data
