// A key stretched into a long, seekable stream of pseudo-random bytes: AES-256 in counter mode from
// a zero initial value (NIST SP 800-38A), through OpenSSL. The stream is a function of the key
// alone, so two holders of a pairwise key agree on it without a message.
//
// Timing  constant in keys; not in offsets and lengths (public). Proved by tests/ctime around
//         OpenSSL.
#pragma once

#include <memory>

#include "crypto/random.h"

struct evp_cipher_ctx_st;

namespace partita::crypto {

class Prg : public RandomSource {
 public:
  explicit Prg(const Key& key);
  ~Prg() override;
  Prg(const Prg&) = delete;
  Prg& operator=(const Prg&) = delete;
  Prg(Prg&&) noexcept;
  Prg& operator=(Prg&&) noexcept;

  // The next out.size() bytes of the stream.
  void Fill(std::span<uint8_t> out) override;
  // The next Fill starts at byte `offset` of the stream. Takes as long for every offset.
  void Seek(uint64_t offset);
  // Position of the next byte.
  uint64_t offset() const { return offset_; }

 private:
  void Generate(std::span<uint8_t> out);
  void SetCounter(uint64_t block);
  void Refill();

  // Small fills are served from here: a cipher call costs as much as 500 bytes.
  static constexpr size_t kBufferBytes = 1024;
  std::unique_ptr<evp_cipher_ctx_st, void (*)(evp_cipher_ctx_st*)> context_;
  uint64_t offset_ = 0;
  size_t buffered_ = 0;  // unread bytes, at the end of buffer_
  Secret<std::array<uint8_t, kBufferBytes>> buffer_;
};

}  // namespace partita::crypto
