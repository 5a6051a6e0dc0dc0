// Every family of functions on the real rings in two worlds: all inputs at one end of their range,
// or at the other. What crosses any link must look the same in both: the same messages, and bytes
// of one distribution at every place. (That views are equal exactly, own randomness included, is
// counted on tiny rings: *_view_test.cc.)
#include "tests/mpc/two_worlds.h"

#include <gtest/gtest.h>

#include <cmath>

#include "crypto/random.h"
#include "mpc/compare.h"
#include "mpc/functions/arithmetic.h"
#include "mpc/functions/definite.h"
#include "mpc/functions/division.h"
#include "mpc/functions/exponential.h"
#include "mpc/functions/extremes.h"
#include "mpc/functions/inverse.h"
#include "mpc/functions/logarithm.h"
#include "mpc/functions/norm.h"
#include "mpc/functions/order.h"
#include "mpc/functions/reciprocal.h"
#include "mpc/functions/shuffle.h"
#include "mpc/functions/sigmoid.h"
#include "mpc/functions/softmax.h"
#include "tests/mpc/evaluate.h"

namespace partita::mpc::testing::two_worlds_test {
namespace {

constexpr int kF = 40;
using List = std::vector<Shared>;

struct Gadget {
  std::string name;
  Shape shape;
  double low, high;  // where all entries are near in the one world and in the other
  std::function<void(Engine&, const Shared&)> run;
  bool spread = true;  // else all entries are there exactly
};

// Entries that differ, from `value` on and up to a third of the way to the other end.
IntMatrix EntriesNear(double value, const Gadget& gadget) {
  const double way = gadget.spread ? (value == gadget.low ? gadget.high : gadget.low) - value : 0;
  IntMatrix x{gadget.shape, {}};
  for (size_t i = 0; i < gadget.shape.size(); ++i) {
    const double unit = std::ldexp(static_cast<double>(i * 0x9E3779B97F4A7C15u >> 11), -53);
    x.values.push_back(EncodeFixed(value + way * unit / 3, kF));
  }
  return x;
}

// The identity plus each square of four rows.
std::vector<DefiniteMatrix> SquaresOf(Engine& engine, const Shared& x) {
  IntMatrix identity{{4, 4}, std::vector<Int128>(16)};
  for (size_t i = 0; i < 4; ++i) identity.values[5 * i] = Int128{1} << kF;
  const Shared diagonal = engine.Public({std::move(identity), kF});
  std::vector<DefiniteMatrix> squares;
  for (size_t row = 0; row + 4 <= x.shape.rows; row += 4) {
    squares.push_back({engine.Add(engine.Slice(x, row, 0, {4, 4}), diagonal)});
  }
  return squares;
}

// And made symmetric, which leaves eigenvalues between 0.2 and 4.6.
std::vector<PositiveMatrix> PositiveOf(Engine& engine, const Shared& x) {
  std::vector<PositiveMatrix> matrices;
  for (const DefiniteMatrix& square : SquaresOf(engine, x)) {
    const Shared sum = engine.Add(square.matrix, engine.Transpose(square.matrix));
    matrices.push_back({TimesPowerOfTwo(sum, -1), 8, 0x1p-6});
  }
  return matrices;
}

std::vector<Gadget> Gadgets() {
  constexpr size_t kRows = 1024;
  std::vector<Gadget> all;
  all.push_back({"products and cuts", {kRows, 2}, -1000, 1000, [](Engine& e, const Shared& x) {
                   const std::vector<Product> products = {{Product::Kind::kElementwise, x, x},
                                                          {Product::Kind::kGram, x, x}};
                   e.Rescale(e.Multiply(products), kF);
                 }});
  all.push_back({"comparisons", {kRows, 1}, -1000, 1000, [](Engine& e, const Shared& x) {
                   const List list = {x, e.Scale(x, -1)};
                   const auto negative = IsNegative(e, list);
                   IsZero(e, list);
                   ToBits(e, list);
                   e.ToRing(negative);
                   const Selection selection = {negative[0], list[1], list[0]};
                   Select(e, {&selection, 1});
                 }});
  all.push_back({"reciprocals and roots", {kRows, 1}, 0.05, 50, [](Engine& e, const Shared& x) {
                   const PositiveValue value = {x, 0.05};
                   Reciprocal(e, {&value, 1}, kF);
                   InverseRoot(e, {&value, 1}, kF);
                   Root(e, {&value, 1}, kF);
                 }});
  all.push_back({"quotients", {kRows, 1}, 0.05, 50, [](Engine& e, const Shared& x) {
                   const Quotient quotient = {x, {x, 0.05}, 1000};
                   Divide(e, {&quotient, 1}, kF);
                 }});
  all.push_back({"exponentials", {kRows, 1}, -50, 10, [](Engine& e, const Shared& x) {
                   const BoundedAbove value = {x, 10};
                   Exponential(e, {&value, 1}, kF);
                 }});
  all.push_back({"logarithms", {kRows, 1}, 0.05, 50, [](Engine& e, const Shared& x) {
                   const PositiveValue value = {x, 0.05};
                   Log(e, {&value, 1}, kF);
                 }});
  all.push_back({"logistic function", {kRows, 1}, -50, 50, [](Engine& e, const Shared& x) {
                   Sigmoid(e, {&x, 1}, kF);
                 }});
  all.push_back({"softmax", {kRows, 3}, -50, 50, [](Engine& e, const Shared& x) {
                   RowSoftmax(e, {&x, 1}, kF);
                   RowLogSumExp(e, {&x, 1});
                 }});
  all.push_back({"extremes", {kRows, 3}, -50, 50, [](Engine& e, const Shared& x) {
                   RowMax(e, {&x, 1});
                   RowArgMax(e, {&x, 1});
                 }});
  all.push_back({"norms", {kRows, 3}, 0.01, 50, [](Engine& e, const Shared& x) {
                   const RowsWithNorm norm = {x, 0.01}, clip = {x, 1};
                   RowNorm(e, {&norm, 1}, kF);
                   ClipRows(e, {&clip, 1});
                 }});
  all.push_back({"definite matrices",
                 {256, 4},
                 -0.2,
                 0.9,
                 [](Engine& e, const Shared& x) {
                   const auto squares = SquaresOf(e, x);
                   FactorDefinite(e, squares);
                   const auto inverses = InvertDefinite(e, squares, kF);
                   const Pivots pivots = {inverses[0].pivots};
                   LogDeterminant(e, {&pivots, 1}, kF);
                 },
                 false});
  all.push_back({"positive matrices", {64, 4}, -0.2, 0.9, [](Engine& e, const Shared& x) {
                   const auto matrices = PositiveOf(e, x);
                   InvertPositive(e, matrices, kF);
                   InvertRoughly(e, matrices, 0x1p-8, kF);
                 }});
  all.push_back({"order", {kRows, 1}, -1000, 1000, [](Engine& e, const Shared& x) {
                   const Shared sums = CumulativeSums(e, x);
                   const Product product{Product::Kind::kElementwise, sums, sums};
                   e.Multiply({&product, 1});
                 }});
  all.push_back({"shuffle", {kRows, 1}, -1000, 1000, [](Engine& e, const Shared& x) {
                   crypto::SystemRandom own;
                   ShuffleRows(e, x, own);
                 }});
  return all;
}

Links MessagesOf(RunOptions options, const Gadget& gadget, double value) {
  Transcript transcript;
  options.wrap = [&](std::unique_ptr<net::Transport> inner) {
    return std::make_unique<RecordingTransport>(std::move(inner), transcript);
  };
  const double bound = std::max(std::abs(gadget.low), std::abs(gadget.high));
  const IntMatrix x = EntriesNear(value, gadget);
  RunAll(options, [&](Engine& engine, size_t) {
    const PrivateMatrix input = Private(engine, 1, x, bound, kF);
    gadget.run(engine, engine.Input({&input, 1})[0]);
  }).ThrowIfFailed();
  return LinksOf(transcript, options);
}

Comparisons CompareWorlds(const RunOptions& options, const Gadget& gadget) {
  const Links low = MessagesOf(options, gadget, gadget.low);
  const Links high = MessagesOf(options, gadget, gadget.high);
  return CompareLinks(low, high);
}

RunOptions OptionsWith(const Setting& setting, EngineMaker make = {}) {
  RunOptions options = OptionsOf(setting);
  if (make) options.make = std::move(make);
  return options;
}

TEST(TwoWorldsTest, EveryFunctionLooksTheSame) {
  size_t tests = 0;
  for (const Setting& setting : {Setting{"dealer", 2}, {"dealer", 3}, {"replicated", 3}}) {
    for (const Gadget& gadget : Gadgets()) {
      const Comparisons found = CompareWorlds(OptionsWith(setting), gadget);
      EXPECT_GT(found.tests, 10u) << gadget.name;
      EXPECT_LT(found.worst, kLargest) << gadget.name << " on " << setting.kind;
      tests += found.tests;
    }
  }
  EXPECT_LE(tests, kMostTests);
}

TEST(TwoWorldsFaultTest, MissingMasksAreSeenInEveryFunction) {
  for (const Gadget& gadget : Gadgets()) {
    const Comparisons dealer =
        CompareWorlds(OptionsWith({"dealer", 2}, MakeDealerWithoutMasks), gadget);
    EXPECT_GT(dealer.worst, kLargest) << gadget.name;
    const Comparisons replicated =
        CompareWorlds(OptionsWith({"replicated", 3}, MakeReplicatedWithoutMasks), gadget);
    EXPECT_GT(replicated.worst, kLargest) << gadget.name;
  }
}

}  // namespace
}  // namespace partita::mpc::testing::two_worlds_test
