#include "stats/mixture/combine.h"

#include <algorithm>
#include <boost/math/distributions/normal.hpp>
#include <boost/math/distributions/students_t.hpp>
#include <cmath>
#include <limits>

#include "base/error.h"

namespace partita::stats::mixture {

CombinedEstimate CombineSynthetic(std::span<const double> estimates,
                                  std::span<const double> variances, double level) {
  const auto m = static_cast<double>(estimates.size());
  if (estimates.size() < 2 || variances.size() != estimates.size() || !(level > 0 && level < 1)) {
    throw Error(ErrorCode::kUsage,
                "combining needs two synthetic data sets or more, a variance for each, and a level "
                "between 0 and 1");
  }
  CombinedEstimate combined;
  double within = 0, between = 0;
  for (const double variance : variances) {
    if (!(variance >= 0)) throw Error(ErrorCode::kUsage, "a variance is negative");
    within += variance / m;
  }
  for (const double estimate : estimates) combined.estimate += estimate / m;
  for (const double estimate : estimates)
    between += std::pow(estimate - combined.estimate, 2) / (m - 1);
  const double inflated = (1 + 1 / m) * between;
  combined.variance = inflated - within;
  // At least one: below, the quantile grows beyond all numbers while the variance goes to zero.
  combined.degrees = std::max(1.0, (m - 1) * std::pow(1 - within / inflated, 2));
  combined.adjusted = !(combined.variance > 0);
  if (combined.adjusted) {
    combined.variance = within;
    combined.degrees = std::numeric_limits<double>::infinity();
  }
  const double tail = (1 - level) / 2;
  const double quantile =
      combined.adjusted
          ? boost::math::quantile(boost::math::complement(boost::math::normal(), tail))
          : boost::math::quantile(
                boost::math::complement(boost::math::students_t(combined.degrees), tail));
  const double half = quantile * std::sqrt(combined.variance);
  combined.lower = combined.estimate - half;
  combined.upper = combined.estimate + half;
  return combined;
}

}  // namespace partita::stats::mixture
