// The pseudo-random streams of very many short-lived keys: the same stream as crypto::Prg of each
// key (AES-256 in counter mode from zero), without that class's buffer and its allocation per key.
//
// Timing  constant in keys; not in lengths (public). Proved by tests/ctime around OpenSSL.
#pragma once

#include <memory>

#include "crypto/random.h"

struct evp_cipher_ctx_st;

namespace partita::crypto {

class KeyStream {
 public:
  KeyStream();
  ~KeyStream();
  KeyStream(const KeyStream&) = delete;
  KeyStream& operator=(const KeyStream&) = delete;
  KeyStream(KeyStream&&) noexcept;
  KeyStream& operator=(KeyStream&&) noexcept;

  // Next gives the stream of `key` from byte 16 * block on. About 0.2 us.
  void Start(const Key& key, uint64_t block = 0);
  // The next out.size() bytes, at most kMaxBytes. Every call but the last after a Start asks for a
  // multiple of 16 bytes.
  void Next(std::span<uint8_t> out);

  static constexpr size_t kMaxBytes = size_t{1} << 13;  // fits the first-level cache twice

 private:
  std::unique_ptr<evp_cipher_ctx_st, void (*)(evp_cipher_ctx_st*)> context_;
};

}  // namespace partita::crypto
