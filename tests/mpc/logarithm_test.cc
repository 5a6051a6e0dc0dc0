// Logarithms over their whole domain, on both engines: errors, rounds, what lies below.
#include "mpc/functions/logarithm.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "base/error.h"
#include "mpc/compare.h"
#include "tests/mpc/evaluate.h"

namespace partita::mpc::testing::logarithm_test {
namespace {

struct Range {
  double smallest, largest;
};

// Powers of two, their neighbours, values around 1 and random ones, evenly over the exponents.
TestInput ValuesIn(const Range& range, int fraction_bits, int thinning) {
  std::mt19937_64 random(3);
  const auto low = static_cast<Int128>(std::ldexp(range.smallest, fraction_bits));
  const auto high = static_cast<Int128>(std::ldexp(range.largest, fraction_bits));
  std::vector<Int128> values = {low, high};
  auto add = [&](double x, int neighbour) {
    const auto v = static_cast<Int128>(std::ldexp(x, fraction_bits)) + neighbour;
    if (v >= low && v <= high) values.push_back(v);
  };
  std::uniform_real_distribution<double> fraction(1, 2);
  for (int exponent = std::ilogb(range.smallest); exponent <= std::ilogb(range.largest);
       ++exponent) {
    for (int neighbour : {-2, -1, 0, 1, 2}) add(std::ldexp(1.0, exponent), neighbour);
    for (int i = 0; i < 30 / thinning; ++i) add(std::ldexp(fraction(random), exponent), 0);
  }
  return {{{values.size(), 1}, values}, range.largest, fraction_bits};
}

TEST(LogarithmTest, WholeDomain) {
  const struct {
    Range range;
    int from, to;  // fraction bits
  } cases[] = {{{0x1p-40, 0x1p45}, 40, 40}, {{0.05, 50}, 40, 40},   {{1, 20}, 40, 40},
               {{0.5, 1}, 50, 50},          {{0.25, 0.25}, 40, 40}, {{0x1p-60, 1}, 60, 40},
               {{3, 1e6}, 20, 60}};
  for (const Setting& setting : kSettings) {
    for (const auto& one : cases) {
      const Range range = one.range;
      const int from = one.from, to = one.to;
      SCOPED_TRACE(setting.kind + " from " + std::to_string(range.smallest));
      const TestInput x = ValuesIn(range, from, setting.thinning());
      const auto opened =
          Evaluate(setting, {x}, [&](Engine& engine, const std::vector<Shared>& values) {
            const PositiveValue value[] = {{values[0], range.smallest}};
            return Log(engine, value, to);
          });
      ASSERT_EQ(opened[0].fraction_bits, to);
      for (size_t i = 0; i < x.values.values.size(); ++i) {
        const long double value =
            std::ldexp(static_cast<long double>(x.values.values[i]), -x.fraction_bits);
        const auto exact = static_cast<double>(std::log(value));
        // Doubles of the result add 2^-53 relative.
        EXPECT_LE(std::abs(opened[0][i] - exact),
                  std::ldexp(1.0, -to) + 0x1p-41 + std::abs(exact) * 0x1p-52)
            << ToString(x.values.values[i]);
      }
    }
  }
}

TEST(LogarithmTest, BelowTheSmallestValueTheResultIsZero) {
  for (const Setting& setting : kSettings) {
    const auto opened = Evaluate(setting, {Column({0, 0.0625, 0.25, 7}, 100)},
                                 [](Engine& engine, const std::vector<Shared>& values) {
                                   const PositiveValue value[] = {{values[0], 0.25}};
                                   return Log(engine, value, 40);
                                 });
    EXPECT_LE(std::abs(opened[0][0]), 0x1p-40);
    EXPECT_LE(std::abs(opened[0][1]), 0x1p-40);
    EXPECT_NEAR(opened[0][2], std::log(0.25), 0x1p-39);
    EXPECT_NEAR(opened[0][3], std::log(7.0), 0x1p-39);
  }
}

TEST(LogarithmTest, RoundsAreAsStated) {
  for (const Setting& setting : kSettings) {
    const PositiveValue value[] = {{Planned({7, 3}, 40, 50), 0.05}};
    const size_t w = BitsFor(value[0].value);
    const size_t m = w - 1 - static_cast<size_t>(std::ilogb(0.05) + 40);
    const size_t d = setting.d(), c = setting.c();
    const size_t normalise = 2 * d + c + CeilLog2(w - 1) + CeilLog2(m);
    ExpectRounds(setting, normalise + 3 * c + 1 + d,
                 [&](Engine& engine) { Log(engine, value, 40); });
  }
}

TEST(LogarithmTest, ListsOfUnlikeValues) {
  for (const Setting& setting : kSettings) {
    const auto opened = Evaluate(
        setting, {Column({1, 2, 3}, 4), Column({0.001, 1000}, 1e6), Column({0.7}, 1, 50)},
        [](Engine& engine, const std::vector<Shared>& values) {
          const PositiveValue list[] = {{values[0], 1}, {values[1], 1e-3}, {values[2], 0.5}};
          return Log(engine, list, 40);
        });
    const std::vector<double> expected[] = {
        {0, std::log(2.0), std::log(3.0)}, {std::log(0.001), std::log(1000.0)}, {std::log(0.7)}};
    for (size_t k = 0; k < 3; ++k) {
      for (size_t i = 0; i < expected[k].size(); ++i) {
        EXPECT_NEAR(opened[k][i], expected[k][i], 1e-9) << k << " " << i;  // 0.001 is on the grid
      }
    }
  }
}

TEST(LogarithmTest, RefusesWhatDoesNotFit) {
  PlanEngine engine("dealer", 2);
  for (double smallest : {0.0, -1.0, 3.0, std::nan("")}) {
    const PositiveValue value[] = {{Planned({1, 1}, 40, 2), smallest}};
    EXPECT_THROW(Log(engine, value, 40), Error) << smallest;
  }
}

}  // namespace
}  // namespace partita::mpc::testing::logarithm_test
