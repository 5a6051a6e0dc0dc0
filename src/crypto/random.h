// Where every random bit of Partita comes from.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "base/bytes.h"
#include "base/secret.h"

namespace partita::crypto {

using Key = Secret<std::array<uint8_t, 32>>;

// A stream of random bytes. Always passed in, never global, so that tests can enumerate a tape.
class RandomSource {
 public:
  virtual ~RandomSource() = default;
  virtual void Fill(std::span<uint8_t> out) = 0;
};

// The operating system's CSPRNG. Throws kInternal if it fails; never falls back to anything.
class SystemRandom : public RandomSource {
 public:
  void Fill(std::span<uint8_t> out) override;
};

// A fresh key.
Key RandomKey(RandomSource& source);

}  // namespace partita::crypto
