#include "privacy/sampling/polya_density.h"

namespace partita::privacy {
namespace {

// Gamma falls on (0, 1].
PreciseInterval GammaOf(const PreciseInterval& r) {
  PreciseInterval out(r.precision());
  mpfr_gamma(out.lower().get(), r.upper().get(), MPFR_RNDD);
  mpfr_gamma(out.upper().get(), r.lower().get(), MPFR_RNDU);
  return out;
}

}  // namespace

PolyaLaw::PolyaLaw(UInt128 scale, uint32_t parties, mpfr_prec_t precision)
    : precision_(precision),
      scale_(Number(scale)),
      one_(Number(1)),
      r_(one_ / Number(parties)),
      gamma_(GammaOf(r_)),
      low_add_(Sqrt(r_ + ShiftLeft(one_, -2)) - ShiftLeft(one_, -1)) {}

// (r)_k / k! as a product.
PreciseInterval PolyaLaw::Coefficient(uint64_t k) const {
  PreciseInterval product = one_;
  for (uint64_t i = 0; i < k; ++i) product = product * (r_ + Number(i)) / Number(i + 1);
  return product;
}

PreciseInterval PolyaLaw::LogCoefficientAt(const Real& r, const PreciseInterval& k) const {
  PreciseInterval point(precision_);
  point.lower() = r;
  point.upper() = r;
  return LogGamma(k + point) - Log(GammaOf(point)) - LogGamma(k + one_);
}

PreciseInterval PolyaLaw::Density(UInt128 k) const {
  if (k < kExactCoefficients) return Coefficient(static_cast<uint64_t>(k)) * Exp(Decay(k));
  // (r)_k / k! grows with r, so each end of r gives one end.
  PreciseInterval log_coefficient(precision_);
  log_coefficient.lower() = LogCoefficientAt(r_.lower(), Number(k)).lower();
  log_coefficient.upper() = LogCoefficientAt(r_.upper(), Number(k)).upper();
  return Exp(log_coefficient + Decay(k));
}

PreciseInterval PolyaLaw::DensityBounds(UInt128 k) const {
  if (k < kExactCoefficients) return Density(k);
  const PreciseInterval power = r_ - one_;
  const PreciseInterval decay = Decay(k);
  PreciseInterval out(precision_);
  out.lower() = (Exp(power * Log(Number(k) + low_add_) + decay) / gamma_).lower();
  out.upper() = (Exp(power * Log(Number(k) + ShiftLeft(r_, -1)) + decay) / gamma_).upper();
  return out;
}

}  // namespace partita::privacy
