#include "tests/mpc/operands.h"

#include <gtest/gtest.h>

#include <random>

namespace partita::mpc::testing {

using Kind = Product::Kind;

IntMatrix Row(std::vector<Int128> values) { return {{1, values.size()}, std::move(values)}; }

Shared InputOne(Engine& engine, PartyIndex owner, const IntMatrix& values, double bound,
                int fraction_bits) {
  std::vector<PrivateMatrix> inputs = {Private(engine, owner, values, bound, fraction_bits)};
  return engine.Input(inputs)[0];
}

std::vector<IntMatrix> OpenAtAll(const RunOptions& options,
                                 const std::function<std::vector<IntMatrix>(Engine&)>& body) {
  std::vector<std::vector<IntMatrix>> opened(options.num_parties + 1);
  RunAndComparePlan(options, [&](Engine& engine, size_t self) { opened[self] = body(engine); });
  for (size_t party = 1; party < options.num_parties; ++party) {
    EXPECT_EQ(opened[party].size(), opened[0].size());
    for (size_t i = 0; i < opened[0].size(); ++i) EXPECT_TRUE(opened[party][i] == opened[0][i]);
  }
  return opened[0];
}

Operand MakeOperand(Engine& engine, Way way, const IntMatrix& values, double bound,
                    int fraction_bits) {
  if (way.as == As::kPublic) return PublicMatrix{values, fraction_bits};
  const PrivateMatrix matrix = Private(engine, way.owner, values, bound, fraction_bits);
  if (way.as == As::kShared) return engine.Input({&matrix, 1})[0];
  if (way.as == As::kFixed) return engine.Register(matrix);
  return matrix;
}

void CheckAllWays(const RunOptions& options, std::span<const Way> ways, Kind kind, Shape left_shape,
                  Shape right_shape, int64_t magnitude) {
  SCOPED_TRACE(options.num_parties);
  std::mt19937_64 random(left_shape.rows + 31 * right_shape.cols);
  const IntMatrix left = RandomMatrix(random, left_shape, magnitude);
  const IntMatrix right = RandomMatrix(random, right_shape, magnitude);
  const auto bound = static_cast<double>(magnitude);
  auto opened = OpenAtAll(options, [&](Engine& engine) {
    std::vector<Operand> lefts, rights;
    for (Way way : ways) lefts.push_back(MakeOperand(engine, way, left, bound));
    for (Way way : ways) rights.push_back(MakeOperand(engine, way, right, bound));
    std::vector<Product> products;
    for (const Operand& l : lefts) {
      for (const Operand& r : rights) products.push_back({kind, l, r});
    }
    auto shares = engine.Multiply(products);
    auto again = engine.Multiply(products);
    shares.insert(shares.end(), again.begin(), again.end());
    return engine.Reveal("out", shares, kEverybody);
  });
  const IntMatrix truth = PlainProduct(kind, left, right);
  ASSERT_EQ(opened.size(), 2 * ways.size() * ways.size());
  for (size_t i = 0; i < opened.size(); ++i) {
    EXPECT_TRUE(opened[i] == truth)
        << "operand kinds " << i / ways.size() % ways.size() << " and " << i % ways.size()
        << ", time " << i / ways.size() / ways.size();
  }
}

void CheckLinearAlgebra(const RunOptions& options) {
  std::mt19937_64 random(11);
  const IntMatrix x = RandomMatrix(random, {3, 4}, 100), y = RandomMatrix(random, {3, 4}, 100);
  const IntMatrix left = RandomMatrix(random, {2, 3}, 10), right = RandomMatrix(random, {4, 2}, 10);
  auto opened = OpenAtAll(options, [&](Engine& engine) {
    Shared a = InputOne(engine, 0, x, 100), b = engine.Public({y, 0});
    std::vector<Shared> values = {b,
                                  engine.Add(a, b),
                                  engine.Subtract(b, a),
                                  engine.Scale(b, -7),
                                  engine.MultiplyPublic(PublicMatrix{left, 0}, b),
                                  engine.MultiplyPublic(a, PublicMatrix{right, 0}),
                                  engine.SumRows(a),
                                  engine.Slice(engine.Transpose(a), 1, 1, {2, 2})};
    return engine.Reveal("out", values, kEverybody);
  });
  ASSERT_EQ(opened.size(), 8u);
  EXPECT_TRUE(opened[0] == y);
  EXPECT_TRUE(opened[4] == PlainProduct(Kind::kMatrix, left, y));
  EXPECT_TRUE(opened[5] == PlainProduct(Kind::kMatrix, x, right));
  EXPECT_TRUE(opened[6] == PlainProduct(Kind::kMatrix, Row({1, 1, 1}), x));
  EXPECT_TRUE(opened[7].values[1] == x.values[2 * 4 + 1]);
  for (size_t i = 0; i < x.values.size(); ++i) {
    EXPECT_TRUE(opened[1].values[i] == x.values[i] + y.values[i]);
    EXPECT_TRUE(opened[2].values[i] == y.values[i] - x.values[i]);
    EXPECT_TRUE(opened[3].values[i] == -7 * y.values[i]);
  }
}

}  // namespace partita::mpc::testing
