#include "stats/blr/statistics.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "privacy/sampling/clipping.h"

namespace partita::stats::blr {
namespace {

void CheckLength(const Design& design, size_t length) {
  if (length == design.features.size() + 1) return;
  throw Error(ErrorCode::kBadInput,
              fmt::format("a row has {} values, the regression has {} features and a target",
                          length, design.features.size()),
              "give every feature and the target");
}

// Scaled and clipped to the box and, if `norm` is positive, to the ball; the ones come first.
void GridRow(const Design& design, std::span<const double> values, double norm,
             std::span<Int128> out) {
  const size_t num_values = values.size();
  double scaled_memory[64];
  std::vector<double> large;
  std::span<double> scaled(scaled_memory, std::min<size_t>(num_values, 64));
  if (num_values > 64) {
    large.resize(num_values);
    scaled = large;
  }
  for (size_t j = 0; j < num_values; ++j) {
    const Column& column = j + 1 < num_values ? design.features[j] : design.target;
    scaled[j] = (values[j] - column.centre) / column.bound;
  }
  if (design.intercept) out[0] = Int128{1} << kFractionBits;
  const std::span<Int128> rest = out.subspan(design.intercept ? 1 : 0);
  if (norm > 0) {
    // A factor below 1 keeps the row in the box.
    for (double& value : scaled)
      if (std::isfinite(value)) value = std::clamp(value, -1 + 0x1p-16, 1 - 0x1p-16);
    privacy::ClipToGrid(scaled, {privacy::Norm::kL2, norm, kFractionBits}, rest);
  } else {
    privacy::ClipToGrid(scaled, {privacy::Norm::kLinf, 1.0, kFractionBits}, rest);
  }
}

// Calls add(row) with the grid row of every row; rows of design.row_size() integers.
template <typename Add>
void ForEachRow(const Design& design, std::span<const double> values, double norm, const Add& add) {
  CheckDesign(design);
  const size_t length = design.features.size() + 1;
  if (values.size() % length != 0) CheckLength(design, values.size() % length);
  std::vector<Int128> row(design.row_size());
  for (size_t start = 0; start < values.size(); start += length) {
    GridRow(design, values.subspan(start, length), norm, row);
    add(row);
  }
}

void AddProducts(const Design& design, std::span<const Int128> row, std::span<Int128> sums) {
  size_t next = 0;
  for (size_t i = 0; i < row.size(); ++i) {
    for (size_t j = i; j < row.size(); ++j) {
      if (design.intercept && j == 0) continue;
      // Coordinates are at most 2^24, so 64 bits hold a product.
      sums[next++] += static_cast<int64_t>(row[i]) * static_cast<int64_t>(row[j]);
    }
  }
}

double ToReal(Int128 value) { return std::ldexp(static_cast<double>(value), -kSumFractionBits); }

}  // namespace

size_t NumEntries(const Design& design) {
  const size_t size = design.row_size();
  return size * (size + 1) / 2 - (design.intercept ? 1 : 0);
}

void RowEntries(const Design& design, std::span<const double> values, std::span<Int128> out) {
  CheckLength(design, values.size());
  if (out.size() != NumEntries(design)) {
    throw Error(ErrorCode::kInternal, "a row of statistics has another size than the statistics");
  }
  std::fill(out.begin(), out.end(), Int128{0});
  ForEachRow(design, values, design.row_norm,
             [&](std::span<const Int128> row) { AddProducts(design, row, out); });
}

std::vector<Int128> SumEntries(const Design& design, std::span<const double> values) {
  std::vector<Int128> sums(NumEntries(design));
  ForEachRow(design, values, design.row_norm,
             [&](std::span<const Int128> row) { AddProducts(design, row, sums); });
  return sums;
}

std::vector<Int128> SumSquares(const Design& design, std::span<const double> values) {
  std::vector<Int128> sums(design.features.size() + 1);
  ForEachRow(design, values, 0, [&](std::span<const Int128> row) {
    const size_t first = row.size() - sums.size();
    for (size_t j = 0; j < sums.size(); ++j) sums[j] += row[first + j] * row[first + j];
  });
  return sums;
}

Statistics FromEntries(const Design& design, std::span<const Int128> entries, size_t num_rows) {
  if (entries.size() != NumEntries(design)) {
    throw Error(ErrorCode::kInternal, "the statistics have another size than the regression says");
  }
  const auto p = static_cast<Eigen::Index>(design.num_coefficients());
  Statistics statistics;
  statistics.num_rows = static_cast<double>(num_rows);
  statistics.gram.resize(p, p);
  statistics.cross.resize(p);
  size_t next = 0;
  for (Eigen::Index i = 0; i <= p; ++i) {
    for (Eigen::Index j = i; j <= p; ++j) {
      const bool ones = design.intercept && j == 0;
      const double value = ones ? statistics.num_rows : ToReal(entries[next++]);
      if (i == p) {
        statistics.target_square = value;
      } else if (j == p) {
        statistics.cross(i) = value;
      } else {
        statistics.gram(i, j) = statistics.gram(j, i) = value;
      }
    }
  }
  return statistics;
}

}  // namespace partita::stats::blr
