// Sizes of shared values against plain comparisons.
#include "mpc/functions/magnitude.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/error.h"
#include "tests/mpc/evaluate.h"

namespace partita::mpc::testing::magnitude_test {
namespace {

std::vector<Int128> EdgesOfBits(size_t bits) {
  std::vector<Int128> values = {0, 1, 2, 3};
  for (size_t i = 2; i < bits; ++i) {
    const Int128 power = Int128{1} << i;
    for (Int128 x : {power - 1, power, power + 1}) values.push_back(x);
  }
  values.resize(values.size() - 2);  // 2^bits - 1 is the largest
  return values;
}

void ExpectMagnitudes(const Setting& setting, size_t bits, int fraction_bits, PowersOfTwo powers) {
  SCOPED_TRACE(setting.kind);
  std::vector<Int128> values = EdgesOfBits(bits);
  std::mt19937_64 random(bits);
  for (int i = 0; i < 40; ++i) {
    const auto low =
        static_cast<Int128>(random()) & ((Int128{1} << std::min<size_t>(bits, 63)) - 1);
    values.push_back(low >> (random() % bits));
  }
  const size_t positive = values.size();
  for (size_t i = 0; i < positive; ++i) values.push_back(-values[i]);
  const double bound = std::ldexp(1.0, static_cast<int>(bits) - fraction_bits);
  const size_t n = values.size();
  const std::vector<Opened> opened =
      Evaluate(setting, {{{{n, 1}, values}, bound, fraction_bits}},
               [&](Engine& engine, const std::vector<Shared>& x) {
                 const Magnitude magnitude = MagnitudesOf(engine, x, {&powers, 1})[0];
                 const SharedBits planes[] = {magnitude.negative, magnitude.below};
                 std::vector<Shared> results = engine.ToRing(planes);
                 for (Shared& result : results) result.bound = 1;
                 return results;
               });
  for (size_t i = 0; i < n; ++i) {
    EXPECT_EQ(opened[0].integers[i], values[i] < 0 ? 1 : 0);
    for (size_t j = 0; j < powers.count; ++j) {
      const Int128 power = Int128{1} << (powers.first + fraction_bits + static_cast<int>(j));
      const bool below = values[i] >= 0 && values[i] < power;
      EXPECT_EQ(opened[1].integers[j * n + i], below ? 1 : 0) << i << " " << j;
    }
  }
}

TEST(MagnitudeTest, EveryBoundary) {
  for (const Setting& setting : kSettings) {
    ExpectMagnitudes(setting, 12, 0, {0, 12});
    ExpectMagnitudes(setting, 12, 5, {-2, 8});
    if (setting.kind != "ot") ExpectMagnitudes(setting, 100, 60, {-56, 96});
  }
}

TEST(MagnitudeTest, StatedRounds) {
  for (const Setting& setting : kSettings) {
    ExpectRounds(setting, setting.d() + CeilLog2(121) + 2, [](Engine& engine) {
      const Shared value = Planned({100, 1}, 110, 1024);
      const PowersOfTwo powers = {-56, 66};
      MagnitudesOf(engine, {&value, 1}, {&powers, 1});
    });
  }
}

// A sign beside powers of another value, in the same rounds.
TEST(MagnitudeTest, UnlikeValues) {
  const std::vector<double> numbers = {0.3, -0.3, 0.5, 1.7, 0, -2};
  for (const Setting& setting : kSettings) {
    const std::vector<Opened> opened =
        Evaluate(setting, {Column(numbers, 4), Column(numbers, 4, 20)},
                 [](Engine& engine, const std::vector<Shared>& x) {
                   const PowersOfTwo powers[] = {{}, {-1, 2}};
                   const std::vector<Magnitude> sizes = MagnitudesOf(engine, x, powers);
                   const SharedBits planes[] = {sizes[0].negative, sizes[1].below};
                   std::vector<Shared> bits = engine.ToRing(planes);
                   bits[0].bound = 1;
                   const double classes[] = {3, -0.25, 11};
                   return std::vector<Shared>{
                       bits[0], NumberOfClass(engine, bits[1], x[1].shape, classes, 10)};
                 });
    for (size_t i = 0; i < numbers.size(); ++i) {
      const double x = numbers[i];
      EXPECT_EQ(opened[0][i], x < 0 ? 1 : 0);
      EXPECT_EQ(opened[1][i], x < 0 || x >= 1 ? 11 : x < 0.5 ? 3 : -0.25) << x;
    }
  }
}

// All pairs of values around all powers, and of negative ones.
TEST(MagnitudeTest, OfTheLarger) {
  std::vector<double> x, y;
  std::vector<double> values = {0, -1, -4};
  for (int e = 0; e < 7; ++e) {
    for (int off : {-1, 0, 1}) values.push_back(std::ldexp(1.0, e) + off);
  }
  for (const double a : values) {
    for (const double b : values) {
      x.push_back(a);
      y.push_back(b);
    }
  }
  const PowersOfTwo powers = {1, 6};
  for (const Setting& setting : kSettings) {
    SCOPED_TRACE(setting.kind);
    // Widths with every number of bits in the highest block.
    for (const int fraction_bits : {3, 4, 5, 6}) {
      SCOPED_TRACE(fraction_bits);
      const std::vector<Opened> opened =
          Evaluate(setting, {Column(x, 128, fraction_bits), Column(y, 128, fraction_bits)},
                   [&](Engine& engine, const std::vector<Shared>& both) {
                     const SharedBits below = BelowOfLarger(engine, both[0], both[1], powers);
                     Shared planes = engine.ToRing({&below, 1})[0];
                     planes.bound = 1;
                     return std::vector<Shared>{planes};
                   });
      for (size_t i = 0; i < x.size(); ++i) {
        const double larger = std::max(x[i], y[i]);
        for (size_t j = 0; j < powers.count; ++j) {
          const bool below = larger >= 0 && larger < std::ldexp(1.0, static_cast<int>(j) + 1);
          EXPECT_EQ(opened[0].integers[j * x.size() + i], below ? 1 : 0) << x[i] << " " << y[i];
        }
      }
    }
    const size_t in_blocks = setting.kind == "dealer" ? 2 : 0;  // window_carries.h
    ExpectRounds(setting, setting.d() + CeilLog2(122) + 2 - in_blocks, [](Engine& engine) {
      const Shared value = Planned({100, 1}, 110, 1024), other = Planned({100, 1}, 110, 1024);
      BelowOfLarger(engine, value, other, {-56, 66});
    });
  }
}

TEST(MagnitudeTest, PowersOutsideTheValue) {
  PlanEngine plan("dealer", 2);
  const Shared value = Planned({3, 1}, 10, 1);
  for (PowersOfTwo powers : {PowersOfTwo{-11, 2}, PowersOfTwo{-5, 20}}) {
    EXPECT_THROW(MagnitudesOf(plan, {&value, 1}, {&powers, 1}), Error);
  }
}

}  // namespace
}  // namespace partita::mpc::testing::magnitude_test
