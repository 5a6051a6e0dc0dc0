// The fields against arithmetic that knows nothing of Mersenne numbers, and their laws.
#include "mpc/prime_field.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "mpc/binary_field.h"

namespace partita::mpc::prime_field_test {
namespace {

// a b mod p by doubling and adding.
UInt128 SlowProduct(UInt128 a, UInt128 b, UInt128 p) {
  UInt128 product = 0;
  for (; b != 0; b >>= 1) {
    if ((b & 1) != 0) product = (product + a) % p;  // p < 2^127: no overflow
    a = (a + a) % p;
  }
  return product;
}

template <typename F>
std::vector<UInt128> Samples() {
  std::vector<UInt128> samples = {
      0, 1, 2, 3, F::kModulus - 1, F::kModulus - 2, F::kModulus / 2, F::kModulus / 2 + 1};
  for (int bit = 1; bit < F::kBits; ++bit) {
    samples.push_back(static_cast<UInt128>(1) << bit);
    samples.push_back((static_cast<UInt128>(1) << bit) - 1);
  }
  std::mt19937_64 random(F::kBits);
  for (int i = 0; i < 50; ++i) samples.push_back((static_cast<UInt128>(random()) << 64) | random());
  for (UInt128& sample : samples) sample %= F::kModulus;
  return samples;
}

template <typename F>
class PrimeFieldTest : public ::testing::Test {};
using Fields = ::testing::Types<Field127, Field5, Field7, Field11, FieldOf7Bits>;
TYPED_TEST_SUITE(PrimeFieldTest, Fields);

TYPED_TEST(PrimeFieldTest, AgreesWithSlowArithmetic) {
  using F = TypeParam;
  const UInt128 p = F::kModulus;
  const auto samples = Samples<F>();
  for (UInt128 a : samples) {
    for (UInt128 b : samples) {
      const auto x = static_cast<typename F::Word>(a), y = static_cast<typename F::Word>(b);
      ASSERT_TRUE(F::Add(x, y) == (a + b) % p);
      ASSERT_TRUE(F::Sub(x, y) == (a + (p - b)) % p);
      ASSERT_TRUE(F::Mul(x, y) == SlowProduct(a, b, p));
    }
    const auto x = static_cast<typename F::Word>(a);
    ASSERT_TRUE(F::Neg(x) == (p - a) % p);
    if (a != 0) {
      ASSERT_TRUE(F::Mul(x, F::Inverse(x)) == 1);
    }
    ASSERT_TRUE(F::FromSigned(F::ToSigned(x)) == a);
  }
}

TYPED_TEST(PrimeFieldTest, ReducesEveryWord) {
  using F = TypeParam;
  std::vector<UInt128> words = {0,
                                F::kModulus - 1,
                                F::kModulus,
                                F::kModulus + 1,
                                2 * F::kModulus,
                                ~static_cast<UInt128>(0),
                                ~static_cast<UInt128>(0) - 1,
                                static_cast<UInt128>(1) << 127};
  std::mt19937_64 random(9);
  for (int i = 0; i < 200; ++i) words.push_back((static_cast<UInt128>(random()) << 64) | random());
  for (UInt128 word : words) EXPECT_TRUE(F::Reduce(word) == word % F::kModulus);
}

TYPED_TEST(PrimeFieldTest, SignedIntegers) {
  using F = TypeParam;
  const auto largest = static_cast<Int128>((F::kModulus - 1) / 2);
  for (Int128 v : {Int128{0}, Int128{1}, Int128{-1}, largest, -largest}) {
    EXPECT_TRUE(F::ToSigned(F::FromSigned(v)) == v);
  }
  EXPECT_TRUE(F::FromSigned(-1) == F::kModulus - 1);
  EXPECT_TRUE(F::IsCanonical(static_cast<typename F::Word>(F::kModulus - 1)));
  EXPECT_FALSE(F::IsCanonical(static_cast<typename F::Word>(F::kModulus)));
  // Two masks' worth fit, three do not have to.
  EXPECT_TRUE(2 * ((static_cast<UInt128>(1) << F::kMaskBits) - 1) < F::kModulus);
  EXPECT_TRUE(4 * ((static_cast<UInt128>(1) << F::kMaskBits)) - 2 >= F::kModulus);
}

template <typename F>
class BinaryFieldTest : public ::testing::Test {};
using BinaryFields = ::testing::Types<BinaryField<2>, BinaryField<3>, BinaryField<4>>;
TYPED_TEST_SUITE(BinaryFieldTest, BinaryFields);

// All laws of a field, for all elements.
TYPED_TEST(BinaryFieldTest, IsAField) {
  using F = TypeParam;
  for (unsigned i = 0; i < F::kOrder; ++i) {
    const auto a = static_cast<uint8_t>(i);
    EXPECT_EQ(F::Mul(a, 1), a);
    if (a != 0) {
      EXPECT_EQ(F::Mul(a, F::Inverse(a)), 1);
    }
    for (unsigned j = 0; j < F::kOrder; ++j) {
      const auto b = static_cast<uint8_t>(j);
      EXPECT_EQ(F::Mul(a, b), F::Mul(b, a));
      EXPECT_LT(F::Mul(a, b), F::kOrder);
      if (a != 0 && b != 0) {
        EXPECT_NE(F::Mul(a, b), 0);
      }
      for (unsigned k = 0; k < F::kOrder; ++k) {
        const auto c = static_cast<uint8_t>(k);
        EXPECT_EQ(F::Mul(a, F::Mul(b, c)), F::Mul(F::Mul(a, b), c));
        EXPECT_EQ(F::Mul(a, F::Add(b, c)), F::Add(F::Mul(a, b), F::Mul(a, c)));
      }
    }
  }
}

TYPED_TEST(BinaryFieldTest, SlicesAreElements) {
  using F = TypeParam;
  constexpr size_t kSlices = F::kSlices;
  std::mt19937_64 random(3);
  auto a = MakeSlices<kSlices>(3), b = a;
  for (auto* slices : {&a, &b}) {
    for (auto& slice : *slices) {
      for (uint64_t& word : slice) word = random();
    }
  }
  const auto product = Multiply<kSlices>(a, b);
  for (unsigned factor = 0; factor < F::kOrder; ++factor) {
    auto sum = b;
    AddScaled<kSlices>(a, static_cast<uint8_t>(factor), sum);
    for (size_t word = 0; word < 3; ++word) {
      for (size_t bit = 0; bit < 64; ++bit) {
        const uint8_t x = ElementAt<kSlices>(a, word, bit), y = ElementAt<kSlices>(b, word, bit);
        EXPECT_EQ(ElementAt<kSlices>(product, word, bit), F::Mul(x, y));
        EXPECT_EQ(ElementAt<kSlices>(sum, word, bit),
                  F::Add(y, F::Mul(x, static_cast<uint8_t>(factor))));
      }
    }
  }
}

}  // namespace
}  // namespace partita::mpc::prime_field_test
