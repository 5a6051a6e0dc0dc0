// Random sources for tests: a stream of a seed that counts, and a script followed by such a stream.
#pragma once

#include <algorithm>
#include <array>
#include <cstring>
#include <span>
#include <utility>
#include <vector>

#include "crypto/prg.h"

namespace partita::privacy {

inline crypto::Prg SeededStream(uint64_t seed) {
  std::array<uint8_t, 32> key{};
  std::memcpy(key.data(), &seed, sizeof(seed));
  return crypto::Prg(crypto::Key(key));
}

// The words of a script, then a stream of its seed. Two tapes of equal script and seed are equal.
class Tape : public crypto::RandomSource {
 public:
  explicit Tape(uint64_t seed, std::vector<uint64_t> script = {})
      : script_(std::move(script)), stream_(SeededStream(seed)) {}

  void Fill(std::span<uint8_t> out) override {
    read_ += out.size();
    const auto* bytes = reinterpret_cast<const uint8_t*>(script_.data());
    const size_t scripted = std::min(out.size(), script_.size() * sizeof(uint64_t) - position_);
    std::copy_n(bytes + position_, scripted, out.begin());
    position_ += scripted;
    if (scripted < out.size()) stream_.Fill(out.subspan(scripted));
  }

  uint64_t Word() {
    std::array<uint8_t, 8> bytes{};
    Fill(bytes);
    uint64_t word = 0;
    std::memcpy(&word, bytes.data(), sizeof(word));
    return word;
  }

  size_t bytes_read() const { return read_; }

 private:
  std::vector<uint64_t> script_;
  crypto::Prg stream_;
  size_t position_ = 0;
  size_t read_ = 0;
};

}  // namespace partita::privacy
