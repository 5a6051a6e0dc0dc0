// Comparisons, equality, bits and selection of both engines against plaintext integers, at the
// edges of every width, with the rounds that compare.h states.
#include "mpc/compare.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/error.h"
#include "mpc/dealer_engine.h"
#include "mpc/replicated_engine.h"
#include "mpc/shamir_engine.h"
#include "tests/mpc/harness.h"

namespace partita::mpc::testing::compare_test {
namespace {

struct Setting {
  std::string kind;
  size_t num_parties;
};
const Setting kSettings[] = {{"dealer", 2}, {"dealer", 3}, {"replicated", 3},
                             {"ot", 2},     {"shamir", 3}, {"shamir", 5}};

RunOptions OptionsOf(const Setting& setting) {
  RunOptions options;
  options.kind = setting.kind;
  options.num_parties = setting.num_parties;
  if (setting.kind == "replicated") options.make = MakeReplicatedEngine;
  if (setting.kind == "shamir") options.make = MakeShamirEngine;
  return options;
}

Shared InputOf(Engine& engine, PartyIndex owner, const IntMatrix& values, double bound,
               int fraction_bits = 0) {
  const PrivateMatrix input = Private(engine, owner, values, bound, fraction_bits);
  return engine.Input({&input, 1})[0];
}

IntMatrix Column(std::vector<Int128> values) { return {{values.size(), 1}, std::move(values)}; }

// The integers around all places where a sign may go wrong, within +-largest.
IntMatrix Edges(Int128 largest) {
  std::vector<Int128> values = {0};
  for (Int128 power = 1; power <= largest; power *= 2) {
    for (Int128 v : {power - 1, power, power + 1}) {
      if (v <= largest) values.insert(values.end(), {v, -v});
    }
    if (power > largest / 2) break;
  }
  values.insert(values.end(), {largest, -largest, largest - 1, 1 - largest});
  return Column(std::move(values));
}

// From tiny to as large as the ring allows.
struct Format {
  double bound;
  int fraction_bits;
};
const Format kFormats[] = {{1, 0},
                           {2, 0},
                           {3, 0},
                           {7, 3},
                           {1, 40},
                           {1.9, 40},
                           {100, 0},
                           {64, 58},
                           {0x1p60, 40},
                           {0x1p84 - 0x1p70, 40},
                           {0x1p85 - 0x1p70, 40},
                           {0x1p85, 40}};

// The field of 127 bits is one bit shorter than the ring.
bool Fits(const Setting& setting, const Format& format) {
  return setting.kind != "shamir" ||
         BitsFor({{1, 1}, format.fraction_bits, format.bound, nullptr}) <= 126;
}
// Of more bits than this `shamir` opens under a uniform mask, for one round more.
size_t StatisticalBits(size_t num_parties) { return num_parties == 3 ? 60 : 58; }

Int128 LargestOf(const Format& format) {
  return static_cast<Int128>(std::ldexp(format.bound, format.fraction_bits));
}

TEST(CompareTest, WidthIsWhatTheBoundNeeds) {
  auto width = [](double bound, int f) { return BitsFor({{1, 1}, f, bound, nullptr}); };
  // Largest integers 2^(w-1) - 1 >= B 2^f + 2.
  EXPECT_EQ(width(0, 0), 2u + 0u);
  EXPECT_EQ(width(1, 0), 3u);
  EXPECT_EQ(width(1, 40), 42u);
  EXPECT_EQ(width(1.9, 40), 42u);
  EXPECT_EQ(width(2, 40), 43u);
  EXPECT_EQ(width(1.999999, 40), 43u);  // a sum of such inputs may reach 2
  EXPECT_EQ(width(std::ldexp(1.0, 85), 40), 127u);
  EXPECT_THROW(width(std::ldexp(1.0, 87), 40), Error);
  EXPECT_THROW(width(NAN, 40), Error);
}

TEST(CompareTest, SignsAndBitsOfAllEdges) {
  for (const Setting& setting : kSettings) {
    for (const Format& format : kFormats) {
      if (!Fits(setting, format)) continue;
      SCOPED_TRACE(setting.kind + " " + std::to_string(format.bound));
      const IntMatrix x = Edges(LargestOf(format));
      RunAndComparePlan(OptionsOf(setting), [&](Engine& engine, size_t) {
        const Shared value = InputOf(engine, 1, x, format.bound, format.fraction_bits);
        const size_t low = std::min<size_t>(BitsFor(value), 5);
        const SharedBits all[] = {IsNegative(engine, {&value, 1})[0],
                                  IsZero(engine, {&value, 1})[0], ToBits(engine, {&value, 1})[0],
                                  LowestBits(engine, {&value, 1}, low)[0]};
        const auto opened = engine.RevealBits("out", all, kEverybody);
        if (!engine.self()) return;
        EXPECT_EQ(opened[0].width, 1u);
        EXPECT_EQ(opened[1].width, 1u);
        EXPECT_EQ(opened[2].width, BitsFor(value));
        for (size_t i = 0; i < x.values.size(); ++i) {
          const Int128 v = x.values[i];
          EXPECT_EQ(GetBit(opened[0], 0, i), v < 0) << ToString(v);
          EXPECT_EQ(GetBit(opened[1], 0, i), v == 0) << ToString(v);
          for (size_t j = 0; j < opened[2].width; ++j) {
            ASSERT_EQ(GetBit(opened[2], j, i), (v >> j & 1) != 0) << ToString(v) << " bit " << j;
          }
          ASSERT_EQ(opened[3].width, low);
          for (size_t j = 0; j < low; ++j)
            ASSERT_EQ(GetBit(opened[3], j, i), (v >> j & 1) != 0) << ToString(v) << " bit " << j;
        }
      });
    }
  }
}

TEST(CompareTest, RandomValuesAgainstSharedAndPublicOnes) {
  std::mt19937_64 random(5);
  for (const Setting& setting : kSettings) {
    IntMatrix x = RandomMatrix(random, {300, 2}, int64_t{1} << 50);
    IntMatrix y = RandomMatrix(random, {300, 2}, int64_t{1} << 50);
    for (size_t i = 0; i < 100; ++i) y.values[i] = x.values[i] + static_cast<Int128>(i % 3) - 1;
    const IntMatrix limit{x.shape, std::vector<Int128>(x.shape.size(), 12345)};
    RunAndComparePlan(OptionsOf(setting), [&](Engine& engine, size_t) {
      const Shared a = InputOf(engine, 0, x, 1024, 40), b = InputOf(engine, 1, y, 1024, 40);
      const Shared c = engine.Public({limit, 40});
      const Comparison comparisons[] = {{a, b}, {b, a}, {a, c}, {c, a}};
      const auto less = LessThan(engine, comparisons);
      const auto equal = Equal(engine, comparisons);
      std::vector<SharedBits> all = less;
      all.push_back(engine.Not(less[0]));
      all.push_back(equal[0]);
      const auto opened = engine.RevealBits("out", all, kEverybody);
      for (size_t i = 0; engine.self() && i < x.values.size(); ++i) {
        const Int128 p = x.values[i], q = y.values[i];
        ASSERT_EQ(GetBit(opened[0], 0, i), p < q) << i;
        ASSERT_EQ(GetBit(opened[1], 0, i), q < p) << i;
        ASSERT_EQ(GetBit(opened[2], 0, i), p < 12345) << i;
        ASSERT_EQ(GetBit(opened[3], 0, i), 12345 < p) << i;
        ASSERT_EQ(GetBit(opened[4], 0, i), p >= q) << i;
        ASSERT_EQ(GetBit(opened[5], 0, i), p == q) << i;
      }
    });
  }
}

TEST(CompareTest, SelectionTakesOneOrTheOther) {
  std::mt19937_64 random(6);
  for (const Setting& setting : kSettings) {
    const IntMatrix x = RandomMatrix(random, {20, 4}, 1000), y = RandomMatrix(random, {20, 4}, 700);
    RunAndComparePlan(OptionsOf(setting), [&](Engine& engine, size_t) {
      const Shared a = InputOf(engine, 0, x, 1000, 0), b = InputOf(engine, 1, y, 700, 0);
      const Comparison comparison = {a, b};
      const SharedBits less = LessThan(engine, {&comparison, 1})[0];
      const Selection selections[] = {{less, a, b}, {less, b, a}};
      const auto results = Select(engine, selections);
      EXPECT_EQ(results[0].bound, 1000.0);
      const auto opened = engine.Reveal("out", results, kEverybody);
      for (size_t i = 0; engine.self() && i < x.values.size(); ++i) {
        EXPECT_EQ(opened[0].values[i], std::min(x.values[i], y.values[i]));
        EXPECT_EQ(opened[1].values[i], std::max(x.values[i], y.values[i]));
      }
    });
  }
}

// Operands of different widths in one set of rounds; rounds as the header says.
TEST(CompareTest, RoundsAreThoseOfTheWidestOperand) {
  for (const Setting& setting : kSettings) {
    const bool dealer = setting.kind == "dealer" || setting.kind == "ot";
    auto decompose_of = [&](size_t width) -> size_t {
      if (setting.kind != "shamir") return dealer ? 1 : 2;
      // Among five, one round makes the engine.
      const size_t of_statistical = setting.num_parties == 3 ? 3 : 4 + 1;
      return of_statistical + (width > StatisticalBits(setting.num_parties) ? 1 : 0);
    };
    std::vector<Shared> values;
    for (const Format& format : kFormats) {
      if (!Fits(setting, format)) continue;
      values.push_back(
          {{5, 1}, format.fraction_bits, format.bound, std::make_shared<Shared::Payload>()});
    }
    // The longest chain of messages, whoever waits for its end.
    auto rounds = [&](auto function, std::span<const Shared> operands) {
      PlanEngine plan = OnlinePlan(setting.kind, setting.num_parties);
      function(plan, operands);
      const auto by_process = plan.phases().back().rounds;
      return *std::max_element(by_process.begin(), by_process.end());
    };
    const auto signs = IsNegative, zeros = IsZero, bits = ToBits;
    size_t widest = 0;
    for (const Shared& value : values) {
      const size_t w = BitsFor(value);
      widest = std::max(widest, w);
      const auto log = [](size_t n) { return static_cast<size_t>(std::bit_width(n - 1)); };
      const size_t decompose = decompose_of(w);
      EXPECT_EQ(rounds(signs, {&value, 1}), decompose + log(w - 1)) << w;
      EXPECT_EQ(rounds(zeros, {&value, 1}), decompose + log(w)) << w;
      EXPECT_EQ(rounds(bits, {&value, 1}), decompose + log(w - 1)) << w;
      if (w < 10) continue;
      const auto lowest = [](Engine& engine, std::span<const Shared> operands) {
        return LowestBits(engine, operands, 10);
      };
      EXPECT_EQ(rounds(lowest, {&value, 1}), decompose + 4) << w;
    }
    EXPECT_EQ(rounds(signs, values), rounds(signs, {&values.back(), 1}));
    EXPECT_EQ(rounds(zeros, values), rounds(zeros, {&values.back(), 1}));
    EXPECT_EQ(rounds(bits, values), rounds(bits, {&values.back(), 1}));
    // And the results are those of the operands alone.
    RunAndComparePlan(OptionsOf(setting), [&](Engine& engine, size_t) {
      std::vector<Shared> mixed;
      std::vector<IntMatrix> plain;
      for (const Format& format : kFormats) {
        if (!Fits(setting, format)) continue;
        plain.push_back(Edges(LargestOf(format)));
        mixed.push_back(InputOf(engine, 0, plain.back(), format.bound, format.fraction_bits));
      }
      std::vector<SharedBits> all = IsNegative(engine, mixed);
      for (const SharedBits& zero : IsZero(engine, mixed)) all.push_back(zero);
      const auto opened = engine.RevealBits("out", all, kEverybody);
      for (size_t k = 0; engine.self() && k < plain.size(); ++k) {
        for (size_t i = 0; i < plain[k].values.size(); ++i) {
          ASSERT_EQ(GetBit(opened[k], 0, i), plain[k].values[i] < 0);
          ASSERT_EQ(GetBit(opened[plain.size() + k], 0, i), plain[k].values[i] == 0);
        }
      }
    });
  }
}

TEST(CompareTest, NothingToCompare) {
  for (const Setting& setting : kSettings) {
    RunAndComparePlan(OptionsOf(setting), [&](Engine& engine, size_t) {
      EXPECT_TRUE(IsNegative(engine, {}).empty());
      EXPECT_TRUE(Select(engine, {}).empty());
      const Shared empty = engine.Public({{{0, 3}, {}}, 40});
      EXPECT_EQ(IsNegative(engine, {&empty, 1})[0].shape, (Shape{0, 3}));
    });
  }
}

TEST(CompareTest, WhatCannotBeComparedIsRefused) {
  PlanEngine engine("dealer", 2);
  auto value = [](Shape shape, int f, double bound) {
    return Shared{shape, f, bound, std::make_shared<Shared::Payload>()};
  };
  const Comparison shapes = {value({2, 1}, 0, 1), value({3, 1}, 0, 1)};
  EXPECT_THROW(LessThan(engine, {&shapes, 1}), Error);
  const Comparison formats = {value({2, 1}, 0, 1), value({2, 1}, 1, 1)};
  EXPECT_THROW(Equal(engine, {&formats, 1}), Error);
  const Selection wide = {
      {{2, 1}, 2, std::make_shared<SharedBits::Payload>()}, shapes.left, shapes.left};
  EXPECT_THROW(Select(engine, {&wide, 1}), Error);
}

}  // namespace
}  // namespace partita::mpc::testing::compare_test
