#include "privacy/sampling/lazy_uniform.h"

#include <array>
#include <bit>
#include <cstring>

#include "base/error.h"

namespace partita::privacy {
namespace {

constexpr mpfr_prec_t kMaxPrecision = 1 << 16;

[[noreturn]] void ThrowBrokenSource() {
  throw Error(ErrorCode::kInternal, "the random source repeats itself", "restart the node");
}

// What is known of U: it lies in [lower, lower + 2^-bits).
class KnownBits {
 public:
  KnownBits(uint16_t head, uint64_t word) : lower_(80) {
    mpfr_set_ui_2exp(lower_.get(), head, -16, MPFR_RNDN);
    Add(word, 80);
  }
  void Extend(uint64_t word) { Add(word, bits_ + 64); }
  mpfr_srcptr lower() const { return lower_.get(); }
  Real Upper() const {
    Real upper(lower_.precision() + 1);
    mpfr_set_ui_2exp(upper.get(), 1, -bits_, MPFR_RNDN);
    mpfr_add(upper.get(), upper.get(), lower_.get(), MPFR_RNDN);
    return upper;
  }

 private:
  void Add(uint64_t word, mpfr_prec_t bits) {
    bits_ = bits;
    Real sum(bits);
    mpfr_set_ui_2exp(sum.get(), word, -bits, MPFR_RNDN);
    mpfr_add(sum.get(), sum.get(), lower_.get(), MPFR_RNDN);
    lower_ = sum;
  }

  mpfr_prec_t bits_ = 0;
  Real lower_;
};

}  // namespace

uint64_t ReadWord(crypto::RandomSource& source) {
  std::array<uint8_t, 8> bytes{};
  source.Fill(bytes);
  uint64_t word = 0;
  std::memcpy(&word, bytes.data(), sizeof(word));
  return word;
}

uint64_t ReadZeroBits(crypto::RandomSource& source) {
  for (uint64_t zeros = 0; zeros < 1024; zeros += 64) {
    const uint64_t word = ReadWord(source);
    if (word != 0) return zeros + static_cast<uint64_t>(std::countr_zero(word));
  }
  ThrowBrokenSource();
}

UInt128 ReadBelow(crypto::RandomSource& source, UInt128 bound) {
  const UInt128 top = bound - 1;
  const auto high = static_cast<uint64_t>(top >> 64);
  if (high == 0) {
    const auto width = static_cast<int>(std::bit_width(static_cast<uint64_t>(top)));
    if (width == 0) return 0;
    for (int trial = 0; trial < 1024; ++trial) {
      const uint64_t word = ReadWord(source) & (~uint64_t{0} >> (64 - width));
      if (word < bound) return word;
    }
    ThrowBrokenSource();
  }
  const uint64_t mask = ~uint64_t{0} >> (64 - std::bit_width(high));
  for (int trial = 0; trial < 1024; ++trial) {
    const UInt128 low = ReadWord(source);
    const UInt128 value = (static_cast<UInt128>(ReadWord(source) & mask) << 64) | low;
    if (value < bound) return value;
  }
  ThrowBrokenSource();
}

bool AcceptBelow(uint16_t head, uint64_t word, crypto::RandomSource& source, const RatioAt& ratio) {
  KnownBits known(head, word);
  mpfr_prec_t precision = 320;
  while (precision <= kMaxPrecision) {
    const PreciseInterval value = ratio(precision);
    const Real upper = known.Upper();
    if (mpfr_lessequal_p(upper.get(), value.lower().get()) != 0) return true;
    if (mpfr_lessequal_p(value.upper().get(), known.lower()) != 0) return false;
    const bool inside = mpfr_less_p(known.lower(), value.lower().get()) != 0 &&
                        mpfr_less_p(value.upper().get(), upper.get()) != 0;
    if (inside) {
      known.Extend(ReadWord(source));
    } else {
      precision *= 2;
    }
  }
  ThrowBrokenSource();
}

}  // namespace partita::privacy
