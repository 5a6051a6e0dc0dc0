// Blocks of 128 bits, and hashing of many at once with a tweak: what oblivious transfers turn their
// correlated rows into independent pads with.
//
// Timing  constant in keys and blocks; not in their numbers (public). Proved by tests/ctime around
//         OpenSSL.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "base/int128.h"
#include "crypto/random.h"

struct evp_cipher_ctx_st;

namespace partita::crypto {

// Bit i of the block is bit i % 8 of byte i / 8 in memory.
using Block = UInt128;

// A public permutation of blocks: AES-128 (FIPS 197) under a key that everybody may know, through
// OpenSSL.
class BlockPermutation {
 public:
  explicit BlockPermutation(ByteView key);  // 16 bytes
  ~BlockPermutation();
  BlockPermutation(const BlockPermutation&) = delete;
  BlockPermutation& operator=(const BlockPermutation&) = delete;

  // Every block in place.
  void Apply(std::span<Block> blocks);

 private:
  std::unique_ptr<evp_cipher_ctx_st, void (*)(evp_cipher_ctx_st*)> context_;
};

// TMMO, H(x, i) = p(p(x) ^ i) ^ p(x) for a permutation p (Guo, Katz, Wang & Yu, IEEE S&P 2020):
// a tweakable circular correlation robust hash if p is an ideal permutation and no
// pair (x, i) occurs twice.
//
// For each x of `inputs`, `blocks_each` blocks go to `out`, one x after the other; block c of input
// n has the tweak i = (c, first_index + n), the low and the high 64 bits. `inputs` is overwritten
// with p(x).
void TweakedHash(BlockPermutation& permutation, std::span<Block> inputs, uint64_t first_index,
                 uint64_t first_block, size_t blocks_each, std::span<Block> out);

}  // namespace partita::crypto
