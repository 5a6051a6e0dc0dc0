#include "stats/survival/curve.h"

#include <algorithm>
#include <boost/math/distributions/normal.hpp>
#include <cmath>
#include <limits>

namespace partita::stats::survival {
namespace {

// Of S against 1/2, as in R.
constexpr double kTolerance = 0x1p-26;

double Width(double confidence) {
  return boost::math::quantile(
      boost::math::complement(boost::math::normal(), (1 - confidence) / 2));
}

Interval IntervalOf(const CurveStep& step, double width) {
  const double half = width * std::sqrt(step.variance);
  if (!std::isfinite(half)) return {0, 0, 0};
  return {std::exp(step.log_survival), std::exp(step.log_survival - half),
          std::min(1.0, std::exp(step.log_survival + half))};
}

// As R's survmean: values that are no number are passed over.
std::optional<double> FirstHalf(const std::vector<CurveStep>& curve,
                                const std::vector<double>& values) {
  std::optional<size_t> first;
  for (size_t i = 0; i < values.size(); ++i) {
    if (std::isnan(values[i]) || values[i] >= 0.5 + kTolerance) continue;
    if (!first) {
      if (std::abs(values[i] - 0.5) >= kTolerance) return curve[i].time;
      first = i;
    } else if (values[i] < values[*first]) {
      return (curve[*first].time + curve[i].time) / 2;
    }
  }
  return first ? std::optional(curve[*first].time) : std::nullopt;
}

}  // namespace

std::vector<CurveStep> KaplanMeier(const std::vector<Observation>& rows) {
  std::vector<Observation> sorted = rows;
  std::sort(sorted.begin(), sorted.end(),
            [](const Observation& a, const Observation& b) { return a.time < b.time; });
  std::vector<CurveStep> curve;
  double log_survival = 0, variance = 0;
  for (size_t first = 0; first < sorted.size();) {
    CurveStep step;
    step.time = sorted[first].time;
    step.at_risk = sorted.size() - first;
    for (; first < sorted.size() && sorted[first].time == step.time; ++first)
      ++(sorted[first].event ? step.events : step.censored);
    const auto n = static_cast<double>(step.at_risk), d = static_cast<double>(step.events);
    log_survival += std::log1p(-d / n);
    if (step.events > 0) variance += d / (n * (n - d));
    step.log_survival = log_survival;
    step.variance = variance;
    curve.push_back(step);
  }
  return curve;
}

Interval SurvivalAt(const std::vector<CurveStep>& curve, double time, double confidence) {
  const auto after =
      std::upper_bound(curve.begin(), curve.end(), time,
                       [](double value, const CurveStep& step) { return value < step.time; });
  if (after == curve.begin()) return {1, 1, 1};
  return IntervalOf(*(after - 1), Width(confidence));
}

Median MedianOf(const std::vector<CurveStep>& curve, double confidence) {
  const double width = Width(confidence);
  std::vector<double> estimate, lower, upper;
  for (const CurveStep& step : curve) {
    const Interval interval = IntervalOf(step, width);
    const bool none_left = !std::isfinite(step.variance);
    estimate.push_back(interval.estimate);
    lower.push_back(none_left ? std::numeric_limits<double>::quiet_NaN() : interval.lower);
    upper.push_back(none_left ? std::numeric_limits<double>::quiet_NaN() : interval.upper);
  }
  return {FirstHalf(curve, estimate), FirstHalf(curve, lower), FirstHalf(curve, upper)};
}

}  // namespace partita::stats::survival
