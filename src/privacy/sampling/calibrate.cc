#include "privacy/sampling/calibrate.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "privacy/rounded_text.h"
#include "privacy/sampling/crossing.h"
#include "privacy/sampling/gaussian_profile.h"

namespace partita::privacy {
namespace {

constexpr double kRelativeWidth = 1e-12;

void CheckNoiseParameter(const char* name, double value) {
  if (!std::isfinite(value) || value <= 0) {
    throw Error(ErrorCode::kUsage, fmt::format("the {} {} is not a positive number", name, value),
                "noise of size 0 protects nothing");
  }
}

Bounds ToBounds(const PreciseInterval& interval) {
  return {interval.LowerBound(), interval.UpperBound()};
}

Bounds Profile(double sensitivity, double stddev, double epsilon) {
  return ToBounds(
      GaussianProfile(PreciseInterval::Of(sensitivity), PreciseInterval::Of(stddev), epsilon));
}

PreciseInterval ScaleInterval(const GridScale& scale) {
  return PreciseInterval::Of(scale.numerator) / PreciseInterval::Of(scale.denominator);
}

}  // namespace

Bounds GaussianDelta(L2Sensitivity sensitivity, double noise_stddev, Epsilon epsilon) {
  CheckNoiseParameter("noise standard deviation", noise_stddev);
  return Profile(sensitivity.value(), noise_stddev, epsilon.value());
}

Bounds GaussianEpsilon(L2Sensitivity sensitivity, double noise_stddev, Delta delta) {
  CheckNoiseParameter("noise standard deviation", noise_stddev);
  const auto at = [&](double epsilon) {
    return Profile(sensitivity.value(), noise_stddev, epsilon);
  };
  const double level = AccountedDelta(delta.value());
  if (at(0).upper <= level) return {0, 0};
  const Bounds last = at(kUselessEpsilon);
  if (last.upper > level) return {last.lower > level ? kUselessEpsilon : 0, HUGE_VAL};
  return FindCrossing(at, level, kRelativeWidth);
}

double AnalyticGaussianStddev(L2Sensitivity sensitivity, Epsilon epsilon, Delta delta) {
  const auto at = [&](double stddev) {
    return Profile(sensitivity.value(), stddev, epsilon.value());
  };
  return FindCrossing(at, AccountedDelta(delta.value()), kRelativeWidth).upper;
}

double ClassicalGaussianStddev(L2Sensitivity sensitivity, Epsilon epsilon, Delta delta) {
  if (!(epsilon.value() > 0 && epsilon.value() <= 1)) {
    throw Error(ErrorCode::kUsage,
                fmt::format("the classical Gaussian calibration is not proved for epsilon {}",
                            epsilon.value()),
                "use the analytic calibration, or an epsilon above 0 and at most 1");
  }
  const PreciseInterval log = Log(PreciseInterval::Of(1.25) / PreciseInterval::Of(delta.value()));
  return (Sqrt(ShiftLeft(log, 1)) * PreciseInterval::Of(sensitivity.value()) /
          PreciseInterval::Of(epsilon.value()))
      .UpperBound();
}

double LaplaceScale(L1Sensitivity sensitivity, Epsilon epsilon) {
  const double scale =
      epsilon.value() > 0
          ? (PreciseInterval::Of(sensitivity.value()) / PreciseInterval::Of(epsilon.value()))
                .UpperBound()
          : HUGE_VAL;
  if (!std::isfinite(scale)) {
    throw Error(ErrorCode::kUsage, "no finite noise gives an epsilon of 0", "use a larger epsilon");
  }
  return scale;
}

GridScale DiscreteLaplaceScale(GridL1Sensitivity sensitivity, Epsilon epsilon) {
  return ScaleOf(LaplaceScale(L1Sensitivity(sensitivity.value()), epsilon));
}

Bounds DiscreteLaplaceEpsilon(GridL1Sensitivity sensitivity, const GridScale& scale) {
  CheckScale(scale);
  return ToBounds(PreciseInterval::Of(sensitivity.value()) / ScaleInterval(scale));
}

}  // namespace partita::privacy
