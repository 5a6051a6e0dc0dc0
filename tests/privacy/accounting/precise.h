// Closed forms with 256 bits (MPFR): what the accountant is held against.
#pragma once

#include <mpfr.h>

#include <utility>

namespace partita::privacy::testing {

class Real {
 public:
  Real() { mpfr_init2(value_, 256); }
  Real(double value) : Real() {
    mpfr_set_d(value_, value, MPFR_RNDN);
  }  // NOLINT: a number is a number
  Real(const Real& other) : Real() { mpfr_set(value_, other.value_, MPFR_RNDN); }
  Real& operator=(const Real& other) {
    mpfr_set(value_, other.value_, MPFR_RNDN);
    return *this;
  }
  ~Real() { mpfr_clear(value_); }

  double ToDouble() const { return mpfr_get_d(value_, MPFR_RNDN); }
  mpfr_ptr get() { return value_; }
  mpfr_srcptr get() const { return value_; }

 private:
  mpfr_t value_;
};

inline Real operator+(const Real& a, const Real& b) {
  Real r;
  mpfr_add(r.get(), a.get(), b.get(), MPFR_RNDN);
  return r;
}
inline Real operator-(const Real& a, const Real& b) {
  Real r;
  mpfr_sub(r.get(), a.get(), b.get(), MPFR_RNDN);
  return r;
}
inline Real operator*(const Real& a, const Real& b) {
  Real r;
  mpfr_mul(r.get(), a.get(), b.get(), MPFR_RNDN);
  return r;
}
inline Real operator/(const Real& a, const Real& b) {
  Real r;
  mpfr_div(r.get(), a.get(), b.get(), MPFR_RNDN);
  return r;
}
inline bool operator<(const Real& a, const Real& b) { return mpfr_less_p(a.get(), b.get()) != 0; }
inline Real Exp(const Real& a) {
  Real r;
  mpfr_exp(r.get(), a.get(), MPFR_RNDN);
  return r;
}
inline Real Log(const Real& a) {
  Real r;
  mpfr_log(r.get(), a.get(), MPFR_RNDN);
  return r;
}
inline Real Sqrt(const Real& a) {
  Real r;
  mpfr_sqrt(r.get(), a.get(), MPFR_RNDN);
  return r;
}
inline Real Expm1(const Real& a) {
  Real r;
  mpfr_expm1(r.get(), a.get(), MPFR_RNDN);
  return r;
}

// P(N(0,1) > x).
inline Real NormalTail(const Real& x) {
  Real r;
  mpfr_erfc(r.get(), (x / Sqrt(Real(2))).get(), MPFR_RNDN);
  return r / Real(2);
}

inline Real GaussianDelta256(const Real& mu, const Real& epsilon) {
  const Real half = mu / Real(2);
  return NormalTail(epsilon / mu - half) - Exp(epsilon) * NormalTail(epsilon / mu + half);
}

// A Laplace mechanism with pure loss mu: max(0, 1 - e^((eps - mu) / 2)).
inline Real LaplaceDelta256(const Real& mu, const Real& epsilon) {
  if (!(epsilon < mu)) return Real(0);
  return Real(0) - Expm1((epsilon - mu) / Real(2));
}

}  // namespace partita::privacy::testing
