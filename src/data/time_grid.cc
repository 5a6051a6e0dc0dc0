#include "data/time_grid.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"

namespace partita::data {
namespace {

// Of decimal fractions, in widths of cells.
constexpr double kRoundOff = 1e-9;

}  // namespace

size_t TimeGrid::Of(double time) const {
  const double cell = std::ceil((time - lower) / width - kRoundOff);
  return std::min(static_cast<size_t>(std::max(cell, 0.0)), cells - 1);
}

std::optional<size_t> TimeGrid::EndingAt(double time) const {
  const double cell = std::round((time - lower) / width);
  const bool ends = cell >= 0 && cell < static_cast<double>(cells) &&
                    std::abs(lower + cell * width - time) <= kRoundOff * width;
  return ends ? std::optional(static_cast<size_t>(cell)) : std::nullopt;
}

TimeGrid GridOf(const ColumnSchema& schema, double width) {
  const double cells = std::ceil((schema.upper - schema.lower) / width - kRoundOff) + 1;
  if (!(cells <= static_cast<double>(kMostCells))) {
    throw Error(
        ErrorCode::kBadInput,
        fmt::format("the bounds of '{}' hold {:.0f} cells of time that are {:g} wide", schema.name,
                    cells, width),
        fmt::format("take wider cells, such as cell = {:g}, or closer bounds; {} cells are "
                    "the most",
                    std::ceil((schema.upper - schema.lower) / (kMostCells - 2)), kMostCells));
  }
  return {schema.lower, width, static_cast<size_t>(cells)};
}

}  // namespace partita::data
