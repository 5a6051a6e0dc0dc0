// Polya shares: the bounds that make the sampler exact, the tape, the law of a share and of the
// sum.
#include "privacy/sampling/polya.h"

#include <gtest/gtest.h>

#include <boost/math/distributions/gamma.hpp>
#include <cmath>

#include "base/error.h"
#include "privacy/sampling/polya_table.h"
#include "tests/privacy/sampling/goodness.h"
#include "tests/privacy/sampling/tape.h"

namespace partita::privacy::polya_test {
namespace {

constexpr mpfr_prec_t kBits = 512;

struct Case {
  UInt128 scale;
  uint32_t parties;
};

std::vector<Case> Cases() {
  return {{1, 2},
          {7, 1},
          {10, 3},
          {1000, 2},
          {UInt128{1} << 20, 5},
          {UInt128{1} << 40, 2},
          {(UInt128{1} << 80) + 12345, 10},
          {UInt128{1} << 100, 1000000}};
}

// a_k exp(-k/t) without the product's code: log-gamma of MPFR at 512 bits, rounded to nearest; good
// to 2^-380.
double LogDensity(const Case& law, UInt128 k, mpfr_ptr out) {
  mpfr_t r, position, term;
  mpfr_inits2(kBits, r, position, term, static_cast<mpfr_ptr>(nullptr));
  mpfr_set_ui(r, 1, MPFR_RNDN);
  mpfr_div_ui(r, r, law.parties, MPFR_RNDN);
  const auto set = [](mpfr_ptr to, UInt128 value) {
    mpfr_set_ui(to, static_cast<unsigned long>(value >> 64), MPFR_RNDN);
    mpfr_mul_2ui(to, to, 64, MPFR_RNDN);
    mpfr_add_ui(to, to, static_cast<unsigned long>(value), MPFR_RNDN);
  };
  set(position, k);
  mpfr_add(term, position, r, MPFR_RNDN);
  mpfr_lngamma(out, term, MPFR_RNDN);
  mpfr_lngamma(term, r, MPFR_RNDN);
  mpfr_sub(out, out, term, MPFR_RNDN);
  mpfr_add_ui(term, position, 1, MPFR_RNDN);
  mpfr_lngamma(term, term, MPFR_RNDN);
  mpfr_sub(out, out, term, MPFR_RNDN);
  set(term, law.scale);
  mpfr_div(term, position, term, MPFR_RNDN);
  mpfr_sub(out, out, term, MPFR_RNDN);
  mpfr_clears(r, position, term, static_cast<mpfr_ptr>(nullptr));
  return mpfr_get_d(out, MPFR_RNDN);
}

// value (1 + sign 2^-300): room for the error of LogDensity, where an interval may be a point.
Real Scaled(mpfr_srcptr value, int sign) {
  Real out(kBits);
  mpfr_mul_2si(out.get(), value, -300, MPFR_RNDN);
  mpfr_mul_si(out.get(), out.get(), sign, MPFR_RNDN);
  mpfr_add(out.get(), out.get(), value, MPFR_RNDN);
  return out;
}

UInt128 RandomBelow(Tape& tape, UInt128 bound) {
  return ((static_cast<UInt128>(tape.Word()) << 64) | tape.Word()) % bound;
}

TEST(PolyaDensityTest, BoundsContainTheDensity) {
  mpfr_t exact;
  mpfr_init2(exact, kBits);
  Tape tape(1);
  for (const Case& law : Cases()) {
    const PolyaLaw bounds(law.scale, law.parties, 192);
    std::vector<UInt128> positions = {0, 1, 2, 63, 64, 65, 100, 1000, law.scale};
    for (int i = 0; i < 40; ++i) positions.push_back(RandomBelow(tape, 40 * law.scale));
    for (const UInt128 k : positions) {
      LogDensity(law, k, exact);
      mpfr_exp(exact, exact, MPFR_RNDN);
      for (const PreciseInterval& interval : {bounds.Density(k), bounds.DensityBounds(k)}) {
        EXPECT_LE(mpfr_cmp(interval.lower().get(), Scaled(exact, 1).get()), 0);
        EXPECT_GE(mpfr_cmp(interval.upper().get(), Scaled(exact, -1).get()), 0);
      }
      const PreciseInterval narrow = bounds.Density(k);
      EXPECT_LE((narrow / narrow).UpperBound(), 1 + 1e-9);
      if (k < kExactCoefficients) continue;
      const PreciseInterval wide = bounds.DensityBounds(k);
      Real ratio(64);
      mpfr_div(ratio.get(), wide.lower().get(), wide.upper().get(), MPFR_RNDN);
      EXPECT_LE(1 - mpfr_get_d(ratio.get(), MPFR_RNDN), 0.125 / static_cast<double>(k) + 1e-15);
    }
  }
  mpfr_clear(exact);
}

// What the proof in polya_table.h needs of the table: bins without gaps, weights that dominate,
// masses that the alias table has.
TEST(PolyaTableTest, WeightsDominateAndAddUp) {
  mpfr_t mass, scale;
  mpfr_inits2(kBits, mass, scale, static_cast<mpfr_ptr>(nullptr));
  for (const Case& law : Cases()) {
    const PolyaTable table(law.scale, law.parties);
    const PreciseInterval exact_scale = table.Scale(128);
    mpfr_set(scale, exact_scale.lower().get(), MPFR_RNDN);
    ASSERT_TRUE(mpfr_equal_p(scale, exact_scale.upper().get()));
    UInt128 expected_start = 0;
    UInt128 total = table.weights().back();
    for (size_t i = 0; i < table.bins().size(); ++i) {
      const PolyaBin& bin = table.bins()[i];
      const bool tail = i + 1 == table.bins().size();
      ASSERT_EQ(bin.start, expected_start);
      expected_start += UInt128{1} << bin.width_bits;
      if (tail) {
        ASSERT_GE(UInt128{1} << bin.width_bits, law.scale);
        ASSERT_GE(bin.start, 45 * law.scale);
      }
      total += table.weights()[i];
      if (i > 100 && i % 83 != 0 && !tail) continue;  // log-gamma at 512 bits takes its time
      LogDensity(law, bin.start, mass);
      mpfr_exp(mass, mass, MPFR_RNDN);
      mpfr_mul(mass, mass, scale, MPFR_RNDN);
      mpfr_mul_2si(mass, mass, bin.width_bits + (tail ? 1 : 0), MPFR_RNDN);
      ASSERT_LE(mpfr_cmp_ui(Scaled(mass, -1).get(), table.weights()[i]), 0) << i;
      // Not by more than Kershaw's bound is wide, and one for rounding up.
      ASSERT_LE(static_cast<double>(table.weights()[i]),
                mpfr_get_d(mass, MPFR_RNDU) * (1 + 1.0 / 256) + 1);
    }
    EXPECT_EQ(total, UInt128{1} << 64);
    std::vector<UInt128> masses(table.weights().size(), 0);
    const UInt128 capacity = UInt128{1} << (64 - table.alias().slot_bits);
    for (const AliasEntry& entry : table.alias().entries) {
      masses[entry.index[0]] += entry.threshold;
      masses[entry.index[1]] += capacity - entry.threshold;
    }
    for (size_t i = 0; i < masses.size(); ++i) ASSERT_EQ(masses[i], table.weights()[i]);
  }
  mpfr_clears(mass, scale, static_cast<mpfr_ptr>(nullptr));
}

// Reads the tape as the sampler does; decides by 512-bit ratios alone.
class PolyaReference {
 public:
  PolyaReference(const PolyaTable& table, const Case& law) : table_(table), law_(law) {}

  Int128 Sample(Tape& tape) {
    while (true) {
      const uint64_t choice = tape.Word();
      const uint64_t first = tape.Word();
      const uint64_t second = tape.Word();
      const AliasEntry& entry = table_.alias().entries[choice >> (64 - table_.alias().slot_bits)];
      const uint64_t rest = choice & ((uint64_t{1} << (64 - table_.alias().slot_bits)) - 1);
      const size_t side = rest < entry.threshold ? 0 : 1;
      const size_t slot = entry.index[side];
      if (slot == table_.bins().size()) continue;
      const PolyaBin& bin = table_.bins()[slot];
      UInt128 k = ((static_cast<UInt128>(second) << 64) | first) % (UInt128{1} << bin.width_bits);
      k += bin.start;
      long shift = bin.width_bits;
      const auto head = static_cast<uint16_t>(second >> 48);
      if (slot + 1 == table_.bins().size()) {
        uint64_t block = 0;
        uint64_t word = tape.Word();
        for (; word % 2 == 0; word /= 2) ++block;
        k += static_cast<UInt128>(block) << bin.width_bits;
        shift += static_cast<long>(block) + 1;
      } else if (head < entry.quick[side]) {
        EXPECT_GE(RatioBits(slot, k, shift) >> 48, head);
        return static_cast<Int128>(k);
      }
      // The first 64 bits of U against those of the ratio.
      const uint64_t uniform = (uint64_t{head} << 48) | (tape.Word() >> 16);
      const uint64_t ratio = RatioBits(slot, k, shift);
      EXPECT_NE(uniform, ratio) << "choose another seed";
      if (uniform < ratio) return static_cast<Int128>(k);
    }
  }

  // floor(2^64 ratio), at most 2^64 - 1.
  uint64_t RatioBits(size_t slot, UInt128 k, long shift) {
    mpfr_t ratio;
    mpfr_init2(ratio, kBits);
    LogDensity(law_, k, ratio);
    mpfr_exp(ratio, ratio, MPFR_RNDN);
    const PreciseInterval scale = table_.Scale(128);
    mpfr_mul(ratio, ratio, scale.lower().get(), MPFR_RNDN);
    mpfr_mul_2si(ratio, ratio, shift, MPFR_RNDN);
    mpfr_div_ui(ratio, ratio, table_.weights()[slot], MPFR_RNDN);
    mpfr_mul_2ui(ratio, ratio, 64, MPFR_RNDN);
    const uint64_t bits =
        mpfr_fits_ulong_p(ratio, MPFR_RNDD) != 0 ? mpfr_get_ui(ratio, MPFR_RNDD) : ~uint64_t{0};
    mpfr_clear(ratio);
    return bits;
  }

  uint64_t WordOfSlot(size_t slot) const {
    const AliasTable& alias = table_.alias();
    for (uint64_t i = 0;; ++i) {
      const AliasEntry& entry = alias.entries.at(i);
      const uint64_t first = i << (64 - alias.slot_bits);
      if (entry.index[0] == slot && entry.threshold > 0) return first;
      if (entry.index[1] == slot) return first + entry.threshold;
    }
  }

 private:
  const PolyaTable& table_;
  Case law_;
};

TEST(PolyaShareTest, SameTapeSameSamples) {
  for (const Case& law : Cases()) {
    const PolyaShare share(law.scale, law.parties);
    const PolyaTable table(law.scale, law.parties);
    PolyaReference reference(table, law);
    Tape tape(4);
    Tape same(4);
    for (int i = 0; i < 200; ++i) {
      ASSERT_EQ(share.Sample(tape), reference.Sample(same)) << i;
      ASSERT_EQ(tape.bytes_read(), same.bytes_read());
    }
  }
}

// U within 2^-56 of the ratio, where neither Kershaw's bounds nor doubles decide.
TEST(PolyaShareTest, UndecidedUniforms) {
  const Case law = {5000, 3};
  const PolyaShare share(law.scale, law.parties);
  const PolyaTable table(law.scale, law.parties);
  PolyaReference reference(table, law);
  Tape random(11);
  int settled_late = 0;
  for (int trial = 0; trial < 300; ++trial) {
    const size_t slot = 64 + random.Word() % (table.bins().size() - 65);
    const PolyaBin& bin = table.bins()[slot];
    const uint64_t low = random.Word() % (uint64_t{1} << bin.width_bits);
    const uint64_t ratio = reference.RatioBits(slot, bin.start + low, bin.width_bits);
    for (const uint64_t offset : {uint64_t{0} - 256, uint64_t{256}}) {
      const uint64_t uniform = ratio + offset;
      const std::vector<uint64_t> script = {reference.WordOfSlot(slot), low, (uniform >> 48) << 48,
                                            uniform << 16};
      Tape tape(5, script);
      Tape same(5, script);
      ASSERT_EQ(share.Sample(tape), reference.Sample(same));
      ASSERT_EQ(tape.bytes_read(), same.bytes_read());
      settled_late += same.bytes_read() > 24 ? 1 : 0;
    }
  }
  EXPECT_GT(settled_late, 300);
}

TEST(PolyaShareTest, UndecidedUniformsInTheTail) {
  const Case law = {5000, 3};
  const PolyaShare share(law.scale, law.parties);
  const PolyaTable table(law.scale, law.parties);
  PolyaReference reference(table, law);
  const size_t slot = table.bins().size() - 1;
  const PolyaBin& bin = table.bins()[slot];
  for (const uint64_t block : {0, 1, 5}) {
    for (const uint64_t low : {uint64_t{0}, (uint64_t{1} << bin.width_bits) - 1}) {
      const UInt128 k = bin.start + (block << bin.width_bits) + low;
      const uint64_t ratio =
          reference.RatioBits(slot, k, bin.width_bits + static_cast<long>(block) + 1);
      ASSERT_GT(ratio, 1000U);
      for (const uint64_t offset : {uint64_t{0} - 256, uint64_t{256}}) {
        const uint64_t uniform = ratio + offset;
        const std::vector<uint64_t> script = {reference.WordOfSlot(slot), low,
                                              (uniform >> 48) << 48, uint64_t{1} << block,
                                              uniform << 16};
        Tape tape(5, script);
        Tape same(5, script);
        const Int128 value = share.Sample(tape);
        ASSERT_EQ(value, reference.Sample(same));
        ASSERT_EQ(tape.bytes_read(), same.bytes_read());
        EXPECT_EQ(value == static_cast<Int128>(k), uniform < ratio);
      }
    }
  }
}

// Masses of the Polya law by their recurrence.
std::vector<double> PolyaMasses(double t, double r) {
  std::vector<double> masses = {std::pow(-std::expm1(-1 / t), r)};
  for (int k = 1; k < 60 * t + 5; ++k) {
    masses.push_back(masses.back() * (k - 1 + r) / k * std::exp(-1 / t));
  }
  return masses;
}

template <typename Draw, typename Mass>
void ExpectFit(const Draw& draw, const Mass& mass, int64_t lowest, int64_t highest,
               size_t samples) {
  const IntegerCells cells = MakeCells(mass, lowest, highest, static_cast<double>(samples));
  std::vector<uint64_t> counts(cells.probabilities.size(), 0);
  for (size_t i = 0; i < samples; ++i) ++counts[cells.CellOf(static_cast<double>(draw()))];
  const Fit fit = ChiSquare(counts, cells.probabilities);
  EXPECT_FALSE(fit.rejected()) << fit.statistic << " against " << fit.critical;
}

TEST(PolyaShareTest, OneShareFitsItsLaw) {
  for (const auto& [t, parties] :
       std::vector<std::pair<int, uint32_t>>{{1, 2}, {3, 5}, {20, 2}, {300, 3}, {300, 1}}) {
    SCOPED_TRACE(t);
    const PolyaShare share(static_cast<UInt128>(t), parties);
    const std::vector<double> masses = PolyaMasses(t, 1.0 / parties);
    Tape tape(21);
    ExpectFit([&] { return share.Sample(tape); },
              [&](int64_t k) { return masses[static_cast<size_t>(k)]; }, 0,
              static_cast<int64_t>(masses.size()) - 1, 300000);
  }
}

// At a large scale the share divided by t is Gamma(1/m, 1) up to one part in its own size.
TEST(PolyaShareTest, LargeScaleIsGamma) {
  const uint32_t parties = 3;
  const PolyaShare share = GammaShare(40, parties);
  const boost::math::gamma_distribution<double> law(1.0 / parties, 1.0);
  const size_t samples = 300000;
  std::vector<uint64_t> counts(500, 0);
  Tape tape(22);
  for (size_t i = 0; i < samples; ++i) {
    const double x = static_cast<double>(share.Sample(tape)) * 0x1p-40;
    ++counts[std::min<size_t>(499, static_cast<size_t>(boost::math::cdf(law, x) * 500))];
  }
  EXPECT_FALSE(ChiSquare(counts, std::vector<double>(500, 1.0 / 500)).rejected());
}

TEST(PolyaShareTest, SharesAddUpToAGeometricVariable) {
  const PolyaShare share(12, 4);
  const double a = std::exp(-1.0 / 12);
  Tape tape(23);
  ExpectFit(
      [&] {
        Int128 sum = 0;
        for (int party = 0; party < 4; ++party) sum += share.Sample(tape);
        return sum;
      },
      [&](int64_t k) { return (1 - a) * std::exp(-static_cast<double>(k) / 12); }, 0, 700, 200000);
}

TEST(DiscreteLaplaceShareTest, SharesAddUpToADiscreteLaplaceVariable) {
  const DiscreteLaplaceShare share(9, 3);
  const double a = std::exp(-1.0 / 9);
  Tape tape(24);
  ExpectFit([&] { return share.Sample(tape) + share.Sample(tape) + share.Sample(tape); },
            [&](int64_t k) {
              return (1 - a) / (1 + a) * std::exp(-static_cast<double>(std::abs(k)) / 9);
            },
            -600, 600, 200000);
}

// The whole of a Gamma-grid variable is the integer part of an exponential one: mean and tail.
TEST(GammaShareTest, SumIsExponentialOnTheGrid) {
  const int fraction_bits = 30;
  const uint32_t parties = 2;
  const PolyaShare share = GammaShare(fraction_bits, parties);
  std::vector<uint64_t> counts(400, 0);
  Tape tape(25);
  for (int i = 0; i < 200000; ++i) {
    const double x = static_cast<double>(share.Sample(tape) + share.Sample(tape)) * 0x1p-30;
    ++counts[std::min<size_t>(399, static_cast<size_t>(-std::expm1(-x) * 400))];
  }
  EXPECT_FALSE(ChiSquare(counts, std::vector<double>(400, 1.0 / 400)).rejected());
}

TEST(PolyaShareTest, RefusesWhatIsOutOfRange) {
  for (const auto& [scale, parties] : std::vector<std::pair<UInt128, uint32_t>>{
           {0, 2}, {(UInt128{1} << 100) + 1, 2}, {10, 0}, {10, 1000001}}) {
    try {
      PolyaShare(scale, parties);
      ADD_FAILURE();
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kUsage);
    }
  }
  EXPECT_THROW(GammaShare(-1, 2), Error);
  EXPECT_THROW(GammaShare(101, 2), Error);
}

}  // namespace
}  // namespace partita::privacy::polya_test
