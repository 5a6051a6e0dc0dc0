// Reproducible randomness for the tests of regressions.
#pragma once

#include <random>
#include <span>

#include "crypto/random.h"

namespace partita::stats::blr {

class TestRandom : public crypto::RandomSource {
 public:
  explicit TestRandom(uint64_t seed) : random_(seed) {}
  void Fill(std::span<uint8_t> out) override {
    size_t k = 0;
    for (; k + 8 <= out.size(); k += 8) {
      const uint64_t word = random_();
      for (size_t b = 0; b < 8; ++b) out[k + b] = static_cast<uint8_t>(word >> (8 * b));
    }
    for (; k < out.size(); ++k) out[k] = static_cast<uint8_t>(random_());
  }

 private:
  std::mt19937_64 random_;
};

}  // namespace partita::stats::blr
