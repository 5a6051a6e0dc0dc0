// The privacy of the engine `dealer` against all parties but one, without the dealer, and against
// the dealer, by enumeration (views.h), and that the enumeration notices when a defect is planted.
#include <gtest/gtest.h>

#include <map>
#include <optional>

#include "mpc/ring.h"
#include "tests/mpc/sanitized.h"
#include "tests/mpc/views.h"

namespace partita::mpc::testing::dealer_view_test {
namespace {

using Kind = Product::Kind;
using Coalition = std::vector<size_t>;

ViewCase Dealer(size_t num_parties, std::vector<PartyIndex> owners) {
  return {.engine = "dealer", .num_parties = num_parties, .owners = std::move(owners)};
}

// All non-empty sets of computing parties but the set of all.
std::vector<Coalition> Coalitions(size_t num_parties) {
  std::vector<Coalition> coalitions;
  for (size_t bits = 1; bits + 1 < (size_t{1} << num_parties); ++bits) {
    Coalition coalition;
    for (size_t party = 0; party < num_parties; ++party) {
      if ((bits >> party & 1) != 0) coalition.push_back(party);
    }
    coalitions.push_back(coalition);
  }
  return coalitions;
}

size_t NumLeaks(const Views& views, size_t num_parties) {
  size_t leaks = 0;
  for (const Coalition& coalition : Coalitions(num_parties)) leaks += NumLeaks(views, coalition);
  return leaks;
}

// `to` learns the output, nobody if it is empty.
template <typename R>
void ExpectPrivate(const ViewCase& c, std::optional<PartyIndex> to,
                   const std::function<Int128(const std::vector<Int128>&)>& truth) {
  const Views views = EnumerateViews<R>(c);
  for (const Coalition& coalition : Coalitions(c.num_parties)) {
    EXPECT_EQ(NumLeaks(views, coalition), 0u)
        << coalition.size() << " parties, first " << coalition[0];
  }
  EXPECT_EQ(views.bytes_received[c.num_parties], 0u) << "the dealer must hear nothing";
  EXPECT_EQ(NumLeaks(views, Coalition{c.num_parties}), 0u);
  for (PartyIndex party = 0; party < c.num_parties; ++party) {
    const bool learns = to == kEverybody || to == party;
    ASSERT_EQ(views.output_bits[party], learns ? R::kBits : 0);
    for (size_t i = 0; learns && i < views.num_instances(); ++i) {
      std::vector<Int128> inputs;
      for (size_t k = 0; k < views.num_inputs; ++k) inputs.push_back(views.Input(i, k));
      ASSERT_EQ(views.output[party][i], R::FromSigned(truth(inputs))) << i;
    }
  }
}

Shared One(Engine& engine, const PrivateMatrix& matrix) { return engine.Input({&matrix, 1})[0]; }

std::vector<IntMatrix> Open(Engine& engine, const Shared& value, PartyIndex to) {
  return engine.Reveal("out", {&value, 1}, to);
}

enum class As { kShared, kPrivate, kFixed };

Operand MakeOperand(Engine& engine, As as, const PrivateMatrix& matrix) {
  if (as == As::kShared) return One(engine, matrix);
  if (as == As::kFixed) return engine.Register(matrix);
  return matrix;
}

std::function<std::vector<IntMatrix>(Engine&, const InstanceInputs&)> ElementwiseBody(
    As left, As right, std::optional<PartyIndex> to) {
  return [=](Engine& engine, const InstanceInputs& in) {
    Product product{Kind::kElementwise, MakeOperand(engine, left, in.Column(0)),
                    MakeOperand(engine, right, in.Column(1))};
    Shared result = engine.Multiply({&product, 1})[0];
    return to ? Open(engine, result, *to) : std::vector<IntMatrix>{};
  };
}

Int128 ProductOf(const std::vector<Int128>& x) { return x[0] * x[1]; }

TEST(DealerViewTest, SumOpensOnlyTheSum) {
  for (PartyIndex to : {PartyIndex{0}, PartyIndex{2}, kEverybody}) {
    ViewCase c = Dealer(3, {0, 1, 2});
    c.body = [to](Engine& engine, const InstanceInputs& in) {
      std::vector<PrivateMatrix> matrices = {in.Column(0), in.Column(1), in.Column(2)};
      auto shared = engine.Input(matrices);
      return Open(engine, engine.Add(engine.Add(shared[0], shared[1]), shared[2]), to);
    };
    ExpectPrivate<Ring4>(c, to, [](const std::vector<Int128>& x) { return x[0] + x[1] + x[2]; });
  }
}

TEST(DealerViewTest, ElementwiseProductOpensOnlyTheProduct) {
  for (auto [left, right] :
       {std::pair{As::kShared, As::kShared}, std::pair{As::kPrivate, As::kShared},
        std::pair{As::kShared, As::kPrivate}, std::pair{As::kPrivate, As::kPrivate}}) {
    for (auto [a, b] : {std::pair{0, 1}, std::pair{1, 0}, std::pair{1, 1}}) {
      for (PartyIndex to : {PartyIndex{0}, kEverybody}) {
        ViewCase c = Dealer(2, {static_cast<PartyIndex>(a), static_cast<PartyIndex>(b)});
        c.body = ElementwiseBody(left, right, to);
        for (const bool in_pieces : {false, true}) {
          c.in_pieces = in_pieces;
          ExpectPrivate<Ring4>(c, to, ProductOf);
        }
      }
    }
  }
}

// Three parties, any two of which may collude. The product of shared operands stays closed: with
// its opening there would be 64 million instances.
TEST(DealerViewTest, ProductsOfThreeParties) {
  if (kSanitized) GTEST_SKIP() << "a million instances";
  for (auto [a, b] : {std::pair{0, 1}, std::pair{2, 0}}) {
    ViewCase c = Dealer(3, {static_cast<PartyIndex>(a), static_cast<PartyIndex>(b)});
    c.body = ElementwiseBody(As::kPrivate, As::kPrivate, 1);
    ExpectPrivate<Ring4>(c, 1, ProductOf);
    c.body = ElementwiseBody(As::kPrivate, As::kShared, {});
    ExpectPrivate<Ring4>(c, {}, nullptr);
  }
  ViewCase c = Dealer(3, {0, 1});
  c.body = ElementwiseBody(As::kShared, As::kShared, {});
  for (const bool in_pieces : {false, true}) {
    c.in_pieces = in_pieces;
    ExpectPrivate<Ring4>(c, {}, nullptr);
  }
}

ViewCase CrossProduct(size_t rows, std::optional<PartyIndex> to) {
  std::vector<PartyIndex> owners(rows, 0);
  owners.resize(2 * rows, 1);
  ViewCase c = Dealer(2, owners);
  c.list_intervals = {3};
  if (to) c.list_intervals.push_back(1);
  c.body = [=](Engine& engine, const InstanceInputs& in) {
    auto left = in.List(0, rows), right = in.List(rows, rows);
    std::vector<Product> products;
    for (size_t i = 0; i < in.size(); ++i) products.push_back({Kind::kGram, left[i], right[i]});
    auto results = engine.Multiply(products);
    return to ? engine.Reveal("out", results, *to) : std::vector<IntMatrix>{};
  };
  return c;
}

TEST(DealerViewTest, CrossProductOpensOnlyTheProduct) {
  for (PartyIndex to : {PartyIndex{0}, PartyIndex{1}, kEverybody}) {
    ExpectPrivate<Ring4>(CrossProduct(1, to), to, ProductOf);
  }
}

TEST(DealerViewTest, CrossProductOfTwoRows) {
  ViewCase c = CrossProduct(2, {});
  c.domain = {0, 3};
  ExpectPrivate<Ring4>(c, {}, nullptr);
}

// The masked openings of fixed operands serve two products, whose sharings are fresh.
ViewCase FixedTwice() {
  ViewCase c = Dealer(2, {0, 1});
  c.body = [](Engine& engine, const InstanceInputs& in) {
    Operand x = engine.Register(in.Column(0)), y = engine.Register(in.Column(1));
    Product product{Kind::kElementwise, x, y};
    engine.Multiply({&product, 1});
    return Open(engine, engine.Multiply({&product, 1})[0], 0);
  };
  return c;
}

TEST(DealerViewTest, FixedOperandMayBeUsedTwice) {
  ExpectPrivate<Ring4>(FixedTwice(), 0, ProductOf);
}

// x / 2 truncated, for x in {-1, 0, 1} over Z_8.
ViewCase Truncation(std::optional<PartyIndex> to) {
  ViewCase c = Dealer(2, {0});
  c.domain = {-1, 0, 1};
  c.body = [=](Engine& engine, const InstanceInputs& in) {
    Shared x = One(engine, in.Column(0, 1));
    Shared result = engine.Rescale({&x, 1}, 0)[0];
    return to ? Open(engine, result, *to) : std::vector<IntMatrix>{};
  };
  return c;
}

TEST(DealerViewTest, TruncationTellsNobody) { ExpectPrivate<Ring8>(Truncation({}), {}, nullptr); }

// All parties know c = x + 2^(k-2) + r, so once the result is opened to one, it knows x + u with
// u = r mod 2^f: the result and (x + u) mod 2^f. Given those, nothing else.
TEST(DealerViewTest, OpenedTruncationTellsTheRounding) {
  const Views views = EnumerateViews<Ring8>(Truncation(1));
  auto low_bit = [&](size_t i) {
    return (static_cast<uint64_t>(views.Input(i, 0)) + views.Random(i, {0, 2, 0}) +
            views.Random(i, {1, 2, 0})) &
           1;
  };
  EXPECT_EQ(NumLeaks(views, Coalition{1}, low_bit), 0u);
  EXPECT_GT(NumLeaks(views, Coalition{1}), 0u);
  std::map<std::pair<int, int>, uint64_t> frequency;  // (x, result)
  for (size_t i = 0; i < views.num_instances(); ++i) {
    const auto result = Ring8::ToSigned(static_cast<uint8_t>(views.output[1][i]));
    ++frequency[{static_cast<int>(views.Input(i, 0)), static_cast<int>(result)}];
  }
  const uint64_t half = views.num_instances() / 6;
  EXPECT_EQ(
      frequency,
      (std::map<std::pair<int, int>, uint64_t>{
          {{-1, -1}, half}, {{-1, 0}, half}, {{0, 0}, 2 * half}, {{1, 0}, half}, {{1, 1}, half}}));
}

// ---- planted defects

TEST(DealerViewFaultTest, EveryDigitOfAPrivateProductIsNeeded) {
  ViewCase c = Dealer(2, {0, 1});
  c.body = ElementwiseBody(As::kPrivate, As::kPrivate, {});
  const std::vector<Digit> digits = EnumerateViews<Ring4>(c).digits;
  ASSERT_EQ(digits.size(), 3u);
  for (const Digit& digit : digits) {
    c.constant = {digit};
    EXPECT_GT(NumLeaks(EnumerateViews<Ring4>(c), 2), 0u)
        << digit.low << digit.high << " slot " << digit.slot;
  }
}

// Operands that no single party knows: sums of one input of each.
TEST(DealerViewFaultTest, EveryDigitOfASquareIsNeeded) {
  ViewCase c = Dealer(2, {0, 1});
  c.body = [](Engine& engine, const InstanceInputs& in) {
    Shared sum = engine.Add(One(engine, in.Column(0)), One(engine, in.Column(1)));
    Product product{Kind::kElementwise, sum, sum};
    engine.Multiply({&product, 1});
    return std::vector<IntMatrix>{};
  };
  const Views honest = EnumerateViews<Ring4>(c);
  EXPECT_EQ(NumLeaks(honest, 2), 0u);
  for (const Digit& digit : honest.digits) {
    c.constant = {digit};
    EXPECT_GT(NumLeaks(EnumerateViews<Ring4>(c), 2), 0u)
        << digit.low << digit.high << " slot " << digit.slot;
  }
}

TEST(DealerViewFaultTest, MaskThatIsNeverZero) {
  ViewCase c = Dealer(2, {0, 1});
  c.body = ElementwiseBody(As::kPrivate, As::kPrivate, {});
  for (const Digit& broken : EnumerateViews<Ring4>(c).digits) {
    c.fault = [broken](const Digit& digit, const auto& honest) -> uint8_t {
      const uint8_t value = honest(digit);
      return digit == broken && value == 0 ? 1 : value;
    };
    EXPECT_GT(NumLeaks(EnumerateViews<Ring4>(c), 2), 0u);
  }
}

// Two products with the masks, or only with the output sharing, of the first.
TEST(DealerViewFaultTest, SameTripleTwice) {
  if (kSanitized) GTEST_SKIP() << "a million instances";
  ViewCase c = Dealer(2, {0, 1, 0, 1});
  c.domain = {0, 1, 3};
  c.body = [](Engine& engine, const InstanceInputs& in) {
    std::vector<Product> products = {{Kind::kElementwise, in.Column(0), in.Column(1)},
                                     {Kind::kElementwise, in.Column(2), in.Column(3)}};
    engine.Multiply(products);
    return std::vector<IntMatrix>{};
  };
  const Views honest = EnumerateViews<Ring4>(c);
  ASSERT_EQ(honest.digits.size(), 6u);
  EXPECT_EQ(NumLeaks(honest, 2), 0u);
  c.fault = [](const Digit& digit, const auto& tape) -> uint8_t {
    return tape(Digit{digit.low, digit.high, digit.slot % 3});
  };
  EXPECT_GT(NumLeaks(EnumerateViews<Ring4>(c), 2), 0u);
}

// Rule R-c: with fixed operands, one output sharing for two products gives operands away.
TEST(DealerViewFaultTest, SameOutputSharingTwice) {
  ViewCase c = Dealer(2, {0, 1, 1});
  c.body = [](Engine& engine, const InstanceInputs& in) {
    Operand x = engine.Register(in.Column(0));
    std::vector<Product> products = {{Kind::kElementwise, x, in.Column(1)},
                                     {Kind::kElementwise, x, in.Column(2)}};
    engine.Multiply(products);
    return std::vector<IntMatrix>{};
  };
  const Views honest = EnumerateViews<Ring4>(c);
  EXPECT_EQ(NumLeaks(honest, 2), 0u);
  // The mask of x, then for each product the mask of its right side and its output sharing.
  ASSERT_EQ(honest.digits.size(), 5u);
  c.fault = [](const Digit& digit, const auto& tape) -> uint8_t {
    return tape(digit.slot == 4 ? Digit{digit.low, digit.high, 2} : digit);
  };
  EXPECT_GT(NumLeaks(EnumerateViews<Ring4>(c), 2), 0u);
}

// Shares travel bare if the pairs' zero shares are missing.
TEST(DealerViewFaultTest, OpeningThatIsNotRerandomised) {
  ViewCase c = Dealer(3, {0, 1, 2});
  c.body = [](Engine& engine, const InstanceInputs& in) {
    std::vector<PrivateMatrix> matrices = {in.Column(0), in.Column(1), in.Column(2)};
    auto shared = engine.Input(matrices);
    return Open(engine, engine.Add(engine.Add(shared[0], shared[1]), shared[2]), 0);
  };
  const Views honest = EnumerateViews<Ring4>(c);
  EXPECT_EQ(NumLeaks(honest, 3), 0u);
  c.constant = honest.digits;
  EXPECT_GT(NumLeaks(EnumerateViews<Ring4>(c), Coalition{0}), 0u);
}

TEST(DealerViewFaultTest, EveryDigitOfATruncationIsNeeded) {
  // The dealt value and its rounding belong to neither party alone.
  ViewCase c = Dealer(2, {0, 1});
  c.domain = {-1, 0};
  c.body = [](Engine& engine, const InstanceInputs& in) {
    Shared sum = engine.Add(One(engine, in.Column(0, 1)), One(engine, in.Column(1, 1)));
    engine.Rescale({&sum, 1}, 0);
    return std::vector<IntMatrix>{};
  };
  const Views honest = EnumerateViews<Ring8>(c);
  EXPECT_EQ(NumLeaks(honest, 2), 0u);
  ASSERT_EQ(honest.digits.size(), 4u);
  for (const Digit& digit : honest.digits) {
    c.constant = {digit};
    EXPECT_GT(NumLeaks(EnumerateViews<Ring8>(c), 2), 0u)
        << digit.low << digit.high << " slot " << digit.slot;
  }
}

}  // namespace
}  // namespace partita::mpc::testing::dealer_view_test
