#include "mpc/batch.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "tests/mpc/harness.h"

namespace partita::mpc::testing::batch_test {
namespace {

using Kind = Product::Kind;

TEST(BatchTest, UnlikeOperationsShareOneRound) {
  std::mt19937_64 random(1);
  IntMatrix x = RandomMatrix(random, {4, 2}, 1000), y = RandomMatrix(random, {4, 2}, 1000);
  const IntMatrix truth = PlainProduct(Kind::kGram, x, y);
  for (size_t n : {2, 3}) {
    std::vector<IntMatrix> product(n + 2), input(n + 2), early(n + 2);
    auto result = RunAndComparePlan({.num_parties = n}, [&](Engine& engine, size_t self) {
      std::vector<PrivateMatrix> inputs = {Private(engine, 0, x, 1000)};
      Shared shared = engine.Input(inputs)[0];
      engine.BeginPhase("batch");
      Batch batch(engine);
      std::vector<Product> products = {{Kind::kGram, shared, Private(engine, 1, y, 1000)}};
      auto a = batch.Multiply(products);
      auto b = batch.Rescale({&shared, 1}, 0);
      auto c = batch.Input(inputs);
      auto d = batch.Reveal("out", {&shared, 1}, kEverybody);
      EXPECT_THROW(a.Get(), Error);
      batch.Flush();
      engine.BeginPhase("open");
      product[self] = engine.Reveal("out", a.Get(), kEverybody)[0];
      input[self] = engine.Reveal("out", c.Get(), kEverybody)[0];
      early[self] = d.Get()[0];
      EXPECT_EQ(b.Get().size(), 1u);
    });
    for (size_t party = 0; party < n; ++party) {
      EXPECT_TRUE(product[party] == truth);
      EXPECT_TRUE(input[party] == x);
      EXPECT_TRUE(early[party] == x);
      const net::PhaseTraffic& phase = result.traffic[party][0];
      EXPECT_EQ(phase.phase, "batch");
      EXPECT_EQ(phase.rounds, 1u);
      for (size_t peer = 0; peer < n; ++peer) {
        EXPECT_EQ(phase.links[peer].messages_sent, peer == party ? 0u : 1u);
      }
    }
  }
}

TEST(BatchTest, AnEmptyFlushSendsNothing) {
  auto result = RunAndComparePlan({}, [](Engine& engine, size_t) { Batch(engine).Flush(); });
  EXPECT_EQ(result.depth[0], 0u);
}

TEST(BatchTest, AFailedFlushDropsWhatWasRecorded) {
  PlanEngine engine("dealer", 2);
  Shared x = engine.Public({{{1, 1}, {1}}, 0}), y = engine.Public({{{2, 1}, {1, 2}}, 0});
  Batch batch(engine);
  std::vector<Product> bad = {{Kind::kMatrix, x, y}};
  auto pending = batch.Multiply(bad);
  EXPECT_THROW(batch.Flush(), Error);
  EXPECT_THROW(pending.Get(), Error);
  std::vector<Product> good = {{Kind::kElementwise, x, x}};
  auto result = batch.Multiply(good);
  EXPECT_NO_THROW(batch.Flush());
  EXPECT_EQ(result.Get().size(), 1u);
}

}  // namespace
}  // namespace partita::mpc::testing::batch_test
