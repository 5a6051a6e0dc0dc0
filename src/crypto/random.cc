#include "crypto/random.h"

#include <sodium.h>

namespace partita::crypto {

void SystemRandom::Fill(std::span<uint8_t> out) {
  // sodium_init is idempotent and thread-safe; libsodium then reads getrandom(2) and aborts the
  // process rather than return weak bytes.
  if (sodium_init() < 0) {
    throw Error(ErrorCode::kInternal, "the operating system's random generator cannot be used",
                "Check that this system offers getrandom(2) or /dev/urandom.");
  }
  if (!out.empty()) randombytes_buf(out.data(), out.size());
}

Key RandomKey(RandomSource& source) {
  Key key;
  source.Fill(key.Expose());
  return key;
}

}  // namespace partita::crypto
