// Decoding and multiplying at once, for who only wants the product's bytes: little more than
// RistrettoPoint::Times, which decodes, too, where Decode and Times decode twice.
#pragma once

#include <array>
#include <optional>

#include "crypto/ristretto.h"

namespace partita::crypto {

// The encoding of the element times `scalar`; nothing where RistrettoPoint::Decode has nothing. Throws
// kInternal for the scalar 0. Timing: constant in both, but for whether `encoded` is an element.
std::optional<std::array<uint8_t, kRistrettoBytes>> RaisedEncoding(ByteView encoded,
                                                                   const RistrettoScalar& scalar);

}  // namespace partita::crypto
