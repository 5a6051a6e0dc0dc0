// Sums of streams against the streams themselves.
#include "sums/protocol/masked_sum.h"

#include "tests/sums/protocol/world.h"

namespace partita::sums::masked_sum_test {
namespace {

// The first words of a key's stream, by the other class.
Bytes StreamOf(const crypto::Key& key, size_t size) {
  Bytes bytes(size);
  crypto::Prg(key).Fill(bytes);
  return bytes;
}

class MaskedSumTest : public ::testing::TestWithParam<std::tuple<RingBits, size_t>> {
 protected:
  const RingBits ring_ = std::get<0>(GetParam());
  const size_t dimension_ = std::get<1>(GetParam());
};

TEST_P(MaskedSumTest, AddsTheStreamOfEverySeed) {
  crypto::Prg random = SeededStream(1);
  MaskedSum by_seeds(ring_, dimension_);
  MaskedSum by_words(ring_, dimension_);
  std::vector<crypto::Key> seeds;
  for (int i = 0; i < 3; ++i) {
    seeds.push_back(crypto::RandomKey(random));
    by_words.AddWords(StreamOf(seeds.back(), by_words.words().size()));
  }
  by_seeds.AddStreams(seeds);
  EXPECT_TRUE(std::ranges::equal(by_seeds.words(), by_words.words()));
  by_words.SubtractStreams(seeds);
  EXPECT_EQ(by_words.Signed(), std::vector<Int128>(dimension_));
}

TEST_P(MaskedSumTest, IsExactModuloTheRing) {
  crypto::Prg random = SeededStream(2);
  MaskedSum sum(ring_, dimension_);
  std::vector<Int128> expected(dimension_);
  const int shift = 128 - static_cast<int>(ring_);
  for (int i = 0; i < 5; ++i) {
    std::vector<Int128> values(dimension_);
    random.Fill(std::span(reinterpret_cast<uint8_t*>(values.data()), dimension_ * 16));
    for (size_t j = 0; j < dimension_; ++j) {
      expected[j] =
          static_cast<Int128>(static_cast<UInt128>(expected[j]) + static_cast<UInt128>(values[j]));
    }
    sum.AddIntegers(values);
  }
  for (Int128& value : expected) {
    value = static_cast<Int128>(static_cast<UInt128>(value) << shift) >> shift;
  }
  EXPECT_EQ(sum.Signed(), expected);
}

// One word, odd lengths, around the chunks of the stream and the blocks of the cache.
INSTANTIATE_TEST_SUITE_P(Lengths, MaskedSumTest,
                         ::testing::Combine(::testing::Values(RingBits::k64, RingBits::k128),
                                            ::testing::Values(1, 2, 7, 512, 1023, 1024, 1025, 16384,
                                                              16385, 32768, 32769, 70001)));

TEST(MaskedSumTest, RefusesOtherLengths) {
  MaskedSum sum(RingBits::k64, 3);
  ExpectError(ErrorCode::kInternal, [&] { sum.AddWords(Bytes(23)); });
  ExpectError(ErrorCode::kInternal, [&] { sum.AddIntegers(std::vector<Int128>(2)); });
}

}  // namespace
}  // namespace partita::sums::masked_sum_test
