// The quotient of two exponents of the group (crypto/ristretto.h): what takes an element from one to the
// other without taking off the first.
#pragma once

#include "crypto/ristretto.h"

namespace partita::crypto {

// a / b modulo the order: p.Times(b).Times(Ratio(a, b)) is p.Times(a). Throws kInternal for b = 0.
// Timing: constant in both, but for b = 0.
RistrettoScalar Ratio(const RistrettoScalar& a, const RistrettoScalar& b);

}  // namespace partita::crypto
