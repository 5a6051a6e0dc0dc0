#include "privacy/accounting/types.h"

#include <fmt/format.h>

#include <cmath>

#include "base/error.h"

namespace partita::privacy {
namespace {

void Require(bool good, const char* what, double value, const char* hint) {
  if (!good) throw Error(ErrorCode::kUsage, fmt::format("{}, not {}", what, value), hint);
}

}  // namespace

double RequireDelta(double delta) {
  Require(delta >= 1e-280 && delta < 1, "delta must lie in [1e-280, 1)", delta,
          "a usual choice is well below one over the number of rows, such as 1e-6");
  return delta;
}

double RequireEpsilon(double epsilon) {
  Require(epsilon >= 0 && epsilon <= 1e6, "epsilon must lie in [0, 1e6]", epsilon,
          "usual values are between 0.1 and 10");
  return epsilon;
}

double RequirePositive(double value, const char* what) {
  Require(value > 0 && std::isfinite(value),
          fmt::format("{} must be positive and finite", what).c_str(), value,
          "check the unit: noise is given relative to the add/remove sensitivity");
  return value;
}

double RequireProbability(double value, const char* what) {
  Require(value >= 0 && value <= 1, fmt::format("{} must lie in [0, 1]", what).c_str(), value,
          "give it as a fraction, not in percent");
  return value;
}

double RequireSamplingRate(double rate) {
  Require(rate > 0 && rate <= 1, "the sampling rate must lie in (0, 1]", rate,
          "it is the batch size divided by the number of rows; 1 for no sampling");
  return rate;
}

uint64_t RequireCount(uint64_t count) {
  Require(count >= 1 && count <= kMaxCount, "a mechanism must be used between 1 and 2^32 times",
          static_cast<double>(count), "leave out mechanisms that are not used");
  return count;
}

}  // namespace partita::privacy
