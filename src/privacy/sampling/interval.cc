#include "privacy/sampling/interval.h"

#include <algorithm>
#include <initializer_list>

namespace partita::privacy {
namespace {

mpfr_prec_t Wider(const PreciseInterval& a, const PreciseInterval& b) {
  return std::max(a.precision(), b.precision());
}

void SetInteger(mpfr_ptr out, UInt128 value, mpfr_rnd_t direction) {
  Real exact(128);
  mpfr_set_ui(exact.get(), static_cast<unsigned long>(value >> 64), MPFR_RNDN);
  mpfr_mul_2ui(exact.get(), exact.get(), 64, MPFR_RNDN);
  mpfr_add_ui(exact.get(), exact.get(), static_cast<unsigned long>(value), MPFR_RNDN);
  mpfr_set(out, exact.get(), direction);
}

using BinaryFunction = int (*)(mpfr_ptr, mpfr_srcptr, mpfr_srcptr, mpfr_rnd_t);
using Function = int (*)(mpfr_ptr, mpfr_srcptr, mpfr_rnd_t);

// For functions that are monotone in each operand with a sign that depends on the other: the ends
// are among the four corners.
PreciseInterval Corners(const PreciseInterval& a, const PreciseInterval& b,
                        BinaryFunction function) {
  const mpfr_prec_t precision = Wider(a, b);
  PreciseInterval out(precision);
  mpfr_set_inf(out.lower().get(), 1);
  mpfr_set_inf(out.upper().get(), -1);
  Real corner(precision);
  for (const Real* left : {&a.lower(), &a.upper()}) {
    for (const Real* right : {&b.lower(), &b.upper()}) {
      function(corner.get(), left->get(), right->get(), MPFR_RNDD);
      mpfr_min(out.lower().get(), out.lower().get(), corner.get(), MPFR_RNDD);
      function(corner.get(), left->get(), right->get(), MPFR_RNDU);
      mpfr_max(out.upper().get(), out.upper().get(), corner.get(), MPFR_RNDU);
    }
  }
  return out;
}

PreciseInterval Increasing(PreciseInterval a, Function function) {
  function(a.lower().get(), a.lower().get(), MPFR_RNDD);
  function(a.upper().get(), a.upper().get(), MPFR_RNDU);
  return a;
}

int LogGammaOf(mpfr_ptr out, mpfr_srcptr in, mpfr_rnd_t direction) {
  return mpfr_lngamma(out, in, direction);
}

}  // namespace

PreciseInterval PreciseInterval::Of(double value, mpfr_prec_t precision) {
  PreciseInterval out(precision);
  mpfr_set_d(out.lower_.get(), value, MPFR_RNDD);
  mpfr_set_d(out.upper_.get(), value, MPFR_RNDU);
  return out;
}

PreciseInterval PreciseInterval::Of(UInt128 value, mpfr_prec_t precision) {
  PreciseInterval out(precision);
  SetInteger(out.lower_.get(), value, MPFR_RNDD);
  SetInteger(out.upper_.get(), value, MPFR_RNDU);
  return out;
}

PreciseInterval PreciseInterval::Of(const GridVariance& variance, mpfr_prec_t precision) {
  return ShiftLeft(Of(variance.numerator, precision) / Of(variance.denominator, precision),
                   variance.exponent);
}

PreciseInterval operator+(const PreciseInterval& a, const PreciseInterval& b) {
  PreciseInterval out(Wider(a, b));
  mpfr_add(out.lower().get(), a.lower().get(), b.lower().get(), MPFR_RNDD);
  mpfr_add(out.upper().get(), a.upper().get(), b.upper().get(), MPFR_RNDU);
  return out;
}

PreciseInterval operator-(const PreciseInterval& a, const PreciseInterval& b) {
  PreciseInterval out(Wider(a, b));
  mpfr_sub(out.lower().get(), a.lower().get(), b.upper().get(), MPFR_RNDD);
  mpfr_sub(out.upper().get(), a.upper().get(), b.lower().get(), MPFR_RNDU);
  return out;
}

PreciseInterval operator-(const PreciseInterval& a) { return PreciseInterval(a.precision()) - a; }

PreciseInterval operator*(const PreciseInterval& a, const PreciseInterval& b) {
  return Corners(a, b, mpfr_mul);
}

PreciseInterval operator/(const PreciseInterval& a, const PreciseInterval& b) {
  return Corners(a, b, mpfr_div);
}

PreciseInterval ShiftLeft(PreciseInterval a, long exponent) {
  mpfr_mul_2si(a.lower().get(), a.lower().get(), exponent, MPFR_RNDD);
  mpfr_mul_2si(a.upper().get(), a.upper().get(), exponent, MPFR_RNDU);
  return a;
}

PreciseInterval Exp(PreciseInterval a) { return Increasing(std::move(a), mpfr_exp); }
PreciseInterval Expm1(PreciseInterval a) { return Increasing(std::move(a), mpfr_expm1); }
PreciseInterval Log(PreciseInterval a) { return Increasing(std::move(a), mpfr_log); }
PreciseInterval Log1p(PreciseInterval a) { return Increasing(std::move(a), mpfr_log1p); }
PreciseInterval Sqrt(PreciseInterval a) { return Increasing(std::move(a), mpfr_sqrt); }
PreciseInterval LogGamma(PreciseInterval a) { return Increasing(std::move(a), LogGammaOf); }

PreciseInterval NormalCdf(const PreciseInterval& a) {
  // erfc falls, so the ends change places.
  const PreciseInterval scaled = -(a / Sqrt(PreciseInterval::Of(2.0, a.precision())));
  PreciseInterval out(a.precision());
  mpfr_erfc(out.lower().get(), scaled.upper().get(), MPFR_RNDD);
  mpfr_erfc(out.upper().get(), scaled.lower().get(), MPFR_RNDU);
  return ShiftLeft(std::move(out), -1);
}

PreciseInterval Positive(PreciseInterval a) {
  if (mpfr_sgn(a.lower().get()) < 0) mpfr_set_zero(a.lower().get(), 1);
  if (mpfr_sgn(a.upper().get()) < 0) mpfr_set_zero(a.upper().get(), 1);
  return a;
}

}  // namespace partita::privacy
