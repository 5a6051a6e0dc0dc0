// Trade-off functions of tests.
#pragma once

#include <cmath>

#include "privacy/accounting/trade_off.h"

namespace partita::privacy::testing {

// Of Laplace noise of scale b against a shift of mu b.
inline TradeOff LaplaceTradeOff(double mu) {
  return {
      CurveSide::kExact, "Laplace",
      [mu](double alpha) {
        if (alpha > 0.5) return std::exp(-mu) * (1 - alpha);
        return alpha < std::exp(-mu) / 2 ? 1 - std::exp(mu) * alpha : std::exp(-mu) / (4 * alpha);
      },
      [mu](double alpha) {
        if (alpha > 0.5) return -std::expm1(-mu) + std::exp(-mu) * alpha;
        return alpha < std::exp(-mu) / 2 ? std::exp(mu) * alpha : 1 - std::exp(-mu) / (4 * alpha);
      }};
}

// Whether beta falls, is convex and at most 1 - alpha on a grid of alpha, up to 1e-9.
inline bool LooksLikeTradeOff(const TradeOff& f) {
  constexpr int kPoints = 1000;
  double before = 2, before_that = 3;
  for (int i = 0; i <= kPoints; ++i) {
    const double alpha = static_cast<double>(i) / kPoints;
    const double beta = f.beta(alpha);
    if (!(beta >= -1e-12 && beta <= 1 - alpha + 1e-9)) return false;
    if (i >= 1 && beta > before + 1e-9) return false;
    if (i >= 2 && beta - before < before - before_that - 1e-9) return false;
    before_that = before;
    before = beta;
  }
  return true;
}

}  // namespace partita::privacy::testing
