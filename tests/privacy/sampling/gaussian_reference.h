// A slow reference of the discrete Gaussian sampler: reads the same tape in the same order
// (documented in discrete_gaussian.h and gaussian_table.h) and makes every comparison with 1024-bit
// bounds. Its own arithmetic; it shares with the product only the layout of the alias table, whose
// masses the test verifies one by one.
#pragma once

#include <gtest/gtest.h>
#include <mpfr.h>

#include <optional>
#include <vector>

#include "privacy/sampling/gaussian_table.h"
#include "tests/privacy/sampling/tape.h"

namespace partita::privacy {

constexpr mpfr_prec_t kReferenceBits = 1024;

// Lower and upper 1024-bit bounds.
struct Bracket {
  Bracket() { mpfr_inits2(kReferenceBits, lower, upper, static_cast<mpfr_ptr>(nullptr)); }
  Bracket(const Bracket&) = delete;
  Bracket& operator=(const Bracket&) = delete;
  ~Bracket() { mpfr_clears(lower, upper, static_cast<mpfr_ptr>(nullptr)); }
  mpfr_t lower;
  mpfr_t upper;
};

class GaussianReference {
 public:
  explicit GaussianReference(const GaussianTable& table) : table_(table) {}

  // out = S exp(-m^2/(2 sigma^2)) 2^shift / divisor.
  void Ratio(UInt128 m, long shift, uint64_t divisor, Bracket& out) const {
    mpfr_t square, numerator, denominator, low, high;
    mpfr_inits2(kReferenceBits, square, numerator, denominator, low, high,
                static_cast<mpfr_ptr>(nullptr));
    Set(square, m);
    mpfr_sqr(square, square, MPFR_RNDN);  // exact, like the products: 128 bits times 128 times 128
    Set(denominator, table_.variance.denominator);
    mpfr_mul(square, square, denominator, MPFR_RNDN);
    Set(numerator, table_.variance.numerator);
    mpfr_mul_2si(numerator, numerator, table_.variance.exponent + 1, MPFR_RNDN);
    mpfr_div(low, square, numerator, MPFR_RNDU);
    mpfr_div(high, square, numerator, MPFR_RNDD);
    mpfr_neg(low, low, MPFR_RNDN);
    mpfr_neg(high, high, MPFR_RNDN);
    Finish(low, shift, divisor, MPFR_RNDD, out.lower);
    Finish(high, shift, divisor, MPFR_RNDU, out.upper);
    mpfr_clears(square, numerator, denominator, low, high, static_cast<mpfr_ptr>(nullptr));
  }

  // The top 16 + 64 bits of the ratio of an inner bin: a uniform that begins so is as undecided as
  // can be.
  std::pair<uint16_t, uint64_t> RatioBits(size_t slot, UInt128 m) const {
    Bracket ratio;
    Ratio(m, 16, table_.weights[slot], ratio);
    const auto head = static_cast<uint16_t>(mpfr_get_ui(ratio.lower, MPFR_RNDD));
    mpfr_sub_ui(ratio.lower, ratio.lower, head, MPFR_RNDD);
    mpfr_mul_2ui(ratio.lower, ratio.lower, 64, MPFR_RNDD);
    return {head, mpfr_get_ui(ratio.lower, MPFR_RNDD)};
  }

  void Sample(Tape& tape, std::vector<Int128>& out, size_t count) const {
    const bool wide = table_.width_bits > kNarrowWidthBits;
    out.clear();
    while (out.size() < count) {
      const size_t candidates = std::min<size_t>(512, count - out.size());
      std::vector<uint64_t> words(candidates * (wide ? 3 : 2));
      for (uint64_t& word : words) word = tape.Word();
      for (size_t i = 0; i < candidates; ++i) {
        const uint64_t* record = &words[i * (wide ? 3 : 2)];
        const auto value = Candidate(record[0], record[1], wide ? record[2] : 0, wide, tape);
        if (value.has_value()) out.push_back(*value);
      }
    }
  }

 private:
  static void Set(mpfr_ptr out, UInt128 value) {
    mpfr_set_ui(out, static_cast<unsigned long>(value >> 64), MPFR_RNDN);
    mpfr_mul_2ui(out, out, 64, MPFR_RNDN);
    mpfr_add_ui(out, out, static_cast<unsigned long>(value), MPFR_RNDN);
  }

  void Finish(mpfr_ptr exponent, long shift, uint64_t divisor, mpfr_rnd_t direction,
              mpfr_ptr out) const {
    mpfr_exp(out, exponent, direction);
    mpfr_mul_ui(out, out, table_.scale, direction);
    mpfr_mul_2si(out, out, shift, direction);
    mpfr_div_ui(out, out, divisor, direction);
  }

  std::optional<Int128> Candidate(uint64_t choice, uint64_t first, uint64_t second, bool wide,
                                  Tape& tape) const {
    const AliasEntry& entry = table_.alias.entries[choice >> (64 - table_.alias.slot_bits)];
    const uint64_t rest = choice & ((uint64_t{1} << (64 - table_.alias.slot_bits)) - 1);
    const size_t slot = entry.index[rest < entry.threshold ? 0 : 1];
    const uint64_t top = wide ? second : first;
    UInt128 low = wide ? (static_cast<UInt128>(second) << 64) + first : first;
    low %= UInt128{1} << table_.width_bits;
    const bool negative = (top >> 47) % 2 == 1;
    const auto head = static_cast<uint16_t>(top >> 48);
    if (slot == table_.bins + 1) return std::nullopt;

    UInt128 m = slot * (UInt128{1} << table_.width_bits) + low;
    long shift = 0;
    if (slot == table_.bins) {
      long block = 0;
      for (uint64_t word = tape.Word();; word = tape.Word()) {
        for (uint64_t rest_of_word = word; rest_of_word != 0 && rest_of_word % 2 == 0;
             rest_of_word /= 2) {
          ++block;
        }
        if (word != 0) break;
        block += 64;
      }
      m += (64 * static_cast<UInt128>(block) + tape.Word() % 64) << table_.width_bits;
      shift = 7 + block;
    }
    if (m == 0 && negative) return std::nullopt;
    const Int128 value = negative ? -static_cast<Int128>(m) : static_cast<Int128>(m);
    return Accept(slot, m, shift, head, tape) ? std::optional<Int128>(value) : std::nullopt;
  }

  bool Accept(size_t slot, UInt128 m, long shift, uint16_t head, Tape& tape) const {
    Bracket ratio;
    Ratio(m, shift, table_.weights[slot], ratio);
    if (slot < table_.bins && head < Quick(slot)) {
      // The claim behind the fast path: the whole interval of U lies below the ratio.
      EXPECT_GE(mpfr_cmp_d(ratio.lower, (head + 1) * 0x1p-16), 0);
      return true;
    }
    mpfr_t lower, upper;
    mpfr_inits2(kReferenceBits, lower, upper, static_cast<mpfr_ptr>(nullptr));
    mpfr_set_ui_2exp(lower, head, -16, MPFR_RNDN);
    bool accepted = false;
    for (long bits = 80;; bits += 64) {
      mpfr_set_ui_2exp(upper, tape.Word(), -bits, MPFR_RNDN);
      mpfr_add(lower, lower, upper, MPFR_RNDN);
      mpfr_set_ui_2exp(upper, 1, -bits, MPFR_RNDN);
      mpfr_add(upper, upper, lower, MPFR_RNDN);
      if (mpfr_lessequal_p(upper, ratio.lower) != 0) accepted = true;
      if (accepted || mpfr_lessequal_p(ratio.upper, lower) != 0) break;
    }
    mpfr_clears(lower, upper, static_cast<mpfr_ptr>(nullptr));
    return accepted;
  }

 public:
  // min(65535, floor(2^16 S e(last of bin) / w)).
  uint64_t Quick(size_t slot) const {
    const UInt128 last = ((static_cast<UInt128>(slot) + 1) << table_.width_bits) - 1;
    Bracket ratio;
    Ratio(last, 16, table_.weights[slot], ratio);
    return std::min<uint64_t>(0xffff, mpfr_get_ui(ratio.lower, MPFR_RNDD));
  }

 private:
  const GaussianTable& table_;
};

}  // namespace partita::privacy
