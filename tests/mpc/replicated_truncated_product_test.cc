// Products that the engine `replicated` truncates as it forms them, with every kind of operand and
// owner, against plaintext integers; their costs; and that other engines do the same in two steps.
#include <gtest/gtest.h>

#include <cmath>
#include <optional>

#include "base/error.h"
#include "mpc/replicated_engine.h"
#include "tests/mpc/harness.h"
#include "tests/mpc/operands.h"

namespace partita::mpc::testing::replicated_truncated_product_test {
namespace {

using Kind = Product::Kind;

RunOptions Replicated() {
  return {.kind = "replicated", .num_parties = 3, .make = MakeReplicatedEngine};
}

constexpr Way kWays[] = {{As::kShared, 1},  {As::kPublic, 0}, {As::kPrivate, 0}, {As::kPrivate, 1},
                         {As::kPrivate, 2}, {As::kFixed, 0},  {As::kFixed, 1},   {As::kFixed, 2}};
constexpr size_t kNumWays = std::size(kWays);

void ExpectTruncated(const IntMatrix& exact, const IntMatrix& got, int shift,
                     const std::string& where) {
  ASSERT_TRUE(exact.shape == got.shape) << where;
  for (size_t i = 0; i < exact.values.size(); ++i) {
    const Int128 down = exact.values[i] >> shift, up = got.values[i] - down;
    const bool whole = (down << shift) == exact.values[i];
    EXPECT_TRUE(up == 0 || (up == 1 && !whole)) << where << " entry " << i;
  }
}

// All combinations in one MultiplyAndRescale, twice: the second time fixed operands are shared.
void CheckTruncated(Kind kind, Shape left_shape, Shape right_shape, int64_t magnitude) {
  constexpr int kShift = 13;
  std::mt19937_64 random(left_shape.rows + 31 * right_shape.cols);
  const IntMatrix left = RandomMatrix(random, left_shape, magnitude);
  const IntMatrix right = RandomMatrix(random, right_shape, magnitude);
  const auto bound = std::ldexp(static_cast<double>(magnitude), -10);
  const auto opened = OpenAtAll(Replicated(), [&](Engine& engine) {
    std::vector<Operand> lefts, rights;
    for (Way way : kWays) lefts.push_back(MakeOperand(engine, way, left, bound, 10));
    for (Way way : kWays) rights.push_back(MakeOperand(engine, way, right, bound, 10));
    std::vector<Product> products;
    for (const Operand& l : lefts) {
      for (const Operand& r : rights) products.push_back({kind, l, r});
    }
    const std::vector<std::optional<int>> bits(products.size(), 20 - kShift);
    auto shares = engine.MultiplyAndRescale(products, bits);
    for (const Shared& share : shares) EXPECT_EQ(share.fraction_bits, 20 - kShift);
    auto again = engine.MultiplyAndRescale(products, bits);
    shares.insert(shares.end(), again.begin(), again.end());
    return engine.Reveal("out", shares, kEverybody);
  });
  const IntMatrix truth = PlainProduct(kind, left, right);
  ASSERT_EQ(opened.size(), 2 * kNumWays * kNumWays);
  for (size_t i = 0; i < opened.size(); ++i) {
    ExpectTruncated(truth, opened[i], kShift,
                    std::to_string(i / kNumWays % kNumWays) + " and " +
                        std::to_string(i % kNumWays) + " time " +
                        std::to_string(i / kNumWays / kNumWays));
  }
}

TEST(ReplicatedTruncatedProductTest, Elementwise) {
  CheckTruncated(Kind::kElementwise, {5, 3}, {5, 3}, int64_t{1} << 20);
  CheckTruncated(Kind::kElementwise, {0, 4}, {0, 4}, 1000);
  CheckTruncated(Kind::kElementwise, {6, 1}, {6, 4}, int64_t{1} << 40);
  CheckTruncated(Kind::kElementwise, {2099, 1}, {2099, 3}, int64_t{1} << 30);  // more than a block
}

TEST(ReplicatedTruncatedProductTest, Matrix) {
  CheckTruncated(Kind::kMatrix, {3, 5}, {5, 2}, int64_t{1} << 30);
  CheckTruncated(Kind::kMatrix, {3, 0}, {0, 2}, 1000);
}

TEST(ReplicatedTruncatedProductTest, Gram) {
  CheckTruncated(Kind::kGram, {7, 3}, {7, 2}, int64_t{1} << 30);
  CheckTruncated(Kind::kGram, {1777, 3}, {1777, 5}, int64_t{1} << 30);
}

// Every engine, among products that stay whole, get more fraction bits or as many as they have.
TEST(TruncatedProductTest, EveryEngineTruncatesWhatIsAskedFor) {
  const IntMatrix x{{3, 1}, {123456789, -987654321, 1 << 20}}, y{{3, 1}, {-7654321, 13, 1 << 20}};
  const IntMatrix exact = PlainProduct(Kind::kElementwise, x, y);
  for (const auto& [kind, parties] :
       {std::pair{"dealer", size_t{2}}, std::pair{"replicated", size_t{3}},
        std::pair{"shamir", size_t{3}}}) {
    std::vector<IntMatrix> opened;
    RunAndComparePlan({.kind = kind, .num_parties = parties}, [&](Engine& engine, size_t self) {
      const std::vector<PrivateMatrix> inputs = {Private(engine, 0, x, 1024, 20),
                                                 Private(engine, 1, y, 1024, 20)};
      const std::vector<Shared> values = engine.Input(inputs);
      const Product product{Kind::kElementwise, values[0], values[1]};
      const std::vector<Product> products(5, product);
      const std::vector<std::optional<int>> bits = {20, std::nullopt, 45, 40, 7};
      const std::vector<Shared> results = engine.MultiplyAndRescale(products, bits);
      const int expected[] = {20, 40, 45, 40, 7};
      for (size_t i = 0; i < results.size(); ++i) EXPECT_EQ(results[i].fraction_bits, expected[i]);
      const auto all = engine.Reveal("out", results, kEverybody);
      if (self == 0) opened = all;
    });
    ExpectTruncated(exact, opened[0], 20, kind);
    EXPECT_TRUE(opened[1] == exact) << kind;
    for (size_t i = 0; i < 3; ++i) EXPECT_TRUE(opened[2].values[i] == exact.values[i] * 32) << kind;
    EXPECT_TRUE(opened[3] == exact) << kind;
    ExpectTruncated(exact, opened[4], 33, kind);
  }
}

// The sum of the roundings of 20000 products is normal to all intents: beyond 4.9 standard
// deviations lies 1e-6 of it.
TEST(ReplicatedTruncatedProductTest, RoundingIsUnbiasedUpToTheLargestProducts) {
  constexpr int kShift = 40;
  constexpr size_t kSize = 20'000;
  std::mt19937_64 random(17);
  IntMatrix x = RandomMatrix(random, {kSize, 1}, int64_t{1} << 62);
  IntMatrix y = RandomMatrix(random, {kSize, 1}, int64_t{1} << 62);
  const Int128 largest = (Int128{1} << 63) - (Int128{1} << 11);
  x.values[0] = y.values[0] = largest;
  x.values[1] = -largest;
  y.values[1] = largest;
  x.values[2] = 0;
  std::vector<IntMatrix> opened;
  const double bound = std::ldexp(static_cast<double>(largest), -kShift / 2);
  RunAndComparePlan(Replicated(), [&](Engine& engine, size_t self) {
    const std::vector<PrivateMatrix> inputs = {Private(engine, 0, x, bound, kShift / 2),
                                               Private(engine, 2, y, bound, kShift / 2)};
    const std::vector<Shared> values = engine.Input(inputs);
    const Product product{Kind::kElementwise, values[0], values[1]};
    const std::optional<int> bits = 0;
    const auto all =
        engine.Reveal("out", engine.MultiplyAndRescale({&product, 1}, {&bits, 1}), kEverybody);
    if (self == 0) opened = all;
  });
  const IntMatrix exact = PlainProduct(Kind::kElementwise, x, y);
  ExpectTruncated(exact, opened[0], kShift, "largest");
  double excess = 0, variance = 0;
  for (size_t i = 0; i < kSize; ++i) {
    const Int128 down = exact.values[i] >> kShift;
    const double fraction =
        std::ldexp(static_cast<double>(exact.values[i] - (down << kShift)), -kShift);
    excess += static_cast<double>(opened[0].values[i] - down) - fraction;
    variance += fraction * (1 - fraction);
  }
  EXPECT_LT(std::abs(excess), 4.9 * std::sqrt(variance));
}

// ---- costs

struct Cost {
  uint64_t bytes = 0, rounds = 0;
};

Cost CostOf(Operand left, Operand right, int fraction_bits, PlanEngine& plan) {
  plan.BeginPhase("measured");
  const Product product{Kind::kElementwise, std::move(left), std::move(right)};
  const std::optional<int> bits = fraction_bits;
  plan.MultiplyAndRescale({&product, 1}, {&bits, 1});
  const PhaseCost cost = plan.phases().back();
  return {cost.Total().bytes, *std::max_element(cost.rounds.begin(), cost.rounds.end())};
}

// 48 bytes and three times the bits that are dropped for every number, in two rounds.
TEST(ReplicatedTruncatedProductTest, CostsAreThoseStated) {
  const PrivateMatrix mine{0, {100, 1}, 40, 1.0, nullptr}, yours{1, {100, 1}, 40, 1.0, nullptr};
  const PublicMatrix known{{{100, 1}, std::vector<Int128>(100, 3)}, 40};
  {
    PlanEngine plan("replicated", 3);
    const Shared a = plan.Public(known), b = plan.Public(known);
    const Cost cost = CostOf(a, b, 40, plan);
    EXPECT_EQ(cost.bytes, 100u * (48 + 15));
    EXPECT_EQ(cost.rounds, 2u);
    EXPECT_EQ(CostOf(a, b, 39, plan).bytes, 100u * (48 + 18));
    EXPECT_EQ(CostOf(a, known, 40, plan).bytes, 100u * (48 + 15));
  }
  {
    PlanEngine plan("replicated", 3);
    const Shared a = plan.Public(known);
    const Cost cost = CostOf(a, mine, 40, plan);
    EXPECT_EQ(cost.bytes, 100u * (16 + 48 + 15));
    EXPECT_EQ(cost.rounds, 3u);
    EXPECT_EQ(CostOf(yours, mine, 40, plan).bytes, 100u * (32 + 48 + 15));
    // Its owner forms the product.
    const Cost owned = CostOf(mine, mine, 40, plan);
    EXPECT_EQ(owned.bytes, 100u * (48 + 15));
    EXPECT_EQ(owned.rounds, 2u);
  }
  // Elsewhere it is a product and a truncation.
  PlanEngine fused("dealer", 2), apart("dealer", 2);
  const Shared a = fused.Public(known), b = apart.Public(known);
  const Product product{Kind::kElementwise, b, b};
  apart.BeginPhase("measured");
  apart.Rescale(apart.Multiply({&product, 1}), 40);
  EXPECT_EQ(CostOf(a, a, 40, fused).bytes, apart.phases().back().Total().bytes);
}

TEST(TruncatedProductTest, UnequalListsAreRefused) {
  PlanEngine plan("replicated", 3);
  const Shared a = plan.Public({{{1, 1}, {1}}, 2});
  const Product product{Kind::kElementwise, a, a};
  EXPECT_THROW(plan.MultiplyAndRescale({&product, 1}, {}), Error);
  // Before anything is sent.
  const std::optional<int> bits = -1;
  EXPECT_THROW(plan.MultiplyAndRescale({&product, 1}, {&bits, 1}), Error);
}

}  // namespace
}  // namespace partita::mpc::testing::replicated_truncated_product_test
