// Shares that are planes of bits, and the local operations on them: the part of every engine with
// XOR sharing that does not depend on its ring.
//
// Timing  constant in shares; not in shapes and planes (public). Proved by tests/ctime.
#pragma once

#include <array>
#include <vector>

#include "mpc/engine.h"

namespace partita::mpc {

template <size_t kComponents>
struct BitPayload : SharedBits::Payload {
  std::array<std::vector<uint64_t>, kComponents> components;  // planes, as in BitMatrix
};

template <size_t kComponents>
class LinearBits : public Engine {
 public:
  using BitComponents = std::array<std::vector<uint64_t>, kComponents>;

  SharedBits PublicBits(const BitMatrix& value) override;
  SharedBits Xor(const SharedBits& a, const SharedBits& b) override;
  SharedBits Not(const SharedBits& a) override;
  SharedBits AndPublic(const SharedBits& a, const BitMatrix& b) override;
  SharedBits SelectPlanes(const SharedBits& a, std::span<const size_t> planes) override;
  SharedBits JoinPlanes(std::span<const SharedBits> parts) override;

  // The shares behind a handle. Throws kUsage for a handle of another engine.
  static const BitComponents& BitsOf(const SharedBits& value);
  // Gives `result` (shape and width) its shares.
  static SharedBits WithBits(SharedBits result, BitComponents components);

 protected:
  // carries_public: the components that a public constant is added to at this party.
  explicit LinearBits(std::array<bool, kComponents> carries_public)
      : carries_public_(carries_public) {}
  bool carries_public(size_t component) const { return carries_public_[component]; }

 private:
  std::array<bool, kComponents> carries_public_;
};

}  // namespace partita::mpc
