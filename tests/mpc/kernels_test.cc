#include "mpc/kernels.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace partita::mpc::kernels_test {
namespace {

// Schoolbook product on 32-bit limbs: shares no code and no idea with the kernels.
UInt128 SlowMul(UInt128 a, UInt128 b) {
  uint64_t limbs[4] = {};
  for (int i = 0; i < 4; ++i) {
    uint64_t carry = 0;
    for (int j = 0; i + j < 4; ++j) {
      const uint64_t x = static_cast<uint64_t>(a >> (32 * i)) & 0xffffffffu;
      const uint64_t y = static_cast<uint64_t>(b >> (32 * j)) & 0xffffffffu;
      const uint64_t sum = limbs[i + j] + x * y + carry;
      limbs[i + j] = sum & 0xffffffffu;
      carry = sum >> 32;
    }
  }
  UInt128 result = 0;
  for (int i = 3; i >= 0; --i) result = (result << 32) | limbs[i];
  return result;
}

class Source : public crypto::RandomSource {
 public:
  explicit Source(uint64_t seed) : engine_(seed) {}
  void Fill(std::span<uint8_t> out) override {
    for (auto& byte : out) byte = static_cast<uint8_t>(engine_());
  }

 private:
  std::mt19937_64 engine_;
};

// Random words, one in four at an edge; narrow ones fit 64 signed bits.
std::vector<UInt128> RandomVector(size_t size, bool narrow, Source& source) {
  std::vector<UInt128> words(size);
  RandomWords<Ring128>(source, words);
  const UInt128 one = 1;
  const UInt128 wide_edges[] = {
      0, one, ~UInt128{0}, one << 127, (one << 127) - 1, one << 64, (one << 64) - 1};
  const Int128 narrow_edges[] = {0, 1, -1, INT64_MIN, INT64_MAX, INT64_MIN + 1, -2};
  for (auto& word : words) {
    const bool edge = (static_cast<uint8_t>(word) & 3) == 0;
    const size_t which = static_cast<size_t>(static_cast<uint8_t>(word >> 8)) % 7;
    if (narrow) {
      const auto low = static_cast<int64_t>(static_cast<uint64_t>(word));
      word = static_cast<UInt128>(edge ? narrow_edges[which] : static_cast<Int128>(low));
    } else if (edge) {
      word = wide_edges[which];
    }
  }
  return words;
}

struct Case {
  size_t rows, p, q;
  Narrow narrow;
};

std::vector<Case> Cases() {
  std::vector<Case> cases;
  const size_t sizes[][3] = {{0, 2, 3},  {1, 1, 1},  {2, 1, 1},   {5, 3, 1},   {1, 4, 4},
                             {63, 3, 2}, {64, 2, 2}, {65, 3, 5},  {200, 7, 4}, {130, 1, 9},
                             {9, 0, 3},  {9, 3, 0},  {128, 2, 3}, {3, 2, 40}};
  for (const auto& s : sizes) {
    for (int bits = 0; bits < 4; ++bits) {
      cases.push_back({s[0], s[1], s[2], {(bits & 1) != 0, (bits & 2) != 0}});
    }
  }
  return cases;
}

TEST(Kernels, GramAddsTheExactProductModulo2To128) {
  Source source(1);
  for (const Case& c : Cases()) {
    const auto left = RandomVector(c.rows * c.p, c.narrow.left, source);
    const auto right = RandomVector(c.rows * c.q, c.narrow.right, source);
    auto out = RandomVector(c.p * c.q, false, source);
    auto expected = out;
    for (size_t i = 0; i < c.p; ++i) {
      for (size_t j = 0; j < c.q; ++j) {
        for (size_t r = 0; r < c.rows; ++r) {
          expected[i * c.q + j] += SlowMul(left[r * c.p + i], right[r * c.q + j]);
        }
      }
    }
    GramAccumulate<Ring128>(left, right, c.rows, c.p, c.q, out, c.narrow);
    EXPECT_TRUE(out == expected) << c.rows << " " << c.p << " " << c.q;
  }
}

TEST(Kernels, MatMulAddsTheExactProductModulo2To128) {
  Source source(2);
  for (const Case& c : Cases()) {
    const size_t m = c.p, k = c.rows, n = c.q;
    const auto left = RandomVector(m * k, c.narrow.left, source);
    const auto right = RandomVector(k * n, c.narrow.right, source);
    auto out = RandomVector(m * n, false, source);
    auto expected = out;
    std::vector<UInt128> product(m * n, 0);
    for (size_t i = 0; i < m; ++i) {
      for (size_t j = 0; j < n; ++j) {
        for (size_t l = 0; l < k; ++l) {
          product[i * n + j] += SlowMul(left[i * k + l], right[l * n + j]);
        }
        expected[i * n + j] += product[i * n + j];
      }
    }
    MatMulAccumulate<Ring128>(left, right, m, k, n, out, c.narrow);
    EXPECT_TRUE(out == expected) << m << " " << k << " " << n;
    MatMul<Ring128>(left, right, m, k, n, out, c.narrow);
    EXPECT_TRUE(out == product) << m << " " << k << " " << n;
  }
}

// The generic loops, in every ring: arithmetic in Int128 reduced at the end is the reference.
template <typename R>
class EveryRing : public ::testing::Test {};
using Rings = ::testing::Types<Ring128, Ring64, Ring16, Ring8, Ring4>;
TYPED_TEST_SUITE(EveryRing, Rings);

template <typename R>
std::vector<typename R::Word> RandomOf(size_t size, Source& source) {
  std::vector<typename R::Word> words(size);
  RandomWords<R>(source, words);
  return words;
}

TYPED_TEST(EveryRing, ElementwiseKernels) {
  using R = TypeParam;
  Source source(3);
  const size_t rows = 7, cols = 3, size = rows * cols;
  const auto a = RandomOf<R>(size, source), b = RandomOf<R>(size, source);
  const auto column = RandomOf<R>(rows, source), start = RandomOf<R>(size, source);
  const auto factor = RandomOf<R>(1, source)[0];
  using V = std::vector<typename R::Word>;
  V sum(size), difference(size), scaled(size), product(size);
  Add<R>(a, b, sum);
  Sub<R>(a, b, difference);
  Scale<R>(a, factor, scaled);
  Hadamard<R>(a, b, product);
  V accumulated = start, broadcast_accumulated = start;
  HadamardAccumulate<R>(a, b, accumulated);
  BroadcastAccumulate<R>(a, column, cols, broadcast_accumulated);
  const UInt128 mask = R::kBits == 128 ? ~UInt128{0} : (UInt128{1} << (R::kBits % 128)) - 1;
  for (size_t i = 0; i < size; ++i) {
    const UInt128 x = a[i], y = b[i], c = column[i / cols], s = start[i];
    EXPECT_TRUE(sum[i] == ((x + y) & mask));
    EXPECT_TRUE(difference[i] == ((x - y) & mask));
    EXPECT_TRUE(scaled[i] == (SlowMul(x, factor) & mask));
    EXPECT_TRUE(product[i] == (SlowMul(x, y) & mask));
    EXPECT_TRUE(accumulated[i] == ((s + SlowMul(x, y)) & mask));
    EXPECT_TRUE(broadcast_accumulated[i] == ((s + SlowMul(x, c)) & mask));
  }
  V in_place = a;
  Sub<R>(in_place, b, in_place);
  EXPECT_TRUE(in_place == difference);
}

TYPED_TEST(EveryRing, ProductsOfMatrices) {
  using R = TypeParam;
  Source source(4);
  const size_t m = 3, k = 5, n = 4;
  const auto left = RandomOf<R>(m * k, source), right = RandomOf<R>(k * n, source);
  std::vector<typename R::Word> left_transposed(k * m), product(m * n), gram(m * n);
  for (size_t i = 0; i < m; ++i) {
    for (size_t l = 0; l < k; ++l) left_transposed[l * m + i] = left[i * k + l];
  }
  MatMul<R>(left, right, m, k, n, product);
  GramAccumulate<R>(left_transposed, right, k, m, n, gram);
  for (size_t i = 0; i < m; ++i) {
    for (size_t j = 0; j < n; ++j) {
      UInt128 expected = 0;
      for (size_t l = 0; l < k; ++l) expected += SlowMul(left[i * k + l], right[l * n + j]);
      EXPECT_TRUE(product[i * n + j] == R::Reduce(expected));
    }
  }
  EXPECT_TRUE(product == gram);
}

TYPED_TEST(EveryRing, SignedRepresentatives) {
  using R = TypeParam;
  const Int128 half = static_cast<Int128>(static_cast<UInt128>(1) << (R::kBits - 2));
  for (const Int128 v :
       {Int128{0}, Int128{1}, Int128{-1}, half, -half, half - 1, -half - half, half - 1 + half}) {
    EXPECT_TRUE(R::ToSigned(R::FromSigned(v)) == v) << ToString(v);
  }
  EXPECT_TRUE(R::Add(R::FromSigned(-1), 1) == 0);
  EXPECT_TRUE(R::Neg(R::FromSigned(-1)) == 1);
  EXPECT_TRUE(R::Neg(0) == 0);
}

// Every residue of a tiny ring is equally frequent when the bytes are: 256 bytes, all different.
TEST(Rings, RandomWordsKeepTheLowBits) {
  struct Counter : crypto::RandomSource {
    uint8_t next = 0;
    void Fill(std::span<uint8_t> out) override {
      for (auto& byte : out) byte = next++;
    }
  } counter;
  std::vector<uint8_t> words(256);
  RandomWords<Ring8>(counter, words);
  std::vector<int> count(8);
  for (const uint8_t word : words) ++count.at(word);
  EXPECT_EQ(count, std::vector<int>(8, 32));
}

TEST(Rings, WireBytesAreLittleEndianMemory) {
  std::vector<UInt128> words = {0x0102, UInt128{0xab} << 120};
  const auto bytes = WireBytes(std::span(words));
  ASSERT_EQ(bytes.size(), 32u);
  EXPECT_EQ(bytes[0], 0x02);
  EXPECT_EQ(bytes[1], 0x01);
  EXPECT_EQ(bytes[31], 0xab);
  std::vector<uint8_t> received = {0xff, 0x07};
  ReduceWords<Ring4>(received);
  EXPECT_EQ(received, (std::vector<uint8_t>{3, 3}));
}

}  // namespace
}  // namespace partita::mpc::kernels_test
