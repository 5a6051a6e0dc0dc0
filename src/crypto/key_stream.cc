#include "crypto/key_stream.h"

#include <openssl/evp.h>

namespace partita::crypto {
namespace {

// Encrypted to get the bare stream; never written to.
constexpr std::array<uint8_t, KeyStream::kMaxBytes> kZeros{};

void CheckKeyStream(int result) {
  if (result != 1) throw Error(ErrorCode::kInternal, "OpenSSL cannot run AES-256-CTR");
}

}  // namespace

KeyStream::KeyStream() : context_(EVP_CIPHER_CTX_new(), EVP_CIPHER_CTX_free) {
  if (context_ == nullptr) throw Error(ErrorCode::kInternal, "OpenSSL is out of memory");
  CheckKeyStream(EVP_EncryptInit_ex2(context_.get(), EVP_aes_256_ctr(), nullptr, nullptr, nullptr));
}

KeyStream::~KeyStream() = default;
KeyStream::KeyStream(KeyStream&&) noexcept = default;
KeyStream& KeyStream::operator=(KeyStream&&) noexcept = default;

void KeyStream::Start(const Key& key, uint64_t block) {
  std::array<uint8_t, 16> counter{};  // big-endian, as counter mode increments it
  for (size_t i = 0; i < 8; ++i) counter[15 - i] = static_cast<uint8_t>(block >> (8 * i));
  CheckKeyStream(
      EVP_EncryptInit_ex2(context_.get(), nullptr, key.Expose().data(), counter.data(), nullptr));
}

void KeyStream::Next(std::span<uint8_t> out) {
  if (out.size() > kMaxBytes)
    throw Error(ErrorCode::kInternal, "a key stream is asked for too much");
  int written = 0;
  CheckKeyStream(EVP_EncryptUpdate(context_.get(), out.data(), &written, kZeros.data(),
                                   static_cast<int>(out.size())));
}

}  // namespace partita::crypto
