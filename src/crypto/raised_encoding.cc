#include "crypto/raised_encoding.h"

#include <sodium.h>

namespace partita::crypto {

std::optional<std::array<uint8_t, kRistrettoBytes>> RaisedEncoding(ByteView encoded,
                                                                   const RistrettoScalar& scalar) {
  if (sodium_init() < 0) throw Error(ErrorCode::kInternal, "libsodium cannot be initialised");
  if (encoded.size() != kRistrettoBytes) return std::nullopt;
  std::array<uint8_t, kRistrettoBytes> product{};
  // It decodes what it multiplies, and refuses a product that is the identity.
  if (crypto_scalarmult_ristretto255(product.data(), scalar.Expose().data(), encoded.data()) == 0)
    return product;
  if (const auto point = RistrettoPoint::Decode(encoded)) point->Times(scalar);  // throws
  return std::nullopt;
}

}  // namespace partita::crypto
