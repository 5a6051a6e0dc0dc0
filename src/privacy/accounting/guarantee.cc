#include "privacy/accounting/guarantee.h"

#include <algorithm>
#include <cmath>

namespace partita::privacy {
namespace {

constexpr int kSearchSteps = 12;
constexpr double kGolden = 0.61803398874989485;
// Of the deltas; slack, not error. They enter a line as they are, so that the absolute width is
// what counts: near the largest loss small ones are known to so many digits at great cost only.
constexpr double kSearchWidth = 1e-2, kSearchSlack = 1e-5;
constexpr double kUnknownEpsilon = 20;     // where to look if there is no finite epsilon
constexpr double kLargestExponent = 600;   // lines further out are 0 at every alpha shown
constexpr double kLineRounding = 0x1p-49;  // of a line, below 1

}  // namespace

double GuaranteedBeta(const std::vector<Event>& events, double alpha, double largest_epsilon,
                      const PldOptions& options) {
  RequireProbability(alpha, "a type I error");
  PldOptions rough = options;
  rough.relative_width = std::max(options.relative_width, kSearchWidth);
  rough.absolute_width = std::max(options.absolute_width, kSearchSlack);
  // Every line is a bound: where the work is used up, there are fewer of them.
  const auto tired = [&] { return options.work && *options.work <= 0; };
  double best = 0;
  const auto line = [&](double epsilon) {
    const double delta = PldDelta(events, epsilon, rough).value.upper;
    const double beta =
        std::max(1 - delta - std::exp(epsilon) * alpha, std::exp(-epsilon) * (1 - delta - alpha));
    best = std::max(best, beta - kLineRounding);
    return beta;
  };
  double low = 0, high = std::isfinite(largest_epsilon) ? largest_epsilon : kUnknownEpsilon;
  high = std::min(high, kLargestExponent);
  line(high);
  if (!(high > 0) || tired()) return best;
  line(low);
  double a = high - kGolden * (high - low), b = low + kGolden * (high - low);
  double at_a = line(a), at_b = line(b);
  for (int i = 0; i < kSearchSteps && !tired(); ++i) {
    if (at_a > at_b) {
      high = b;
      b = a;
      at_b = at_a;
      a = high - kGolden * (high - low);
      at_a = line(a);
    } else {
      low = a;
      a = b;
      at_a = at_b;
      b = low + kGolden * (high - low);
      at_b = line(b);
    }
  }
  return best;
}

std::vector<double> ShowingAlphas() {
  std::vector<double> alphas = {0, 1e-4, 3e-4, 1e-3, 2e-3, 5e-3};
  for (int i = 1; i <= 100; ++i) alphas.push_back(i / 100.0);
  return alphas;
}

std::vector<CertifiedPoint> CertifiedTradeOff(const std::vector<ProfilePoint>& profile,
                                              std::span<const double> alphas) {
  const TradeOff lower = LowerTradeOff(profile), upper = UpperTradeOff(profile);
  std::vector<CertifiedPoint> points;
  for (double alpha : alphas) {
    const double highest = std::clamp(upper.beta(alpha) + kLineRounding, 0.0, 1 - alpha);
    const double lowest = std::clamp(lower.beta(alpha) - kLineRounding, 0.0, highest);
    points.push_back({alpha, {lowest, highest}});
  }
  return points;
}

}  // namespace partita::privacy
