// SHA-256 as this module uses it: one streaming hasher, the only place that calls OpenSSL's
// digests.
#pragma once

#include <array>
#include <memory>

#include "base/bytes.h"

namespace partita::data {

using Digest = std::array<uint8_t, 32>;

class Sha256Stream {
 public:
  Sha256Stream();
  ~Sha256Stream();
  Sha256Stream(const Sha256Stream&) = delete;
  Sha256Stream& operator=(const Sha256Stream&) = delete;

  void Update(ByteView bytes);
  // To be called once.
  Digest Finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace partita::data
