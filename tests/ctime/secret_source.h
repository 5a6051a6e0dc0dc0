// Poisoned keys and randomness.
#pragma once

#include <algorithm>
#include <vector>

#include "crypto/random.h"
#include "tests/ctime/poison.h"

namespace partita::ctime {

inline crypto::Key SecretKey(uint64_t seed = 1) {
  crypto::Key key;
  const auto bytes = Secrets<uint8_t>(key.Expose().size(), seed);
  std::copy(bytes.begin(), bytes.end(), key.Expose().begin());
  return key;
}

// The operating system's bytes.
class SecretSource : public crypto::RandomSource {
 public:
  void Fill(std::span<uint8_t> out) override {
    system_.Fill(out);
    Poison(out);
  }

 private:
  crypto::SystemRandom system_;
};

}  // namespace partita::ctime
