#include "data/scaling.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/multiprecision/cpp_int.hpp>
#include <cmath>

#include "base/error.h"

namespace partita::data {

namespace {

using boost::multiprecision::cpp_int;
using boost::multiprecision::cpp_rational;
// n Sum zz^T - Sum z Sum z^T with n < 2^64 and sums below 2^127: below 2^255.
using Wide = boost::multiprecision::int512_t;

[[noreturn]] void FailImpossible(const std::string& what) {
  throw Error(
      ErrorCode::kPeerFault, "the pooled moments are impossible: " + what,
      "a party or the dealer departed from the protocol, or a table changed during the run");
}

UInt128 Magnitude(Int128 value) {
  return value < 0 ? -static_cast<UInt128>(value) : static_cast<UInt128>(value);
}

void CheckShape(const PooledMoments& moments, size_t num_columns) {
  if (moments.num_rows == 0 || moments.sums.size() != num_columns ||
      moments.cross_products.size() != num_columns * num_columns) {
    throw Error(ErrorCode::kInternal, "pooled moments of the wrong shape");
  }
  if (moments.fraction_bits < 1 || moments.fraction_bits > MomentFractionBits(moments.num_rows)) {
    throw Error(ErrorCode::kInternal, "pooled moments with too many fraction bits for their rows");
  }
}

void CheckRange(const PooledMoments& moments) {
  const size_t p = moments.sums.size();
  const UInt128 largest_sum = static_cast<UInt128>(moments.num_rows) << moments.fraction_bits;
  const UInt128 largest_product = largest_sum << moments.fraction_bits;
  for (size_t i = 0; i < p; ++i) {
    if (Magnitude(moments.sums[i]) > largest_sum) {
      FailImpossible(fmt::format("the sum of variable {} is too large", i + 1));
    }
    for (size_t j = 0; j < p; ++j) {
      const Int128 value = moments.cross_products[i * p + j];
      if (Magnitude(value) > largest_product) {
        FailImpossible(
            fmt::format("the cross product of variables {} and {} is too large", i + 1, j + 1));
      }
      if (value != moments.cross_products[j * p + i]) {
        FailImpossible(fmt::format("the cross products of variables {} and {} are not symmetric",
                                   i + 1, j + 1));
      }
    }
  }
}

// centre + half_width sum / (n 2^f), exactly, then the nearest double.
double ExactMean(Int128 sum, const PooledMoments& moments, const ColumnScale& scale) {
  const cpp_rational z(cpp_int(sum), cpp_int(moments.num_rows) << moments.fraction_bits);
  const cpp_rational mean = cpp_rational(scale.centre) + cpp_rational(scale.half_width) * z;
  return mean.convert_to<double>();
}

}  // namespace

ColumnScale ScaleOf(const ColumnSchema& column) {
  const bool has_scores =
      column.type == ColumnType::kOrdered && column.contrasts == Contrasts::kScores;
  const bool is_number = column.type == ColumnType::kNumeric ||
                         column.type == ColumnType::kInteger || column.type == ColumnType::kDate;
  if (!is_number && !has_scores) {
    throw Error(
        ErrorCode::kBadInput,
        fmt::format("column '{}' is a {}, not a number", column.name, ColumnTypeName(column.type)),
        "only numbers, dates and scores can be scaled; a factor has columns such as NAME.LEVEL");
  }
  if (!(column.lower < column.upper) || !std::isfinite(column.upper - column.lower)) {
    throw Error(ErrorCode::kBadInput, fmt::format("column '{}' has no usable bounds", column.name));
  }
  // Halves first: the sum of two finite bounds may overflow.
  return {.centre = column.lower / 2 + column.upper / 2,
          .half_width = (column.upper - column.lower) / 2};
}

double ToUnitInterval(double x, const ColumnScale& scale) {
  return std::clamp((x - scale.centre) / scale.half_width, -1.0, 1.0);
}

int64_t RoundToGrid(double z, int fraction_bits) {
  const double scaled = z * static_cast<double>(int64_t{1} << fraction_bits);
  const auto whole = static_cast<int64_t>(scaled);
  const double rest = scaled - static_cast<double>(whole);  // exact
  if (rest >= 0.5) return whole + 1;
  if (rest <= -0.5) return whole - 1;
  return whole;
}

int MomentFractionBits(uint64_t num_rows) {
  if (num_rows == 0) throw Error(ErrorCode::kInternal, "moments of no rows");
  int log2_rows = 0;
  while (log2_rows < 64 && (UInt128{1} << log2_rows) < num_rows) ++log2_rows;
  return std::min(50, (125 - log2_rows) / 2);
}

SampleMoments ToOriginalUnits(const PooledMoments& moments, std::span<const ColumnScale> scales) {
  const size_t p = scales.size();
  CheckShape(moments, p);
  CheckRange(moments);
  SampleMoments sample{.num_rows = moments.num_rows, .mean = {}, .covariance = {}};
  sample.mean.resize(p);
  sample.covariance.resize(p * p);
  const auto n = static_cast<long double>(moments.num_rows);
  for (size_t i = 0; i < p; ++i) {
    sample.mean[i] = ExactMean(moments.sums[i], moments, scales[i]);
    for (size_t j = 0; j <= i; ++j) {
      const Wide deviation = Wide(moments.num_rows) * Wide(moments.cross_products[i * p + j]) -
                             Wide(moments.sums[i]) * Wide(moments.sums[j]);
      if (i == j && deviation < 0) {
        FailImpossible(fmt::format("variable {} has a negative variance", i + 1));
      }
      const long double covariance =
          std::ldexp(deviation.convert_to<long double>(), -2 * moments.fraction_bits) / n / n *
          scales[i].half_width * scales[j].half_width;
      sample.covariance[i * p + j] = sample.covariance[j * p + i] = static_cast<double>(covariance);
    }
  }
  return sample;
}

}  // namespace partita::data
