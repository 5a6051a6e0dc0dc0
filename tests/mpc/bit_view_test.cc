// The privacy of operations on bits by enumeration (views.h) for both engines, and that the
// enumeration notices when a defect is planted.
#include <gtest/gtest.h>

#include <optional>

#include "mpc/compare.h"
#include "mpc/ring.h"
#include "mpc/tape.h"
#include "mpc/window_carries.h"
#include "tests/mpc/sanitized.h"
#include "tests/mpc/small_views.h"

namespace partita::mpc::testing::bit_view_test {
namespace {

using Coalition = std::vector<size_t>;

ViewCase Case(const std::string& engine, size_t num_parties, std::vector<PartyIndex> owners) {
  return {.engine = engine, .num_parties = num_parties, .owners = std::move(owners)};
}

// Scalar input `input` as private bits.
SharedBits InputBit(Engine& engine, const InstanceInputs& in, size_t input) {
  const PrivateMatrix matrix = in.Column(input);
  PrivateBits bits = {matrix.owner, {{1, 1}, 1, {}}};
  if (matrix.read) {
    IntMatrix value{{1, 1}, {0}};
    matrix.read(0, 1, value.values.data());
    bits.values.words = {static_cast<uint64_t>(value.values[0]) & 1};
  }
  return engine.InputBits({&bits, 1})[0];
}

Shared InputValue(Engine& engine, const InstanceInputs& in, size_t input) {
  const PrivateMatrix matrix = in.Column(input);
  return engine.Input({&matrix, 1})[0];
}

std::vector<IntMatrix> OpenBit(Engine& engine, const SharedBits& bit, PartyIndex to) {
  std::vector<IntMatrix> opened;
  for (const BitMatrix& bits : engine.RevealBits("out", {&bit, 1}, to)) {
    if (bits.words.empty()) continue;
    opened.push_back({{1, 1}, {static_cast<Int128>(bits.words[0])}});
  }
  return opened;
}

// All sets of parties that an engine protects against, and the dealer alone.
std::vector<Coalition> Coalitions(const ViewCase& c) {
  std::vector<Coalition> coalitions;
  for (size_t set = 1; set + 1 < (size_t{1} << c.num_parties); ++set) {
    Coalition coalition;
    for (size_t party = 0; party < c.num_parties; ++party) {
      if ((set >> party & 1) != 0) coalition.push_back(party);
    }
    if (c.engine == "dealer" || coalition.size() == 1) coalitions.push_back(coalition);
  }
  if (c.engine == "dealer") coalitions.push_back({c.num_parties});
  return coalitions;
}

template <typename R>
size_t AllLeaks(const ViewCase& c) {
  const Views views = EnumerateOneByOne<R>(c);
  size_t leaks = 0;
  for (const Coalition& coalition : Coalitions(c)) leaks += NumLeaks(views, coalition);
  if (c.engine == "dealer") {
    EXPECT_EQ(views.bytes_received[c.num_parties], 0u);
  }
  return leaks;
}

// x AND y, opened to `to` if there is one.
ViewCase And(const std::string& engine, size_t num_parties, PartyIndex a, PartyIndex b,
             std::optional<PartyIndex> to) {
  ViewCase c = Case(engine, num_parties, {a, b});
  c.domain = {0, 1};
  c.body = [=](Engine& e, const InstanceInputs& in) {
    const BitProduct product = {InputBit(e, in, 0), InputBit(e, in, 1)};
    const SharedBits both = e.And({&product, 1})[0];
    return to ? OpenBit(e, both, *to) : std::vector<IntMatrix>{};
  };
  return c;
}

TEST(BitViewTest, AndOpensOnlyTheResult) {
  for (auto [a, b] : {std::pair{0, 1}, {1, 0}, {1, 1}}) {
    const auto left = static_cast<PartyIndex>(a), right = static_cast<PartyIndex>(b);
    for (PartyIndex to : {PartyIndex{0}, kEverybody}) {
      EXPECT_EQ(AllLeaks<Ring4>(And("dealer", 2, left, right, to)), 0u) << a << b;
      EXPECT_EQ(AllLeaks<Ring4>(And("replicated", 3, left, right, to)), 0u) << a << b;
    }
  }
  EXPECT_EQ(AllLeaks<Ring4>(And("dealer", 3, 0, 2, {})), 0u);
}

// One opening of x for two products.
ViewCase SharedOperand(const std::string& engine, size_t num_parties) {
  ViewCase c = Case(engine, num_parties, {0, 1, 1});
  c.domain = {0, 1};
  c.body = [](Engine& e, const InstanceInputs& in) {
    const SharedBits x = InputBit(e, in, 0);
    const BitProduct products[] = {{x, InputBit(e, in, 1)}, {x, InputBit(e, in, 2)}};
    const auto both = e.And(products);
    return OpenBit(e, e.Xor(both[0], both[1]), 0);
  };
  return c;
}

TEST(BitViewTest, TwoProductsOfOneOperand) {
  EXPECT_EQ(AllLeaks<Ring4>(SharedOperand("dealer", 2)), 0u);
  EXPECT_EQ(AllLeaks<Ring4>(SharedOperand("replicated", 3)), 0u);
}

// The decomposition of a value that no party knows, nothing opened.
ViewCase Decomposition(const std::string& engine, size_t num_parties, size_t width) {
  ViewCase c = Case(engine, num_parties, {0, 1});
  c.body = [width](Engine& e, const InstanceInputs& in) {
    const Shared sum = e.Add(InputValue(e, in, 0), InputValue(e, in, 1));
    e.Decompose({&sum, 1}, {&width, 1});
    return std::vector<IntMatrix>{};
  };
  return c;
}

// The same by windows of bits.
ViewCase Windows(size_t num_parties, size_t width) {
  ViewCase c = Case("dealer", num_parties, {0, 1});
  c.body = [width](Engine& e, const InstanceInputs& in) {
    const Shared sum = e.Add(InputValue(e, in, 0), InputValue(e, in, 1));
    DecomposeWindows(e, {&sum, 1}, {&width, 1});
    return std::vector<IntMatrix>{};
  };
  return c;
}

TEST(BitViewTest, WindowsTellNobody) { EXPECT_EQ(AllLeaks<Ring4>(Windows(2, 2)), 0u); }

TEST(BitViewTest, DecompositionTellsNobody) {
  EXPECT_EQ(AllLeaks<Ring4>(Decomposition("dealer", 2, 2)), 0u);
  EXPECT_EQ(AllLeaks<Ring4>(Decomposition("dealer", 2, 1)), 0u);
  if (kSanitized) GTEST_SKIP() << "a hundred thousand runs";
  ViewCase c = Decomposition("replicated", 3, 1);
  c.domain = {0, 1};
  EXPECT_EQ(AllLeaks<Ring4>(c), 0u);
  c.owners = {1, 2};
  EXPECT_EQ(AllLeaks<Ring4>(c), 0u);
}

// The lowest bit of a sum, from its decomposition, opened.
TEST(BitViewTest, LowestBitOpensOnlyItself) {
  if (kSanitized) GTEST_SKIP() << "tens of thousands of runs";
  for (const char* engine : {"dealer", "replicated"}) {
    ViewCase c = Case(engine, engine[0] == 'd' ? 2 : 3, {0, 1});
    c.domain = {0, 1, 3};
    c.body = [](Engine& e, const InstanceInputs& in) {
      const Shared sum = e.Add(InputValue(e, in, 0), InputValue(e, in, 1));
      const size_t width = 1;
      return OpenBit(e, e.Decompose({&sum, 1}, {&width, 1})[0].propagate, 1);
    };
    EXPECT_EQ(AllLeaks<Ring4>(c), 0u) << engine;
  }
}

// b as a ring element, opened or not; b is the exclusive or of a bit of each of two parties.
ViewCase Conversion(const std::string& engine, size_t num_parties, bool open) {
  ViewCase c = Case(engine, num_parties, {0, 1});
  c.domain = {0, 1};
  c.body = [open](Engine& e, const InstanceInputs& in) {
    const SharedBits bit = e.Xor(InputBit(e, in, 0), InputBit(e, in, 1));
    const auto element = e.ToRing({&bit, 1});
    return open ? e.Reveal("out", element, 0) : std::vector<IntMatrix>{};
  };
  return c;
}

TEST(BitViewTest, BitAsRingElementOpensOnlyItself) {
  for (bool open : {false, true}) {
    EXPECT_EQ(AllLeaks<Ring4>(Conversion("dealer", 2, open)), 0u);
    if (kSanitized) continue;
    EXPECT_EQ(AllLeaks<Ring4>(Conversion("dealer", 3, open)), 0u);
    EXPECT_EQ(AllLeaks<Ring4>(Conversion("replicated", 3, open)), 0u);
  }
}

// A whole comparison: [x + y < 0] of two bits, opened to one party.
TEST(BitViewTest, SignOpensOnlyItself) {
  if (kSanitized) GTEST_SKIP() << "a hundred thousand runs";
  ViewCase c = Case("dealer", 2, {0, 1});
  c.domain = {0, 7};
  c.body = [](Engine& e, const InstanceInputs& in) {
    Shared sum = e.Add(InputValue(e, in, 0), InputValue(e, in, 1));
    sum.bound = 0;  // with the rounding of inputs that is allowed for: two bits
    return OpenBit(e, IsNegative(e, {&sum, 1})[0], 0);
  };
  const Views views = EnumerateOneByOne<Ring8>(c);
  for (const Coalition& coalition : Coalitions(c)) EXPECT_EQ(NumLeaks(views, coalition), 0u);
  for (size_t i = 0; i < views.num_instances(); ++i) {
    const bool negative = views.Input(i, 0) != 0 || views.Input(i, 1) != 0;
    // Number 0 is what the first instance, 0 + 0, opened.
    ASSERT_EQ(views.output[0][i] != views.output[0][0], negative) << i;
  }
}

// ---- planted defects

// Every random bit or element of a case is needed: without it somebody learns something.
template <typename R>
void ExpectAllNeeded(ViewCase c, size_t num_digits) {
  const std::vector<Digit> digits = EnumerateOneByOne<R>(c).digits;
  ASSERT_EQ(digits.size(), num_digits);
  for (const Digit& digit : digits) {
    c.constant = {digit};
    EXPECT_GT(AllLeaks<R>(c), 0u) << digit.low << digit.high << " at " << digit.slot;
  }
}

// Operands that nobody knows.
ViewCase AndOfSums(const std::string& engine, size_t num_parties) {
  ViewCase c = Case(engine, num_parties, {0, 1, 0, 1});
  c.domain = {0, 1};
  c.body = [](Engine& e, const InstanceInputs& in) {
    const BitProduct product = {e.Xor(InputBit(e, in, 0), InputBit(e, in, 1)),
                                e.Xor(InputBit(e, in, 2), InputBit(e, in, 3))};
    e.And({&product, 1});
    return std::vector<IntMatrix>{};
  };
  return c;
}

TEST(BitViewFaultTest, EveryBitOfATripleIsNeeded) {
  ExpectAllNeeded<Ring4>(AndOfSums("dealer", 2), 5);  // u and v of both, w of one
}

TEST(BitViewFaultTest, EveryBitOfAReplicatedAndIsNeeded) {
  ExpectAllNeeded<Ring4>(And("replicated", 3, 0, 1, {}), 5);  // two masks, three zero shares
}

TEST(BitViewFaultTest, EveryElementOfADecompositionIsNeeded) {
  if (kSanitized) GTEST_SKIP() << "tens of thousands of runs";
  ViewCase c = Decomposition("dealer", 2, 2);
  ExpectAllNeeded<Ring4>(c, 4);  // r of both, two bits of one
}

TEST(BitViewFaultTest, EveryElementOfAConversionIsNeeded) {
  ExpectAllNeeded<Ring4>(Conversion("dealer", 2, false), 3);  // r of both, its element of one
  if (kSanitized) return;
  // The masks of two inputs and of t, and two components of the result.
  ExpectAllNeeded<Ring4>(Conversion("replicated", 3, false), 5);
}

// The mask of one operand for another gives their difference away.
TEST(BitViewFaultTest, SameMaskForTwoOperands) {
  ViewCase c = AndOfSums("dealer", 2);
  EXPECT_EQ(AllLeaks<Ring4>(c), 0u);
  c.fault = [](const Digit& digit, const auto& honest) -> uint8_t {
    return honest(digit.slot == kBitTapeBase + 16 ? Digit{digit.low, digit.high, kBitTapeBase}
                                                  : digit);
  };
  EXPECT_GT(AllLeaks<Ring4>(c), 0u);
}

// Shares travel bare if the pairs' zero shares are missing.
TEST(BitViewFaultTest, OpeningThatIsNotRerandomised) {
  ViewCase c = Case("dealer", 3, {0, 1, 2});
  c.domain = {0, 1};
  c.body = [](Engine& e, const InstanceInputs& in) {
    SharedBits sum = e.Xor(InputBit(e, in, 0), InputBit(e, in, 1));
    return OpenBit(e, e.Xor(sum, InputBit(e, in, 2)), 0);
  };
  const Views honest = EnumerateOneByOne<Ring4>(c);
  EXPECT_EQ(AllLeaks<Ring4>(c), 0u);
  c.constant = honest.digits;
  EXPECT_GT(AllLeaks<Ring4>(c), 0u);
}

}  // namespace
}  // namespace partita::mpc::testing::bit_view_test
