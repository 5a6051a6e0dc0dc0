// Every operation of the engine `dealer` with every kind of operand against plaintext integers, and
// its costs against the PlanEngine.
#include "mpc/dealer_engine.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <string>

#include "base/error.h"
#include "mpc/batch.h"
#include "mpc/dealer_node.h"
#include "tests/mpc/harness.h"
#include "tests/mpc/transcript.h"

namespace partita::mpc::testing::dealer_engine_test {
namespace {

using Kind = Product::Kind;

// How an operand enters a product.
enum class As { kShared, kPublic, kPrivate0, kPrivate1, kFixed0, kFixed1 };
constexpr As kAll[] = {As::kShared,   As::kPublic, As::kPrivate0,
                       As::kPrivate1, As::kFixed0, As::kFixed1};

struct Case {
  Kind kind;
  Shape left, right;
};

// Owners 0 and last: the correction goes to either side of a private product.
PartyIndex OwnerFor(As as, size_t num_parties) {
  return as == As::kPrivate0 || as == As::kFixed0 ? 0 : num_parties - 1;
}

Operand MakeOperand(Engine& engine, As as, const IntMatrix& values, double bound,
                    PartyIndex shared_owner) {
  if (as == As::kShared) {
    std::vector<PrivateMatrix> inputs = {Private(engine, shared_owner, values, bound)};
    return engine.Input(inputs)[0];
  }
  if (as == As::kPublic) return PublicMatrix{values, 0};
  PrivateMatrix matrix = Private(engine, OwnerFor(as, engine.num_parties()), values, bound);
  if (as == As::kFixed0 || as == As::kFixed1) return engine.Register(matrix);
  return matrix;
}

// How many parties, and whether openings between two of them pass by, however small.
struct Setting {
  size_t num_parties;
  bool passing;
};

std::string NameOf(const ::testing::TestParamInfo<Setting>& setting) {
  return std::to_string(setting.param.num_parties) + (setting.param.passing ? "Passing" : "");
}

std::unique_ptr<Engine> MakeWith(net::Channel& channel, ReleaseGate& gate, const TapeFactory& tapes,
                                 const DealerOptions& options) {
  if (channel.self() + 1 == channel.num_parties())
    return std::make_unique<DealerNode<Ring128>>(channel, tapes, options);
  return std::make_unique<DealerEngine<Ring128>>(channel, gate, tapes, options);
}

RunOptions OptionsOf(const Setting& setting) {
  RunOptions options{.num_parties = setting.num_parties};
  if (!setting.passing) return options;
  options.make = [](net::Channel& channel, ReleaseGate& gate) {
    DealerOptions dealer;
    dealer.max_whole_bytes = 0;
    return MakeWith(channel, gate, ChannelTapes(channel, kDealerTapes), dealer);
  };
  return options;
}

class ProductTest : public ::testing::TestWithParam<Setting> {};

// All kinds of operands of one product at once: 36 products share one round.
void CheckAllOperandKinds(const Setting& setting, const Case& c, int64_t magnitude) {
  const size_t num_parties = setting.num_parties;
  std::mt19937_64 random(7 * num_parties + c.left.rows);
  IntMatrix left = RandomMatrix(random, c.left, magnitude);
  IntMatrix right = RandomMatrix(random, c.right, magnitude);
  const auto bound = static_cast<double>(magnitude);
  std::vector<std::vector<IntMatrix>> opened(num_parties + 2);
  auto result = RunAndComparePlan(OptionsOf(setting), [&](Engine& engine, size_t self) {
    std::vector<Product> products;
    for (As l : kAll) {
      for (As r : kAll) {
        products.push_back({c.kind, MakeOperand(engine, l, left, bound, 0),
                            MakeOperand(engine, r, right, bound, num_parties - 1)});
      }
    }
    auto shares = engine.Multiply(products);
    opened[self] = engine.Reveal("out", shares, kEverybody);
  });
  const IntMatrix truth = PlainProduct(c.kind, left, right);
  for (size_t party = 0; party < num_parties; ++party) {
    ASSERT_EQ(opened[party].size(), 36u);
    for (size_t i = 0; i < 36; ++i) {
      EXPECT_TRUE(opened[party][i] == truth)
          << "party " << party << ", operand kinds " << i / 6 << " and " << i % 6;
    }
  }
  // Nobody can tell the dealer anything.
  for (const auto& phase : result.traffic[num_parties]) {
    for (const auto& link : phase.links) EXPECT_EQ(link.bytes_received, 0u);
  }
}

TEST_P(ProductTest, Elementwise) {
  CheckAllOperandKinds(GetParam(), {Kind::kElementwise, {5, 3}, {5, 3}}, 1000);
  CheckAllOperandKinds(GetParam(), {Kind::kElementwise, {1, 1}, {1, 1}}, 1000);
  CheckAllOperandKinds(GetParam(), {Kind::kElementwise, {0, 4}, {0, 4}}, 1000);
}

TEST_P(ProductTest, ElementwiseBroadcast) {
  CheckAllOperandKinds(GetParam(), {Kind::kElementwise, {6, 1}, {6, 4}}, 1000);
  CheckAllOperandKinds(GetParam(), {Kind::kElementwise, {6, 4}, {6, 1}}, 1000);
}

TEST_P(ProductTest, Matrix) {
  CheckAllOperandKinds(GetParam(), {Kind::kMatrix, {3, 5}, {5, 2}}, 1000);
  CheckAllOperandKinds(GetParam(), {Kind::kMatrix, {1, 1}, {1, 1}}, 1000);
  CheckAllOperandKinds(GetParam(), {Kind::kMatrix, {3, 0}, {0, 2}}, 1000);
  CheckAllOperandKinds(GetParam(), {Kind::kMatrix, {0, 3}, {3, 2}}, 1000);
}

TEST_P(ProductTest, Gram) {
  CheckAllOperandKinds(GetParam(), {Kind::kGram, {7, 3}, {7, 2}}, 1000);
  CheckAllOperandKinds(GetParam(), {Kind::kGram, {1, 1}, {1, 1}}, 1000);
  CheckAllOperandKinds(GetParam(), {Kind::kGram, {0, 3}, {0, 2}}, 1000);
}

// More rows than a block, columns that do not divide a block, pieces that end within a row.
TEST_P(ProductTest, GramOverManyBlocks) {
  CheckAllOperandKinds(GetParam(), {Kind::kGram, {1777, 3}, {1777, 5}}, int64_t{1} << 30);
}

TEST_P(ProductTest, ElementwiseOverManyBlocks) {
  CheckAllOperandKinds(GetParam(), {Kind::kElementwise, {2099, 1}, {2099, 3}}, int64_t{1} << 30);
}

INSTANTIATE_TEST_SUITE_P(Parties, ProductTest,
                         ::testing::Values(Setting{2, false}, Setting{2, true}, Setting{3, false},
                                           Setting{3, true}, Setting{5, false}),
                         NameOf);

// Products of the kinds that pass by, with operands that several of them use.
std::vector<Product> SharedProducts(Engine& engine, const IntMatrix& x, const IntMatrix& y,
                                    const IntMatrix& weights) {
  std::vector<PrivateMatrix> inputs = {Private(engine, 0, x, 1000), Private(engine, 1, y, 1000),
                                       Private(engine, 1, weights, 1)};
  const std::vector<Shared> shared = engine.Input(inputs);
  const FixedOperand fixed_x = engine.Register(Private(engine, 0, x, 1000));
  const FixedOperand fixed_y = engine.Register(Private(engine, 1, y, 1000));
  return {{Kind::kGram, shared[0], fixed_x},          {Kind::kGram, shared[0], fixed_y},
          {Kind::kGram, fixed_x, shared[1]},          {Kind::kGram, shared[1], fixed_y},
          {Kind::kGram, shared[0], shared[1]},        {Kind::kGram, shared[0], shared[0]},
          {Kind::kElementwise, shared[2], fixed_x},   {Kind::kElementwise, fixed_y, shared[2]},
          {Kind::kElementwise, shared[2], shared[0]}, {Kind::kElementwise, shared[2], shared[2]}};
}

IntMatrix PlainShared(const Product& product, const IntMatrix& x, const IntMatrix& y,
                      const IntMatrix& weights) {
  const auto values = [&](const Operand& operand) -> const IntMatrix& {
    const Shape shape = ShapeOf(operand);
    return shape == x.shape ? x : shape == y.shape ? y : weights;
  };
  return PlainProduct(product.kind, values(product.left), values(product.right));
}

// Rounds, messages and every byte of them are those of openings that are held whole.
TEST(DealerEngineTest, PassingOpeningsAreTheSameBytes) {
  std::mt19937_64 random(633);
  const IntMatrix x = RandomMatrix(random, {3001, 3}, 1000);
  const IntMatrix y = RandomMatrix(random, {3001, 4}, 1000);
  const IntMatrix weights = RandomMatrix(random, {3001, 1}, 1);
  std::vector<std::vector<Bytes>> links[2];
  for (const bool passing : {false, true}) {
    Transcript transcript;
    RunOptions options{.num_parties = 2};
    options.make = [&](net::Channel& channel, ReleaseGate& gate) {
      DealerOptions dealer;
      if (passing) dealer.max_whole_bytes = 0;
      // The same tapes in both runs: of a pair the same key.
      const size_t self = channel.self();
      const TapeFactory tapes = [self](PartyIndex peer) {
        std::array<uint8_t, 32> key{};
        key[0] = static_cast<uint8_t>(1 + self + peer);
        return KeyTape(crypto::Key(key));
      };
      return MakeWith(channel, gate, tapes, dealer);
    };
    options.wrap = [&transcript](std::unique_ptr<net::Transport> inner) {
      return std::make_unique<RecordingTransport>(std::move(inner), transcript);
    };
    RunAndComparePlan(options, [&](Engine& engine, size_t self) {
      const std::vector<Product> products = SharedProducts(engine, x, y, weights);
      const auto opened = engine.Reveal("out", engine.Multiply(products), kEverybody);
      if (self > 1) return;  // the dealer opens nothing
      for (size_t i = 0; i < products.size(); ++i)
        EXPECT_TRUE(opened[i] == PlainShared(products[i], x, y, weights)) << self << ", " << i;
    });
    for (size_t from = 0; from < 3; ++from) {
      for (size_t to = 0; to < 3; ++to) {
        if (from != to) links[passing ? 1 : 0].push_back(transcript.Messages(from, to));
      }
    }
  }
  EXPECT_GT(links[0][0][0].size(), size_t{100'000});
  EXPECT_EQ(links[0], links[1]);
}

IntMatrix Row(std::vector<Int128> values) { return {{1, values.size()}, values}; }

// Runs `body`, which returns what it opened, at n parties; expects all to have opened the same.
std::vector<IntMatrix> OpenAtAll(size_t num_parties,
                                 const std::function<std::vector<IntMatrix>(Engine&)>& body) {
  std::vector<std::vector<IntMatrix>> opened(num_parties + 2);
  RunAndComparePlan({.num_parties = num_parties},
                    [&](Engine& engine, size_t self) { opened[self] = body(engine); });
  for (size_t party = 1; party < num_parties; ++party) {
    EXPECT_EQ(opened[party].size(), opened[0].size());
    for (size_t i = 0; i < opened[0].size(); ++i) EXPECT_TRUE(opened[party][i] == opened[0][i]);
  }
  return opened[0];
}

Shared InputOne(Engine& engine, PartyIndex owner, const IntMatrix& values, double bound,
                int fraction_bits = 0) {
  std::vector<PrivateMatrix> inputs = {Private(engine, owner, values, bound, fraction_bits)};
  return engine.Input(inputs)[0];
}

TEST(DealerEngineTest, LargestProductsFit) {
  const Int128 max = (Int128{1} << 62) - 1;
  IntMatrix x = Row({max, -max, max, 0}), y = Row({max, max, -max, -max});
  const double bound = std::ldexp(1.0, 62);
  auto opened = OpenAtAll(2, [&](Engine& engine) {
    std::vector<Product> products = {
        {Kind::kElementwise, InputOne(engine, 0, x, bound), InputOne(engine, 1, y, bound)},
        {Kind::kElementwise, Private(engine, 0, x, bound), Private(engine, 1, y, bound)},
        {Kind::kElementwise, InputOne(engine, 0, x, bound), Private(engine, 1, y, bound)}};
    return engine.Reveal("out", engine.Multiply(products), kEverybody);
  });
  for (const auto& m : opened) EXPECT_TRUE(m == PlainProduct(Kind::kElementwise, x, y));
}

TEST(DealerEngineTest, SquareOpensItsOperandOnce) {
  std::mt19937_64 random(3);
  IntMatrix x = RandomMatrix(random, {4, 4}, 1000);
  for (Kind kind : {Kind::kElementwise, Kind::kMatrix, Kind::kGram}) {
    std::vector<std::vector<IntMatrix>> opened(4);
    auto result = RunAndComparePlan({}, [&](Engine& engine, size_t self) {
      Shared shared = InputOne(engine, 0, x, 1000);
      engine.BeginPhase("square");
      std::vector<Product> products = {{kind, shared, shared}};
      auto squares = engine.Multiply(products);
      engine.BeginPhase("open");
      opened[self] = engine.Reveal("out", squares, 0);
    });
    EXPECT_TRUE(opened[0][0] == PlainProduct(kind, x, x));
    EXPECT_TRUE(opened[1][0].values.empty());
    EXPECT_EQ(result.traffic[0][0].links[1].bytes_sent, 16u * 16);
  }
}

TEST(DealerEngineTest, LinearAlgebraMatchesPlaintext) {
  std::mt19937_64 random(11);
  IntMatrix x = RandomMatrix(random, {3, 4}, 100), y = RandomMatrix(random, {3, 4}, 100);
  IntMatrix left = RandomMatrix(random, {2, 3}, 10), right = RandomMatrix(random, {4, 2}, 10);
  for (size_t n : {2, 3}) {
    auto opened = OpenAtAll(n, [&](Engine& engine) {
      Shared a = InputOne(engine, 0, x, 100), b = InputOne(engine, 1, y, 100);
      std::vector<Shared> parts = {a, b};
      std::vector<Shared> values = {engine.Public({x, 0}),
                                    engine.Add(a, b),
                                    engine.Subtract(a, b),
                                    engine.Scale(a, -7),
                                    engine.MultiplyPublic(PublicMatrix{left, 0}, a),
                                    engine.MultiplyPublic(a, PublicMatrix{right, 0}),
                                    engine.Transpose(a),
                                    engine.Slice(a, 1, 2, {2, 2}),
                                    engine.Concatenate(parts, true),
                                    engine.Concatenate(parts, false),
                                    engine.SumRows(a)};
      return engine.Reveal("out", values, kEverybody);
    });
    ASSERT_EQ(opened.size(), 11u);
    auto at = [](const IntMatrix& m, size_t r, size_t c) { return m.values[r * m.shape.cols + c]; };
    EXPECT_TRUE(opened[0] == x);
    EXPECT_TRUE(opened[4] == PlainProduct(Kind::kMatrix, left, x));
    EXPECT_TRUE(opened[5] == PlainProduct(Kind::kMatrix, x, right));
    for (size_t i = 0; i < 3; ++i) {
      for (size_t j = 0; j < 4; ++j) {
        EXPECT_EQ(at(opened[1], i, j), at(x, i, j) + at(y, i, j));
        EXPECT_EQ(at(opened[2], i, j), at(x, i, j) - at(y, i, j));
        EXPECT_EQ(at(opened[3], i, j), -7 * at(x, i, j));
        EXPECT_EQ(at(opened[6], j, i), at(x, i, j));
        EXPECT_EQ(at(opened[8], i, j), at(x, i, j));
        EXPECT_EQ(at(opened[8], i + 3, j), at(y, i, j));
        EXPECT_EQ(at(opened[9], i, j), at(x, i, j));
        EXPECT_EQ(at(opened[9], i, j + 4), at(y, i, j));
      }
    }
    EXPECT_TRUE(opened[7] ==
                (IntMatrix{{2, 2}, {at(x, 1, 2), at(x, 1, 3), at(x, 2, 2), at(x, 2, 3)}}));
    for (size_t j = 0; j < 4; ++j) {
      EXPECT_EQ(at(opened[10], 0, j), at(x, 0, j) + at(x, 1, j) + at(x, 2, j));
    }
  }
}

}  // namespace
}  // namespace partita::mpc::testing::dealer_engine_test
