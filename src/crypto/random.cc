#include "crypto/random.h"

#include <sys/random.h>

#include <cerrno>

namespace partita::crypto {

void SystemRandom::Fill(std::span<uint8_t> out) {
  // One call for all: libsodium asks for 256 bytes at a time, which cost more than the bytes.
  // Blocks until the generator is seeded; a signal may cut a long answer short.
  while (!out.empty()) {
    const ssize_t count = getrandom(out.data(), out.size(), 0);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) {
      throw Error(ErrorCode::kInternal, "the operating system's random generator cannot be used",
                  "Check that this system offers getrandom(2).");
    }
    out = out.subspan(static_cast<size_t>(count));
  }
}

Key RandomKey(RandomSource& source) {
  Key key;
  source.Fill(key.Expose());
  return key;
}

}  // namespace partita::crypto
