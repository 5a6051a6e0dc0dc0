#include "privacy/sampling/discrete_gaussian.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/secret.h"
#include "privacy/sampling/gaussian_table.h"
#include "privacy/sampling/interval.h"
#include "privacy/sampling/lazy_uniform.h"

namespace partita::privacy {
namespace {

constexpr size_t kBlockCandidates = 512;
constexpr size_t kMaxWordsPerCandidate = 3;

// Half the width within which doubles do not decide (gaussian_table.h).
constexpr double kBand = 0x1p-45;

// Random words of one block, wiped as far as they were used.
class Words {
 public:
  // Not cleared, which would cost as much as a block: Fill overwrites what is read.
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-member-init)
  Words() {}
  ~Words() { Wipe(words_.data(), used_ * sizeof(uint64_t)); }
  Words(const Words&) = delete;
  Words& operator=(const Words&) = delete;

  const uint64_t* Fill(crypto::RandomSource& source, size_t count) {
    used_ = std::max(used_, count);
    source.Fill({reinterpret_cast<uint8_t*>(words_.data()), count * sizeof(uint64_t)});
    return words_.data();
  }

 private:
  std::array<uint64_t, kBlockCandidates * kMaxWordsPerCandidate> words_;
  size_t used_ = 0;
};

// A candidate that its first 16 bits do not settle.
struct Candidate {
  size_t slot = 0;
  uint16_t head = 0;
  UInt128 low = 0;
};

// S e(m) multiplier / w_slot.
bool AcceptExactly(const GaussianTable& table, const Candidate& candidate, UInt128 magnitude,
                   long log2_multiplier, uint64_t word, crypto::RandomSource& source) {
  return AcceptBelow(candidate.head, word, source, [&](mpfr_prec_t precision) {
    const PreciseInterval position = PreciseInterval::Of(magnitude, precision);
    const PreciseInterval exponent =
        ShiftLeft(position * position / PreciseInterval::Of(table.variance, precision), -1);
    const PreciseInterval mass =
        PreciseInterval::Of(UInt128{table.scale}, precision) * Exp(-exponent);
    return ShiftLeft(mass, log2_multiplier) /
           PreciseInterval::Of(UInt128{table.weights[candidate.slot]}, precision);
  });
}

bool AcceptInBin(const GaussianTable& table, const Candidate& candidate, UInt128 magnitude,
                 crypto::RandomSource& source) {
  if (candidate.head < table.quick[candidate.slot]) return true;
  const uint64_t word = ReadWord(source);
  const UInt128 start = magnitude - candidate.low;
  const double exponent = static_cast<double>(candidate.low) *
                          static_cast<double>(start + magnitude) * table.inverse_two_variance;
  const double ratio = table.ratio_at_start[candidate.slot] * std::exp(-exponent);
  // The top 53 bits of U: it lies in [lower, lower + 2^-53).
  const uint64_t top = (uint64_t{candidate.head} << 37) | (word >> 27);
  const double lower = static_cast<double>(top) * 0x1p-53;
  if (lower + 0x1p-53 <= ratio * (1 - kBand)) return true;
  if (lower >= ratio * (1 + kBand)) return false;
  return AcceptExactly(table, candidate, magnitude, 0, word, source);
}

// The slow half of a candidate: those near the upper end of a bin, zero, the tail and the reject
// slot. Returns whether it is accepted, and its magnitude.
[[gnu::noinline]] bool Settle(const GaussianTable& table, const Candidate& candidate, bool negative,
                              crypto::RandomSource& source, UInt128& magnitude) {
  if (candidate.slot > table.bins) return false;
  if (candidate.slot < table.bins) {
    magnitude = (static_cast<UInt128>(candidate.slot) << table.width_bits) | candidate.low;
    if (magnitude == 0 && negative) return false;
    return AcceptInBin(table, candidate, magnitude, source);
  }
  const uint64_t block = ReadZeroBits(source);
  const UInt128 bin = table.bins + kTailBlockBins * block + ReadWord(source) % kTailBlockBins;
  magnitude = (bin << table.width_bits) + candidate.low;
  const uint64_t word = ReadWord(source);
  return AcceptExactly(table, candidate, magnitude, static_cast<long>(block) + 7, word, source);
}

// Candidates from `words`; returns how many were accepted into `out`.
template <bool kWide>
size_t FillBlock(const GaussianTable& table, const uint64_t* words, size_t candidates,
                 crypto::RandomSource& source, Int128* out) {
  using Magnitude = std::conditional_t<kWide, UInt128, uint64_t>;
  const int width_bits = table.width_bits;
  const Magnitude low_mask = (Magnitude{1} << width_bits) - 1;
  size_t accepted = 0;
  for (size_t i = 0; i < candidates; ++i) {
    const uint64_t choice = words[0];
    const uint64_t last = words[kWide ? 2 : 1];
    const AliasEntry& entry = table.alias.Entry(choice);
    const size_t side = table.alias.Side(entry, choice);
    const size_t slot = entry.index[side];
    const auto head = static_cast<uint16_t>(last >> kHeadShift);
    const uint64_t negative = (last >> kSignShift) & 1;
    Magnitude low = last & low_mask;
    if constexpr (kWide) low = ((static_cast<UInt128>(last) << 64) | words[1]) & low_mask;
    Magnitude magnitude = (static_cast<Magnitude>(slot) << width_bits) | low;
    words += kWide ? 3 : 2;
    if (head >= entry.quick[side] || magnitude == 0) [[unlikely]] {
      UInt128 settled = 0;
      if (!Settle(table, {slot, head, low}, negative != 0, source, settled)) continue;
      out[accepted++] =
          negative != 0 ? -static_cast<Int128>(settled) : static_cast<Int128>(settled);
      continue;
    }
    using Signed = std::conditional_t<kWide, Int128, int64_t>;
    const auto sign = -static_cast<Signed>(negative);
    out[accepted++] = (static_cast<Signed>(magnitude) ^ sign) - sign;
  }
  return accepted;
}

}  // namespace

DiscreteGaussian::DiscreteGaussian(const GridVariance& variance)
    : DiscreteGaussian(BuildGaussianTable(variance)) {}

DiscreteGaussian::DiscreteGaussian(GaussianTable table)
    : table_(std::make_unique<const GaussianTable>(std::move(table))) {}

DiscreteGaussian::~DiscreteGaussian() = default;
DiscreteGaussian::DiscreteGaussian(DiscreteGaussian&&) noexcept = default;
DiscreteGaussian& DiscreteGaussian::operator=(DiscreteGaussian&&) noexcept = default;

void DiscreteGaussian::Sample(crypto::RandomSource& source, std::span<Int128> out) const {
  Words buffer;
  const bool wide = table_->width_bits > kNarrowWidthBits;
  while (!out.empty()) {
    const size_t candidates = std::min(out.size(), kBlockCandidates);
    const uint64_t* words = buffer.Fill(source, candidates * (wide ? 3 : 2));
    const size_t accepted = wide ? FillBlock<true>(*table_, words, candidates, source, out.data())
                                 : FillBlock<false>(*table_, words, candidates, source, out.data());
    out = out.subspan(accepted);
  }
}

Int128 DiscreteGaussian::Sample(crypto::RandomSource& source) const {
  Int128 value = 0;
  Sample(source, {&value, 1});
  return value;
}

const GridVariance& DiscreteGaussian::variance() const { return table_->variance; }

}  // namespace partita::privacy
