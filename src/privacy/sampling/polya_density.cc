#include "privacy/sampling/polya_density.h"

#include <algorithm>

namespace partita::privacy {
namespace {

struct Shape {
  Interval one;
  Interval r;
};

Shape ShapeOf(uint32_t parties, mpfr_prec_t precision) {
  Interval one = Interval::Of(UInt128{1}, precision);
  Interval r = one / Interval::Of(UInt128{parties}, precision);
  return {std::move(one), std::move(r)};
}

// (r)_k / k! as a product.
Interval Coefficient(const Shape& shape, uint64_t k, mpfr_prec_t precision) {
  Interval product = shape.one;
  for (uint64_t i = 0; i < k; ++i) {
    product = product * (shape.r + Interval::Of(UInt128{i}, precision)) /
              Interval::Of(UInt128{i + 1}, precision);
  }
  return product;
}

// Gamma falls on (0, 1].
Interval GammaOf(const Interval& r) {
  Interval out(r.precision());
  mpfr_gamma(out.lower().get(), r.upper().get(), MPFR_RNDD);
  mpfr_gamma(out.upper().get(), r.lower().get(), MPFR_RNDU);
  return out;
}

Interval Decay(UInt128 scale, UInt128 k, mpfr_prec_t precision) {
  return -(Interval::Of(k, precision) / Interval::Of(scale, precision));
}

}  // namespace

Interval PolyaDensity(UInt128 scale, uint32_t parties, UInt128 k, mpfr_prec_t precision) {
  const Shape shape = ShapeOf(parties, precision);
  if (k < kExactCoefficients) {
    return Coefficient(shape, static_cast<uint64_t>(k), precision) *
           Exp(Decay(scale, k, precision));
  }
  const Interval position = Interval::Of(k, precision);
  // log a_k, with the same r in both places: a_k grows with r, so each end of r gives one end.
  const auto end = [&](const Real& r) {
    Interval point(precision);
    point.lower() = r;
    point.upper() = r;
    return LogGamma(position + point) - Log(GammaOf(point)) - LogGamma(position + shape.one);
  };
  Interval log_coefficient(precision);
  log_coefficient.lower() = end(shape.r.lower()).lower();
  log_coefficient.upper() = end(shape.r.upper()).upper();
  return Exp(log_coefficient + Decay(scale, k, precision));
}

Interval PolyaDensityBounds(UInt128 scale, uint32_t parties, UInt128 k, mpfr_prec_t precision) {
  if (k < kExactCoefficients) return PolyaDensity(scale, parties, k, precision);
  const Shape shape = ShapeOf(parties, precision);
  const Interval position = Interval::Of(k, precision);
  const Interval half = ShiftLeft(shape.one, -1);
  const Interval power = shape.r - shape.one;
  const Interval high = position + ShiftLeft(shape.r, -1);
  const Interval low = position - half + Sqrt(shape.r + ShiftLeft(shape.one, -2));
  const Interval decay = Decay(scale, k, precision);
  const Interval gamma = GammaOf(shape.r);
  Interval out(precision);
  out.lower() = (Exp(power * Log(low) + decay) / gamma).lower();
  out.upper() = (Exp(power * Log(high) + decay) / gamma).upper();
  return out;
}

}  // namespace partita::privacy
