// PreciseInterval arithmetic with directed rounding over MPFR: every result contains the true value
// for all values in the operands. For table construction, calibration and the rare exact comparison
// of a sampler; microseconds per operation. Include in few places. (mpfr_set is a macro that copies
// the pointer first: never hand it a number inside a temporary.)
#pragma once

#include <mpfr.h>

#include "base/int128.h"
#include "privacy/sampling/grid_variance.h"

namespace partita::privacy {

constexpr mpfr_prec_t kDefaultPrecision = 192;

// MPFR keeps constants and memory for every thread that computes: given back when the thread ends.
struct MpfrOfThread {
  ~MpfrOfThread() { mpfr_free_cache2(MPFR_FREE_LOCAL_CACHE); }
  static void Use() { static thread_local const MpfrOfThread kThis; }
};

// One MPFR number with an owner.
class Real {
 public:
  explicit Real(mpfr_prec_t precision) {
    MpfrOfThread::Use();
    mpfr_init2(value_, precision);
  }
  Real(const Real& other) {
    MpfrOfThread::Use();
    mpfr_init2(value_, mpfr_get_prec(other.value_));
    mpfr_set(value_, other.value_, MPFR_RNDN);
  }
  Real& operator=(const Real& other) {
    mpfr_set_prec(value_, mpfr_get_prec(other.value_));
    mpfr_set(value_, other.value_, MPFR_RNDN);
    return *this;
  }
  ~Real() { mpfr_clear(value_); }

  mpfr_ptr get() { return value_; }
  mpfr_srcptr get() const { return value_; }
  mpfr_prec_t precision() const { return mpfr_get_prec(value_); }

 private:
  mpfr_t value_ = {};
};

class PreciseInterval {
 public:
  // [0, 0].
  explicit PreciseInterval(mpfr_prec_t precision) : lower_(precision), upper_(precision) {
    mpfr_set_zero(lower_.get(), 1);
    mpfr_set_zero(upper_.get(), 1);
  }
  static PreciseInterval Of(double value, mpfr_prec_t precision = kDefaultPrecision);
  static PreciseInterval Of(UInt128 value, mpfr_prec_t precision = kDefaultPrecision);
  // sigma^2.
  static PreciseInterval Of(const GridVariance& variance,
                            mpfr_prec_t precision = kDefaultPrecision);

  const Real& lower() const { return lower_; }
  const Real& upper() const { return upper_; }
  Real& lower() { return lower_; }
  Real& upper() { return upper_; }
  mpfr_prec_t precision() const { return lower_.precision(); }

  // Doubles around it; a positive upper end never becomes 0.
  double LowerBound() const { return mpfr_get_d(lower_.get(), MPFR_RNDD); }
  double UpperBound() const { return mpfr_get_d(upper_.get(), MPFR_RNDU); }
  double Middle() const { return mpfr_get_d(lower_.get(), MPFR_RNDN); }

 private:
  Real lower_;
  Real upper_;
};

PreciseInterval operator+(const PreciseInterval& a, const PreciseInterval& b);
PreciseInterval operator-(const PreciseInterval& a, const PreciseInterval& b);
PreciseInterval operator-(const PreciseInterval& a);
PreciseInterval operator*(const PreciseInterval& a, const PreciseInterval& b);
// b must not contain 0.
PreciseInterval operator/(const PreciseInterval& a, const PreciseInterval& b);
// a * 2^exponent, exactly.
PreciseInterval ShiftLeft(PreciseInterval a, long exponent);
PreciseInterval Exp(PreciseInterval a);
PreciseInterval Expm1(PreciseInterval a);
PreciseInterval Log(PreciseInterval a);
PreciseInterval Log1p(PreciseInterval a);
PreciseInterval Sqrt(PreciseInterval a);
// The natural logarithm of the gamma function, for a >= 3/2, where it grows.
PreciseInterval LogGamma(PreciseInterval a);
// The standard normal distribution function.
PreciseInterval NormalCdf(const PreciseInterval& a);
// Both ends raised to at least 0.
PreciseInterval Positive(PreciseInterval a);

}  // namespace partita::privacy
