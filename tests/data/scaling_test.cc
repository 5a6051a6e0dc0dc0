// The map to [-1, 1] and back: exact rounding, and moments without cancellation.
#include "data/scaling.h"

#include <gtest/gtest.h>

#include <boost/multiprecision/cpp_int.hpp>
#include <cmath>
#include <limits>
#include <random>

#include "tests/data/expect_error.h"
#include "tests/data/tables.h"

namespace partita::data::scaling_test {
namespace {

using boost::multiprecision::cpp_int;
using boost::multiprecision::cpp_rational;

TEST(ScalingTest, ScaleOfBounds) {
  const ColumnScale scale = ScaleOf(Numeric("x", -10, 20));
  EXPECT_EQ(scale.centre, 5);
  EXPECT_EQ(scale.half_width, 15);
  EXPECT_EQ(ToUnitInterval(-10, scale), -1);
  EXPECT_EQ(ToUnitInterval(20, scale), 1);
  EXPECT_EQ(ToUnitInterval(5, scale), 0);
  EXPECT_EQ(ToUnitInterval(12.5, scale), 0.5);
  EXPECT_EQ(ScaleOf(Numeric("x", 8e307, 1.7e308)).centre, 1.25e308)
      << "the sum of the bounds overflows";
  ExpectError(ErrorCode::kBadInput, "column 'f' is a factor, not a number", "", [] {
    ScaleOf(Factor("f", {"a", "b"}));
  });
  ExpectError(ErrorCode::kBadInput, "column 'x' has no usable bounds", "",
              [] { ScaleOf(Numeric("x", 1, 1)); });
}

TEST(ScalingTest, NothingLeavesTheUnitInterval) {
  std::mt19937_64 random(1);
  auto uniform = [&] { return static_cast<double>(random() >> 11) * 0x1p-53; };
  for (int i = 0; i < 100000; ++i) {
    const double lower = (uniform() - 0.5) * 1e3, upper = lower + uniform() * 7;
    const ColumnScale scale = ScaleOf(Numeric("x", lower, upper));
    for (double x : {lower, upper, lower + uniform() * (upper - lower)}) {
      ASSERT_LE(std::fabs(ToUnitInterval(std::min(x, upper), scale)), 1);
    }
  }
}

TEST(ScalingTest, RoundsHalfAwayFromZero) {
  const double unit = 0x1p-50;
  EXPECT_EQ(RoundToGrid(1, 50), int64_t{1} << 50);
  EXPECT_EQ(RoundToGrid(-1, 50), -(int64_t{1} << 50));
  EXPECT_EQ(RoundToGrid(1, 62), int64_t{1} << 62);
  EXPECT_EQ(RoundToGrid(0.5 * unit, 50), 1);
  EXPECT_EQ(RoundToGrid(-0.5 * unit, 50), -1);
  EXPECT_EQ(RoundToGrid(1.5 * unit, 50), 2);
  EXPECT_EQ(RoundToGrid(2.5 * unit, 50), 3);
  EXPECT_EQ(RoundToGrid(-2.5 * unit, 50), -3);
  // Adding one half in floating point would round this up.
  EXPECT_EQ(RoundToGrid(std::nextafter(0.5, 0.0) * unit, 50), 0);
  EXPECT_EQ(RoundToGrid(-std::nextafter(0.5, 0.0) * unit, 50), 0);
  EXPECT_EQ(RoundToGrid(0.75, 1), 2);
}

TEST(ScalingTest, FractionBitsOfMoments) {
  EXPECT_EQ(MomentFractionBits(1), 50);
  EXPECT_EQ(MomentFractionBits(1'000'000), 50);
  EXPECT_EQ(MomentFractionBits(uint64_t{1} << 25), 50);
  EXPECT_EQ(MomentFractionBits((uint64_t{1} << 25) + 1), 49);
  EXPECT_EQ(MomentFractionBits(uint64_t{1} << 27), 49);
  EXPECT_EQ(MomentFractionBits((uint64_t{1} << 27) + 1), 48);
  EXPECT_EQ(MomentFractionBits(std::numeric_limits<uint64_t>::max()), 30);
  for (int log2_rows = 0; log2_rows < 64; ++log2_rows) {
    // n products of two numbers in [-1, 1] stay below 2^125.
    EXPECT_LE(log2_rows + 2 * MomentFractionBits(uint64_t{1} << log2_rows), 125);
  }
  EXPECT_THROW(MomentFractionBits(0), Error);
}

struct Sample {
  PooledMoments moments;
  std::vector<std::vector<int64_t>> rows;  // z on the grid
};

// Columns of mean `centre_z[j]` and spread `spread[j]` in z.
Sample Draw(size_t n, const std::vector<double>& centre_z, const std::vector<double>& spread) {
  std::mt19937_64 random(n);
  const size_t p = centre_z.size();
  Sample sample;
  sample.moments = {n, MomentFractionBits(n), std::vector<Int128>(p), std::vector<Int128>(p * p)};
  for (size_t i = 0; i < n; ++i) {
    std::vector<int64_t> row;
    for (size_t j = 0; j < p; ++j) {
      const double u = static_cast<double>(random() >> 11) * 0x1p-52 - 1;
      row.push_back(RoundToGrid(centre_z[j] + spread[j] * u, sample.moments.fraction_bits));
    }
    for (size_t j = 0; j < p; ++j) {
      sample.moments.sums[j] += row[j];
      for (size_t k = 0; k < p; ++k)
        sample.moments.cross_products[j * p + k] += Int128{row[j]} * row[k];
    }
    sample.rows.push_back(row);
  }
  return sample;
}

double RelativeError(double value, const cpp_rational& exact) {
  if (exact == 0) return std::fabs(value);
  const cpp_rational error = (cpp_rational(value) - exact) / exact;
  return std::fabs(error.convert_to<double>());
}

// Against two passes over the rows in exact rationals.
void CheckAgainstRationals(const Sample& sample, const std::vector<ColumnScale>& scales) {
  const SampleMoments result = ToOriginalUnits(sample.moments, scales);
  const size_t p = scales.size();
  const cpp_int n = sample.rows.size();
  const cpp_rational grid(1, cpp_int(1) << sample.moments.fraction_bits);
  std::vector<cpp_rational> mean(p);
  for (const auto& row : sample.rows) {
    for (size_t j = 0; j < p; ++j) {
      mean[j] +=
          cpp_rational(scales[j].centre) + cpp_rational(scales[j].half_width) * grid * row[j];
    }
  }
  for (size_t j = 0; j < p; ++j) mean[j] /= n;
  for (size_t j = 0; j < p; ++j) {
    EXPECT_EQ(result.mean[j], mean[j].convert_to<double>()) << j;
    for (size_t k = 0; k < p; ++k) {
      cpp_rational covariance = 0;
      for (const auto& row : sample.rows) {
        auto deviation = [&](size_t c) {
          return cpp_rational(cpp_rational(scales[c].centre) +
                              cpp_rational(scales[c].half_width) * grid * row[c] - mean[c]);
        };
        covariance += deviation(j) * deviation(k);
      }
      covariance /= n;
      EXPECT_LE(RelativeError(result.covariance[j * p + k], covariance), 1e-15) << j << " " << k;
      EXPECT_EQ(result.covariance[j * p + k], result.covariance[k * p + j]);
    }
  }
}

TEST(ScalingTest, MomentsMatchExactRationals) {
  CheckAgainstRationals(Draw(57, {0.1, -0.3, 0.02}, {0.3, 0.2, 0.9}),
                        {{5, 15}, {0, 1}, {-3.7, 0.1}});
}

TEST(ScalingTest, NothingCancels) {
  // Spreads of 1e-9 around 0.99 and -0.98: the textbook formula in doubles has no correct digit
  // left.
  CheckAgainstRationals(Draw(40, {0.99, -0.98}, {1e-9, 2e-9}), {{1e6, 1e6}, {1e-3, 1e-3}});
  // A mean that is nearly 0 in the column's units.
  CheckAgainstRationals(Draw(40, {0.5, 0.25}, {1e-6, 1e-3}), {{-0.5, 1}, {-1e4, 4e4}});
}

TEST(ScalingTest, ExtremesDoNotOverflow) {
  const size_t n = 1000;
  for (int sign : {1, -1}) {
    PooledMoments moments{n, 50, {}, {}};
    moments.sums = {Int128{n} << 50, sign * (Int128{n} << 50)};
    const Int128 full = Int128{n} << 100;
    moments.cross_products = {full, sign * full, sign * full, full};
    const ColumnScale scales[] = {{0, 1}, {0, 2}};
    const SampleMoments result = ToOriginalUnits(moments, scales);
    EXPECT_EQ(result.mean[1], 2 * sign);
    EXPECT_EQ(result.covariance, std::vector<double>(4, 0.0));
    // Half at +1, half at -1.
    moments.sums = {0, 0};
    EXPECT_EQ(ToOriginalUnits(moments, scales).covariance,
              (std::vector<double>{1, 2.0 * sign, 2.0 * sign, 4}));
  }
  // 2^62 rows at -1 and as many at 1: n Sum zz^T needs 188 bits.
  PooledMoments large{uint64_t{1} << 63, 31, {0}, {Int128{1} << 125}};
  EXPECT_EQ(ToOriginalUnits(large, std::vector<ColumnScale>{{0, 3}}).covariance[0], 9);
}

TEST(ScalingTest, ImpossibleMomentsAreRefused) {
  const Sample sample = Draw(20, {0, 0}, {1, 1});
  const std::vector<ColumnScale> scales = {{0, 1}, {0, 1}};
  auto expect_fault = [&](const std::string& message,
                          const std::function<void(PooledMoments&)>& spoil) {
    PooledMoments moments = sample.moments;
    spoil(moments);
    ExpectError(ErrorCode::kPeerFault, message, "departed from the protocol",
                [&] { ToOriginalUnits(moments, scales); });
  };
  expect_fault("the sum of variable 2 is too large",
               [](auto& m) { m.sums[1] = (Int128{20} << 50) + 1; });
  expect_fault("the sum of variable 1 is too large",
               [](auto& m) { m.sums[0] = -(Int128{21} << 50); });
  expect_fault("variables 1 and 1 is too large",
               [](auto& m) { m.cross_products[0] = (Int128{20} << 100) + 1; });
  expect_fault("variables 1 and 2 are not symmetric", [](auto& m) { m.cross_products[1] += 1; });
  expect_fault("variable 1 has a negative variance", [](auto& m) { m.cross_products[0] = 0; });
  for (auto spoil : std::vector<std::function<void(PooledMoments&)>>{
           [](auto& m) { m.num_rows = 0; }, [](auto& m) { m.sums.pop_back(); },
           [](auto& m) { m.cross_products.pop_back(); }, [](auto& m) { m.fraction_bits = 51; }}) {
    PooledMoments moments = sample.moments;
    spoil(moments);
    ExpectError(ErrorCode::kInternal, "pooled moments", "",
                [&] { ToOriginalUnits(moments, scales); });
  }
}

}  // namespace
}  // namespace partita::data::scaling_test
