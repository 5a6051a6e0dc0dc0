// Planes of bits against bit by bit definitions.
#include "mpc/bit_kernels.h"

#include <gtest/gtest.h>

#include <random>

#include "mpc/bits.h"

namespace partita::mpc::bit_kernels_test {
namespace {

std::vector<UInt128> RandomValues(std::mt19937_64& random, size_t size) {
  std::vector<UInt128> values(size);
  for (UInt128& value : values) value = (static_cast<UInt128>(random()) << 64) | random();
  return values;
}

TEST(BitKernelsTest, PlanesHoldEveryBitOfEveryValue) {
  std::mt19937_64 random(1);
  for (size_t size : {0, 1, 63, 64, 65, 130}) {
    const std::vector<UInt128> values = RandomValues(random, size);
    for (size_t width : {1, 2, 52, 64, 65, 127, 128}) {
      BitMatrix bits{{size, 1}, width, ToPlanes<Ring128>(values, width)};
      ASSERT_EQ(bits.words.size(), width * WordsPerPlane(bits.shape));
      for (size_t plane = 0; plane < width; ++plane) {
        for (size_t i = 0; i < size; ++i) {
          ASSERT_EQ(GetBit(bits, plane, i), (values[i] >> plane & 1) != 0)
              << size << " values, plane " << plane << " of " << width << ", entry " << i;
        }
      }
      BitMatrix cleared = bits;
      ClearUnused(cleared);
      EXPECT_EQ(cleared.words, bits.words) << "bits beyond the last value must be zero";
      const std::vector<UInt128> back = FromPlanes<Ring128>(bits.words, size, width);
      for (size_t k = 0; k < back.size(); ++k) {
        ASSERT_EQ(back[k], values[k % size] >> (k / size) & 1);
      }
    }
  }
}

TEST(BitKernelsTest, PackingKeepsValuesModuloTwoToTheWidthAndNothingElse) {
  std::mt19937_64 random(2);
  const std::vector<UInt128> values = RandomValues(random, 20);
  for (size_t width = 1; width <= 128; ++width) {
    const std::vector<uint8_t> packed = PackLow<Ring128>(values, width);
    ASSERT_EQ(packed.size(), 20 * ((width + 7) / 8));
    const UInt128 mask = width == 128 ? ~UInt128{0} : (UInt128{1} << width) - 1;
    std::vector<uint8_t> dirty = packed;
    for (uint8_t& byte : dirty) byte = static_cast<uint8_t>(~byte);
    const auto clean = UnpackLow<Ring128>(packed, width);
    const auto flipped = UnpackLow<Ring128>(dirty, width);
    for (size_t i = 0; i < 20; ++i) {
      EXPECT_EQ(clean[i], values[i] & mask);
      EXPECT_EQ(flipped[i], ~values[i] & mask);
      if (width % 8 != 0) {
        const size_t top = (i + 1) * packed.size() / 20 - 1;
        EXPECT_EQ(packed[top] >> (width % 8), 0) << "bits above the width would be told";
      }
    }
  }
}

TEST(BitKernelsTest, SingleBitsCanBeSetAndCleared) {
  BitMatrix bits = MakeBits({7, 10}, 3);
  EXPECT_EQ(bits.words, std::vector<uint64_t>(6));
  SetBit(bits, 1, 64, true);
  SetBit(bits, 2, 69, true);
  EXPECT_EQ(bits.words, (std::vector<uint64_t>{0, 0, 0, 1, 0, 32}));
  EXPECT_TRUE(GetBit(bits, 1, 64));
  SetBit(bits, 1, 64, false);
  EXPECT_FALSE(GetBit(bits, 1, 64));
  bits.words.assign(6, ~uint64_t{0});
  ClearUnused(bits);
  EXPECT_EQ(bits.words,
            (std::vector<uint64_t>{~uint64_t{0}, 63, ~uint64_t{0}, 63, ~uint64_t{0}, 63}));
}

}  // namespace
}  // namespace partita::mpc::bit_kernels_test
