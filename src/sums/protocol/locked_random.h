// Asks a source of random bytes from one thread at a time.
#pragma once

#include <mutex>

#include "crypto/random.h"

namespace partita::sums {

class LockedRandom : public crypto::RandomSource {
 public:
  // The source must outlive this.
  explicit LockedRandom(crypto::RandomSource& source) : source_(source) {}
  void Fill(std::span<uint8_t> out) override {
    const std::lock_guard lock(mutex_);
    source_.Fill(out);
  }

 private:
  std::mutex mutex_;
  crypto::RandomSource& source_;
};

}  // namespace partita::sums
