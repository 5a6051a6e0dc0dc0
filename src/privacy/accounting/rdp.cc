#include "privacy/accounting/rdp.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "privacy/accounting/noise_law.h"
#include "privacy/accounting/types.h"

namespace partita::privacy {
namespace {

constexpr double kLargestOrder = 1e6;

double RequireOrder(double order) {
  if (!(order > 1 && order <= kLargestOrder))
    throw Error(ErrorCode::kUsage, "a Renyi order must lie in (1, 1e6]",
                "use orders such as 1.5 or 32");
  return order;
}

double LogAddExp(double a, double b) {
  const double high = std::max(a, b), low = std::min(a, b);
  return high + std::log1p(std::exp(low - high));
}

double SampledGaussianMoment(double shift, double rate, double order) {
  const double step = std::min(0.25, 0.4 / shift);
  const double low = -16, high = order * shift + 16;
  const auto exponent = [&](double x) {
    return -0.5 * x * x + order * MixedLogRatio(shift * (x - shift / 2), rate);
  };
  double largest = -1e300;
  for (double x = low; x <= high; x += step) largest = std::max(largest, exponent(x));
  double sum = 0;
  for (double x = low; x <= high; x += step) sum += std::exp(exponent(x) - largest);
  return largest + std::log(sum * step) - 0.91893853320467274178;  // log sqrt(2 pi)
}

// The smallest value of f over (1, 1e6]: a grid, then golden sections around its best point.
double SmallestOverOrders(const std::function<double(double)>& f) {
  constexpr int kGrid = 80;
  const double low = std::log(1e-3), high = std::log(kLargestOrder - 1);
  const auto at = [&](double x) { return f(1 + std::exp(x)); };
  double best = low, value = at(low);
  const double step = (high - low) / kGrid;
  for (int i = 1; i <= kGrid; ++i) {
    const double x = low + step * i, there = at(x);
    if (there < value) {
      best = x;
      value = there;
    }
  }
  double a = std::max(low, best - step), b = std::min(high, best + step);
  constexpr double golden = 0.61803398874989485;
  for (int i = 0; i < 60; ++i) {
    const double c = b - golden * (b - a), d = a + golden * (b - a);
    const double at_c = at(c), at_d = at(d);
    value = std::min({value, at_c, at_d});
    (at_c < at_d ? b : a) = at_c < at_d ? d : c;
  }
  return value;
}

double EpsilonAtOrder(double rdp, double delta, double order) {
  return rdp + std::log1p(-1 / order) - (std::log(delta) + std::log(order)) / (order - 1);
}

}  // namespace

RdpCurve GaussianRdp(double noise_multiplier) {
  RequirePositive(noise_multiplier, "the noise multiplier");
  return [noise_multiplier](double order) {
    return RequireOrder(order) / (2 * noise_multiplier * noise_multiplier);
  };
}

RdpCurve SampledGaussianRdp(double noise_multiplier, double sampling_rate) {
  RequirePositive(noise_multiplier, "the noise multiplier");
  if (RequireSamplingRate(sampling_rate) == 1) return GaussianRdp(noise_multiplier);
  return [shift = 1 / noise_multiplier, sampling_rate](double order) {
    RequireOrder(order);
    // Far out the sum has too many terms to be worth it; the unsampled curve bounds it.
    if (order * shift > 4000) return order * shift * shift / 2;
    return std::max(0.0, SampledGaussianMoment(shift, sampling_rate, order)) / (order - 1);
  };
}

RdpCurve LaplaceRdp(double noise_multiplier) {
  RequirePositive(noise_multiplier, "the noise multiplier");
  return [b = noise_multiplier](double order) {
    RequireOrder(order);
    const double first = std::log(order / (2 * order - 1)) + (order - 1) / b;
    const double second = std::log((order - 1) / (2 * order - 1)) - order / b;
    return std::max(0.0, LogAddExp(first, second)) / (order - 1);
  };
}

RdpCurve RandomisedResponseRdp(double epsilon) {
  RequirePositive(epsilon, "the epsilon of randomised response");
  return [epsilon](double order) {
    RequireOrder(order);
    const double truth = -std::log1p(std::exp(-epsilon)), lie = truth - epsilon;
    return std::max(0.0, LogAddExp(order * truth + (1 - order) * lie,
                                   order * lie + (1 - order) * truth)) /
           (order - 1);
  };
}

RdpCurve PureDpRdp(double epsilon) {
  RequirePositive(epsilon, "epsilon");
  return [epsilon](double order) {
    return std::min(epsilon, RequireOrder(order) * epsilon * epsilon / 2);
  };
}

double RdpEpsilon(const RdpCurve& curve, double delta) {
  RequireDelta(delta);
  return std::max(0.0, SmallestOverOrders([&](double order) {
                    return EpsilonAtOrder(curve(order), delta, order);
                  }));
}

double ZcdpEpsilon(double rho, double delta) {
  RequirePositive(rho, "rho");
  return RdpEpsilon([rho](double order) { return rho * order; }, delta);
}

}  // namespace partita::privacy
