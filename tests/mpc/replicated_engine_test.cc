// Every operation of the engine `replicated` with every kind of operand and owner against plaintext
// integers, and its costs against the PlanEngine and against the numbers that its header states.
#include "mpc/replicated_engine.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/error.h"
#include "mpc/batch.h"
#include "tests/mpc/harness.h"
#include "tests/mpc/operands.h"

namespace partita::mpc::testing::replicated_engine_test {
namespace {

using Kind = Product::Kind;

constexpr size_t kElement = 16;  // bytes of a ring element on the wire

RunOptions Replicated() {
  return {.kind = "replicated", .num_parties = 3, .make = MakeReplicatedEngine};
}

constexpr Way kWays[] = {{As::kShared, 0},  {As::kShared, 2},  {As::kPublic, 0},
                         {As::kPrivate, 0}, {As::kPrivate, 1}, {As::kPrivate, 2},
                         {As::kFixed, 0},   {As::kFixed, 1},   {As::kFixed, 2}};
void CheckProducts(Kind kind, Shape left, Shape right, int64_t magnitude) {
  CheckAllWays(Replicated(), kWays, kind, left, right, magnitude);
}

TEST(ReplicatedEngineTest, Elementwise) {
  CheckProducts(Kind::kElementwise, {5, 3}, {5, 3}, 1000);
  CheckProducts(Kind::kElementwise, {1, 1}, {1, 1}, 1000);
  CheckProducts(Kind::kElementwise, {0, 4}, {0, 4}, 1000);
  CheckProducts(Kind::kElementwise, {6, 1}, {6, 4}, 1000);
  CheckProducts(Kind::kElementwise, {6, 4}, {6, 1}, 1000);
}

TEST(ReplicatedEngineTest, Matrix) {
  CheckProducts(Kind::kMatrix, {3, 5}, {5, 2}, 1000);
  CheckProducts(Kind::kMatrix, {1, 1}, {1, 1}, 1000);
  CheckProducts(Kind::kMatrix, {3, 0}, {0, 2}, 1000);
  CheckProducts(Kind::kMatrix, {0, 3}, {3, 2}, 1000);
}

TEST(ReplicatedEngineTest, Gram) {
  CheckProducts(Kind::kGram, {7, 3}, {7, 2}, 1000);
  CheckProducts(Kind::kGram, {1, 1}, {1, 1}, 1000);
  CheckProducts(Kind::kGram, {0, 3}, {0, 2}, 1000);
}

// More rows than a block, and blocks that end within a message's pieces.
TEST(ReplicatedEngineTest, StreamedProducts) {
  CheckProducts(Kind::kGram, {1777, 3}, {1777, 5}, int64_t{1} << 30);
  CheckProducts(Kind::kElementwise, {2099, 1}, {2099, 3}, int64_t{1} << 30);
}

// The largest magnitudes that the ring of 128 bits admits, and narrow kernels' edges.
TEST(ReplicatedEngineTest, LargestProductsFit) {
  const Int128 max = (Int128{1} << 63) - (Int128{1} << 10);
  const Int128 narrow = (Int128{1} << 61) - 1;
  const IntMatrix x = Row({max, -max, max, 0}), y = Row({narrow, narrow, -narrow, -narrow});
  const double x_bound = std::ldexp(1.0, 63), y_bound = std::ldexp(1.0, 61);
  auto opened = OpenAtAll(Replicated(), [&](Engine& engine) {
    std::vector<Product> products;
    for (Way left : kWays) {
      for (Way right : kWays) {
        products.push_back({Kind::kGram, MakeOperand(engine, left, x, x_bound),
                            MakeOperand(engine, right, y, y_bound)});
      }
    }
    return engine.Reveal("out", engine.Multiply(products), kEverybody);
  });
  ASSERT_EQ(opened.size(), std::size(kWays) * std::size(kWays));
  for (const auto& m : opened) EXPECT_TRUE(m == PlainProduct(Kind::kGram, x, y));
}

TEST(ReplicatedEngineTest, LinearAlgebraMatchesPlaintext) { CheckLinearAlgebra(Replicated()); }

TEST(ReplicatedEngineTest, RevealToOneTellsNobodyElse) {
  const IntMatrix x = Row({5, -6});
  for (PartyIndex to = 0; to < 3; ++to) {
    std::vector<std::vector<IntMatrix>> opened(4);
    auto result = RunAndComparePlan(Replicated(), [&](Engine& engine, size_t self) {
      Shared shared = InputOne(engine, 1, x, 10);
      engine.BeginPhase("open");
      opened[self] = engine.Reveal("out", std::vector{shared, shared}, to);
    });
    for (PartyIndex party = 0; party < 3; ++party) {
      ASSERT_EQ(opened[party].size(), 2u);
      EXPECT_TRUE(opened[party][1] == (party == to ? x : IntMatrix{}));
      uint64_t received = 0;
      for (const auto& link : result.traffic[party].back().links) received += link.bytes_received;
      EXPECT_EQ(received, party == to ? 4 * kElement : 0u);
    }
  }
}

// ---- costs, as the header states them

struct Counted {
  uint64_t bytes = 0, rounds = 0;
};

// What the phase that is `back` phases before the last costs over all parties. Rounds: growth of
// the longest chain of messages at any party.
Counted CostOfPhase(const RunResult& result, size_t back) {
  Counted counted;
  uint64_t before = 0, after = 0;
  for (const auto& traffic : result.traffic) {
    // Phases are counted from the end: a party that sent nothing at first has no phase "start".
    const size_t phase = traffic.size() - 1 - back;
    uint64_t depth = 0;
    for (size_t p = 0; p < phase; ++p) depth += traffic[p].rounds;
    before = std::max(before, depth);
    after = std::max(after, depth + traffic[phase].rounds);
    for (const auto& link : traffic[phase].links) counted.bytes += link.bytes_sent;
  }
  counted.rounds = after - before;
  return counted;
}

// What the function that `prepare` returns costs.
Counted CostOf(const std::function<std::function<void()>(Engine&)>& prepare) {
  return CostOfPhase(RunAndComparePlan(Replicated(),
                                       [&](Engine& engine, size_t) {
                                         auto measured = prepare(engine);
                                         engine.BeginPhase("test");
                                         measured();
                                       }),
                     0);
}

TEST(ReplicatedEngineTest, CostsAreThoseStated) {
  std::mt19937_64 random(5);
  const IntMatrix x = RandomMatrix(random, {50, 3}, 9), y = RandomMatrix(random, {50, 2}, 9);
  const IntMatrix column = RandomMatrix(random, {50, 1}, 9);

  auto input = CostOf(
      [&](Engine& engine) -> std::function<void()> { return [&] { InputOne(engine, 2, x, 9); }; });
  EXPECT_EQ(input.bytes, 150 * kElement);
  EXPECT_EQ(input.rounds, 1u);

  auto product = [&](Kind kind, const IntMatrix& left, const IntMatrix& right, Way l, Way r) {
    return CostOf([&, kind, l, r](Engine& engine) -> std::function<void()> {
      // Shared without a message, so that all parties begin at the same depth.
      auto make = [&](Way way, const IntMatrix& m) -> Operand {
        if (way.as == As::kShared) return engine.Public({m, 0});
        return MakeOperand(engine, way, m, 9);
      };
      Product p{kind, make(l, left), make(r, right)};
      return [&engine, p] { engine.Multiply({&p, 1}); };
    });
  };
  const Way shared = {As::kShared, 0}, mine = {As::kPrivate, 1}, yours = {As::kPrivate, 2};
  // Shared operands: by the size of the result alone.
  auto gram = product(Kind::kGram, x, y, shared, shared);
  EXPECT_EQ(gram.bytes, 3 * 6 * kElement);
  EXPECT_EQ(gram.rounds, 1u);
  EXPECT_EQ(product(Kind::kElementwise, x, column, shared, shared).bytes, 3 * 150 * kElement);
  // One private operand, two of different owners, two of one owner.
  auto mixed = product(Kind::kGram, x, y, mine, shared);
  EXPECT_EQ(mixed.bytes, (150 + 3 * 6) * kElement);
  EXPECT_EQ(mixed.rounds, 2u);
  auto both = product(Kind::kGram, x, y, mine, yours);
  EXPECT_EQ(both.bytes, (150 + 100 + 3 * 6) * kElement);
  EXPECT_EQ(both.rounds, 2u);
  auto owned = product(Kind::kGram, x, y, mine, mine);
  EXPECT_EQ(owned.bytes, 6 * kElement);
  EXPECT_EQ(owned.rounds, 1u);
  // Public times shared is local.
  EXPECT_EQ(product(Kind::kElementwise, x, x, {As::kPublic, 0}, shared).bytes, 0u);

  auto rescale = CostOf([&](Engine& engine) -> std::function<void()> {
    Shared value = engine.Public({x, 20});
    return [&engine, value] { engine.Rescale(std::vector{value}, 10); };
  });
  EXPECT_EQ(rescale.bytes, 150 * (3 * kElement + 3 * 2));  // 10 bits are two bytes
  EXPECT_EQ(rescale.rounds, 2u);
  auto raise = CostOf([&](Engine& engine) -> std::function<void()> {
    Shared value = engine.Public({x, 20});
    return [&engine, value] { engine.Rescale(std::vector{value}, 30); };
  });
  EXPECT_EQ(raise.bytes, 0u);

  auto reveal = CostOf([&](Engine& engine) -> std::function<void()> {
    Shared value = engine.Public({x, 0});
    return [&engine, value] { engine.Reveal("out", std::vector{value}, kEverybody); };
  });
  EXPECT_EQ(reveal.bytes, 3 * 150 * kElement);
  EXPECT_EQ(reveal.rounds, 1u);
}

TEST(ReplicatedEngineTest, FixedOperandsAreSharedOnce) {
  std::mt19937_64 random(6);
  const IntMatrix x = RandomMatrix(random, {50, 3}, 9), y = RandomMatrix(random, {50, 2}, 9);
  auto result = RunAndComparePlan(Replicated(), [&](Engine& engine, size_t) {
    Operand fixed = MakeOperand(engine, {As::kFixed, 0}, x, 9);
    Shared shared = engine.Public({y, 0});
    for (const char* phase : {"first", "second"}) {
      engine.BeginPhase(phase);
      std::vector<Product> products = {{Kind::kGram, fixed, shared}, {Kind::kGram, shared, fixed}};
      engine.Multiply(products);
    }
  });
  const Counted first = CostOfPhase(result, 1), second = CostOfPhase(result, 0);
  EXPECT_EQ(first.bytes, (150 + 2 * 3 * 6) * kElement);
  EXPECT_EQ(first.rounds, 2u);
  EXPECT_EQ(second.bytes, 2 * 3 * 6 * kElement);
  EXPECT_EQ(second.rounds, 1u);
}

TEST(ReplicatedEngineTest, LargeFixedOperandsAreSentAgain) {
  const size_t rows = replicated::Options{}.max_kept_bytes / kElement + 1;
  PlanEngine plan("replicated", 3);
  PrivateMatrix large{0, {rows, 1}, 0, 1.0, nullptr}, small{0, {rows - 1, 1}, 0, 1.0, nullptr};
  for (const auto& [matrix, second] : {std::pair{large, rows + 3}, std::pair{small, size_t{3}}}) {
    Product product{Kind::kGram, plan.Register(matrix), PrivateMatrix{1, {0, 1}, 0, 1.0, nullptr}};
    std::get<PrivateMatrix>(product.right).shape = matrix.shape;
    product.right = plan.Register(std::get<PrivateMatrix>(product.right));
    plan.Multiply({&product, 1});
    plan.BeginPhase("again");
    plan.Multiply({&product, 1});
    // Both operands are as large.
    EXPECT_EQ(plan.phases().back().Total().bytes, (second == 3 ? 3 : 2 * rows + 3) * kElement);
  }
}

TEST(ReplicatedEngineTest, UnlikeOperationsShareRounds) {
  const IntMatrix x = Row({1, 2, 3});
  auto counted = CostOf([&](Engine& engine) -> std::function<void()> {
    Shared a = engine.Public({x, 2});
    return [&engine, &x, a] {
      Batch batch(engine);
      Product product{Kind::kElementwise, a, Private(engine, 1, x, 4)};
      auto products = batch.Multiply({&product, 1});
      PrivateMatrix matrix = Private(engine, 2, x, 4);
      auto inputs = batch.Input({&matrix, 1});
      auto rescaled = batch.Rescale(std::vector{a}, 1);
      auto opened = batch.Reveal("out", std::vector{a}, kEverybody);
      batch.Flush();
      EXPECT_EQ(products.Get().size() + inputs.Get().size() + rescaled.Get().size(), 3u);
    };
  });
  EXPECT_EQ(counted.rounds, 2u);
}

// ---- truncation

TEST(ReplicatedEngineTest, RescaleErrsByLessThanOneUnitAndIsUnbiased) {
  std::mt19937_64 random(13);
  const int shift = 40;
  const size_t size = 20000;
  IntMatrix x = RandomMatrix(random, {size, 1}, int64_t{1} << 62);
  // The largest bound that a double can state below 2^126.
  const Int128 largest = (Int128{1} << 126) - (Int128{1} << 73);
  x.values[0] = largest;
  x.values[1] = -largest;
  x.values[2] = 0;
  x.values[3] = -1;
  x.values[4] = (Int128{1} << shift) * -12345;
  auto opened = OpenAtAll(Replicated(), [&](Engine& engine) {
    Shared value = InputOne(engine, 0, x, std::nextafter(std::ldexp(1.0, 86), 0.0), shift);
    return engine.Reveal("out", engine.Rescale(std::vector{value}, 0), kEverybody);
  });
  double excess = 0, variance = 0;
  for (size_t i = 0; i < size; ++i) {
    const Int128 down = x.values[i] >> shift;  // towards minus infinity
    const double fraction = std::ldexp(static_cast<double>(x.values[i] - (down << shift)), -shift);
    const Int128 up = opened[0].values[i] - down;
    ASSERT_TRUE(up == 0 || (up == 1 && fraction > 0)) << i;
    excess += static_cast<double>(up) - fraction;
    variance += fraction * (1 - fraction);
  }
  // A standard normal beyond 4.9 has probability 1e-6.
  EXPECT_LT(std::abs(excess), 4.9 * std::sqrt(variance));
}

TEST(ReplicatedEngineTest, RescaleByEveryShift) {
  const Int128 v = (Int128{0x123456789abcdef} << 60) + 0x0fedcba987654321;
  for (int shift : {1, 2, 63, 64, 65, 100, 126}) {
    const IntMatrix x = Row({v, -v, 0, 1, -1});
    auto opened = OpenAtAll(Replicated(), [&](Engine& engine) {
      Shared value = InputOne(engine, 2, x, std::ldexp(1.0, 121 - shift), shift);
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

TEST(ReplicatedEngineTest, AddingFractionBitsIsExact) {
  const IntMatrix x = Row({3, -5});
  auto opened = OpenAtAll(Replicated(), [&](Engine& engine) {
    Shared value = InputOne(engine, 0, x, 8);
    std::vector<Shared> same = engine.Rescale(std::vector{value}, 0);
    std::vector<Shared> more = engine.Rescale(same, 7);
    EXPECT_EQ(more[0].fraction_bits, 7);
    return engine.Reveal("out", more, kEverybody);
  });
  EXPECT_TRUE(opened[0] == Row({3 * 128, -5 * 128}));
}

// ---- refusals

ErrorCode CodeOf(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const Error& e) {
    EXPECT_FALSE(e.hint().empty());
    return e.code();
  }
}

TEST(ReplicatedEngineTest, UndeclaredReleaseIsRefusedBeforeAnythingIsSent) {
  const IntMatrix x = Row({1});
  auto result = RunAll(Replicated(), [&](Engine& engine, size_t) {
    Shared value = engine.Public({x, 0});
    engine.BeginPhase("open");
    Batch batch(engine);
    batch.Rescale(std::vector{engine.Public({Row({4}), 2})}, 0);
    batch.Reveal("secret", std::vector{value}, kEverybody);
    batch.Flush();
  });
  for (size_t party = 0; party < 3; ++party) {
    ASSERT_TRUE(result.errors[party]);
    EXPECT_EQ(CodeOf(result.errors[party]), ErrorCode::kRefused);
    for (const auto& link : result.traffic[party].back().links) EXPECT_EQ(link.bytes_sent, 0u);
  }
}

TEST(ReplicatedEngineTest, ResultThatCannotFitIsRefusedBeforeAnythingIsSent) {
  const IntMatrix x = Row({1});
  auto result = RunAll(Replicated(), [&](Engine& engine, size_t) {
    Product product{Kind::kGram, Private(engine, 0, x, std::ldexp(1.0, 63)),
                    Private(engine, 1, x, std::ldexp(1.0, 63))};
    engine.Multiply({&product, 1});
  });
  for (size_t party = 0; party < 3; ++party) {
    ASSERT_TRUE(result.errors[party]);
    EXPECT_EQ(CodeOf(result.errors[party]), ErrorCode::kBadInput);
  }
}

TEST(ReplicatedEngineTest, ValueBeyondItsBoundIsToldToItsOwnerOnly) {
  const IntMatrix x = Row({1, 7});
  for (bool streamed : {false, true}) {
    auto result = RunAll(Replicated(), [&](Engine& engine, size_t) {
      if (!streamed) {
        InputOne(engine, 0, x, 5);
        return;
      }
      Product product{Kind::kGram, Private(engine, 0, x, 5), Private(engine, 1, x, 8)};
      engine.Multiply({&product, 1});
    });
    ASSERT_TRUE(result.errors[0]);
    EXPECT_EQ(CodeOf(result.errors[0]), ErrorCode::kBadData);
    // Who waits for it hears that it stopped, not why in detail.
    ASSERT_TRUE(result.errors[2]);
    try {
      std::rethrow_exception(result.errors[2]);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kPeerLost);
      EXPECT_NE(error.message().find("party0"), std::string::npos) << error.message();
      EXPECT_EQ(error.message().find("column"), std::string::npos) << error.message();
    }
  }
}

TEST(ReplicatedEngineTest, NeedsExactlyThreeParties) {
  RunOptions two = Replicated();
  two.num_parties = 2;
  auto result = RunAll(two, [](Engine&, size_t) { FAIL() << "an engine of two parties was made"; });
  for (const auto& error : result.errors) EXPECT_EQ(CodeOf(error), ErrorCode::kUsage);
  EXPECT_THROW(PlanEngine("replicated", 2), Error);
  EXPECT_THROW(PlanEngine("replicated", 4), Error);
}

// A fixed operand that is sent again must not have changed in between.
TEST(ReplicatedEngineTest, ChangedFixedOperandIsNotSentAgain) {
  const size_t rows = 5000;
  RunOptions options = Replicated();
  options.make = [](net::Channel& channel, ReleaseGate& gate) -> std::unique_ptr<Engine> {
    return std::make_unique<ReplicatedEngine<Ring128>>(channel, gate, ChannelTapes(channel, "test"),
                                                       replicated::Options{0});
  };
  auto result = RunAll(options, [&](Engine& engine, size_t self) {
    auto entry = std::make_shared<Int128>(1);
    auto column = [&](PartyIndex owner) {
      PrivateMatrix matrix{owner, {rows, 1}, 0, 2.0, nullptr};
      if (self == owner) {
        matrix.read = [entry](size_t, size_t count, Int128* out) {
          std::fill_n(out, count, *entry);
        };
      }
      return engine.Register(matrix);
    };
    Product product{Kind::kGram, column(0), column(1)};
    engine.Multiply({&product, 1});
    auto opened = engine.Reveal("out", engine.Multiply({&product, 1}), kEverybody);
    EXPECT_TRUE(opened[0].values[0] == static_cast<Int128>(rows));
    if (self == 0) *entry = 2;
    engine.Multiply({&product, 1});
  });
  ASSERT_TRUE(result.errors[0]);
  EXPECT_EQ(CodeOf(result.errors[0]), ErrorCode::kBadData);
  ASSERT_TRUE(result.errors[2]);
  EXPECT_EQ(CodeOf(result.errors[2]), ErrorCode::kPeerLost);
}

// ---- randomness

// Notes the bytes that are read of a tape, and how often.
class NotingTape : public Tape {
 public:
  NotingTape(std::unique_ptr<Tape> tape, std::vector<int>& reads)
      : tape_(std::move(tape)), reads_(reads) {}
  void Read(uint64_t offset, std::span<uint8_t> out) override {
    if (reads_.size() < offset + out.size()) reads_.resize(offset + out.size());
    for (size_t i = 0; i < out.size(); ++i) ++reads_[offset + i];
    tape_->Read(offset, out);
  }

 private:
  std::unique_ptr<Tape> tape_;
  std::vector<int>& reads_;
};

// No two operations, of one Execute or of two, read the same randomness: every byte of every tape
// is read exactly once or not at all.
TEST(ReplicatedEngineTest, RandomnessIsNeverUsedTwice) {
  const IntMatrix x = Row({1, 2, 3}), y = Row({4, 5, 6});
  std::vector<int> reads[3][3];
  RunOptions options = Replicated();
  options.make = [&](net::Channel& channel, ReleaseGate& gate) -> std::unique_ptr<Engine> {
    TapeFactory tapes = ChannelTapes(channel, "test");
    const PartyIndex self = channel.self();
    return std::make_unique<ReplicatedEngine<Ring128>>(
        channel, gate, [&reads, tapes, self](PartyIndex peer) -> std::unique_ptr<Tape> {
          return std::make_unique<NotingTape>(tapes(peer), reads[self][peer]);
        });
  };
  RunAll(options, [&](Engine& engine, size_t) {
    for (int time = 0; time < 2; ++time) {
      Shared a = InputOne(engine, 0, x, 10, 1), b = InputOne(engine, 1, y, 10, 1);
      std::vector<Product> products = {
          {Kind::kElementwise, a, b},
          {Kind::kElementwise, a, b},
          {Kind::kGram, a, a},
          {Kind::kMatrix, b, engine.Transpose(a)},
          {Kind::kGram, Private(engine, 2, x, 10), Private(engine, 2, y, 10)}};
      auto shares = engine.Multiply(products);
      engine.Rescale(std::vector{shares[0], shares[0], shares[2]}, 1);
      const std::vector<std::optional<int>> bits = {1, 1, 0, std::nullopt, 0};
      products[4] = {Kind::kGram, Private(engine, 2, x, 10, 1), Private(engine, 2, y, 10)};
      engine.MultiplyAndRescale(products, bits);
      engine.Reveal("out", shares, kEverybody);
    }
  }).ThrowIfFailed();
  for (size_t self = 0; self < 3; ++self) {
    for (size_t peer = 0; peer < 3; ++peer) {
      if (self == peer) continue;
      const auto& counts = reads[self][peer];
      EXPECT_GT(counts.size(), 100u);
      EXPECT_EQ(std::count_if(counts.begin(), counts.end(), [](int n) { return n > 1; }), 0)
          << self << " with " << peer;
    }
  }
}

}  // namespace
}  // namespace partita::mpc::testing::replicated_engine_test
