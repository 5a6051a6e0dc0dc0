// The PlanEngine's numbers against hand counts and, for random programs, against the counted
// channel.
#include "mpc/plan_engine.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "mpc/batch.h"
#include "tests/mpc/harness.h"

namespace partita::mpc::testing::plan_engine_test {
namespace {

using Kind = Product::Kind;

constexpr uint64_t kElement = 16;

PrivateMatrix ShapeOnly(PartyIndex owner, Shape shape) { return {owner, shape, 0, 1.0, nullptr}; }

TEST(PlanEngineTest, PrivateCrossProductCostsItsOperandsAndOneRound) {
  PlanEngine plan("dealer", 2);
  plan.BeginPhase("moments");
  std::vector<Product> products = {
      {Kind::kGram, ShapeOnly(0, {1'000'000, 10}), ShapeOnly(1, {1'000'000, 8})}};
  plan.Multiply(products);
  const auto phases = plan.phases();
  ASSERT_EQ(phases.size(), 1u);
  EXPECT_EQ(phases[0].phase, "moments");
  EXPECT_EQ(phases[0].links[0][1], (LinkCost{1, 10'000'000 * kElement}));
  EXPECT_EQ(phases[0].links[1][0], (LinkCost{1, 8'000'000 * kElement}));
  EXPECT_EQ(phases[0].links[2][1], (LinkCost{1, 80 * kElement}));
  EXPECT_EQ(phases[0].links[2][0], (LinkCost{0, 0}));
  EXPECT_EQ(phases[0].rounds, (std::vector<uint64_t>{1, 1, 0}));
  EXPECT_EQ(
      phases[0].requirements,
      (Requirements{
          {Correlation::Kind::kPrivateProduct, Kind::kGram, {1'000'000, 10}, {1'000'000, 8}}}));
}

// Three parties, all pairs of cross products: every fixed matrix travels once per receiver.
TEST(PlanEngineTest, FixedOperandsTravelOncePerReceiver) {
  PlanEngine plan("dealer", 3);
  std::vector<FixedOperand> x;
  for (PartyIndex p = 0; p < 3; ++p) x.push_back(plan.Register(ShapeOnly(p, {100, 2})));
  std::vector<Product> products = {
      {Kind::kGram, x[0], x[1]}, {Kind::kGram, x[0], x[2]}, {Kind::kGram, x[1], x[2]}};
  plan.Multiply(products);
  const auto phase = plan.phases()[0];
  for (size_t from = 0; from < 3; ++from) {
    for (size_t to = 0; to < 3; ++to) {
      EXPECT_EQ(phase.links[from][to], (from == to ? LinkCost{} : LinkCost{1, 200 * kElement}));
    }
  }
  EXPECT_EQ(phase.links[3][1], (LinkCost{1, 4 * kElement}));
  EXPECT_EQ(phase.links[3][2], (LinkCost{1, 8 * kElement}));
}

TEST(PlanEngineTest, SharedProductRescaleAndReveal) {
  for (size_t n : {2, 3, 5}) {
    PlanEngine plan("dealer", n);
    std::vector<PrivateMatrix> inputs = {ShapeOnly(0, {10, 1}), ShapeOnly(1, {10, 3})};
    auto shares = plan.Input(inputs);
    EXPECT_TRUE(plan.phases().empty());  // nothing was sent
    plan.BeginPhase("multiply");
    std::vector<Product> products = {{Kind::kElementwise, shares[0], shares[1]}};
    auto product = plan.Multiply(products);
    plan.BeginPhase("rescale");
    shares[1].fraction_bits = 40;
    plan.Rescale({&shares[1], 1}, 20);
    plan.BeginPhase("reveal");
    plan.Reveal("out", product, 1);
    const auto phases = plan.phases();
    ASSERT_EQ(phases.size(), 3u);
    EXPECT_EQ(phases[0].Total(), (LinkCost{n * (n - 1) + 1, (n * (n - 1) * 40 + 30) * kElement}));
    EXPECT_EQ(phases[1].Total(), (LinkCost{n * (n - 1) + 1, (n * (n - 1) * 30 + 60) * kElement}));
    EXPECT_EQ(phases[2].Total(), (LinkCost{n - 1, (n - 1) * 30 * kElement}));
    EXPECT_EQ(phases[0].rounds[0], 1u);
    EXPECT_EQ(phases[2].rounds[0], 0u);  // it only sends
    EXPECT_EQ(phases[2].rounds[1], 1u);
    EXPECT_EQ(phases[2].rounds[n], 0u);
  }
}

TEST(PlanEngineTest, RoundsAreTheLongestChainNotTheNumberOfExchanges) {
  PlanEngine plan("dealer", 2);
  Shared x = plan.Public({{{1, 1}, {1}}, 0});
  plan.Reveal("out", {&x, 1}, 0);
  plan.Reveal("out", {&x, 1}, 0);  // party 1 waits for nothing: both leave at depth 0
  EXPECT_EQ(plan.phases()[0].rounds[0], 1u);
}

TEST(PlanEngineTest, UnknownEnginesAndTooFewPartiesAreRefused) {
  EXPECT_THROW(PlanEngine("magic", 2), Error);
  EXPECT_THROW(PlanEngine("dealer", 1), Error);
}

// --- random programs

// Draws the same operations at every process: all decisions come from `seed` and shapes.
void RandomProgram(Engine& engine, uint64_t seed, const IntMatrix& data) {
  std::mt19937_64 random(seed);
  auto below = [&](size_t n) { return static_cast<size_t>(random() % n); };
  const size_t parties = engine.num_parties();
  auto slice = [&](Shape shape) {  // values from the common data, as the owner would hold them
    IntMatrix values{
        shape, {data.values.begin(), data.values.begin() + static_cast<ptrdiff_t>(shape.size())}};
    return values;
  };
  std::vector<std::shared_ptr<IntMatrix>> keep_alive;
  auto make_private = [&](Shape shape) {
    keep_alive.push_back(std::make_shared<IntMatrix>(slice(shape)));
    return Private(engine, below(parties), *keep_alive.back(), 4, 2);
  };
  const Shape shapes[] = {{4, 3}, {4, 1}, {0, 3}, {4, 3}};
  std::vector<FixedOperand> fixed;
  for (int i = 0; i < 3; ++i) fixed.push_back(engine.Register(make_private(shapes[i])));
  std::vector<Shared> shared;
  for (const Shape& shape : shapes) {
    auto matrix = make_private(shape);
    shared.push_back(engine.Input({&matrix, 1})[0]);
  }
  auto operand = [&]() -> Operand {
    const size_t which = below(4);
    if (which == 0) return shared[below(shared.size())];
    if (which == 1) return fixed[below(fixed.size())];
    if (which == 2) return make_private(shapes[below(4)]);
    return PublicMatrix{slice(shapes[below(4)]), 1};
  };
  auto fitting_product = [&] {
    for (;;) {
      Product product{static_cast<Kind>(below(3)), operand(), operand()};
      try {
        ProductResult(product, {parties, engine.self(), 128});
        return product;
      } catch (const Error&) {
        // The shapes do not fit; draw again.
      }
    }
  };
  for (int phase = 0; phase < 3; ++phase) {
    if (phase > 0 || below(2) == 0) engine.BeginPhase("phase " + std::to_string(phase));
    for (int flush = 0; flush < 3; ++flush) {
      Batch batch(engine);
      std::vector<Pending<Shared>> results;
      for (size_t i = below(4); i > 0; --i) {
        std::vector<Product> products;
        for (size_t j = below(4); j > 0; --j) products.push_back(fitting_product());
        results.push_back(batch.Multiply(products));
      }
      std::vector<Shared> values;
      for (size_t i = below(3); i > 0; --i) values.push_back(shared[below(shared.size())]);
      results.push_back(batch.Rescale(values, static_cast<int>(below(4))));
      batch.Reveal("out", values, below(2) == 0 ? kEverybody : below(parties));
      batch.Flush();
      for (const auto& result : results) {
        for (const Shared& value : result.Get()) {
          if (value.fraction_bits < 10 && value.shape.cols == 3) shared.push_back(value);
        }
      }
    }
  }
}

TEST(PlanEngineTest, EqualsTheCountedChannelForRandomPrograms) {
  std::mt19937_64 random(99);
  const IntMatrix data = RandomMatrix(random, {12, 1}, 16);
  for (size_t parties : {2, 3, 5}) {
    for (uint64_t seed = 0; seed < 25; ++seed) {
      SCOPED_TRACE(::testing::Message() << parties << " parties, seed " << seed);
      RunAndComparePlan({.num_parties = parties},
                        [&](Engine& engine, size_t) { RandomProgram(engine, seed, data); });
      if (HasFailure()) return;
    }
  }
}

}  // namespace
}  // namespace partita::mpc::testing::plan_engine_test
