#include "crypto/block.h"

#include <openssl/evp.h>

#include <algorithm>
#include <cassert>

namespace partita::crypto {
namespace {

constexpr size_t kKeyBytes = 16;
// Blocks that OpenSSL takes at once, well below what its int counts.
constexpr size_t kBlocksPerCall = size_t{1} << 20;

void CheckBlock(int result) {
  if (result != 1) throw Error(ErrorCode::kInternal, "OpenSSL cannot run AES-128");
}

}  // namespace

BlockPermutation::BlockPermutation(ByteView key)
    : context_(EVP_CIPHER_CTX_new(), EVP_CIPHER_CTX_free) {
  if (key.size() != kKeyBytes) throw Error(ErrorCode::kInternal, "a key of AES-128 has 16 bytes");
  if (context_ == nullptr) throw Error(ErrorCode::kInternal, "OpenSSL is out of memory");
  CheckBlock(EVP_EncryptInit_ex2(context_.get(), EVP_aes_128_ecb(), key.data(), nullptr, nullptr));
  CheckBlock(EVP_CIPHER_CTX_set_padding(context_.get(), 0));
}

BlockPermutation::~BlockPermutation() = default;

void BlockPermutation::Apply(std::span<Block> blocks) {
  while (!blocks.empty()) {
    const auto part = blocks.first(std::min(blocks.size(), kBlocksPerCall));
    auto* bytes = reinterpret_cast<uint8_t*>(part.data());
    int written = 0;
    CheckBlock(EVP_EncryptUpdate(context_.get(), bytes, &written, bytes,
                                 static_cast<int>(part.size_bytes())));
    blocks = blocks.subspan(part.size());
  }
}

void TweakedHash(BlockPermutation& permutation, std::span<Block> inputs, uint64_t first_index,
                 uint64_t first_block, size_t blocks_each, std::span<Block> out) {
  assert(out.size() == inputs.size() * blocks_each);
  permutation.Apply(inputs);
  for (size_t n = 0; n < inputs.size(); ++n) {
    const Block high = static_cast<Block>(first_index + n) << 64;
    for (size_t c = 0; c < blocks_each; ++c) {
      out[n * blocks_each + c] = inputs[n] ^ high ^ (first_block + c);
    }
  }
  permutation.Apply(out);
  for (size_t n = 0; n < inputs.size(); ++n) {
    for (size_t c = 0; c < blocks_each; ++c) out[n * blocks_each + c] ^= inputs[n];
  }
}

}  // namespace partita::crypto
