// delta(epsilon) of one use with 256 bits, from tails of the noise alone: what sampled mechanisms
// are held against. Shares nothing with the accountant: no grid, no cells, no loss distribution.
//
// The likelihood ratio of every pair here is monotone, so the best test is a threshold t, and
//   remove   (1-q) S(t) + q S(t-D) - e^eps S(t)
//   add      F(t) - e^eps ((1-q) F(t) + q F(t-D))
//   replace  (1-q) S(t) + q S(t-D) - e^eps ((1-q) S(t) + q S(t+D))
// with S(t) = P(X > t) (P(X >= t) on the integers) and F = 1 - S by symmetry. Every t gives a lower
// bound; near the best one it is off by the square of the distance only.
#pragma once

#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>
#include <vector>

#include "privacy/adjacency.h"
#include "tests/privacy/accounting/precise.h"

namespace partita::privacy::testing {

struct PreciseNoise {
  bool integer = false;
  double reach = 0;                           // beyond, nothing is left that matters
  std::function<Real(double)> tail;           // S
  std::function<double(double)> log_density;  // up to a constant
};

inline PreciseNoise PreciseGaussian(double sigma) {
  return {false, 30 * sigma, [sigma](double x) { return NormalTail(Real(x) / Real(sigma)); },
          [sigma](double x) { return -x * x / (2 * sigma * sigma); }};
}

inline PreciseNoise PreciseLaplace(double scale) {
  const auto tail = [scale](double x) {
    const Real half = Exp(Real(0) - Real(std::abs(x)) / Real(scale)) / Real(2);
    return x >= 0 ? half : Real(1) - half;
  };
  return {false, 80 * scale, tail, [scale](double x) { return -std::abs(x) / scale; }};
}

// P(X >= k) = r^k / (1 + r) for k >= 1, r = e^(-1/scale).
inline PreciseNoise PreciseDiscreteLaplace(double scale) {
  const auto above = [scale](double k) {
    return Exp(Real(0) - Real(k) / Real(scale)) / (Real(1) + Exp(Real(0) - Real(1) / Real(scale)));
  };
  const auto tail = [above](double k) { return k >= 1 ? above(k) : Real(1) - above(1 - k); };
  return {true, std::ceil(80 * scale), tail, [scale](double k) { return -std::abs(k) / scale; }};
}

inline PreciseNoise PreciseDiscreteGaussian(double sigma) {
  const auto last = static_cast<size_t>(std::ceil(30 * sigma)) + 2;
  const auto sums = std::make_shared<std::vector<Real>>(last + 1, Real(0));
  for (size_t k = last; k-- > 0;) {
    const Real x = Real(static_cast<double>(k)) / Real(sigma);
    (*sums)[k] = (*sums)[k + 1] + Exp(Real(0) - x * x / Real(2));
  }
  const Real total = Real(2) * sums->front() - Real(1);
  const auto above = [sums, total](double k) {
    return (*sums)[std::min(static_cast<size_t>(k), sums->size() - 1)] / total;
  };
  const auto tail = [above](double k) { return k >= 1 ? above(k) : Real(1) - above(1 - k); };
  return {true, static_cast<double>(last), tail,
          [sigma](double k) { return -k * k / (2 * sigma * sigma); }};
}

class SingleUse {
 public:
  SingleUse(PreciseNoise noise, double shift, double rate, Adjacency adjacency)
      : noise_(std::move(noise)), shift_(shift), rate_(rate), adjacency_(adjacency) {}

  Real Delta(double epsilon) const {
    if (adjacency_ == Adjacency::kReplace) return Best(epsilon, Pair::kReplace);
    const Real remove = Best(epsilon, Pair::kRemove), add = Best(epsilon, Pair::kAdd);
    return remove < add ? add : remove;
  }

 private:
  enum class Pair { kRemove, kAdd, kReplace };

  double LogMixed(double x, double shift) const {
    const double ratio = noise_.log_density(x - shift) - noise_.log_density(x);
    if (rate_ == 1) return ratio;  // however small
    if (ratio > 30) return ratio + std::log(rate_ + (1 - rate_) * std::exp(-ratio));
    return std::log1p(rate_ * std::expm1(ratio));
  }

  // Increases with x; of the add pair, of the mirrored line.
  double Loss(double x, Pair pair) const {
    if (pair == Pair::kRemove) return LogMixed(x, shift_);
    if (pair == Pair::kAdd) return -LogMixed(-x, shift_);
    return LogMixed(x, shift_) - LogMixed(x, -shift_);
  }

  Real Mixed(double t, double shift) const {
    return Real(1 - rate_) * noise_.tail(t) + Real(rate_) * noise_.tail(t - shift);
  }

  Real At(double t, double epsilon, Pair pair) const {
    const Real weight = Exp(Real(epsilon));
    if (pair == Pair::kRemove) return Mixed(t, shift_) - weight * noise_.tail(t);
    // On the mirrored line the shift has the other sign.
    if (pair == Pair::kAdd) return noise_.tail(t) - weight * Mixed(t, -shift_);
    return Mixed(t, shift_) - weight * Mixed(t, -shift_);
  }

  Real Best(double epsilon, Pair pair) const {
    double low = -noise_.reach - 2 * shift_, high = noise_.reach + 2 * shift_;
    for (int i = 0; i < 200 && high - low > (noise_.integer ? 0.5 : 0); ++i) {
      const double middle = 0.5 * (low + high);
      if (middle <= low || middle >= high) break;
      (Loss(middle, pair) > epsilon ? high : low) = middle;
    }
    Real best(0);
    const double from = noise_.integer ? std::floor(low) - 2 : low;
    const double to = noise_.integer ? std::ceil(high) + 2 : high;
    for (double t = from; t <= to; t = noise_.integer ? t + 1 : (t < to ? to : HUGE_VAL)) {
      const Real value = At(t, epsilon, pair);
      if (best < value) best = value;
    }
    return best;
  }

  PreciseNoise noise_;
  double shift_, rate_;
  Adjacency adjacency_;
};

}  // namespace partita::privacy::testing
