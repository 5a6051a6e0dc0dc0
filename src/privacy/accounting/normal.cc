#include "privacy/accounting/normal.h"

#include <boost/math/quadrature/gauss.hpp>
#include <boost/math/special_functions/erf.hpp>
#include <boost/math/tools/roots.hpp>
#include <cmath>
#include <cstdint>

namespace partita::privacy {
namespace {

constexpr double kSqrtHalf = 0.70710678118654752440;
constexpr double kInverseSqrtTwoPi = 0.39894228040143267794;
constexpr double kFar = 1e6;

// Integral of exp(-x^2/2) over [middle - half, middle + half].
double ShortIntegral(double middle, double half) {
  using Rule = boost::math::quadrature::gauss<double, 7>;
  const auto& nodes = Rule::abscissa();
  const auto& weights = Rule::weights();
  double sum = weights[0] * std::exp(-0.5 * middle * middle);
  for (size_t i = 1; i < nodes.size(); ++i) {
    const double left = middle - half * nodes[i], right = middle + half * nodes[i];
    sum += weights[i] * (std::exp(-0.5 * left * left) + std::exp(-0.5 * right * right));
  }
  return half * sum;
}

// Of exp(-x^2/2) and of erfc near x: the exponent is rounded, relative to x^2.
double ErrorAt(double x) { return (16 + 4 * x * x) * kRounding; }

template <class F>
double Root(F f, double low, double high) {
  std::uintmax_t iterations = 200;
  const auto [a, b] = boost::math::tools::toms748_solve(
      f, low, high, boost::math::tools::eps_tolerance<double>(52), iterations);
  return 0.5 * (a + b);
}

// log of the ratio (1 - Phi(x)) / phi(x) for large x, by its asymptotic series.
double LogMillsRatio(double x) {
  const double y = 1 / (x * x);
  return -std::log(x) +
         std::log1p(-y * (1 - 3 * y * (1 - 5 * y * (1 - 7 * y * (1 - 9 * y * (1 - 11 * y))))));
}

// Finite where delta itself would underflow.
double LogGaussianDelta(double mu, double epsilon) {
  if (epsilon == 0) return std::log(NormalMass(-mu / 2, mu / 2).value);
  const double first = LogNormalUpperTail(epsilon / mu - mu / 2);
  const double second = epsilon + LogNormalUpperTail(epsilon / mu + mu / 2);
  return first + std::log(-std::expm1(second - first));
}

}  // namespace

double NormalUpperTail(double x) { return 0.5 * std::erfc(x * kSqrtHalf); }

double NormalUpperQuantile(double tail_mass) {
  return boost::math::erfc_inv(2 * tail_mass) / kSqrtHalf;
}

double LogNormalUpperTail(double x) {
  if (x < 30) return std::log(NormalUpperTail(x));
  return -0.5 * x * x + std::log(kInverseSqrtTwoPi) + LogMillsRatio(x);
}

Mass NormalMass(double a, double b, double shift) {
  if (!(a < b)) return {0, 0};
  const double half = 0.5 * (b - a), middle = std::abs(0.5 * (a + b) - shift);
  if (half * (middle + 4) <= 0.75)
    return {kInverseSqrtTwoPi * ShortIntegral(middle, half), ErrorAt(middle + half + 0.5)};
  double low = a - shift, high = b - shift;
  if (low + high < 0) {  // the heavier half is now to the right
    const double mirrored = -low;
    low = -high;
    high = mirrored;
  }
  if (low <= 0)
    return {0.5 * (std::erf(high * kSqrtHalf) + std::erf(-low * kSqrtHalf)), ErrorAt(1.5)};
  const double above_low = NormalUpperTail(low), above_high = NormalUpperTail(high);
  const double mass = above_low - above_high;
  if (!(mass > 0)) return {0, 0};
  const double high_error = above_high > 0 ? above_high * ErrorAt(high) : 0;
  return {mass, (above_low * ErrorAt(low) + high_error) / mass};
}

double GaussianDelta(double mu, double epsilon) { return std::exp(LogGaussianDelta(mu, epsilon)); }

double GaussianEpsilon(double mu, double delta) {
  // The second term is below 1e-5 of the first, and moves epsilon by less than 1e-11 of itself.
  if (mu >= kFar) return mu * (mu / 2 + NormalUpperQuantile(delta));
  const double target = std::log(delta);
  if (LogGaussianDelta(mu, 0) <= target) return 0;
  double high = 1;
  while (LogGaussianDelta(mu, high) > target) high *= 2;
  return Root([&](double e) { return LogGaussianDelta(mu, e) - target; }, 0.0, high);
}

double GaussianMu(double epsilon, double delta) {
  const double target = std::log(delta);
  double low = 1, high = 1;
  while (!(LogGaussianDelta(low, epsilon) < target)) low /= 2;
  while (!(LogGaussianDelta(high, epsilon) > target)) high *= 2;
  return Root([&](double mu) { return LogGaussianDelta(mu, epsilon) - target; }, low, high);
}

}  // namespace partita::privacy
