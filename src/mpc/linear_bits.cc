#include "mpc/linear_bits.h"

#include <algorithm>

#include "base/error.h"
#include "mpc/bit_kernels.h"
#include "mpc/bit_rules.h"

namespace partita::mpc {

template <size_t kComponents>
auto LinearBits<kComponents>::BitsOf(const SharedBits& value) -> const BitComponents& {
  auto* payload = dynamic_cast<const BitPayload<kComponents>*>(value.payload.get());
  if (payload == nullptr) {
    throw Error(ErrorCode::kUsage, "shared bits belong to another engine or were never made",
                "use only handles that this engine returned");
  }
  return payload->components;
}

template <size_t kComponents>
SharedBits LinearBits<kComponents>::WithBits(SharedBits result, BitComponents components) {
  auto payload = std::make_shared<BitPayload<kComponents>>();
  payload->components = std::move(components);
  result.payload = std::move(payload);
  return result;
}

template <size_t kComponents>
SharedBits LinearBits<kComponents>::PublicBits(const BitMatrix& value) {
  CheckBits(value);
  BitComponents components;
  for (size_t c = 0; c < kComponents; ++c) {
    components[c] = carries_public_[c] ? value.words : std::vector<uint64_t>(value.words.size());
  }
  return WithBits({value.shape, value.width, nullptr}, std::move(components));
}

template <size_t kComponents>
SharedBits LinearBits<kComponents>::Xor(const SharedBits& a, const SharedBits& b) {
  SharedBits result = XorResult(a, b);
  BitComponents components = BitsOf(a);
  for (size_t c = 0; c < kComponents; ++c) XorInto(components[c], BitsOf(b)[c]);
  return WithBits(std::move(result), std::move(components));
}

template <size_t kComponents>
SharedBits LinearBits<kComponents>::Not(const SharedBits& a) {
  BitComponents components = BitsOf(a);
  for (size_t c = 0; c < kComponents; ++c) {
    if (!carries_public_[c]) continue;
    for (uint64_t& word : components[c]) word = ~word;
  }
  return WithBits({a.shape, a.width, nullptr}, std::move(components));
}

template <size_t kComponents>
SharedBits LinearBits<kComponents>::AndPublic(const SharedBits& a, const BitMatrix& b) {
  SharedBits result = AndPublicResult(a, b);
  BitComponents components;
  for (size_t c = 0; c < kComponents; ++c) {
    components[c].resize(b.words.size());
    AndInto(components[c], BitsOf(a)[c], b.words);
  }
  return WithBits(std::move(result), std::move(components));
}

template <size_t kComponents>
SharedBits LinearBits<kComponents>::SelectPlanes(const SharedBits& a,
                                                 std::span<const size_t> planes) {
  SharedBits result = SelectPlanesResult(a, planes);
  const size_t words = WordsPerPlane(a.shape);
  BitComponents components;
  for (size_t c = 0; c < kComponents; ++c) {
    components[c].reserve(planes.size() * words);
    for (size_t plane : planes) {
      auto from = BitsOf(a)[c].begin() + static_cast<ptrdiff_t>(plane * words);
      components[c].insert(components[c].end(), from, from + static_cast<ptrdiff_t>(words));
    }
  }
  return WithBits(std::move(result), std::move(components));
}

template <size_t kComponents>
SharedBits LinearBits<kComponents>::JoinPlanes(std::span<const SharedBits> parts) {
  SharedBits result = JoinPlanesResult(parts);
  BitComponents components;
  for (size_t c = 0; c < kComponents; ++c) {
    components[c].reserve(result.width * WordsPerPlane(result.shape));
    for (const SharedBits& part : parts) {
      const auto& planes = BitsOf(part)[c];
      components[c].insert(components[c].end(), planes.begin(), planes.end());
    }
  }
  return WithBits(std::move(result), std::move(components));
}

template class LinearBits<1>;
template class LinearBits<2>;
template class LinearBits<3>;

}  // namespace partita::mpc
