// The group ristretto255 (RFC 9496), through libsodium: for protocols on Diffie-Hellman in a group
// of prime order.
//
// The order is 2^252 + 27742317777372353535851937790883648493. Every element has exactly one
// encoding of 32 bytes, so comparing encodings compares elements. A multiplication takes well below
// 1 ms.
//
// Timing  constant in scalars, elements and messages; not in lengths, in whether bytes are an
//         element (public) and in whether a result is the identity (probability 2^-252). Proved by
//         tests/ctime around libsodium.
#pragma once

#include <array>
#include <optional>

#include "base/bytes.h"
#include "base/secret.h"
#include "crypto/random.h"

namespace partita::crypto {

inline constexpr size_t kRistrettoBytes = 32;

// A number modulo the order, little-endian.
using RistrettoScalar = Secret<std::array<uint8_t, kRistrettoBytes>>;

// Takes 64 bytes from `source` and reduces them: uniform but for a bias below 2^-250.
RistrettoScalar RandomScalar(RandomSource& source);

// An element other than the identity.
class RistrettoPoint {
 public:
  // The element that RFC 9496, 4.3.4 derives from SHA-512(message): uniform and of unknown discrete
  // logarithm, if SHA-512 is a random oracle. Encode lists of fields with ByteWriter.
  static RistrettoPoint Hash(ByteView message);
  // Nothing unless `encoded` is the encoding of an element other than the identity: to be checked
  // for every element that a peer sent, since the product with the identity shows nothing.
  static std::optional<RistrettoPoint> Decode(ByteView encoded);

  // A uniform element of which nobody, not even the caller, knows the discrete logarithm: derived
  // from 64 bytes of `source` (RFC 9496, 4.3.4).
  static RistrettoPoint Draw(RandomSource& source);
  // The generator times `scalar`. Throws kInternal for the scalar 0.
  static RistrettoPoint Generate(const RistrettoScalar& scalar);

  // Throws kInternal for the scalar 0.
  RistrettoPoint Times(const RistrettoScalar& scalar) const;
  // Sum and difference; nothing if it is the identity.
  std::optional<RistrettoPoint> Plus(const RistrettoPoint& other) const;
  std::optional<RistrettoPoint> Minus(const RistrettoPoint& other) const;
  const std::array<uint8_t, kRistrettoBytes>& bytes() const { return bytes_; }
  bool operator==(const RistrettoPoint&) const = default;

 private:
  std::array<uint8_t, kRistrettoBytes> bytes_{};
};

}  // namespace partita::crypto
