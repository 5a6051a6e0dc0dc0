// Exact privacy of the engine `shamir`: sums, products and bits over tiny fields.
#include <gtest/gtest.h>

#include <set>

#include "tests/mpc/shamir_views.h"

namespace partita::mpc::testing::shamir_views::shamir_view_test {
namespace {

Case Sum() {
  Case c;
  c.owners = {0, 1};
  c.body = [](Engine& engine, const std::vector<IntMatrix>& x) {
    const Shared sum = engine.Add(InputOf(engine, 0, x[0], 0.4), InputOf(engine, 1, x[1], 0.4));
    return std::vector{RevealOne(engine, engine.Scale(sum, 2), 2)};
  };
  return c;
}

TEST(ShamirViewTest, SumOpenedToOne) { ExpectPrivateForEach(Enumerate<Field5, 2>(Sum()), 3); }

// x_0 x_1, opened to party 2 or to everybody.
Case ProductTo(PartyIndex to) {
  Case c;
  c.owners = {0, 1};
  c.body = [to](Engine& engine, const std::vector<IntMatrix>& x) {
    const Product product{Product::Kind::kElementwise, InputOf(engine, 0, x[0]),
                          InputOf(engine, 1, x[1])};
    return std::vector{RevealOne(engine, engine.Multiply({&product, 1})[0], to)};
  };
  return c;
}

TEST(ShamirViewTest, ProductOpenedToOneAndToAll) {
  ExpectPrivateForEach(Enumerate<Field5, 2>(ProductTo(2)), 3);
  ExpectPrivateForEach(Enumerate<Field5, 2>(ProductTo(kEverybody)), 3);
}

// A private operand that is dealt for the product, and one that its owner multiplies itself.
TEST(ShamirViewTest, ProductsOfPrivateOperands) {
  Case c;
  c.owners = {1, 2};
  c.body = [](Engine& engine, const std::vector<IntMatrix>& x) {
    const Product product{Product::Kind::kElementwise, Private(engine, 1, x[0], 0.5),
                          Private(engine, 2, x[1], 0.5)};
    return std::vector{RevealOne(engine, engine.Multiply({&product, 1})[0], 0)};
  };
  ExpectPrivateForEach(Enumerate<Field5, 2>(c), 3);
}

// A resharing of which one party does not randomise its part.
TEST(ShamirViewTest, AResharingWithoutRandomnessIsCaught) {
  Case c = ProductTo(2);
  // The input of party 0 is read in slot 0, of party 1 in slot 1, the resharings in slot 2.
  c.fault = [](const Digit& digit, const auto& honest) -> uint8_t {
    return digit.kind == Digit::Kind::kElement && digit.slot == 2 ? 0 : honest(digit);
  };
  const Views views = Enumerate<Field5, 2>(c);
  size_t leaks = 0;
  for (PartyIndex party = 0; party < 3; ++party) leaks += NumLeaks(views, {party});
  EXPECT_GT(leaks, 0u);
}

// Two dealings that read the same interval: their difference tells the difference of the secrets.
TEST(ShamirViewTest, RandomnessUsedTwiceIsCaught) {
  Case c;
  c.owners = {0};
  c.body = [](Engine& engine, const std::vector<IntMatrix>& x) {
    IntMatrix squares = x[0];
    for (Int128& v : squares.values) v *= v;
    const PrivateMatrix inputs[] = {Private(engine, 0, x[0], 0.5),
                                    Private(engine, 0, squares, 0.5)};
    engine.Input(inputs);
    return std::vector<IntMatrix>{};
  };
  ExpectPrivateForEach(Enumerate<Field5, 2>(c), 3);
  c.fault = [](const Digit& digit, const auto& honest) {
    Digit asked = digit;
    asked.slot = 0;
    return honest(asked);
  };
  EXPECT_GT(NumLeaks(Enumerate<Field5, 2>(c), {2}), 0u);
}

// A share from a tape that is never 0 makes the leading coefficient tell of the secret.
TEST(ShamirViewTest, ARandomElementThatIsNeverZeroIsCaught) {
  Case c;
  c.owners = {0};
  c.body = [](Engine& engine, const std::vector<IntMatrix>& x) {
    InputOf(engine, 0, x[0]);
    return std::vector<IntMatrix>{};
  };
  ExpectPrivateForEach(Enumerate<Field5, 2>(c), 3);
  c.fault = [](const Digit& digit, const auto& honest) -> uint8_t {
    const uint8_t value = honest(digit);
    return value == 0 ? uint8_t{1} : value;
  };
  EXPECT_GT(NumLeaks(Enumerate<Field5, 2>(c), {2}), 0u);
}

// What opening a product's own polynomial would tell, without a resharing: party 0 of three sees
// f_x g_y at all points, given x y.
TEST(ShamirViewTest, AProductOpenedAsItIsIsCaught) {
  using F = Field5;
  std::map<int, std::map<std::pair<int, int>, std::map<std::array<int, 5>, int>>> seen;
  for (int x = 0; x < 5; ++x) {
    for (int y = 0; y < 5; ++y) {
      for (int a = 0; a < 5; ++a) {
        for (int b = 0; b < 5; ++b) {
          auto share = [](int secret, int slope, int point) {
            return F::Reduce(static_cast<UInt128>(secret + slope * point));
          };
          std::array<int, 5> view = {share(x, a, 1), share(y, b, 1), 0, 0, 0};
          for (int point = 1; point <= 3; ++point) {
            view[static_cast<size_t>(point) + 1] = F::Mul(share(x, a, point), share(y, b, point));
          }
          ++seen[F::Mul(static_cast<uint8_t>(x), static_cast<uint8_t>(y))][{x, y}][view];
        }
      }
    }
  }
  bool depends = false;
  for (const auto& [product, by_inputs] : seen) {
    for (const auto& [inputs, views] : by_inputs) {
      depends = depends || views != by_inputs.begin()->second;
    }
  }
  EXPECT_TRUE(depends);
}

// ---- bits, over GF(4)

SharedBits BitsOf(Engine& engine, PartyIndex owner, const IntMatrix& column) {
  BitMatrix bits = MakeBits(column.shape, 1);
  for (size_t i = 0; i < column.values.size(); ++i) SetBit(bits, 0, i, column.values[i] != 0);
  if (engine.self() != owner) bits.words.clear();
  const PrivateBits input{owner, std::move(bits)};
  return engine.InputBits({&input, 1})[0];
}

IntMatrix OpenedColumn(const BitMatrix& bits) {
  IntMatrix column;
  if (bits.words.empty()) return column;
  column.shape = bits.shape;
  for (size_t i = 0; i < bits.shape.size(); ++i)
    column.values.push_back(GetBit(bits, 0, i) ? 1 : 0);
  return column;
}

Case AndTo(PartyIndex to) {
  Case c;
  c.owners = {0, 1};
  c.domain = {0, 1};
  c.body = [to](Engine& engine, const std::vector<IntMatrix>& x) {
    const BitProduct product{BitsOf(engine, 0, x[0]), BitsOf(engine, 1, x[1])};
    const SharedBits result = engine.And({&product, 1})[0];
    return std::vector{OpenedColumn(engine.RevealBits("out", {&result, 1}, to)[0])};
  };
  return c;
}

TEST(ShamirViewTest, AndOfBits) {
  ExpectPrivateForEach(Enumerate<Field5, 2>(AndTo(2)), 3);
  ExpectPrivateForEach(Enumerate<Field5, 2>(AndTo(kEverybody)), 3);
  Case c = AndTo(2);
  c.fault = [](const Digit& digit, const auto& honest) -> uint8_t {
    return digit.slot >= 4 ? 0 : honest(digit);  // two slots for each input, then the resharings
  };
  const Views views = Enumerate<Field5, 2>(c);
  EXPECT_GT(NumLeaks(views, {0}) + NumLeaks(views, {1}) + NumLeaks(views, {2}), 0u);
}

// Random bits are uniform to each party before they are opened, and so is what they mask.
TEST(ShamirViewTest, RandomBitsMask) {
  Case c;
  c.owners = {0};
  c.domain = {0, 1};
  c.body = [](Engine& engine, const std::vector<IntMatrix>& x) {
    crypto::SystemRandom own;
    const SharedBits masked =
        engine.Xor(BitsOf(engine, 0, x[0]), engine.RandomBits(x[0].shape, 1, own));
    engine.RevealBits("out", {&masked, 1}, kEverybody);
    return std::vector<IntMatrix>{};
  };
  ExpectPrivateForEach(Enumerate<Field5, 2>(c), 3);
}

// A bit becomes a field element. The opened b ^ d and the products of shared random bits, all
// enumerated.
TEST(ShamirViewTest, BitsToTheField) {
  Case c;
  c.owners = {1};
  c.domain = {0, 1};
  c.body = [](Engine& engine, const std::vector<IntMatrix>& x) {
    const SharedBits bits = BitsOf(engine, 1, x[0]);
    engine.ToRing({&bits, 1});
    return std::vector<IntMatrix>{};
  };
  ExpectPrivateForEach(Enumerate<Field5, 2>(c), 3);
  // The dealer's bit always 0: the group's members know d.
  c.fault = [](const Digit& digit, const auto& honest) -> uint8_t {
    return digit.group == 0b100 ? 0 : honest(digit);
  };
  EXPECT_GT(NumLeaks(Enumerate<Field5, 2>(c), {0}), 0u);
}

// ---- two of five, over F_7

TEST(ShamirViewTest, TwoOfFiveLearnNothingOfASum) {
  Case c;
  c.num_parties = 5;
  c.owners = {0, 3};
  c.domain = {0, 1, 5};
  c.body = [](Engine& engine, const std::vector<IntMatrix>& x) {
    const Shared sum = engine.Add(InputOf(engine, 0, x[0]), InputOf(engine, 3, x[1]));
    return std::vector{RevealOne(engine, sum, 1)};
  };
  const Views views = Enumerate<Field7, 3>(c);
  for (PartyIndex a = 0; a < 5; ++a) {
    EXPECT_EQ(NumLeaks(views, {a}), 0u);
    for (PartyIndex b = 0; b < a; ++b) EXPECT_EQ(NumLeaks(views, {a, b}), 0u) << a << " " << b;
  }
  // Three are one too many, which shows that the views are complete.
  EXPECT_GT(NumLeaks(views, {1, 2, 4}), 0u);
}

// Four parties tolerate one, with a resharing by three of them. F_7 has room for every tape.
TEST(ShamirViewTest, OneOfFourLearnsNothingOfAProduct) {
  Case c = ProductTo(3);
  c.num_parties = 4;
  c.domain = {0, 1, 5};
  ExpectPrivateForEach(Enumerate<Field7, 3>(c), 4);
  // The input of party 0 is read in slot 0, of party 1 in slot 1, the resharings in slot 2.
  c.fault = [](const Digit& digit, const auto& honest) -> uint8_t {
    return digit.kind == Digit::Kind::kElement && digit.slot == 2 ? 0 : honest(digit);
  };
  const Views views = Enumerate<Field7, 3>(c);
  size_t leaks = 0;
  for (PartyIndex party = 0; party < 4; ++party) leaks += NumLeaks(views, {party});
  EXPECT_GT(leaks, 0u);
}

}  // namespace
}  // namespace partita::mpc::testing::shamir_views::shamir_view_test
