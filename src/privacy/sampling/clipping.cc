#include "privacy/sampling/clipping.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"

namespace partita::privacy {
namespace {

constexpr size_t kMaxDimension = size_t{1} << 30;
constexpr double kMaxGridUnits = 0x1p120;

// d^(1/p).
double DimensionRoot(Norm norm, size_t dimension) {
  const auto d = static_cast<double>(dimension);
  if (norm == Norm::kL1) return d;
  return norm == Norm::kL2 ? std::sqrt(d) : 1.0;
}

void CheckBound(const ClipBound& bound, size_t dimension) {
  if (!std::isfinite(bound.bound) || bound.bound <= 0 || bound.fraction_bits < 0 ||
      bound.fraction_bits > 100 || dimension > kMaxDimension) {
    throw Error(ErrorCode::kUsage,
                fmt::format("a clipping bound of {} with {} fraction bits is out of range",
                            bound.bound, bound.fraction_bits),
                "use a positive bound and 0 to 100 fraction bits");
  }
  const double grid_units = std::ldexp(bound.bound, bound.fraction_bits);
  if (grid_units > kMaxGridUnits || grid_units < 0x1p17 * DimensionRoot(bound.norm, dimension)) {
    throw Error(ErrorCode::kUsage,
                fmt::format("a clipping bound of {} does not fit a grid with {} fraction bits",
                            bound.bound, bound.fraction_bits),
                "the bound must be 2^17 grid units per root of the dimension or more, and below "
                "2^120 grid units");
  }
}

double LargestMagnitude(std::span<const double> row) {
  double largest = 0;
  for (size_t i = 0; i < row.size(); ++i) {
    if (!std::isfinite(row[i])) {
      throw Error(ErrorCode::kBadData,
                  fmt::format("coordinate {} of a row to be clipped is not a number", i + 1),
                  "remove or impute missing and infinite values first");
    }
    largest = std::max(largest, std::abs(row[i]));
  }
  return largest;
}

// The norm of row * 2^-exponent. Products with a power of two that is a normal number are what
// ldexp gives, and much faster.
double ScaledNorm(std::span<const double> row, int exponent, Norm norm) {
  const bool is_normal = std::abs(exponent) <= 1000;
  const double factor = is_normal ? std::ldexp(1.0, -exponent) : 0;
  double sum = 0;
  for (const double value : row) {
    const double scaled =
        is_normal ? std::abs(value) * factor : std::ldexp(std::abs(value), -exponent);
    sum += norm == Norm::kL1 ? scaled : scaled * scaled;
  }
  return norm == Norm::kL1 ? sum : std::sqrt(sum);
}

// grid = 2^f, exact. Small results avoid the slow conversion to 128 bits.
Int128 ToInteger(double value, double grid) {
  const double rounded = std::rint(value * grid);
  return std::abs(rounded) < 0x1p62 ? static_cast<Int128>(static_cast<int64_t>(rounded))
                                    : static_cast<Int128>(rounded);
}

void Clamp(std::span<const double> row, double target, double grid, std::span<Int128> out) {
  for (size_t i = 0; i < row.size(); ++i) {
    out[i] = ToInteger(std::clamp(row[i], -target, target), grid);
  }
}

}  // namespace

void ClipToGrid(std::span<const double> row, const ClipBound& bound, std::span<Int128> out) {
  if (row.size() != out.size()) {
    throw Error(ErrorCode::kInternal, "a clipped row has another size than the row");
  }
  CheckBound(bound, row.size());
  const double target = bound.bound * (1 - kClipMargin);
  const double grid = std::ldexp(1.0, bound.fraction_bits);
  const double largest = LargestMagnitude(row);
  if (bound.norm == Norm::kLinf) return Clamp(row, target, grid, out);
  // Scaled to a largest coordinate in [1/2, 1), so that no square overflows.
  int exponent = 0;
  std::frexp(largest, &exponent);
  const double norm = ScaledNorm(row, exponent, bound.norm);
  if (norm <= std::ldexp(target, -exponent)) {
    for (size_t i = 0; i < row.size(); ++i) out[i] = ToInteger(row[i], grid);
    return;
  }
  const double factor = target / norm;
  for (size_t i = 0; i < row.size(); ++i) {
    out[i] = ToInteger(std::ldexp(row[i], -exponent) * factor, grid);
  }
}

}  // namespace partita::privacy
