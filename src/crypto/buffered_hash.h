// SHA-256 of many short messages of several fields: the same digests as crypto::Sha256, whose every
// Update and whose making cost about as much as hashing 100 and 400 bytes. Pieces are put together
// here, and one object serves all messages.
//
// Timing  as Sha256.
#pragma once

#include <algorithm>
#include <array>

#include "base/secret.h"
#include "crypto/hash.h"

namespace partita::crypto {

class BufferedSha256 {
 public:
  BufferedSha256& Update(ByteView bytes) {
    if (bytes.size() > kPendingBytes - num_pending_) PassOn();
    if (bytes.size() > kPendingBytes) {
      hash_.Update(bytes);
      return *this;
    }
    std::copy(bytes.begin(), bytes.end(), pending_.Expose().data() + num_pending_);
    num_pending_ += bytes.size();
    return *this;
  }
  // As Sha256::Field and U64.
  BufferedSha256& Field(ByteView bytes) { return U64(bytes.size()).Update(bytes); }
  BufferedSha256& Field(std::string_view text) { return Field(AsBytes(text)); }
  BufferedSha256& U64(uint64_t value) {
    std::array<uint8_t, 8> raw{};
    for (size_t i = 0; i < raw.size(); ++i) raw[i] = static_cast<uint8_t>(value >> (8 * i));
    return Update(raw);
  }
  // The digest of everything so far; starts again from nothing.
  Digest Finish() {
    PassOn();
    return hash_.Finish();
  }

 private:
  void PassOn() {
    hash_.Update(ByteView(pending_.Expose()).first(num_pending_));
    Wipe(pending_.Expose().data(), num_pending_);
    num_pending_ = 0;
  }

  static constexpr size_t kPendingBytes = 256;
  Sha256 hash_;
  Secret<std::array<uint8_t, kPendingBytes>> pending_;  // its first bytes: not passed on yet
  size_t num_pending_ = 0;
};

}  // namespace partita::crypto
