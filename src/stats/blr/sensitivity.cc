#include "stats/blr/sensitivity.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "privacy/sampling/moments_sensitivity.h"

namespace partita::stats::blr {
namespace {

// At least the exact value: the arguments below are a handful of roundings away from it.
double Up(double value) { return value * (1 + 8 * std::numeric_limits<double>::epsilon()); }

}  // namespace

privacy::L2Sensitivity StatisticsL2Sensitivity(const Design& design) {
  const auto box = static_cast<double>(design.row_size());
  if (design.row_norm == 0) return privacy::L2Sensitivity(box);
  const double c = design.row_norm;
  const double ball = design.intercept
                          ? privacy::MomentsSensitivity({design.features.size() + 1, false}, c,
                                                        privacy::Adjacency::kReplace)
                                .value()
                          : Up(std::sqrt(2.0) * c * c);
  return privacy::L2Sensitivity(std::min(box, ball));
}

privacy::L1Sensitivity StatisticsL1Sensitivity(const Design& design) {
  const auto size = static_cast<double>(design.row_size());
  // The constant has a_0 = 0, so that its term a_0 b_0 falls away.
  return privacy::L1Sensitivity((size * size + size - (design.intercept ? 1 : 0)) / 2);
}

privacy::L2Sensitivity SquaresL2Sensitivity(const Design& design) {
  return privacy::L2Sensitivity(Up(std::sqrt(static_cast<double>(design.features.size() + 1))));
}

}  // namespace partita::stats::blr
