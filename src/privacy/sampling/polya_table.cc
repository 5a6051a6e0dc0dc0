#include "privacy/sampling/polya_table.h"

#include <algorithm>
#include <bit>

#include "base/error.h"

namespace partita::privacy {
namespace {

constexpr mpfr_prec_t kPolyaPrecision = 128;
constexpr uint32_t kMaxParties = 1000000;
constexpr UInt128 kMaxScale = UInt128{1} << 100;
// f falls below 2^-64 of its mass after this many scales.
constexpr unsigned kTailScales = 45;

int FloorLog2(UInt128 value) {
  const auto high = static_cast<uint64_t>(value >> 64);
  const auto width =
      high != 0 ? 64 + std::bit_width(high) : std::bit_width(static_cast<uint64_t>(value));
  return static_cast<int>(width) - 1;
}

}  // namespace

PolyaTable::PolyaTable(UInt128 scale_grid_units, uint32_t parties)
    : scale_(scale_grid_units), parties_(parties) {
  if (scale_ == 0 || scale_ > kMaxScale || parties_ == 0 || parties_ > kMaxParties) {
    throw Error(ErrorCode::kUsage,
                "the scale or the number of parties of a Polya share is out of range",
                "use a scale of 1 to 2^100 grid units and 1 to 1000000 parties");
  }
  AddBins();
  const PolyaLaw law(scale_, parties_, kPolyaPrecision);
  const std::vector<PreciseInterval> masses = Masses(law);
  ChooseScale(masses);
  AddWeights(law, masses);
}

void PolyaTable::AddBins() {
  const int widest = std::max(0, FloorLog2(scale_) - 3);
  const UInt128 end = scale_ * kTailScales;
  UInt128 start = 0;
  while (start < end) {
    const int width_bits = start < kExactCoefficients ? 0 : std::min(widest, FloorLog2(start) - 5);
    bins_.push_back({start, width_bits, 0});
    start += UInt128{1} << width_bits;
  }
  const int block_bits = scale_ == 1 ? 0 : FloorLog2(scale_ - 1) + 1;
  bins_.push_back({start, block_bits, 0});
}

std::vector<PreciseInterval> PolyaTable::Masses(const PolyaLaw& law) const {
  std::vector<PreciseInterval> masses;
  for (const PolyaBin& bin : bins_) {
    const bool tail = &bin == &bins_.back();
    masses.push_back(ShiftLeft(law.DensityBounds(bin.start), bin.width_bits + (tail ? 1 : 0)));
  }
  return masses;
}

void PolyaTable::ChooseScale(const std::vector<PreciseInterval>& masses) {
  PreciseInterval sum(kPolyaPrecision);
  for (const PreciseInterval& mass : masses) sum = sum + mass;
  // Every weight is rounded up by less than 1.
  const UInt128 room = (UInt128{1} << 64) - bins_.size() - 1;
  const PreciseInterval scale = PreciseInterval::Of(room, kPolyaPrecision) / sum;
  scale_exponent_ = mpfr_get_exp(scale.lower().get()) - 64;
  scale_mantissa_ = mpfr_get_ui(ShiftLeft(scale, -scale_exponent_).lower().get(), MPFR_RNDD);
}

PreciseInterval PolyaTable::Scale(mpfr_prec_t precision) const {
  return ShiftLeft(PreciseInterval::Of(UInt128{scale_mantissa_}, precision), scale_exponent_);
}

void PolyaTable::AddWeights(const PolyaLaw& law, const std::vector<PreciseInterval>& masses) {
  const PreciseInterval scale = Scale(kPolyaPrecision);
  std::vector<uint16_t> quick;
  UInt128 total = 0;
  for (size_t i = 0; i < bins_.size(); ++i) {
    PolyaBin& bin = bins_[i];
    const PreciseInterval mass = scale * masses[i];
    const uint64_t weight = std::max<uint64_t>(1, mpfr_get_ui(mass.upper().get(), MPFR_RNDU));
    const PreciseInterval divisor = PreciseInterval::Of(UInt128{weight}, kPolyaPrecision);
    PreciseInterval at_start(kPolyaPrecision);
    at_start.lower() = mass.upper();
    at_start.upper() = mass.upper();
    bin.ratio_at_start = (at_start / divisor).Middle();
    weights_.push_back(weight);
    total += weight;
    uint64_t head = 0;
    if (i + 1 < bins_.size()) {
      const UInt128 last = bin.start + (UInt128{1} << bin.width_bits) - 1;
      const PreciseInterval at_last =
          ShiftLeft(scale * law.DensityBounds(last) / divisor, bin.width_bits + 16);
      head = std::min<uint64_t>(0xffff, mpfr_get_ui(at_last.lower().get(), MPFR_RNDD));
    }
    quick.push_back(static_cast<uint16_t>(head));
  }
  weights_.push_back(static_cast<uint64_t>((UInt128{1} << 64) - total));
  quick.push_back(0);
  alias_ = BuildAliasTable(weights_, quick);
}

}  // namespace partita::privacy
