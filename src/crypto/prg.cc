#include "crypto/prg.h"

#include <openssl/evp.h>

#include <algorithm>

namespace partita::crypto {
namespace {

constexpr size_t kBlockBytes = 16;
// Zeroed and encrypted while it sits in the first-level cache.
constexpr size_t kChunkBytes = size_t{1} << 14;

void CheckPrg(int result) {
  if (result != 1) throw Error(ErrorCode::kInternal, "OpenSSL cannot run AES-256-CTR");
}

}  // namespace

Prg::Prg(const Key& key) : context_(EVP_CIPHER_CTX_new(), EVP_CIPHER_CTX_free) {
  if (context_ == nullptr) throw Error(ErrorCode::kInternal, "OpenSSL is out of memory");
  const std::array<uint8_t, kBlockBytes> zero{};
  CheckPrg(EVP_EncryptInit_ex2(context_.get(), EVP_aes_256_ctr(), key.Expose().data(), zero.data(),
                               nullptr));
}

Prg::~Prg() = default;
Prg::Prg(Prg&&) noexcept = default;
Prg& Prg::operator=(Prg&&) noexcept = default;

void Prg::Fill(std::span<uint8_t> out) {
  offset_ += out.size();
  const size_t ready = std::min(buffered_, out.size());
  std::copy_n(buffer_.Expose().end() - static_cast<ptrdiff_t>(buffered_), ready, out.begin());
  buffered_ -= ready;
  out = out.subspan(ready);
  if (out.size() >= kBufferBytes) {
    Generate(out);
  } else if (!out.empty()) {
    Refill();
    std::copy_n(buffer_.Expose().begin(), out.size(), out.begin());
    buffered_ = kBufferBytes - out.size();
  }
}

void Prg::Seek(uint64_t offset) {
  SetCounter(offset / kBlockBytes);
  buffered_ = 0;
  std::array<uint8_t, kBlockBytes> skipped{};
  Generate(std::span(skipped).first(offset % kBlockBytes));
  Wipe(skipped.data(), skipped.size());
  offset_ = offset;
}

void Prg::Generate(std::span<uint8_t> out) {
  while (!out.empty()) {
    std::span<uint8_t> chunk = out.first(std::min(out.size(), kChunkBytes));
    std::fill(chunk.begin(), chunk.end(), uint8_t{0});
    int written = 0;
    CheckPrg(EVP_EncryptUpdate(context_.get(), chunk.data(), &written, chunk.data(),
                               static_cast<int>(chunk.size())));
    out = out.subspan(chunk.size());
  }
}

void Prg::SetCounter(uint64_t block) {
  std::array<uint8_t, kBlockBytes> counter{};  // big-endian, as counter mode increments it
  for (size_t i = 0; i < 8; ++i) {
    counter[kBlockBytes - 1 - i] = static_cast<uint8_t>(block >> (8 * i));
  }
  CheckPrg(EVP_EncryptInit_ex2(context_.get(), nullptr, nullptr, counter.data(), nullptr));
}

void Prg::Refill() { Generate(buffer_.Expose()); }

}  // namespace partita::crypto
