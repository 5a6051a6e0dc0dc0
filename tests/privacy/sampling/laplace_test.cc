// The discrete Laplace and geometric samplers against a big-rational reference on the same tape,
// and their goodness of fit.
#include <gmp.h>
#include <gtest/gtest.h>

#include <cmath>

#include "base/error.h"
#include "privacy/sampling/discrete_laplace.h"
#include "tests/privacy/sampling/expect_error.h"
#include "tests/privacy/sampling/goodness.h"
#include "tests/privacy/sampling/tape.h"

namespace partita::privacy::laplace_test {
namespace {

// A GMP integer with an owner, for the few operations of the reference.
class Big {
 public:
  Big() { mpz_init(value_); }
  explicit Big(UInt128 value) : Big() {
    mpz_set_ui(value_, static_cast<unsigned long>(value >> 64));
    mpz_mul_2exp(value_, value_, 64);
    mpz_add_ui(value_, value_, static_cast<unsigned long>(value));
  }
  Big(const Big& other) { mpz_init_set(value_, other.value_); }
  Big& operator=(const Big&) = delete;
  ~Big() { mpz_clear(value_); }
  mpz_ptr get() { return value_; }
  mpz_srcptr get() const { return value_; }
  Int128 ToInteger() const {
    Big high;
    mpz_fdiv_q_2exp(high.get(), value_, 64);
    return (static_cast<Int128>(mpz_get_ui(high.get())) << 64) +
           static_cast<Int128>(mpz_get_ui(value_));
  }

 private:
  mpz_t value_;
};

// Canonne, Kamath & Steinke, Algorithms 1 and 2, over integers of any size, reading the tape as
// documented.
class LaplaceReference {
 public:
  explicit LaplaceReference(const GridScale& scale)
      : numerator_(scale.numerator), denominator_(scale.denominator) {}

  Int128 Geometric(Tape& tape) const {
    Big value;
    while (true) {
      Below(tape, numerator_, value);
      if (BernoulliExp(tape, value, numerator_)) break;
    }
    const Big one(1);
    while (BernoulliExp(tape, one, one)) mpz_add(value.get(), value.get(), numerator_.get());
    mpz_fdiv_q(value.get(), value.get(), denominator_.get());
    return value.ToInteger();
  }

  Int128 Laplace(Tape& tape) const {
    while (true) {
      const bool negative = tape.Word() % 2 == 1;
      const Int128 magnitude = Geometric(tape);
      if (magnitude == 0 && negative) continue;
      return negative ? -magnitude : magnitude;
    }
  }

 private:
  // Words as bound - 1 has, the top one cut to its bits, the low word first.
  static void Below(Tape& tape, const Big& bound, Big& out) {
    Big top(bound);
    mpz_sub_ui(top.get(), top.get(), 1);
    if (mpz_sgn(top.get()) == 0) {
      mpz_set_ui(out.get(), 0);
      return;
    }
    const size_t bits = mpz_sizeinbase(top.get(), 2);
    do {
      mpz_set_ui(out.get(), tape.Word());
      if (bits > 64) {
        const Big high(static_cast<UInt128>(tape.Word()) << 64);
        mpz_add(out.get(), out.get(), high.get());
      }
      mpz_fdiv_r_2exp(out.get(), out.get(), bits);
    } while (mpz_cmp(out.get(), bound.get()) >= 0);
  }

  // Bernoulli(exp(-numerator / denominator)): the first k whose trial fails is odd.
  static bool BernoulliExp(Tape& tape, const Big& numerator, const Big& denominator) {
    for (uint64_t k = 1;; ++k) {
      Big draw;
      Below(tape, denominator, draw);
      bool success = mpz_cmp(draw.get(), numerator.get()) < 0;
      if (success) {
        Below(tape, Big(k), draw);
        success = mpz_sgn(draw.get()) == 0;
      }
      if (!success) return k % 2 == 1;
    }
  }

  Big numerator_;
  Big denominator_;
};

std::vector<GridScale> Scales() {
  const UInt128 largest = (UInt128{1} << 112) - 1;
  return {{1, 10},
          {1, 2},
          {1, 1},
          {3, 2},
          {10, 1},
          {1000003, 3},
          {UInt128{1} << 40, 1},
          {UInt128{1} << 64, 1},
          {(UInt128{1} << 64) + 1, 7},
          {largest, 1},
          {largest, largest - 2}};
}

TEST(DiscreteLaplaceTest, SameTapeSameSamples) {
  for (const GridScale& scale : Scales()) {
    const DiscreteLaplace sampler(scale);
    const LaplaceReference reference(scale);
    Tape tape(3);
    Tape same(3);
    for (int i = 0; i < 3000; ++i) {
      ASSERT_EQ(sampler.Sample(tape), reference.Laplace(same)) << ToString(scale.numerator);
      ASSERT_EQ(tape.bytes_read(), same.bytes_read());
    }
    for (int i = 0; i < 300; ++i) {
      ASSERT_EQ(SampleGeometric(tape, scale), reference.Geometric(same));
    }
  }
}

TEST(DiscreteLaplaceTest, FitsItsLaw) {
  uint64_t seed = 10;
  for (const double t : {0.2, 0.5, 1.0, 1.5, 10.0, 250.0}) {
    const DiscreteLaplace sampler(ScaleOf(t));
    const double a = std::exp(-1 / t);
    const auto mass = [&](int64_t k) {
      return (1 - a) / (1 + a) * std::exp(-static_cast<double>(std::abs(k)) / t);
    };
    std::vector<Int128> values(200000);
    Tape tape(seed++);
    sampler.Sample(tape, values);
    const auto last = static_cast<int64_t>(60 * t + 5);
    const IntegerCells cells = MakeCells(mass, -last, last, static_cast<double>(values.size()));
    std::vector<uint64_t> counts(cells.probabilities.size(), 0);
    for (const Int128 value : values) ++counts[cells.CellOf(static_cast<double>(value))];
    const Fit fit = ChiSquare(counts, cells.probabilities);
    EXPECT_FALSE(fit.rejected()) << t << ": " << fit.statistic << " against " << fit.critical;
  }
}

// P(|X| >= x) = exp(-x / t) up to a grid unit in 2^100.
TEST(DiscreteLaplaceTest, FitsItsLawAtALargeScale) {
  const double t = 0x1p100;
  const DiscreteLaplace sampler({UInt128{1} << 100, 1});
  std::vector<Int128> values(200000);
  Tape tape(77);
  sampler.Sample(tape, values);
  std::vector<uint64_t> counts(1000, 0);
  for (const Int128 value : values) {
    const double x = static_cast<double>(value) / t;
    const double level = x < 0 ? std::exp(x) / 2 : 1 - std::exp(-x) / 2;
    ++counts[std::min<size_t>(999, static_cast<size_t>(level * 1000))];
  }
  EXPECT_FALSE(ChiSquare(counts, std::vector<double>(1000, 1e-3)).rejected());
}

TEST(DiscreteLaplaceTest, ScaleOfADoubleIsExact) {
  EXPECT_EQ(ScaleOf(1.5), (GridScale{3, 2}));
  EXPECT_EQ(ScaleOf(0.1), (GridScale{3602879701896397, UInt128{1} << 55}));
  EXPECT_EQ(ScaleOf(0x1p100), (GridScale{UInt128{1} << 100, 1}));
  EXPECT_EQ(ScaleOf(0x1p-59).denominator, UInt128{1} << 59);
}

TEST(DiscreteLaplaceTest, RefusesScalesOutOfRange) {
  for (const double bad : {0.0, -1.0, 0x1p-60, 0x1p111, std::nan(""), HUGE_VAL, -HUGE_VAL}) {
    ExpectUsage([&] { ScaleOf(bad); });
  }
  ExpectUsage([] { DiscreteLaplace({0, 1}); });
  ExpectUsage([] { DiscreteLaplace({1, 0}); });
  ExpectUsage([] { DiscreteLaplace({UInt128{1} << 112, 1}); });
  ExpectUsage([] { DiscreteLaplace({1, UInt128{1} << 112}); });
}

class Constant : public crypto::RandomSource {
 public:
  explicit Constant(uint8_t byte) : byte_(byte) {}
  void Fill(std::span<uint8_t> out) override { std::fill(out.begin(), out.end(), byte_); }

 private:
  uint8_t byte_;
};

TEST(DiscreteLaplaceTest, BrokenSourceIsReported) {
  Constant ones(0xff);  // never below 5
  EXPECT_THROW(DiscreteLaplace({5, 1}).Sample(ones), Error);
}

}  // namespace
}  // namespace partita::privacy::laplace_test
