// What two parties that match by exponents have in common: the group, its elements on the way, places
// of lists. The steps of the join and of the spine are over any group, so that tests can enumerate what
// each party sees.
//
// A Group has
//   Scalar                          secret
//   static constexpr size_t kBytes  of an encoded element
//   Element Hash(ByteView), Times(const Element&, const Scalar&)
//   Encoded Encode(const Element&), std::optional<Element> Decode(ByteView)
//   std::optional<Encoded> RaisedEncoding(ByteView, const Scalar&)   Decode, Times and Encode at once
//   Scalar RandomScalar(RandomSource&)
// with Encoded = std::array<uint8_t, kBytes>.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "crypto/hash.h"
#include "crypto/raised_encoding.h"
#include "crypto/random.h"
#include "crypto/scalar_ratio.h"
#include "mpc/functions/switching_network.h"

namespace partita::match {

struct Ristretto {
  using Scalar = crypto::RistrettoScalar;
  using Element = crypto::RistrettoPoint;
  static constexpr size_t kBytes = crypto::kRistrettoBytes;
  static Scalar RandomScalar(crypto::RandomSource& random) { return crypto::RandomScalar(random); }
  static Element Hash(ByteView message) { return Element::Hash(message); }
  static Element Times(const Element& element, const Scalar& scalar) {
    return element.Times(scalar);
  }
  static Scalar Ratio(const Scalar& a, const Scalar& b) { return crypto::Ratio(a, b); }
  static std::optional<Element> Decode(ByteView bytes) { return Element::Decode(bytes); }
  static std::optional<std::array<uint8_t, kBytes>> RaisedEncoding(ByteView bytes,
                                                                   const Scalar& scalar) {
    return crypto::RaisedEncoding(bytes, scalar);
  }
  static const std::array<uint8_t, kBytes>& Encode(const Element& element) {
    return element.bytes();
  }
};

template <typename Group>
using Encoded = std::array<uint8_t, Group::kBytes>;
template <typename Group>
using EncodedList = std::vector<Encoded<Group>>;

[[noreturn]] void JoinFault(const std::string& peer, const std::string& what);
// Of a result that `sender` is about to send.
crypto::Digest ResultHash(const std::string& sender, const crypto::Digest& salt, ByteView result);

// Streams in pieces of Channel's, whose borders need not be those of elements.
template <size_t kBytes>
class PieceReader {
 public:
  explicit PieceReader(std::function<void(const std::array<uint8_t, kBytes>&)> take)
      : take_(std::move(take)) {}
  void operator()(ByteView in) {
    for (const uint8_t byte : in) {
      element_[filled_++] = byte;
      if (filled_ < kBytes) continue;
      filled_ = 0;
      take_(element_);
    }
  }

 private:
  std::function<void(const std::array<uint8_t, kBytes>&)> take_;
  std::array<uint8_t, kBytes> element_{};
  size_t filled_ = 0;
};

// Of a long vector that is not needed any more.
template <typename T>
void GiveBack(std::vector<T>& list) {
  std::vector<T>().swap(list);
}

// Places at 4 bytes each.
inline std::vector<uint32_t> DrawOrder(uint64_t places, crypto::RandomSource& random) {
  const std::vector<size_t> drawn = mpc::RandomPermutation(places, random);
  return {drawn.begin(), drawn.end()};
}

// The element of a place of the own list: of a key, or from keys.size() on of nobody. Padding takes the
// same work as keys do, for the list is sent while it is made.
template <typename Group>
auto HashOfPlace(std::span<const crypto::Digest> keys, size_t key, const crypto::Digest& salt,
                 crypto::RandomSource& random) {
  crypto::Digest hashed{};
  random.Fill(hashed);
  if (key < keys.size()) hashed = keys[key];
  ByteWriter message;
  message.Raw(salt);
  message.Raw(hashed);
  return Group::Hash(message.bytes());
}

}  // namespace partita::match
