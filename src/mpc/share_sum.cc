#include "mpc/share_sum.h"

#include <algorithm>

#include "mpc/kernels.h"
#include "mpc/linear_engine.h"
#include "mpc/prime_field.h"
#include "mpc/ring.h"

namespace partita::mpc {
namespace {

using AdditiveShares = RingPayload<Ring128, 1>;
using ReplicatedShares = RingPayload<Ring128, 2>;
using FieldShares = RingPayload<Field127, 1>;

template <typename Payload>
void Append(const Payload& payload, std::vector<UInt128>& words) {
  for (const auto& component : payload.components)
    words.insert(words.end(), component.begin(), component.end());
}

ShareRing AppendShare(const Shared& value, std::vector<UInt128>& words) {
  const Shared::Payload* payload = value.payload.get();
  if (payload == nullptr) Misuse("a shared value was never made");
  if (const auto* additive = dynamic_cast<const AdditiveShares*>(payload)) {
    Append(*additive, words);
    return ShareRing::kRing128;
  }
  if (const auto* replicated = dynamic_cast<const ReplicatedShares*>(payload)) {
    Append(*replicated, words);
    return ShareRing::kRing128;
  }
  if (const auto* polynomial = dynamic_cast<const FieldShares*>(payload)) {
    Append(*polynomial, words);
    return ShareRing::kField127;
  }
  return ShareRing::kNone;
}

// Takes the elements of one handle from `words`.
template <typename Payload>
Shared Refill(const Shared& like, std::span<const UInt128>& words) {
  auto filled = std::make_shared<Payload>();
  for (auto& component : filled->components) {
    const size_t size = like.shape.size();
    if (words.size() < size) Misuse("there are fewer elements than shares");
    component.assign(words.begin(), words.begin() + static_cast<std::ptrdiff_t>(size));
    words = words.subspan(size);
  }
  Shared result = like;
  result.payload = std::move(filled);
  return result;
}

Shared RefillAny(const Shared& like, std::span<const UInt128>& words) {
  const Shared::Payload* payload = like.payload.get();
  if (dynamic_cast<const AdditiveShares*>(payload) != nullptr)
    return Refill<AdditiveShares>(like, words);
  if (dynamic_cast<const ReplicatedShares*>(payload) != nullptr)
    return Refill<ReplicatedShares>(like, words);
  if (dynamic_cast<const FieldShares*>(payload) != nullptr) return Refill<FieldShares>(like, words);
  return like;
}

}  // namespace

ShareWords WordsOf(const std::vector<Shared>& values) {
  ShareWords words;
  for (size_t i = 0; i < values.size(); ++i) {
    const ShareRing ring = AppendShare(values[i], words.words);
    if (i > 0 && ring != words.ring) Misuse("shares of several engines are put together");
    words.ring = ring;
  }
  return words;
}

std::vector<Shared> WithWords(const std::vector<Shared>& like, const ShareWords& words) {
  std::span<const UInt128> rest(words.words);
  std::vector<Shared> values;
  for (const Shared& value : like) values.push_back(RefillAny(value, rest));
  if (!rest.empty()) Misuse("there are more elements than shares");
  return values;
}

void AddWords(ShareWords& sum, const ShareWords& more) {
  if (sum.ring != more.ring || sum.words.size() != more.words.size())
    Misuse("shares that are added are not alike");
  if (sum.ring == ShareRing::kRing128) Add<Ring128>(sum.words, more.words, sum.words);
  if (sum.ring == ShareRing::kField127) Add<Field127>(sum.words, more.words, sum.words);
}

void AddShares(std::vector<Shared>& sum, const std::vector<Shared>& more) {
  const bool alike = std::equal(
      sum.begin(), sum.end(), more.begin(), more.end(), [](const Shared& a, const Shared& b) {
        return a.shape == b.shape && a.fraction_bits == b.fraction_bits && a.bound == b.bound;
      });
  if (!alike) Misuse("shares that are added are not alike");
  ShareWords words = WordsOf(sum);
  AddWords(words, WordsOf(more));
  sum = WithWords(sum, words);
}

}  // namespace partita::mpc
