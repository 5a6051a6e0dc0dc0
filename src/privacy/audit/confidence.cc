#include "privacy/audit/confidence.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/math/special_functions/beta.hpp>
#include <cmath>

#include "base/error.h"

namespace partita::privacy {
namespace {

constexpr double kWidening = 1e-10;
constexpr double kRoughErrors = 5;

void CheckCount(const Count& count, double alpha) {
  if (count.trials > 0 && count.hits <= count.trials && alpha > 0 && alpha < 1) return;
  throw Error(ErrorCode::kUsage,
              fmt::format("{} hits of {} runs at an error rate of {} bound nothing", count.hits,
                          count.trials, alpha));
}

// Middle and half width of the Wilson interval.
struct Rough {
  double middle = 0;
  double half_width = 0;
};
Rough Wilson(const Count& count) {
  const auto trials = static_cast<double>(count.trials);
  const double share = static_cast<double>(count.hits) / trials;
  const double square = kRoughErrors * kRoughErrors / trials;
  const double scale = 1 / (1 + square);
  return {(share + square / 2) * scale,
          std::sqrt(share * (1 - share) * square + square * square / 4) * scale};
}

}  // namespace

double ProportionLower(const Count& count, double alpha) {
  CheckCount(count, alpha);
  if (count.hits == 0) return 0;
  const auto hits = static_cast<double>(count.hits);
  const auto misses = static_cast<double>(count.trials - count.hits);
  return boost::math::ibeta_inv(hits, misses + 1, alpha) * (1 - kWidening);
}

double ProportionUpper(const Count& count, double alpha) {
  CheckCount(count, alpha);
  if (count.hits == count.trials) return 1;
  const auto hits = static_cast<double>(count.hits);
  const auto misses = static_cast<double>(count.trials - count.hits);
  return std::min(1.0, boost::math::ibetac_inv(hits + 1, misses, alpha) * (1 + kWidening));
}

double RoughLower(const Count& count) {
  if (count.hits == 0) return 0;
  const Rough rough = Wilson(count);
  return std::max(0.0, rough.middle - rough.half_width);
}

double RoughUpper(const Count& count) {
  if (count.hits == count.trials) return 1;
  const Rough rough = Wilson(count);
  return std::min(1.0, rough.middle + rough.half_width);
}

}  // namespace partita::privacy
