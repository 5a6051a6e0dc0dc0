#include "crypto/ristretto.h"

#include <sodium.h>

#include <algorithm>

namespace partita::crypto {

static_assert(kRistrettoBytes == crypto_core_ristretto255_BYTES);
static_assert(kRistrettoBytes == crypto_core_ristretto255_SCALARBYTES);
static_assert(crypto_core_ristretto255_HASHBYTES == crypto_hash_sha512_BYTES);

namespace {

// libsodium asks to be initialised before any other call; idempotent and thread-safe.
void InitialiseGroup() {
  if (sodium_init() < 0) throw Error(ErrorCode::kInternal, "libsodium cannot be initialised");
}

}  // namespace

RistrettoScalar RandomScalar(RandomSource& source) {
  InitialiseGroup();
  Secret<std::array<uint8_t, crypto_core_ristretto255_NONREDUCEDSCALARBYTES>> wide;
  source.Fill(wide.Expose());
  RistrettoScalar scalar;
  crypto_core_ristretto255_scalar_reduce(scalar.Expose().data(), wide.Expose().data());
  return scalar;
}

RistrettoPoint RistrettoPoint::Hash(ByteView message) {
  InitialiseGroup();
  std::array<uint8_t, crypto_hash_sha512_BYTES> hash{};
  crypto_hash_sha512(hash.data(), message.data(), message.size());
  RistrettoPoint point;
  crypto_core_ristretto255_from_hash(point.bytes_.data(), hash.data());
  return point;
}

std::optional<RistrettoPoint> RistrettoPoint::Decode(ByteView encoded) {
  InitialiseGroup();
  if (encoded.size() != kRistrettoBytes) return std::nullopt;
  // libsodium takes the identity for a valid element; its encoding is all zeros.
  if (sodium_is_zero(encoded.data(), encoded.size()) == 1) return std::nullopt;
  if (crypto_core_ristretto255_is_valid_point(encoded.data()) != 1) return std::nullopt;
  RistrettoPoint point;
  std::copy(encoded.begin(), encoded.end(), point.bytes_.begin());
  return point;
}

RistrettoPoint RistrettoPoint::Times(const RistrettoScalar& scalar) const {
  InitialiseGroup();
  RistrettoPoint product;
  if (crypto_scalarmult_ristretto255(product.bytes_.data(), scalar.Expose().data(),
                                     bytes_.data()) != 0) {
    throw Error(ErrorCode::kInternal, "a ristretto255 element was multiplied by zero");
  }
  return product;
}

RistrettoPoint RistrettoPoint::Draw(RandomSource& source) {
  InitialiseGroup();
  std::array<uint8_t, crypto_core_ristretto255_HASHBYTES> wide{};
  source.Fill(wide);
  RistrettoPoint point;
  crypto_core_ristretto255_from_hash(point.bytes_.data(), wide.data());
  return point;
}

RistrettoPoint RistrettoPoint::Generate(const RistrettoScalar& scalar) {
  InitialiseGroup();
  RistrettoPoint product;
  if (crypto_scalarmult_ristretto255_base(product.bytes_.data(), scalar.Expose().data()) != 0) {
    throw Error(ErrorCode::kInternal, "the generator of ristretto255 was multiplied by zero");
  }
  return product;
}

std::optional<RistrettoPoint> RistrettoPoint::Plus(const RistrettoPoint& other) const {
  RistrettoPoint sum;
  if (crypto_core_ristretto255_add(sum.bytes_.data(), bytes_.data(), other.bytes_.data()) != 0 ||
      sodium_is_zero(sum.bytes_.data(), sum.bytes_.size()) == 1) {
    return std::nullopt;
  }
  return sum;
}

std::optional<RistrettoPoint> RistrettoPoint::Minus(const RistrettoPoint& other) const {
  RistrettoPoint difference;
  if (crypto_core_ristretto255_sub(difference.bytes_.data(), bytes_.data(), other.bytes_.data()) !=
          0 ||
      sodium_is_zero(difference.bytes_.data(), difference.bytes_.size()) == 1) {
    return std::nullopt;
  }
  return difference;
}

}  // namespace partita::crypto
