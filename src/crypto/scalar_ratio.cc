#include "crypto/scalar_ratio.h"

#include <sodium.h>

#include "base/error.h"

namespace partita::crypto {

RistrettoScalar Ratio(const RistrettoScalar& a, const RistrettoScalar& b) {
  if (sodium_init() < 0) throw Error(ErrorCode::kInternal, "libsodium cannot be initialised");
  RistrettoScalar inverse, ratio;
  if (crypto_core_ristretto255_scalar_invert(inverse.Expose().data(), b.Expose().data()) != 0)
    throw Error(ErrorCode::kInternal, "a ristretto255 scalar was divided by zero");
  crypto_core_ristretto255_scalar_mul(ratio.Expose().data(), a.Expose().data(),
                                      inverse.Expose().data());
  return ratio;
}

}  // namespace partita::crypto
