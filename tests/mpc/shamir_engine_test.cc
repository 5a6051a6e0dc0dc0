// Every operation of the engine `shamir` with every kind of operand and owner against plaintext
// integers, and its costs against the PlanEngine and against the numbers that its header states.
#include "mpc/shamir_engine.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "base/error.h"
#include "mpc/batch.h"
#include "mpc/compare.h"
#include "mpc/functions/exponential.h"
#include "mpc/functions/logarithm.h"
#include "mpc/functions/reciprocal.h"
#include "tests/mpc/harness.h"
#include "tests/mpc/operands.h"
#include "tests/mpc/shamir_parties.h"

namespace partita::mpc::testing::shamir_engine_test {
namespace {

using Kind = Product::Kind;

constexpr size_t kElement = 16;  // bytes of a field element on the wire

constexpr Way kWays[] = {{As::kShared, 0},  {As::kShared, 2}, {As::kPublic, 0}, {As::kPrivate, 0},
                         {As::kPrivate, 2}, {As::kFixed, 0},  {As::kFixed, 1}};

void CheckProducts(const RunOptions& options, Kind kind, Shape left, Shape right,
                   int64_t magnitude) {
  SCOPED_TRACE(options.num_parties);
  CheckAllWays(options, kWays, kind, left, right, magnitude);
}

TEST(ShamirEngineTest, Elementwise) {
  for (size_t n : {3, 4, 5, 7}) CheckProducts(Among(n), Kind::kElementwise, {5, 3}, {5, 3}, 1000);
  CheckProducts(Among(3), Kind::kElementwise, {1, 1}, {1, 1}, 1000);
  CheckProducts(Among(3), Kind::kElementwise, {0, 4}, {0, 4}, 1000);
  CheckProducts(Among(3), Kind::kElementwise, {6, 1}, {6, 4}, 1000);
  CheckProducts(Among(6), Kind::kElementwise, {6, 4}, {6, 1}, 1000);
}

TEST(ShamirEngineTest, Matrix) {
  for (size_t n : {3, 6}) CheckProducts(Among(n), Kind::kMatrix, {3, 5}, {5, 2}, 1000);
  CheckProducts(Among(3), Kind::kMatrix, {3, 0}, {0, 2}, 1000);
  CheckProducts(Among(3), Kind::kMatrix, {0, 3}, {3, 2}, 1000);
}

TEST(ShamirEngineTest, Gram) {
  for (size_t n : {3, 5}) CheckProducts(Among(n), Kind::kGram, {777, 3}, {777, 2}, 1 << 30);
  CheckProducts(Among(3), Kind::kGram, {0, 3}, {0, 2}, 1000);
}

// The largest magnitudes that the field of 127 bits admits.
TEST(ShamirEngineTest, LargestProductsFit) {
  const Int128 max = (Int128{1} << 63) - (Int128{1} << 10), other = (Int128{1} << 60) - 1;
  const IntMatrix x = Row({max, -max, max, 0}), y = Row({other, other, -other, -other});
  auto opened = OpenAtAll(Among(3), [&](Engine& engine) {
    Product product{Kind::kElementwise, InputOne(engine, 0, x, std::ldexp(1.0, 63)),
                    InputOne(engine, 1, y, std::ldexp(1.0, 60))};
    return engine.Reveal("out", engine.Multiply({&product, 1}), kEverybody);
  });
  EXPECT_TRUE(opened[0] == PlainProduct(Kind::kElementwise, x, y));
}

TEST(ShamirEngineTest, LinearAlgebraMatchesPlaintext) {
  for (size_t n : {3, 5}) CheckLinearAlgebra(Among(n));
}

TEST(ShamirEngineTest, RevealToOneTellsNobodyElse) {
  const IntMatrix x = Row({5, -6});
  for (PartyIndex to = 0; to < 4; ++to) {
    std::vector<std::vector<IntMatrix>> opened(5);
    auto result = RunAndComparePlan(Among(4), [&](Engine& engine, size_t self) {
      Shared shared = InputOne(engine, 1, x, 10);
      engine.BeginPhase("open");
      opened[self] = engine.Reveal("out", std::vector{shared, shared}, to);
    });
    for (PartyIndex party = 0; party < 4; ++party) {
      ASSERT_EQ(opened[party].size(), 2u);
      EXPECT_TRUE(opened[party][1] == (party == to ? x : IntMatrix{}));
      uint64_t received = 0;
      for (const auto& link : result.traffic[party].back().links) received += link.bytes_received;
      EXPECT_EQ(received, party == to ? 3 * 4 * kElement : 0u);
    }
  }
}

// ---- costs, as the header states them

struct Counted {
  uint64_t bytes = 0, rounds = 0;
};

// What the function that `prepare` returns costs, over all parties.
Counted CostOf(const Structure& structure,
               const std::function<std::function<void()>(Engine&)>& prepare) {
  const size_t n = structure.parties;
  PlanEngine plan(shamir::MakeShamirCostModel(n, 127, structure.threshold), nullptr);
  auto measured = prepare(plan);
  plan.BeginPhase("test");
  measured();
  // How much longer the longest chain of messages became: making the engine leaves the parties at
  // different depths.
  const std::vector<PhaseCost> phases = plan.phases();
  uint64_t before = 0, after = 0;
  for (PartyIndex party = 0; party < n; ++party) {
    uint64_t depth = 0;
    for (size_t p = 0; p + 1 < phases.size(); ++p) depth += phases[p].rounds[party];
    before = std::max(before, depth);
    after = std::max(after, depth + phases.back().rounds[party]);
  }
  return {phases.back().Total().bytes, after - before};
}

TEST(ShamirEngineTest, CostsAreThoseStated) {
  std::mt19937_64 random(5);
  const IntMatrix x = RandomMatrix(random, {50, 3}, 9), y = RandomMatrix(random, {50, 2}, 9);
  const size_t entries = 150;
  for (const Structure& structure : Structures()) {
    const size_t n = structure.parties, t = structure.threshold;
    SCOPED_TRACE(fmt::format("{} of {}", t, n));
    const size_t u = n - 1 - t, reshare = (2 * t + 1) * u;
    const size_t levels = t == 1 ? 1 : 2;
    auto input = CostOf(structure, [&](Engine& engine) -> std::function<void()> {
      return [&] { InputOne(engine, 2, x, 9); };
    });
    EXPECT_EQ(input.bytes, u * entries * kElement);
    EXPECT_EQ(input.rounds, 1u);
    auto gram = [&](Way l, Way r) {
      return CostOf(structure, [&, l, r](Engine& engine) -> std::function<void()> {
        auto make = [&](Way way, const IntMatrix& m) -> Operand {
          if (way.as == As::kShared) return engine.Public({m, 0});
          return MakeOperand(engine, way, m, 9);
        };
        Product p{Kind::kGram, make(l, x), make(r, y)};
        return [&engine, p] { engine.Multiply({&p, 1}); };
      });
    };
    const Way shared = {As::kShared, 0}, mine = {As::kPrivate, 1}, yours = {As::kPrivate, 2};
    EXPECT_EQ(gram(shared, shared).bytes, reshare * 6 * kElement);
    EXPECT_EQ(gram(shared, shared).rounds, 1u);
    EXPECT_EQ(gram(mine, shared).bytes, (u * entries + reshare * 6) * kElement);
    EXPECT_EQ(gram(mine, shared).rounds, 2u);
    EXPECT_EQ(gram(mine, yours).bytes, (u * (entries + 100) + reshare * 6) * kElement);
    EXPECT_EQ(gram(mine, mine).bytes, u * 6 * kElement);
    EXPECT_EQ(gram(mine, mine).rounds, 1u);
    EXPECT_EQ(gram({As::kPublic, 0}, shared).bytes, 0u);

    auto rescale = CostOf(structure, [&](Engine& engine) -> std::function<void()> {
      Shared value = engine.Public({x, 20});
      return [&engine, value] { engine.Rescale(std::vector{value}, 10); };
    });
    // m = 10 bits of each of t dealers; pairs of t + 1 bits until two are left, then one sum.
    const size_t pairs = t == 1 ? 0 : (t + 1) / 2;
    EXPECT_EQ(rescale.bytes,
              (t * u * 10 + reshare * (pairs * 10 + 1) + n * (n - 1)) * entries * kElement);
    EXPECT_EQ(rescale.rounds, 2 + levels);
    // Of 120 bits: a uniform mask, with one more dealing of integers and t of D - 1 indicators, and
    // resharings of those of sums of digits: all but one value of every joined pair.
    auto wide = CostOf(structure, [&](Engine& engine) -> std::function<void()> {
      Shared value = engine.Public({x, 20});
      value.bound = std::ldexp(1 - 0x1p-10, 119 - 20);
      return [&engine, value] { engine.Rescale(std::vector{value}, 10); };
    });
    const size_t digits = t + 2, of_two = 2 * digits - 2;
    const size_t sums = t == 1   ? of_two
                        : t == 2 ? of_two + 3 * digits - 3
                                 : 2 * of_two + 4 * digits - 4;
    EXPECT_EQ(wide.bytes, rescale.bytes + (t * u * digits + reshare * sums) * entries * kElement);
    EXPECT_EQ(wide.rounds, 2 + levels);
    auto raise = CostOf(structure, [&](Engine& engine) -> std::function<void()> {
      Shared value = engine.Public({x, 20});
      return [&engine, value] { engine.Rescale(std::vector{value}, 30); };
    });
    EXPECT_EQ(raise.bytes, 0u);
    auto reveal = CostOf(structure, [&](Engine& engine) -> std::function<void()> {
      Shared value = engine.Public({x, 0});
      return [&engine, value] { engine.Reveal("out", std::vector{value}, kEverybody); };
    });
    EXPECT_EQ(reveal.bytes, n * (n - 1) * entries * kElement);
    EXPECT_EQ(reveal.rounds, 1u);
    const size_t plane = 3 * sizeof(uint64_t), slices = n == 3 ? 2 : 3;
    auto conjunction = CostOf(structure, [&](Engine& engine) -> std::function<void()> {
      const SharedBits bits = engine.PublicBits(MakeBits({50, 3}, 7));
      return [&engine, bits] { engine.And(std::vector<BitProduct>{{bits, bits}}); };
    });
    EXPECT_EQ(conjunction.bytes, reshare * slices * 7 * plane);
    auto to_ring = CostOf(structure, [&](Engine& engine) -> std::function<void()> {
      const SharedBits bits = engine.PublicBits(MakeBits({50, 3}, 7));
      return [&engine, bits] { engine.ToRing({&bits, 1}); };
    });
    EXPECT_EQ(to_ring.rounds, 1 + levels);
  }
}

// Inputs, products, cuts, comparisons and bits made numbers, as in the clear and as planned.
TEST(ShamirEngineTest, EveryThresholdComputesTheSame) {
  const IntMatrix x = Row({7 << 10, -(8 << 10), 9 << 10}), y = Row({-3, 5, 2});
  for (const Structure& structure : Structures()) {
    const size_t n = structure.parties, t = structure.threshold;
    SCOPED_TRACE(fmt::format("{} of {}", t, n));
    const auto opened = OpenAtAll(Among(n, t), [&](Engine& engine) {
      const Shared a = InputOne(engine, 0, x, 10, 10), b = InputOne(engine, n - 1, y, 10);
      const Product product{Kind::kElementwise, a, b};
      const Shared cut = engine.Rescale(engine.Multiply({&product, 1}), 0)[0];
      // Wide enough for a uniform mask.
      Shared wide = cut;
      wide.bound = 0x1p100;
      const auto signs = IsNegative(engine, std::vector{cut, wide});
      return engine.Reveal(
          "out", std::vector{cut, engine.ToRing(signs)[0], engine.ToRing(signs)[1]}, kEverybody);
    });
    EXPECT_TRUE(opened[0] == Row({-21, -40, 18}));
    EXPECT_TRUE(opened[1] == Row({1, 1, 0}));
    EXPECT_TRUE(opened[2] == Row({1, 1, 0}));
  }
}

TEST(ShamirEngineTest, ThresholdsThatPartiesDoNotAdmitAreRefused) {
  for (const Structure& structure : {Structure{3, 0}, {3, 2}, {4, 2}, {7, 0}, {7, 4}}) {
    const size_t n = structure.parties, t = structure.threshold;
    EXPECT_EQ(CodeOf([&] { shamir::MakeShamirCostModel(n, 127, t); }), ErrorCode::kBadInput);
    const auto result = RunAll(Among(n, t), [](Engine&, size_t) { ADD_FAILURE() << "made"; });
    for (const auto& error : result.errors) EXPECT_EQ(CodeOf(error), ErrorCode::kBadInput);
  }
}

TEST(ShamirEngineTest, FixedOperandsAreDealtOnce) {
  std::mt19937_64 random(6);
  const IntMatrix x = RandomMatrix(random, {50, 3}, 9), y = RandomMatrix(random, {50, 2}, 9);
  auto result = RunAndComparePlan(Among(3), [&](Engine& engine, size_t) {
    Operand fixed = MakeOperand(engine, {As::kFixed, 0}, x, 9);
    Shared shared = engine.Public({y, 0});
    for (const char* phase : {"first", "second"}) {
      engine.BeginPhase(phase);
      std::vector<Product> products = {{Kind::kGram, fixed, shared}, {Kind::kGram, shared, fixed}};
      engine.Multiply(products);
    }
  });
  uint64_t first = 0, second = 0;
  for (const auto& traffic : result.traffic) {
    for (const auto& link : traffic[traffic.size() - 2].links) first += link.bytes_sent;
    for (const auto& link : traffic.back().links) second += link.bytes_sent;
  }
  EXPECT_EQ(first, (150 + 2 * 3 * 6) * kElement);
  EXPECT_EQ(second, 2 * 3 * 6 * kElement);
}

TEST(ShamirEngineTest, UnlikeOperationsShareRounds) {
  const IntMatrix x = Row({1, 2, 3});
  for (size_t n : {3, 5}) {
    std::vector<IntMatrix> results(n + 1);
    RunAndComparePlan(Among(n), [&](Engine& engine, size_t self) {
      Shared a = engine.Public({x, 2});
      const SharedBits bits = engine.PublicBits({{1, 3}, 1, {0b101}});
      Batch batch(engine);
      Product product{Kind::kElementwise, a, Private(engine, 1, x, 4)};
      auto products = batch.Multiply({&product, 1});
      PrivateMatrix matrix = Private(engine, 2, x, 4);
      auto inputs = batch.Input({&matrix, 1});
      auto rescaled = batch.Rescale(std::vector{a}, 0);
      auto ring = batch.ToRing(std::vector{bits});
      auto opened = batch.Reveal("out", std::vector{a}, kEverybody);
      batch.Flush();
      const Shared all[] = {products.Get()[0], inputs.Get()[0], ring.Get()[0], rescaled.Get()[0]};
      const auto values = engine.Reveal("out", all, kEverybody);
      if (!engine.self()) return;
      EXPECT_TRUE(values[0] == Row({1, 4, 9}));
      EXPECT_TRUE(values[1] == x);
      EXPECT_TRUE(values[2] == Row({1, 0, 1}));
      for (Int128 v : values[3].values) EXPECT_TRUE(v == 0 || v == 1);
      EXPECT_TRUE(opened.Get()[0] == x);
      results[self] = values[3];
    });
    for (size_t party = 1; party < n; ++party) EXPECT_TRUE(results[party] == results[0]);
  }
}

// ---- truncation

TEST(ShamirEngineTest, RescaleErrsByLessThanOneUnitAndIsUnbiased) {
  std::mt19937_64 random(13);
  const int shift = 40;
  const size_t size = 5000;
  // The largest bound with s >= 64: k = mask bits - ceil(log2 groups) - 64; and uniform masks.
  for (auto [n, value_bits] :
       {std::pair<size_t, int>{3, 60}, {5, 58}, {3, 84}, {3, 126}, {5, 59}}) {
    SCOPED_TRACE(std::to_string(n) + " " + std::to_string(value_bits));
    const Int128 largest = (Int128{1} << (value_bits - 2));
    IntMatrix x = RandomMatrix(random, {size, 1}, int64_t{1} << std::min(value_bits - 2, 62));
    x.values[0] = largest;
    x.values[1] = -largest;
    x.values[2] = 0;
    x.values[3] = -1;
    x.values[4] = (Int128{1} << shift) * -12345;
    auto opened = OpenAtAll(Among(n), [&, bits = value_bits](Engine& engine) {
      Shared value = InputOne(engine, 0, x, std::ldexp(1.0, bits - 2 - shift), shift);
      return engine.Reveal("out", engine.Rescale(std::vector{value}, 0), kEverybody);
    });
    double excess = 0, variance = 0;
    for (size_t i = 0; i < size; ++i) {
      const Int128 down = x.values[i] >> shift;  // towards minus infinity
      const double fraction =
          std::ldexp(static_cast<double>(x.values[i] - (down << shift)), -shift);
      const Int128 up = opened[0].values[i] - down;
      ASSERT_TRUE(up == 0 || (up == 1 && fraction > 0)) << i;
      excess += static_cast<double>(up) - fraction;
      variance += fraction * (1 - fraction);
    }
    // A standard normal beyond 4.9 has probability 1e-6.
    EXPECT_LT(std::abs(excess), 4.9 * std::sqrt(variance));
  }
}

TEST(ShamirEngineTest, RescaleByEveryShift) {
  const Int128 v = 0x123456789abcdef;
  for (int shift : {1, 2, 20, 63, 64, 65, 80}) {
    const IntMatrix x = Row({v, -v, 0, 1, -1});
    auto opened = OpenAtAll(Among(3), [&](Engine& engine) {
      Shared value = InputOne(engine, 2, x, std::ldexp(1.0, 57 - shift), shift);
      return engine.Reveal("out", engine.Rescale(std::vector{value, value}, 0), kEverybody);
    });
    for (const IntMatrix& m : opened) {
      for (size_t i = 0; i < x.values.size(); ++i) {
        const Int128 up = m.values[i] - (x.values[i] >> shift);
        EXPECT_TRUE(up == 0 || (up == 1 && x.values[i] != 0)) << shift << " " << i;
      }
    }
  }
}

// How far the opening of a value of so many bits is from one that tells nothing, at most: what the
// group's integers leave of it, or one element that is twice as likely.
double MaskDistance(const shamir::ScheduledMask& mask, int value_bits, int field_bits) {
  if (mask.digits != 0) return std::ldexp(1.0, -field_bits);
  return std::ldexp(1.0, value_bits - static_cast<int>(mask.width) - mask.integer_bits);
}

// Distances add up over the openings of a run, so each is small enough for 2^24 of them, whatever
// the width; over 2^61 - 1 as small as the field admits.
TEST(ShamirEngineTest, MasksLeaveRoomForManyOpenings) {
  for (size_t n = 3; n <= 7; ++n) {
    for (const int field_bits : {127, 61}) {
      shamir::Parameters parameters;
      parameters.num_parties = n;
      parameters.mask_bits = field_bits - 1;
      parameters.mersenne_bits = field_bits;
      shamir::Scheduler scheduler(parameters);
      const double allowed = field_bits == 127 ? 0x1p-64 : 0x1p-61;
      for (int bits = 6; bits < field_bits; ++bits) {
        SCOPED_TRACE(::testing::Message() << n << " parties, " << bits << " of " << field_bits);
        const Shared value{{1, 1}, 2, std::ldexp(1 - 0x1p-3, bits - 3), nullptr};
        ASSERT_EQ(BitsFor(value), static_cast<size_t>(bits));
        const size_t width = static_cast<size_t>(bits);
        std::vector<Operation> operations;
        operations.emplace_back(RescaleOperation{{value}, 0, {}});
        operations.emplace_back(DecomposeOperation{{value}, {width}, {}});
        const shamir::Schedule schedule = scheduler.Next(operations);
        ASSERT_EQ(schedule.masks.size(), 2u);
        for (const shamir::ScheduledMask& mask : schedule.masks) {
          EXPECT_LE(MaskDistance(mask, bits, field_bits), allowed);
        }
      }
    }
  }
}

// Values at the ends of ranges that only uniform masks have room for, cut and taken apart.
TEST(ShamirEngineTest, WideValuesOfEveryWidth) {
  std::mt19937_64 random(17);
  for (size_t n : {3, 4, 5, 6, 7}) {
    for (int bits : {61, 85, 100, 116, 124, 125, 126}) {
      SCOPED_TRACE(std::to_string(n) + " " + std::to_string(bits));
      // As far as BitsFor allows for the rounding of private inputs.
      const Int128 largest = (Int128{1} << (bits - 1)) - (Int128{1} << (bits - 8));
      IntMatrix x = Row({largest, -largest, largest - 1, 1 - largest, 0, 1, -1});
      for (int i = 0; i < 70; ++i) {
        const auto any = static_cast<Int128>((static_cast<UInt128>(random()) << 64) | random());
        x.values.push_back(any >> (129 - bits));
      }
      x.shape.cols = x.values.size();
      const double bound = std::ldexp(1 - 0x1p-7, bits - 1);
      std::vector<BitMatrix> planes(n + 1);
      std::vector<std::vector<IntMatrix>> cut(n + 1);
      const std::vector<int> shifts = {1, 40, 84};
      RunAndComparePlan(Among(n), [&](Engine& engine, size_t self) {
        Shared value = InputOne(engine, 1, x, bound);
        ASSERT_EQ(BitsFor(value), static_cast<size_t>(bits));
        const SharedBits all = ToBits(engine, {&value, 1})[0];
        planes[self] = engine.RevealBits("out", {&all, 1}, kEverybody)[0];
        std::vector<Shared> values;
        for (int shift : shifts) {
          Shared scaled = value;
          scaled.fraction_bits = shift;
          scaled.bound = std::ldexp(bound, -shift);
          values.push_back(scaled);
        }
        cut[self] = engine.Reveal("out", engine.Rescale(values, 0), kEverybody);
      });
      for (size_t i = 0; i < x.values.size(); ++i) {
        for (size_t j = 0; j < static_cast<size_t>(bits); ++j) {
          ASSERT_EQ(GetBit(planes[0], j, i), (x.values[i] >> j & 1) != 0) << i << " bit " << j;
        }
        for (size_t s = 0; s < shifts.size(); ++s) {
          const Int128 up = cut[0][s].values[i] - (x.values[i] >> shifts[s]);
          ASSERT_TRUE(up == 0 || up == 1) << i << " by " << shifts[s];
        }
      }
    }
  }
}

TEST(ShamirEngineTest, AddingFractionBitsIsExact) {
  const IntMatrix x = Row({3, -5});
  auto opened = OpenAtAll(Among(3), [&](Engine& engine) {
    Shared value = InputOne(engine, 0, x, 8);
    std::vector<Shared> same = engine.Rescale(std::vector{value}, 0);
    std::vector<Shared> more = engine.Rescale(same, 7);
    EXPECT_EQ(more[0].fraction_bits, 7);
    return engine.Reveal("out", more, kEverybody);
  });
  EXPECT_TRUE(opened[0] == Row({3 * 128, -5 * 128}));
}

// ---- refusals

// The widest value that there is a mask for, and a wider one: refused when planned, and in a run
// before the gate is asked or anything is sent.
TEST(ShamirEngineTest, BoundsThatLeaveNoRoomForAMaskAreRefused) {
  for (size_t n : {3, 5, 7}) {
    auto value_of = [](Engine& engine, double less) {
      Shared value = engine.Public({Row({1}), 20});
      value.bound = std::ldexp(1 - less, 125 - 20);
      return value;
    };
    RunAndComparePlan(Among(n), [&](Engine& engine, size_t) {
      const Shared fits = value_of(engine, 0x1p-10), too_large = value_of(engine, 0x1p-17);
      const size_t width = 5;
      engine.Rescale({&fits, 1}, 10);
      engine.Decompose({&fits, 1}, {&width, 1});
      EXPECT_EQ(CodeOf([&] { engine.Rescale({&too_large, 1}, 10); }), ErrorCode::kBadInput);
      EXPECT_EQ(CodeOf([&] {
                  engine.Decompose({&too_large, 1}, {&width, 1});
                }),
                ErrorCode::kBadInput);
      Batch batch(engine);
      batch.Reveal("not declared", {&fits, 1}, kEverybody);
      batch.Rescale({&too_large, 1}, 10);
      if (engine.self()) {
        EXPECT_EQ(CodeOf([&] { batch.Flush(); }), ErrorCode::kBadInput);
      }
    });
  }
}

TEST(ShamirEngineTest, UndeclaredReleaseIsRefusedBeforeAnythingIsSent) {
  const IntMatrix x = Row({1});
  auto result = RunAll(Among(3), [&](Engine& engine, size_t) {
    Shared value = engine.Public({x, 0});
    engine.BeginPhase("open");
    Batch batch(engine);
    batch.Rescale(std::vector{engine.Public({Row({4}), 2})}, 0);
    batch.Reveal("secret", std::vector{value}, kEverybody);
    batch.Flush();
  });
  for (size_t party = 0; party < 3; ++party) {
    EXPECT_EQ(CodeOf(result.errors[party]), ErrorCode::kRefused);
    for (const auto& link : result.traffic[party].back().links) EXPECT_EQ(link.bytes_sent, 0u);
  }
}

}  // namespace
}  // namespace partita::mpc::testing::shamir_engine_test
