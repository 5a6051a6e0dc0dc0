// What engines refuse, and what happens when a peer goes away.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "base/error.h"
#include "mpc/dealer_engine.h"
#include "tests/mpc/harness.h"

namespace partita::mpc::testing::engine_errors_test {
namespace {

using Kind = Product::Kind;
using ::testing::AnyOf;
using ::testing::HasSubstr;

ErrorCode CodeOf(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    EXPECT_FALSE(error.message().empty());
    EXPECT_FALSE(error.hint().empty());
    return error.code();
  }
  ADD_FAILURE() << "nothing was thrown";
  return ErrorCode::kInternal;
}

Shared Value(Shape shape, int fraction_bits = 0, double bound = 1) {
  return {shape, fraction_bits, bound, std::make_shared<Shared::Payload>()};
}

struct PlanTest : ::testing::Test {
  PlanEngine engine{"dealer", 2};
  ErrorCode Multiply(Kind kind, Operand left, Operand right) {
    std::vector<Product> products = {{kind, std::move(left), std::move(right)}};
    return CodeOf([&] { engine.Multiply(products); });
  }
};

TEST_F(PlanTest, ShapesThatDoNotFit) {
  EXPECT_EQ(Multiply(Kind::kElementwise, Value({2, 3}), Value({2, 2})), ErrorCode::kUsage);
  EXPECT_EQ(Multiply(Kind::kElementwise, Value({3, 1}), Value({2, 2})), ErrorCode::kUsage);
  EXPECT_EQ(Multiply(Kind::kMatrix, Value({2, 3}), Value({2, 3})), ErrorCode::kUsage);
  EXPECT_EQ(Multiply(Kind::kGram, Value({2, 3}), Value({3, 2})), ErrorCode::kUsage);
  Shared a = Value({2, 3}), b = Value({3, 2}), c = Value({2, 3}, 5);
  EXPECT_EQ(CodeOf([&] { engine.Add(a, b); }), ErrorCode::kUsage);
  EXPECT_EQ(CodeOf([&] { engine.Add(a, c); }), ErrorCode::kUsage);
  EXPECT_EQ(CodeOf([&] { engine.Subtract(a, b); }), ErrorCode::kUsage);
  EXPECT_EQ(CodeOf([&] { engine.Slice(a, 1, 0, {2, 1}); }), ErrorCode::kUsage);
  EXPECT_EQ(CodeOf([&] { engine.Slice(a, 0, 0, {1, SIZE_MAX}); }), ErrorCode::kUsage);
  EXPECT_EQ(CodeOf([&] { engine.Concatenate({}, true); }), ErrorCode::kUsage);
  std::vector<Shared> parts = {a, b};
  EXPECT_EQ(CodeOf([&] { engine.Concatenate(parts, true); }), ErrorCode::kUsage);
  EXPECT_EQ(CodeOf([&] { engine.Public({{{2, 2}, {1}}, 0}); }), ErrorCode::kUsage);
}

TEST_F(PlanTest, UnknownPartiesAndUnregisteredOperands) {
  EXPECT_EQ(CodeOf([&] { engine.Register({2, {1, 1}, 0, 1, nullptr}); }), ErrorCode::kUsage);
  PrivateMatrix matrix{2, {1, 1}, 0, 1, nullptr};
  EXPECT_EQ(CodeOf([&] { engine.Input({&matrix, 1}); }), ErrorCode::kUsage);
  matrix.owner = 0;
  EXPECT_EQ(Multiply(Kind::kElementwise, FixedOperand{matrix, 0}, Value({1, 1})),
            ErrorCode::kUsage);
  EXPECT_EQ(Multiply(Kind::kElementwise, FixedOperand{matrix, 77}, Value({1, 1})),
            ErrorCode::kUsage);
  Shared value = Value({1, 1});
  EXPECT_EQ(CodeOf([&] { engine.Reveal("out", {&value, 1}, 2); }), ErrorCode::kUsage);
}

// The largest that fits and the first that does not.
TEST_F(PlanTest, BoundsAreCheckedExactly) {
  const double half = std::ldexp(1.0, 63), below = std::nextafter(half, 0);
  std::vector<Product> fits = {
      {Kind::kElementwise, Value({1, 1}, 0, below), Value({1, 1}, 0, half)}};
  EXPECT_NO_THROW(engine.Multiply(fits));
  EXPECT_EQ(Multiply(Kind::kElementwise, Value({1, 1}, 0, half), Value({1, 1}, 0, half)),
            ErrorCode::kBadInput);
  // Contracted length and fraction bits count.
  const double quarter = std::ldexp(1.0, 20);
  EXPECT_EQ(Multiply(Kind::kGram, Value({4, 1}, 42, quarter), Value({4, 1}, 42, quarter)),
            ErrorCode::kBadInput);
  EXPECT_EQ(Multiply(Kind::kElementwise, Value({1, 1}, 0, NAN), Value({1, 1})),
            ErrorCode::kBadInput);
  PrivateMatrix input{0, {1, 1}, 100, std::ldexp(1.0, 26), nullptr};
  EXPECT_EQ(CodeOf([&] { engine.Input({&input, 1}); }), ErrorCode::kBadInput);
  Shared large = Value({1, 1}, 0, std::ldexp(1.0, 125));
  EXPECT_EQ(CodeOf([&] { engine.Add(large, large); }), ErrorCode::kBadInput);
  EXPECT_EQ(CodeOf([&] { engine.Scale(large, 2); }), ErrorCode::kBadInput);
}

TEST(EngineErrorsTest, WhatCannotFitIsRefusedBeforeAnythingIsSent) {
  auto result = RunAll({}, [&](Engine& engine, size_t) {
    Shared x = engine.Public({{{1, 1}, {1}}, 0});
    x.bound = std::ldexp(1.0, 70);
    std::vector<Product> products = {{Kind::kElementwise, x, x}};
    EXPECT_EQ(CodeOf([&] { engine.Multiply(products); }), ErrorCode::kBadInput);
  });
  result.ThrowIfFailed();
  for (uint64_t depth : result.depth) EXPECT_EQ(depth, 0u);
  for (const auto& traffic : result.traffic) EXPECT_TRUE(traffic.empty());
}

TEST(EngineErrorsTest, AValueBeyondItsBoundIsItsOwnersErrorOnly) {
  IntMatrix x{{3, 2}, {1, 2, 3, 4, 50, 6}};
  auto result = RunAll({}, [&](Engine& engine, size_t) {
    std::vector<PrivateMatrix> inputs = {Private(engine, 0, x, 10)};
    auto shares = engine.Input(inputs);
    engine.Reveal("out", shares, kEverybody);
  });
  try {
    std::rethrow_exception(result.errors[0]);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kBadData);
    EXPECT_THAT(error.message(), HasSubstr("row 2, column 0"));
  }
  try {
    std::rethrow_exception(result.errors[1]);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kPeerLost);
    EXPECT_EQ(error.message().find("row 2"), std::string::npos);
  }
}

TEST(EngineErrorsTest, MissingValuesAtTheOwner) {
  auto result = RunAll({}, [&](Engine& engine, size_t self) {
    PrivateMatrix matrix{0, {2, 2}, 0, 1, nullptr};
    if (self == 0) {
      EXPECT_EQ(CodeOf([&] { engine.Input({&matrix, 1}); }), ErrorCode::kUsage);
    } else {
      engine.Input({&matrix, 1});
    }
  });
  result.ThrowIfFailed();
}

TEST(EngineErrorsTest, HandlesOfAnotherEngineAreRefused) {
  auto result = RunAll({}, [&](Engine& engine, size_t self) {
    if (self == 2) return;
    Shared foreign = Value({1, 1});
    EXPECT_EQ(CodeOf([&] { engine.Scale(foreign, 2); }), ErrorCode::kUsage);
    EXPECT_EQ(CodeOf([&] { engine.Reveal("out", {&foreign, 1}, 0); }), ErrorCode::kUsage);
  });
  result.ThrowIfFailed();
}

// The process that goes away, and the operation that it leaves the others in.
class DroppedPeerTest : public ::testing::TestWithParam<size_t> {};

TEST_P(DroppedPeerTest, IsNamedByThoseWhoNeedIt) {
  const size_t gone = GetParam();
  IntMatrix x{{2, 1}, {1, 2}};
  auto result = RunAll({.num_parties = 3}, [&](Engine& engine, size_t self) {
    std::vector<PrivateMatrix> inputs = {Private(engine, 0, x, 10, 20)};
    Shared shared = engine.Input(inputs)[0];
    engine.BeginPhase("first");
    std::vector<Product> products = {{Kind::kElementwise, shared, shared}};
    engine.Multiply(products);
    engine.BeginPhase("second");
    if (self == gone) return;
    engine.Rescale({&shared, 1}, 0);
    engine.Reveal("out", {&shared, 1}, kEverybody);
  });
  const std::string name = gone == 3 ? "dealer" : "party" + std::to_string(gone);
  size_t named = 0;
  for (size_t party = 0; party < 3; ++party) {
    if (party == gone) continue;
    // Only the last party waits for the dealer; the others learn that it stopped.
    ASSERT_TRUE(result.errors[party]) << party;
    try {
      std::rethrow_exception(result.errors[party]);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kPeerLost);
      if (error.message().find(name) != std::string::npos) ++named;
      // Who is behind notices it in the phase before.
      EXPECT_THAT(error.message(), AnyOf(HasSubstr("'first'"), HasSubstr("'second'")));
    }
  }
  EXPECT_GE(named, 1u);
}

INSTANTIATE_TEST_SUITE_P(Processes, DroppedPeerTest, ::testing::Values(0, 1, 2, 3));

}  // namespace
}  // namespace partita::mpc::testing::engine_errors_test
