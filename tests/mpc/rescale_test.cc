// Truncation: error below one unit in the last place, exact where nothing is dropped, unbiased.
#include <gtest/gtest.h>

#include <cmath>

#include "base/error.h"
#include "tests/mpc/harness.h"

namespace partita::mpc::testing::rescale_test {
namespace {

Int128 FloorShift(Int128 value, int shift) { return value >> shift; }

// What the parties get for `values` with `from` fraction bits rescaled to `to`.
std::vector<Int128> RescaleAll(size_t num_parties, const std::vector<Int128>& values, int from,
                               int to, double bound = 0) {
  IntMatrix x{{values.size(), 1}, values};
  if (bound == 0) bound = std::ldexp(1.0, 125 - from);
  std::vector<std::vector<IntMatrix>> opened(num_parties + 2);
  RunAndComparePlan({.num_parties = num_parties}, [&](Engine& engine, size_t self) {
    std::vector<PrivateMatrix> inputs = {Private(engine, num_parties - 1, x, bound, from)};
    auto shares = engine.Rescale(engine.Input(inputs), to);
    EXPECT_EQ(shares[0].fraction_bits, to);
    opened[self] = engine.Reveal("out", shares, kEverybody);
  });
  for (size_t party = 1; party < num_parties; ++party) {
    EXPECT_TRUE(opened[party][0] == opened[0][0]);
  }
  return opened[0][0].values;
}

void ExpectWithinOneUnit(const std::vector<Int128>& values, const std::vector<Int128>& got,
                         int shift) {
  ASSERT_EQ(values.size(), got.size());
  for (size_t i = 0; i < values.size(); ++i) {
    const Int128 down = FloorShift(values[i], shift);
    const bool exact = (down << shift) == values[i];
    EXPECT_TRUE(got[i] == down || (!exact && got[i] == down + 1))
        << ToString(values[i]) << " >> " << shift << " gave " << ToString(got[i]);
  }
}

class RescaleTest : public ::testing::TestWithParam<size_t> {};

TEST_P(RescaleTest, ErrorIsBelowOneUnitForEveryShift) {
  std::mt19937_64 random(1);
  for (int shift : {1, 2, 39, 40, 64, 80, 125, 126}) {
    std::vector<Int128> values = {0, 1, -1};
    for (int bits = 0; bits <= 125; bits += 5) {
      const Int128 power = Int128{1} << bits;
      values.insert(values.end(), {power - 1, 1 - power, power, -power});
    }
    for (int i = 0; i < 200; ++i) {
      const auto high = static_cast<Int128>(static_cast<int64_t>(random())) << 61;
      values.push_back(high + static_cast<Int128>(random()));
    }
    const int to = std::max(0, 60 - shift);
    ExpectWithinOneUnit(values, RescaleAll(GetParam(), values, to + shift, to), shift);
  }
}

TEST_P(RescaleTest, MoreFractionBitsAreExactAndFree) {
  const std::vector<Int128> values = {0, 1, -1, 12345, -(Int128{1} << 60)};
  const auto same = RescaleAll(GetParam(), values, 40, 40);
  const auto more = RescaleAll(GetParam(), values, 40, 50, 1 << 21);
  for (size_t i = 0; i < values.size(); ++i) {
    EXPECT_TRUE(same[i] == values[i]);
    EXPECT_TRUE(more[i] == values[i] * 1024);
  }
}

TEST_P(RescaleTest, NothingDroppedIsExact) {
  std::mt19937_64 random(5);
  std::vector<Int128> values;
  for (int i = 0; i < 300; ++i) {
    values.push_back(static_cast<Int128>(static_cast<int64_t>(random())) << 40);
  }
  const auto got = RescaleAll(GetParam(), values, 80, 40);
  for (size_t i = 0; i < values.size(); ++i) EXPECT_TRUE(got[i] == values[i] >> 40);
}

// P(round up) is the dropped fraction, so the number of round-ups among N independent truncations
// is binomial. Beyond 5.4 standard deviations lies 6.7e-8 of a normal distribution; the 8 checks of
// both instances raise a false alarm with probability 5.4e-7 < 1e-6.
TEST_P(RescaleTest, RoundingIsUnbiased) {
  const size_t count = 20'000;
  for (double fraction : {0.5, 0.1}) {
    for (int sign : {1, -1}) {
      const int shift = 20;
      const auto low = static_cast<Int128>(std::ldexp(fraction, shift));
      const Int128 value = sign * ((Int128{77} << shift) + low);
      const auto got = RescaleAll(GetParam(), std::vector<Int128>(count, value), 40, 20);
      size_t up = 0;
      for (Int128 v : got) up += v != FloorShift(value, shift);
      const double p = sign > 0 ? static_cast<double>(low) / std::ldexp(1.0, shift)
                                : 1 - static_cast<double>(low) / std::ldexp(1.0, shift);
      const double mean = p * static_cast<double>(count);
      const double deviation = std::sqrt(static_cast<double>(count) * p * (1 - p));
      EXPECT_LT(std::abs(static_cast<double>(up) - mean), 5.4 * deviation)
          << fraction << " sign " << sign;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Parties, RescaleTest, ::testing::Values(2, 3));

TEST(RescaleTest, ImpossibleFractionBitsAreRefused) {
  PlanEngine engine("dealer", 2);
  Shared x = engine.Public({{{1, 1}, {1}}, 40});
  for (int bits : {-1, 127, 1000}) EXPECT_THROW(engine.Rescale({&x, 1}, bits), Error) << bits;
}

}  // namespace
}  // namespace partita::mpc::testing::rescale_test
