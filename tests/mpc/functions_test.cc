// Fixed-point functions of both engines over their whole domains: worst errors within what the
// headers state, rounds as they state, and what happens beyond the domain.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "base/error.h"
#include "mpc/compare.h"
#include "mpc/functions/exponential.h"
#include "mpc/functions/extremes.h"
#include "mpc/functions/reciprocal.h"
#include "tests/mpc/evaluate.h"

namespace partita::mpc::testing::functions_test {
namespace {

constexpr int kF = 40;

struct Range {
  double smallest, largest;
};
const Range kRanges[] = {{0.05, 50},        {1, 1.999}, {0.25, 0.25},
                         {0x1p-40, 0x1p39}, {1e-3, 1},  {3, 1e6}};

// Powers of two, their neighbours and random values, evenly over the exponents of the range.
IntMatrix ValuesIn(const Range& range, int thinning) {
  std::mt19937_64 random(9);
  const auto low = static_cast<Int128>(std::ldexp(range.smallest, kF));
  const auto high = static_cast<Int128>(std::ldexp(range.largest, kF));
  std::vector<Int128> values = {low, high};
  auto add = [&](Int128 v) {
    if (v >= low && v <= high) values.push_back(v);
  };
  std::uniform_real_distribution<double> fraction(1, 2);
  for (int exponent = std::ilogb(range.smallest); exponent <= std::ilogb(range.largest);
       ++exponent) {
    const auto power = static_cast<Int128>(std::ldexp(1.0, exponent + kF));
    for (Int128 neighbour : {-2, -1, 0, 1, 2}) add(power + neighbour);
    for (int i = 0; i < std::max(1, 8 / thinning); ++i) {
      add(static_cast<Int128>(std::ldexp(fraction(random), exponent + kF)));
    }
  }
  return {{values.size(), 1}, std::move(values)};
}

using Function = std::vector<Shared> (*)(Engine&, std::span<const PositiveValue>, int);

// The worst error of `function` against `truth` is within what reciprocal.h states: `absolute` (the
// last cut, and the rounding of weights) and 2^-40 relative.
void ExpectWithinError(Function function, double (*truth)(double), double absolute) {
  for (const Setting& setting : kSettings) {
    for (const Range& range : kRanges) {
      SCOPED_TRACE(setting.kind + " from " + std::to_string(range.smallest));
      const IntMatrix x = ValuesIn(range, setting.thinning());
      RunAndComparePlan(OptionsOf(setting), [&](Engine& engine, size_t) {
        const PrivateMatrix input = Private(engine, 1, x, range.largest, kF);
        const PositiveValue value = {engine.Input({&input, 1})[0], range.smallest};
        const Shared result = function(engine, {&value, 1}, kF)[0];
        EXPECT_EQ(result.fraction_bits, kF);
        EXPECT_EQ(result.shape, x.shape);
        const IntMatrix opened = engine.Reveal("out", {&result, 1}, kEverybody)[0];
        for (size_t i = 0; i < opened.values.size(); ++i) {
          const double exact = truth(DecodeFixed(x.values[i], kF));
          const double got = DecodeFixed(opened.values[i], kF);
          // 2^-40 relative; doubles add 2^-52 relative.
          EXPECT_LE(std::abs(got - exact), absolute + exact * (0x1p-40 + 0x1p-51))
              << ToString(x.values[i]);
          EXPECT_LE(std::abs(got), result.bound);
        }
      });
    }
  }
}

TEST(FunctionsTest, Reciprocals) {
  ExpectWithinError(
      Reciprocal, [](double x) { return 1 / x; }, 0x1p-40);
}
TEST(FunctionsTest, InverseRoots) {
  ExpectWithinError(
      InverseRoot, [](double x) { return 1 / std::sqrt(x); }, 0x1p-40 + 0x1p-43);
}
TEST(FunctionsTest, Roots) {
  ExpectWithinError(
      Root, [](double x) { return std::sqrt(x); }, 0x1p-40 + 0x1p-43);
}

std::vector<Shared> OfBoth(Engine& engine, std::span<const PositiveValue> values, int bits,
                           Shared BothRoots::*which) {
  std::vector<Shared> results;
  for (const BothRoots& both : RootAndInverse(engine, values, bits)) results.push_back(both.*which);
  return results;
}
TEST(FunctionsTest, BothRoots) {
  ExpectWithinError([](Engine& engine, std::span<const PositiveValue> values,
                       int bits) { return OfBoth(engine, values, bits, &BothRoots::root); },
                    [](double x) { return std::sqrt(x); }, 0x1p-40 + 0x1p-43);
  ExpectWithinError([](Engine& engine, std::span<const PositiveValue> values,
                       int bits) { return OfBoth(engine, values, bits, &BothRoots::inverse); },
                    [](double x) { return 1 / std::sqrt(x); }, 0x1p-40 + 0x1p-43);
}

// Random values, whole powers of two of the result and their neighbours, and what is cleared.
IntMatrix Exponents(double bound, double largest, int thinning) {
  std::mt19937_64 random(12);
  std::vector<double> exponents = {largest, 0, -1e-9, -28.4, -28.5, -bound};
  for (int power = -45; power <= 46; ++power) {
    for (double neighbour : {-1e-11, 0.0, 1e-11}) {
      exponents.push_back(power * std::log(2.0) + neighbour);
    }
  }
  std::uniform_real_distribution<double> uniform(-bound, largest);
  for (int i = 0; i < 200 / thinning; ++i) exponents.push_back(uniform(random));
  std::vector<Int128> values;
  for (double x : exponents) {
    if (std::abs(x) <= bound && x <= largest) values.push_back(EncodeFixed(x, kF));
  }
  return {{values.size(), 1}, std::move(values)};
}

TEST(FunctionsTest, Exponentials) {
  const Range ranges[] = {{8, 2}, {60, 0}, {31.8, 31.8}, {1000, 20}, {1, 1}, {40, -5}};
  for (const Setting& setting : kSettings) {
    for (const auto& range : ranges) {
      const double bound = range.smallest, largest = range.largest;
      SCOPED_TRACE(setting.kind + " up to " + std::to_string(largest));
      const IntMatrix x = Exponents(bound, largest, setting.thinning());
      ASSERT_GT(x.values.size(), 200u / static_cast<unsigned>(setting.thinning()));
      RunAndComparePlan(OptionsOf(setting), [&](Engine& engine, size_t) {
        const PrivateMatrix input = Private(engine, 1, x, bound, kF);
        const BoundedAbove value = {engine.Input({&input, 1})[0], largest};
        const Shared result = Exponential(engine, {&value, 1}, kF)[0];
        const IntMatrix opened = engine.Reveal("out", {&result, 1}, kEverybody)[0];
        const double relative = std::exp(largest) > 0x1p40 ? std::exp2(-37.5) + 0x1p-39 : 0x1p-39;
        for (size_t i = 0; i < opened.values.size(); ++i) {
          const double exponent = DecodeFixed(x.values[i], kF);
          const double exact = std::exp(exponent), got = DecodeFixed(opened.values[i], kF);
          EXPECT_LE(std::abs(got - exact), 0x1p-40 + exact * relative) << exponent;
          EXPECT_LE(got, result.bound);
          if (exponent < -41 * std::log(2.0) - 1e-9) {
            EXPECT_EQ(opened.values[i], 0) << exponent;
          }
        }
      });
    }
  }
}

TEST(FunctionsTest, ExponentialsThatDoNotFitAreRefused) {
  PlanEngine engine("dealer", 2);
  for (double largest : {31.9, 1e9, std::nan("")}) {
    const BoundedAbove value = {{{1, 1}, kF, 100, std::make_shared<Shared::Payload>()}, largest};
    EXPECT_THROW(Exponential(engine, {&value, 1}, kF), Error) << largest;
  }
}

// Lists of different shapes and ranges finish together and are not mixed up.
TEST(FunctionsTest, ListsOfUnlikeValues) {
  for (const Setting& setting : kSettings) {
    RunAndComparePlan(OptionsOf(setting), [&](Engine& engine, size_t) {
      const Int128 one = Int128{1} << kF;
      const PositiveValue values[] = {
          {engine.Public({{{2, 2}, {one, 2 * one, 4 * one, 8 * one}}, kF}), 1},
          {engine.Public({{{1, 3}, {one / 2, one / 4, 3 * one}}, kF}), 0.25},
          {engine.Public({{{1, 1}, {one / 1024}}, kF}), 0x1p-12}};
      const auto results = Reciprocal(engine, values, kF);
      const auto opened = engine.Reveal("out", results, kEverybody);
      if (!engine.self()) return;
      const double expected[][4] = {{1, .5, .25, .125}, {2, 4, 1.0 / 3}, {1024}};
      for (size_t k = 0; k < 3; ++k) {
        EXPECT_EQ(opened[k].shape, values[k].value.shape);
        for (size_t i = 0; i < opened[k].values.size(); ++i) {
          EXPECT_NEAR(DecodeFixed(opened[k].values[i], kF), expected[k][i],
                      0x1p-40 * (1 + expected[k][i]));
        }
      }
    });
  }
}

TEST(FunctionsTest, BelowTheSmallestValueTheResultIsZero) {
  for (const Setting& setting : kSettings) {
    RunAndComparePlan(OptionsOf(setting), [&](Engine& engine, size_t) {
      const Int128 one = Int128{1} << kF;
      PositiveValue value = {engine.Public({{{3, 1}, {0, one / 8, one}}, kF}), 0.5};
      value.value.bound = 100;
      const Shared results[] = {Reciprocal(engine, {&value, 1}, kF)[0],
                                InverseRoot(engine, {&value, 1}, kF)[0],
                                Root(engine, {&value, 1}, kF)[0]};
      const auto opened = engine.Reveal("out", results, kEverybody);
      for (size_t k = 0; engine.self() && k < 3; ++k) {
        EXPECT_LE(std::abs(DecodeFixed(opened[k].values[0], kF)), 0x1p-40);
        EXPECT_LE(std::abs(DecodeFixed(opened[k].values[1], kF)), 0x1p-40);
        EXPECT_NEAR(DecodeFixed(opened[k].values[2], kF), 1, 0x1p-39);
      }
    });
  }
}

TEST(FunctionsTest, RoundsAreAsStated) {
  for (const Setting& setting : kSettings) {
    const size_t d = setting.kind == "ot" ? 1 : setting.d();
    const size_t c = setting.kind == "ot" ? 2 : setting.c();
    for (const Range& range : {Range{0.05, 50}, Range{1, 1.999}}) {
      const PositiveValue value = {{{7, 3}, kF, range.largest, std::make_shared<Shared::Payload>()},
                                   range.smallest};
      auto rounds = [&](auto function) {
        PlanEngine plan = OnlinePlan(setting.kind, setting.num_parties);
        function(plan);
        const auto by_process = plan.phases().back().rounds;
        return *std::max_element(by_process.begin(), by_process.end());
      };
      auto log = [](size_t n) { return static_cast<size_t>(std::bit_width(n - 1)); };
      const size_t w = BitsFor(value.value);
      const size_t m = w - 1 - static_cast<size_t>(std::ilogb(range.smallest) + kF);
      const size_t normalise = 2 * d + c + log(w - 1) + log(m);
      const PositiveValue list[] = {value};
      auto expect = [&](size_t stated, auto function) {
        const size_t longest_chain = rounds(function);
        EXPECT_LE(longest_chain, stated);
        if (d == 1) {
          EXPECT_EQ(longest_chain, stated);
        }
      };
      const BoundedAbove exponent[] = {{value.value, 2}};
      const size_t width = BitsFor(
          {{1, 1}, 8, range.largest * std::numbers::log2e + std::ldexp(1.0, -8) + 41, nullptr});
      expect(3 * d + 4 * c + log(width - 1), [&](Engine& e) { Exponential(e, exponent, kF); });
      expect(normalise, [&](Engine& e) { Normalise(e, list); });
      // Without short mantissas, nothing is cut from so few bits.
      expect(normalise - (c - 1) + 6 * c, [&](Engine& e) { Reciprocal(e, list, kF); });
      expect(normalise + 5 * c + d + 2, [&](Engine& e) { InverseRoot(e, list, kF); });
      expect(normalise + 6 * c + d + 2, [&](Engine& e) { Root(e, list, kF); });
      expect(normalise + 6 * c + d + 2, [&](Engine& e) { RootAndInverse(e, list, kF); });
    }
  }
}

TEST(FunctionsTest, RangesThatMakeNoSenseAreRefused) {
  PlanEngine engine("dealer", 2);
  for (double smallest : {0.0, -1.0, 3.0, std::nan("")}) {
    const PositiveValue value = {{{1, 1}, kF, 2, std::make_shared<Shared::Payload>()}, smallest};
    EXPECT_THROW(Reciprocal(engine, {&value, 1}, kF), Error) << smallest;
  }
}

TEST(FunctionsTest, LargestOfEveryRow) {
  std::mt19937_64 random(4);
  for (const Setting& setting : kSettings) {
    // Of wide numbers few play each other at once, of narrow ones, many of which are equal, many.
    for (const auto& [cols, bound] : std::vector<std::pair<size_t, int64_t>>{{1, 50},
                                                                             {2, 50},
                                                                             {3, 1 << 30},
                                                                             {5, 3},
                                                                             {8, 1 << 30},
                                                                             {20, 50},
                                                                             {26, 2},
                                                                             {33, 1 << 30}}) {
      const IntMatrix x = RandomMatrix(random, {17, cols}, bound);
      RunAndComparePlan(
          OptionsOf(setting), [&, cols = cols, bound = bound](Engine& engine, size_t) {
            const PrivateMatrix input = Private(engine, 1, x, static_cast<double>(bound));
            const Shared value = engine.Input({&input, 1})[0];
            const Shared values[] = {value, engine.Slice(value, 0, 0, {17, 1})};
            const auto largest = RowMax(engine, values);
            EXPECT_EQ(largest[0].bound, static_cast<double>(bound));
            const Shared all[] = {largest[0], largest[1]};
            const auto opened = engine.Reveal("out", all, kEverybody);
            for (size_t row = 0; engine.self() && row < 17; ++row) {
              const auto begin = x.values.begin() + static_cast<ptrdiff_t>(row * cols);
              const auto end = begin + static_cast<ptrdiff_t>(cols);
              EXPECT_EQ(opened[0].values[row], *std::max_element(begin, end));
              EXPECT_EQ(opened[1].values[row], *begin);
            }
          });
    }
  }
  PlanEngine plan("dealer", 2);
  const Shared none{{3, 0}, 0, 1, std::make_shared<Shared::Payload>()};
  EXPECT_THROW(RowMax(plan, {&none, 1}), Error);
  // Two levels of blocks of 5 and 4, comparisons of 48 bits; one of 20, comparisons of 9.
  const auto rounds = [](int fraction_bits) {
    return PlannedRounds(kSettings[0], [&](Engine& engine) {
      const Shared value = Planned({3, 20}, fraction_bits, 50);
      RowMax(engine, {&value, 1});
    });
  };
  EXPECT_EQ(rounds(40), 2u * (7 + 2 + 2));
  EXPECT_EQ(rounds(1), 4u + 5 + 2);
}

}  // namespace
}  // namespace partita::mpc::testing::functions_test
