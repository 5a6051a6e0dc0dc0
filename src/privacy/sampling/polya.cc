#include "privacy/sampling/polya.h"

#include <array>
#include <cmath>
#include <cstring>
#include <optional>

#include "base/error.h"
#include "base/secret.h"
#include "privacy/sampling/lazy_uniform.h"
#include "privacy/sampling/polya_density.h"
#include "privacy/sampling/polya_table.h"

namespace partita::privacy {
namespace {

constexpr double kPolyaBand = 0x1p-44;

// One candidate's words: the slot, the low 64 bits, and 16 bits of U above more low bits.
struct CandidateWords {
  std::array<uint64_t, 3> word;
};

// S 2^log2_multiplier f(k) / w.
bool AcceptPolyaExactly(const PolyaTable& table, size_t slot, UInt128 k, long log2_multiplier,
                        uint16_t head, uint64_t word, crypto::RandomSource& source) {
  return AcceptBelow(head, word, source, [&](mpfr_prec_t precision) {
    // log-gamma of k takes as many bits again before the first one that counts.
    const mpfr_prec_t working = precision + 128;
    const PreciseInterval density = PolyaLaw(table.scale(), table.parties(), working).Density(k);
    return ShiftLeft(table.Scale(working) * density, log2_multiplier) /
           PreciseInterval::Of(UInt128{table.weights()[slot]}, working);
  });
}

bool AcceptInPolyaBin(const PolyaTable& table, size_t slot, UInt128 k, uint16_t head,
                      crypto::RandomSource& source) {
  const PolyaBin& bin = table.bins()[slot];
  const uint64_t word = ReadWord(source);
  const double r = 1.0 / table.parties();
  const auto steps = static_cast<double>(k - bin.start);
  const auto start = static_cast<double>(bin.start);
  const double change =
      (r - 1) * std::log1p(steps / (start + r / 2)) - steps / static_cast<double>(table.scale());
  const double upper = bin.ratio_at_start * std::exp(change) * (1 + kPolyaBand);
  const double gap = bin.start < kExactCoefficients ? 0.0 : 0.125 / start;
  const double lower = upper * (1 - 2 * kPolyaBand) * (1 - gap);
  const uint64_t top = (uint64_t{head} << 37) | (word >> 27);
  const double uniform = static_cast<double>(top) * 0x1p-53;
  if (uniform + 0x1p-53 <= lower) return true;
  if (uniform >= upper) return false;
  return AcceptPolyaExactly(table, slot, k, bin.width_bits, head, word, source);
}

std::optional<UInt128> PolyaCandidate(const PolyaTable& table, crypto::RandomSource& source) {
  Secret<CandidateWords> secret;
  auto& word = secret.Expose().word;
  source.Fill({reinterpret_cast<uint8_t*>(word.data()), sizeof(word)});
  const AliasEntry& entry = table.alias().Entry(word[0]);
  const size_t side = table.alias().Side(entry, word[0]);
  const size_t slot = entry.index[side];
  if (slot == table.bins().size()) return std::nullopt;
  const auto head = static_cast<uint16_t>(word[2] >> 48);
  const PolyaBin& bin = table.bins()[slot];
  const UInt128 low =
      ((static_cast<UInt128>(word[2]) << 64) | word[1]) & ((UInt128{1} << bin.width_bits) - 1);
  if (slot + 1 < table.bins().size()) {
    const UInt128 k = bin.start + low;
    const bool accepted =
        head < entry.quick[side] || AcceptInPolyaBin(table, slot, k, head, source);
    return accepted ? std::optional<UInt128>(k) : std::nullopt;
  }
  const uint64_t block = ReadZeroBits(source);
  const UInt128 k = bin.start + (static_cast<UInt128>(block) << bin.width_bits) + low;
  const long log2_multiplier = bin.width_bits + static_cast<long>(block) + 1;
  const uint64_t next = ReadWord(source);
  const bool accepted = AcceptPolyaExactly(table, slot, k, log2_multiplier, head, next, source);
  return accepted ? std::optional<UInt128>(k) : std::nullopt;
}

}  // namespace

PolyaShare::PolyaShare(UInt128 scale_grid_units, uint32_t parties)
    : table_(std::make_unique<const PolyaTable>(scale_grid_units, parties)) {}
PolyaShare::~PolyaShare() = default;
PolyaShare::PolyaShare(PolyaShare&&) noexcept = default;
PolyaShare& PolyaShare::operator=(PolyaShare&&) noexcept = default;

Int128 PolyaShare::Sample(crypto::RandomSource& source) const {
  while (true) {
    if (const auto k = PolyaCandidate(*table_, source)) return static_cast<Int128>(*k);
  }
}

void PolyaShare::Sample(crypto::RandomSource& source, std::span<Int128> out) const {
  for (Int128& value : out) value = Sample(source);
}

PolyaShare GammaShare(int fraction_bits, uint32_t parties) {
  if (fraction_bits < 0 || fraction_bits > 100) {
    throw Error(ErrorCode::kUsage, "the fraction bits of a Gamma share are not in 0 to 100");
  }
  return PolyaShare(UInt128{1} << fraction_bits, parties);
}

}  // namespace partita::privacy
