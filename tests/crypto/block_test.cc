// The permutation against FIPS 197, and the tweaked hash against its formula.
#include "crypto/block.h"

#include <gtest/gtest.h>

#include <set>

#include "base/bytes.h"
#include "base/error.h"

namespace partita::crypto::block_test {
namespace {

Block BlockOf(const std::string& hex) {
  const Bytes bytes = FromHex(hex);
  Block block = 0;
  std::copy(bytes.begin(), bytes.end(), reinterpret_cast<uint8_t*>(&block));
  return block;
}

TEST(BlockTest, PublishedPermutation) {  // FIPS 197, appendix C.1
  BlockPermutation permutation(FromHex("000102030405060708090a0b0c0d0e0f"));
  Block blocks[] = {BlockOf("00112233445566778899aabbccddeeff"), 0,
                    BlockOf("00112233445566778899aabbccddeeff")};
  permutation.Apply(blocks);
  EXPECT_TRUE(blocks[0] == BlockOf("69c4e0d86a7b0430d8cdb78070b4c55a"));
  EXPECT_TRUE(blocks[2] == blocks[0]);
  EXPECT_FALSE(blocks[1] == blocks[0]);
  permutation.Apply({});
  EXPECT_THROW(BlockPermutation(Bytes(32)), Error);
}

// p(p(x) ^ i) ^ p(x), block by block.
TEST(BlockTest, TweakedHashIsItsFormula) {
  BlockPermutation permutation(Bytes(16, 7));
  const uint64_t first_index = (uint64_t{1} << 63) + 5, first_block = 11;
  const std::vector<Block> inputs = {0, 1, ~Block{0}, BlockOf("00112233445566778899aabbccddeeff")};
  std::vector<Block> scratch = inputs, out(3 * inputs.size());
  TweakedHash(permutation, scratch, first_index, first_block, 3, out);
  for (size_t n = 0; n < inputs.size(); ++n) {
    for (size_t c = 0; c < 3; ++c) {
      Block once[] = {inputs[n]};
      permutation.Apply(once);
      Block twice[] = {once[0] ^ (static_cast<Block>(first_index + n) << 64 | (first_block + c))};
      permutation.Apply(twice);
      EXPECT_TRUE(out[3 * n + c] == (twice[0] ^ once[0])) << n << " " << c;
    }
  }
}

// Equal inputs give pads that have nothing to do with each other, because their tweaks differ: a
// collision among 3000 has probability 2^-105.
TEST(BlockTest, EqualInputsGiveDifferentHashes) {
  BlockPermutation permutation(Bytes(16, 7));
  std::set<std::pair<uint64_t, uint64_t>> seen;
  for (uint64_t direction : {0, 1}) {
    std::vector<Block> inputs(500, 42), out(3 * inputs.size());
    TweakedHash(permutation, inputs, direction << 63, 0, 3, out);
    for (Block h : out) seen.emplace(static_cast<uint64_t>(h >> 64), static_cast<uint64_t>(h));
  }
  EXPECT_EQ(seen.size(), 3000u);
}

}  // namespace
}  // namespace partita::crypto::block_test
