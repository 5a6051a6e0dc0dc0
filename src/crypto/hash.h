// SHA-256 (FIPS 180-4), through OpenSSL.
//
// Timing  constant in what is hashed; not in lengths (public). Proved by tests/ctime around
//         OpenSSL.
#pragma once

#include <array>
#include <memory>
#include <string_view>

#include "base/bytes.h"

struct evp_md_ctx_st;

namespace partita::crypto {

using Digest = std::array<uint8_t, 32>;

// Hashes bytes as they come. Use Field for anything of variable length: two different lists of
// fields never hash alike.
class Sha256 {
 public:
  Sha256();
  ~Sha256();
  Sha256(const Sha256&) = delete;
  Sha256& operator=(const Sha256&) = delete;

  Sha256& Update(ByteView bytes);
  // A 64-bit little-endian length, then the bytes.
  Sha256& Field(ByteView bytes);
  Sha256& Field(std::string_view text) { return Field(AsBytes(text)); }
  // 8 bytes, little-endian.
  Sha256& U64(uint64_t value);
  // The digest of everything so far; starts again from nothing.
  Digest Finish();

 private:
  std::unique_ptr<evp_md_ctx_st, void (*)(evp_md_ctx_st*)> context_;
};

Digest Sha256Of(ByteView bytes);

}  // namespace partita::crypto
