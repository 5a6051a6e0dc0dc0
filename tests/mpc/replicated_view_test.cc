// The privacy of the engine `replicated` against each single party, by enumeration (views.h), and
// that the enumeration notices when a defect is planted.
#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <tuple>

#include "mpc/ring.h"
#include "tests/mpc/sanitized.h"
#include "tests/mpc/views.h"

namespace partita::mpc::testing::replicated_view_test {
namespace {

using Kind = Product::Kind;

Shared One(Engine& engine, const PrivateMatrix& matrix) { return engine.Input({&matrix, 1})[0]; }

Shared Product1(Engine& engine, Kind kind, Operand left, Operand right) {
  Product product{kind, std::move(left), std::move(right)};
  return engine.Multiply({&product, 1})[0];
}

std::vector<IntMatrix> Open(Engine& engine, const Shared& value, PartyIndex to) {
  return engine.Reveal("out", {&value, 1}, to);
}

constexpr PartyIndex kReceivers[] = {0, 1, 2, kEverybody};

bool Learns(PartyIndex party, PartyIndex to) { return to == kEverybody || to == party; }

// No party's view depends on the others' inputs, and whoever should learn the output does.
template <typename R>
void ExpectPrivate(const ViewCase& c, PartyIndex to,
                   const std::function<Int128(const std::vector<Int128>&)>& truth) {
  const Views views = EnumerateViews<R>(c);
  for (PartyIndex party = 0; party < 3; ++party) {
    EXPECT_EQ(NumLeaks(views, {party}), 0u) << "party " << party;
    ASSERT_EQ(views.output_bits[party], Learns(party, to) ? R::kBits : 0);
    if (!Learns(party, to)) continue;
    for (size_t i = 0; i < views.num_instances(); ++i) {
      std::vector<Int128> inputs;
      for (size_t input = 0; input < views.num_inputs; ++input) {
        inputs.push_back(views.Input(i, input));
      }
      ASSERT_EQ(views.output[party][i], R::FromSigned(truth(inputs))) << i;
    }
  }
}

// The number of parties whose view depends on the others' inputs.
template <typename R>
size_t NumParties(const ViewCase& c) {
  const Views views = EnumerateViews<R>(c);
  size_t count = 0;
  for (PartyIndex party = 0; party < 3; ++party) count += NumLeaks(views, {party}) != 0 ? 1 : 0;
  return count;
}

Int128 ProductOf(const std::vector<Int128>& x) { return x[0] * x[1]; }

TEST(ReplicatedViewTest, InputTellsNobody) {
  for (PartyIndex owner = 0; owner < 3; ++owner) {
    ViewCase c{.owners = {owner}};
    c.body = [](Engine& engine, const InstanceInputs& in) {
      One(engine, in.Column(0));
      return std::vector<IntMatrix>{};
    };
    const Views views = EnumerateViews<Ring8>(c);
    EXPECT_EQ(views.digits.size(), 1u);
    for (PartyIndex party = 0; party < 3; ++party) EXPECT_EQ(NumLeaks(views, {party}), 0u);
    // Two parties together hold everything: the engine's stated limit.
    for (PartyIndex party = 0; party < 3; ++party) {
      if (party == owner) continue;
      EXPECT_EQ(NumLeaks(views, {party, 3 - owner - party}), 1u);
    }
  }
}

TEST(ReplicatedViewTest, SumOpensOnlyTheSum) {
  for (PartyIndex to : kReceivers) {
    ViewCase c{.owners = {0, 1, 2}};
    c.body = [to](Engine& engine, const InstanceInputs& in) {
      std::vector<PrivateMatrix> matrices = {in.Column(0), in.Column(1), in.Column(2)};
      auto shared = engine.Input(matrices);
      return Open(engine, engine.Add(engine.Add(shared[0], shared[1]), shared[2]), to);
    };
    ExpectPrivate<Ring4>(c, to, [](const std::vector<Int128>& x) { return x[0] + x[1] + x[2]; });
  }
}

enum class As { kShared, kPrivate };

// All owners, operands shared before or private.
TEST(ReplicatedViewTest, ElementwiseProductOpensOnlyTheProduct) {
  for (PartyIndex a = 0; a < 3; ++a) {
    for (PartyIndex b = 0; b < 3; ++b) {
      for (auto [left, right] :
           {std::pair{As::kShared, As::kShared}, std::pair{As::kPrivate, As::kShared},
            std::pair{As::kShared, As::kPrivate}, std::pair{As::kPrivate, As::kPrivate}}) {
        for (PartyIndex to : {PartyIndex{2}, kEverybody}) {
          ViewCase c{.owners = {a, b}};
          c.body = [=, left = left, right = right](Engine& engine, const InstanceInputs& in) {
            auto operand = [&](As as, size_t input) -> Operand {
              if (as == As::kShared) return One(engine, in.Column(input));
              return in.Column(input);
            };
            return Open(engine,
                        Product1(engine, Kind::kElementwise, operand(left, 0), operand(right, 1)),
                        to);
          };
          ExpectPrivate<Ring4>(c, to, ProductOf);
        }
      }
    }
  }
}

TEST(ReplicatedViewTest, SquareOpensOnlyTheSquare) {
  for (PartyIndex to : kReceivers) {
    ViewCase c{.owners = {1}};
    c.body = [to](Engine& engine, const InstanceInputs& in) {
      Shared x = One(engine, in.Column(0));
      return Open(engine, Product1(engine, Kind::kElementwise, x, x), to);
    };
    ExpectPrivate<Ring4>(c, to, [](const std::vector<Int128>& x) { return x[0] * x[0]; });
  }
}

// The streamed cross product of two private 1 x 1 matrices.
TEST(ReplicatedViewTest, CrossProductOfOneRow) {
  for (auto [a, b] : {std::pair{0, 1}, std::pair{0, 2}, std::pair{2, 1}}) {
    for (PartyIndex to : {PartyIndex{0}, kEverybody}) {
      ViewCase c{.owners = {static_cast<PartyIndex>(a), static_cast<PartyIndex>(b)},
                 .list_intervals = {3}};
      c.body = [to](Engine& engine, const InstanceInputs& in) {
        auto left = in.List(0, 1), right = in.List(1, 1);
        std::vector<Product> products;
        for (size_t i = 0; i < in.size(); ++i) products.push_back({Kind::kGram, left[i], right[i]});
        return engine.Reveal("out", engine.Multiply(products), to);
      };
      ExpectPrivate<Ring4>(c, to, ProductOf);
    }
  }
}

// Two rows: four inputs, which take two values of the ring.
TEST(ReplicatedViewTest, CrossProductOfTwoRows) {
  if (kSanitized) GTEST_SKIP() << "a quarter of a million products";
  ViewCase c{.owners = {0, 0, 1, 1}, .domain = {0, 3}, .list_intervals = {3}};
  c.body = [](Engine& engine, const InstanceInputs& in) {
    auto left = in.List(0, 2), right = in.List(2, 2);
    std::vector<Product> products;
    for (size_t i = 0; i < in.size(); ++i) products.push_back({Kind::kGram, left[i], right[i]});
    engine.Multiply(products);
    return std::vector<IntMatrix>{};
  };
  const Views views = EnumerateViews<Ring4>(c);
  EXPECT_EQ(views.digits.size(), 7u);
  for (PartyIndex party = 0; party < 3; ++party) EXPECT_EQ(NumLeaks(views, {party}), 0u);
}

// The masked difference of a fixed operand is seen once and serves two products.
ViewCase FixedTwice() {
  ViewCase c{.owners = {0, 1}};
  c.body = [](Engine& engine, const InstanceInputs& in) {
    FixedOperand x = engine.Register(in.Column(0)), y = engine.Register(in.Column(1));
    Product1(engine, Kind::kElementwise, x, y);
    return Open(engine, Product1(engine, Kind::kElementwise, x, y), 2);
  };
  return c;
}

TEST(ReplicatedViewTest, FixedOperandMayBeUsedTwice) {
  if (kSanitized) GTEST_SKIP() << "a million instances";
  const Views views = EnumerateViews<Ring4>(FixedTwice());
  EXPECT_EQ(views.digits.size(), 8u);
  for (PartyIndex party = 0; party < 3; ++party) EXPECT_EQ(NumLeaks(views, {party}), 0u);
}

// The random elements of a truncation by one bit, whose intervals begin at slot `first`: e, q, m_A
// and s of replicated_schedule.h, on tapes 2 and 1.
struct TruncationDigits {
  explicit TruncationDigits(size_t first)
      : e2{0, 2, first},
        e1{1, 2, first},
        q{0, 2, first + 1},
        m_a{0, 2, first + 2},
        s2{0, 2, first + 3},
        s1{1, 2, first + 3} {}
  Digit e2, e1, q, m_a, s2, s1;
  std::vector<Digit> OneBit() const { return {m_a, s2, s1}; }
  std::vector<Digit> All() const { return {e2, e1, q, m_a, s2, s1}; }
};

// Slot 0 is the input's mask.
const TruncationDigits kTruncationDigits(1);

// x / 2 truncated, for x in {-1, 0} over Z_8.
ViewCase Truncation(PartyIndex owner, bool open) {
  ViewCase c{.owners = {owner}, .domain = {-1, 0}, .one_bit = kTruncationDigits.OneBit()};
  c.body = [open](Engine& engine, const InstanceInputs& in) {
    Shared x = One(engine, in.Column(0, 1));
    auto result = engine.Rescale({&x, 1}, 0);
    return open ? Open(engine, result[0], kEverybody) : std::vector<IntMatrix>{};
  };
  return c;
}

// Truncation itself tells nobody anything, and exactly so: c is uniform on the whole ring.
TEST(ReplicatedViewTest, TruncationTellsNobody) {
  const Views views = EnumerateViews<Ring8>(Truncation(2, false));
  EXPECT_EQ(views.digits.size(), 7u);
  EXPECT_EQ(views.num_whole_digits, 4u);
  for (PartyIndex party = 0; party < 3; ++party) EXPECT_EQ(NumLeaks(views, {party}), 0u);
}

// Once the result is opened to it, a party knows it together with what it knows of the rounding, as
// replicated_schedule.h states: the dealer u = r mod 2^f, the others (x + u) mod 2^f. Given that,
// nothing else; and without it there is a dependence, which is why it has to be stated.
TEST(ReplicatedViewTest, OpenedTruncationTellsTheStatedRounding) {
  const Views views = EnumerateViews<Ring8>(Truncation(1, true));
  auto low_bit_of_mask = [&](size_t i) {
    return (views.Random(i, kTruncationDigits.e2) + views.Random(i, kTruncationDigits.e1)) & 1;
  };
  std::map<std::pair<int, int>, uint64_t> frequency;  // (x, result)
  for (size_t i = 0; i < views.num_instances(); ++i) {
    const auto result = Ring8::ToSigned(static_cast<uint8_t>(views.output[0][i]));
    ++frequency[{static_cast<int>(views.Input(i, 0)), static_cast<int>(result)}];
  }
  // Down or up with the probability of the dropped half; a whole number stays.
  const uint64_t quarter = views.num_instances() / 4;
  EXPECT_EQ(frequency, (std::map<std::pair<int, int>, uint64_t>{
                           {{-1, -1}, quarter}, {{-1, 0}, quarter}, {{0, 0}, 2 * quarter}}));
  EXPECT_EQ(NumLeaks(views, {1}), 0u);  // the owner of x
  auto low_bit_of_sum = [&](size_t i) {
    return (static_cast<uint64_t>(views.Input(i, 0)) + low_bit_of_mask(i)) & 1;
  };
  EXPECT_EQ(NumLeaks(views, {0}, low_bit_of_sum), 0u);
  EXPECT_EQ(NumLeaks(views, {2}, low_bit_of_mask), 0u);
  EXPECT_GT(NumLeaks(views, {0}), 0u);
  EXPECT_GT(NumLeaks(views, {2}), 0u);
}

// A product truncated as it is formed: x y / 2 for x and y in {-1, 1}, x at one fraction bit. The
// masks of x and y have slots 0 and 1, in whatever order.
const TruncationDigits kProductDigits(2);

ViewCase TruncatedProduct(PartyIndex a, As left, PartyIndex b, As right, bool open) {
  ViewCase c{.owners = {a, b}, .domain = {-1, 1}, .one_bit = kProductDigits.OneBit()};
  c.body = [=](Engine& engine, const InstanceInputs& in) {
    auto operand = [&](As as, size_t input, int fraction_bits) -> Operand {
      if (as == As::kShared) return One(engine, in.Column(input, fraction_bits));
      return in.Column(input, fraction_bits);
    };
    const Product product{Kind::kElementwise, operand(left, 0, 1), operand(right, 1, 0)};
    const std::optional<int> bits = 0;
    const auto result = engine.MultiplyAndRescale({&product, 1}, {&bits, 1});
    return open ? Open(engine, result[0], kEverybody) : std::vector<IntMatrix>{};
  };
  return c;
}

TEST(ReplicatedViewTest, TruncatedProductTellsNobody) {
  if (kSanitized) GTEST_SKIP() << "five million instances";
  for (auto [a, left, b, right] :
       {std::tuple{0, As::kShared, 1, As::kShared}, std::tuple{2, As::kShared, 1, As::kShared},
        std::tuple{0, As::kPrivate, 2, As::kShared}, std::tuple{1, As::kPrivate, 1, As::kShared},
        std::tuple{2, As::kPrivate, 0, As::kPrivate}}) {
    const Views views = EnumerateViews<Ring8>(TruncatedProduct(
        static_cast<PartyIndex>(a), left, static_cast<PartyIndex>(b), right, false));
    EXPECT_EQ(views.digits.size(), 8u);
    for (PartyIndex party = 0; party < 3; ++party) {
      EXPECT_EQ(NumLeaks(views, {party}), 0u) << a << b << " party " << party;
    }
  }
}

// As of a truncation: the rounding and nothing else. The inputs are parties 0's and 1's, so that
// z_2 = (x - mask) mask of y.
TEST(ReplicatedViewTest, OpenedTruncatedProductTellsTheStatedRounding) {
  if (kSanitized) GTEST_SKIP() << "a million instances";
  const Views views = EnumerateViews<Ring8>(TruncatedProduct(0, As::kShared, 1, As::kShared, true));
  auto product = [&](size_t i) { return static_cast<int>(views.Input(i, 0) * views.Input(i, 1)); };
  auto low_bit_of_mask = [&](size_t i) {
    const auto x = static_cast<uint64_t>(views.Input(i, 0));
    const uint64_t z = (x - views.Random(i, {0, 1, 0})) * views.Random(i, {1, 2, 1});
    return (views.Random(i, kProductDigits.e2) + views.Random(i, kProductDigits.e1) - z) & 1;
  };
  auto low_bit_of_sum = [&](size_t i) {
    return (static_cast<uint64_t>(product(i)) + low_bit_of_mask(i)) & 1;
  };
  std::map<std::pair<int, int>, uint64_t> frequency;  // (product, result)
  for (size_t i = 0; i < views.num_instances(); ++i) {
    const auto result = Ring8::ToSigned(static_cast<uint8_t>(views.output[1][i]));
    ++frequency[{product(i), static_cast<int>(result)}];
  }
  const uint64_t quarter = views.num_instances() / 4;
  EXPECT_EQ(frequency,
            (std::map<std::pair<int, int>, uint64_t>{
                {{-1, -1}, quarter}, {{-1, 0}, quarter}, {{1, 0}, quarter}, {{1, 1}, quarter}}));
  EXPECT_EQ(NumLeaks(views, {0}, low_bit_of_sum), 0u);
  EXPECT_EQ(NumLeaks(views, {1}, low_bit_of_sum), 0u);
  EXPECT_EQ(NumLeaks(views, {2}, low_bit_of_mask), 0u);
  EXPECT_GT(NumLeaks(views, {2}), 0u);
}

// ---- planted defects

ViewCase SharedProduct() {
  ViewCase c{.owners = {0, 1}};
  c.body = [](Engine& engine, const InstanceInputs& in) {
    Shared x = One(engine, in.Column(0)), y = One(engine, in.Column(1));
    Product1(engine, Kind::kElementwise, x, y);
    return std::vector<IntMatrix>{};
  };
  return c;
}

// Every random element of a product is needed: fixing any one of them tells somebody something.
TEST(ReplicatedViewFaultTest, EveryDigitOfAProductIsNeeded) {
  ViewCase c = SharedProduct();
  const std::vector<Digit> digits = EnumerateViews<Ring4>(c).digits;
  ASSERT_EQ(digits.size(), 5u);
  for (const Digit& digit : digits) {
    c.constant = {digit};
    EXPECT_GE(NumParties<Ring4>(c), 1u) << digit.low << digit.high << " slot " << digit.slot;
  }
}

TEST(ReplicatedViewFaultTest, MaskThatIsNeverZero) {
  ViewCase c = SharedProduct();
  const std::vector<Digit> digits = EnumerateViews<Ring4>(c).digits;
  for (const Digit& broken : digits) {
    c.fault = [broken](const Digit& digit, const auto& honest) -> uint8_t {
      const uint8_t value = honest(digit);
      return digit == broken && value == 0 ? 1 : value;
    };
    EXPECT_GE(NumParties<Ring4>(c), 1u) << broken.low << broken.high << " slot " << broken.slot;
  }
}

// Without zero shares, what party i sends to i + 1 tells about the component that i + 1 lacks.
TEST(ReplicatedViewFaultTest, NoZeroShares) {
  ViewCase c = SharedProduct();
  const std::vector<Digit> digits = EnumerateViews<Ring4>(c).digits;
  size_t last_slot = 0;
  for (const Digit& digit : digits) last_slot = std::max(last_slot, digit.slot);
  c.fault = [last_slot](const Digit& digit, const auto& honest) -> uint8_t {
    return digit.slot == last_slot ? 0 : honest(digit);
  };
  EXPECT_EQ(NumParties<Ring4>(c), 3u);
}

// Two products under the same zero shares: their difference comes through.
TEST(ReplicatedViewFaultTest, SameZeroSharesTwice) {
  if (kSanitized) GTEST_SKIP() << "a million instances";
  ViewCase c{.owners = {0, 1}};
  c.body = [](Engine& engine, const InstanceInputs& in) {
    Shared x = One(engine, in.Column(0)), y = One(engine, in.Column(1));
    std::vector<Product> products = {{Kind::kElementwise, x, y}, {Kind::kElementwise, x, x}};
    engine.Multiply(products);
    return std::vector<IntMatrix>{};
  };
  const Views honest_views = EnumerateViews<Ring4>(c);
  for (PartyIndex party = 0; party < 3; ++party) EXPECT_EQ(NumLeaks(honest_views, {party}), 0u);
  // Slots 0 and 1 are the masks, 2 and 3 the zero shares.
  c.fault = [](const Digit& digit, const auto& honest) -> uint8_t {
    return honest(digit.slot == 3 ? Digit{digit.low, digit.high, 2} : digit);
  };
  EXPECT_EQ(NumParties<Ring4>(c), 3u);
}

// The same mask for two different inputs gives their difference away.
TEST(ReplicatedViewFaultTest, SameMaskForTwoInputs) {
  ViewCase c{.owners = {0, 0}};
  c.body = [](Engine& engine, const InstanceInputs& in) {
    One(engine, in.Column(0));
    One(engine, in.Column(1));
    return std::vector<IntMatrix>{};
  };
  EXPECT_EQ(NumParties<Ring4>(c), 0u);
  c.fault = [](const Digit& digit, const auto& honest) -> uint8_t {
    return honest(Digit{digit.low, digit.high, 0});
  };
  EXPECT_EQ(NumParties<Ring4>(c), 1u);
}

// Every random element of a truncation is needed, each alone.
TEST(ReplicatedViewFaultTest, EveryDigitOfATruncationIsNeeded) {
  ViewCase c = Truncation(2, false);
  for (const Digit& digit : kTruncationDigits.All()) {
    c.constant = {digit};
    EXPECT_GE(NumParties<Ring8>(c), 1u) << digit.low << digit.high << " slot " << digit.slot;
  }
}

TEST(ReplicatedViewFaultTest, EveryDigitOfATruncatedProductIsNeeded) {
  if (kSanitized) GTEST_SKIP() << "a million instances";
  ViewCase c = TruncatedProduct(0, As::kShared, 1, As::kShared, false);
  std::vector<Digit> digits = kProductDigits.All();
  digits.push_back({0, 1, 0});
  digits.push_back({1, 2, 1});
  for (const Digit& digit : digits) {
    c.constant = {digit};
    EXPECT_GE(NumParties<Ring8>(c), 1u) << digit.low << digit.high << " slot " << digit.slot;
  }
}

// The mask of the exclusive or taken for the share of the top bit too.
TEST(ReplicatedViewFaultTest, SameMaskForTheTopBitAndTheExclusiveOr) {
  ViewCase c = Truncation(2, false);
  EXPECT_EQ(NumParties<Ring8>(c), 0u);
  c.fault = [](const Digit& digit, const auto& honest) -> uint8_t {
    return honest(digit == kTruncationDigits.s2 ? kTruncationDigits.m_a : digit);
  };
  EXPECT_GE(NumParties<Ring8>(c), 1u);
}

}  // namespace
}  // namespace partita::mpc::testing::replicated_view_test
