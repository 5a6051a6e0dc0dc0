#include "privacy/sampling/discrete_gaussian_mechanism.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <memory>
#include <optional>

#include "base/error.h"
#include "privacy/rounded_text.h"
#include "privacy/sampling/crossing.h"
#include "privacy/sampling/discrete_gaussian_sums.h"
#include "privacy/sampling/gaussian_profile.h"

namespace partita::privacy {
namespace {

constexpr double kMinShareStddev = 4;
constexpr double kEpsilonWidth = 1e-12;
constexpr double kStddevWidth = 1e-9;

PreciseInterval One() { return PreciseInterval::Of(1.0); }
PreciseInterval Whole(size_t value) { return PreciseInterval::Of(UInt128{value}); }

PreciseInterval Rho(double sensitivity, const PreciseInterval& variance) {
  const PreciseInterval distance = PreciseInterval::Of(sensitivity);
  return ShiftLeft(distance * distance / variance, -1);
}

// d/(24 s) + (1 - 1/(6 s))^(-d/2) exp(D^2/(12 s^2)) - 1, or 1 where s is too small.
PreciseInterval GapToContinuous(double sensitivity, const PreciseInterval& variance,
                                size_t dimension) {
  const PreciseInterval sixth = One() / (variance * Whole(6));
  if (mpfr_cmp_ui(sixth.upper().get(), 1) >= 0) return One();
  const PreciseInterval first = Whole(dimension) / (variance * Whole(24));
  const PreciseInterval shift = Rho(sensitivity, variance) / (variance * Whole(6));
  const PreciseInterval growth = ShiftLeft(Whole(dimension) * Log1p(-sixth), -1);
  return first + Expm1(shift - growth);
}

double ContinuousUpper(double sensitivity, const PreciseInterval& variance, size_t dimension,
                       double epsilon) {
  const PreciseInterval gap = GapToContinuous(sensitivity, variance, dimension);
  return (GaussianProfile(PreciseInterval::Of(sensitivity), Sqrt(variance), epsilon) + gap)
      .UpperBound();
}

// log of the bound at order a, for the search only.
double LogDeltaAtOrder(double rho, double epsilon, double excess) {
  const double order = 1 + excess;
  return excess * (order * rho - epsilon) - std::log(excess) + order * std::log1p(-1 / order);
}

double BestOrderExcess(double rho, double epsilon) {
  double low = std::log(1e-6);
  double high = std::log(1e12);
  for (int i = 0; i < 100; ++i) {
    const double left = low + (high - low) / 3;
    const double right = high - (high - low) / 3;
    const bool falls = LogDeltaAtOrder(rho, epsilon, std::exp(left)) >
                       LogDeltaAtOrder(rho, epsilon, std::exp(right));
    (falls ? low : high) = falls ? left : right;
  }
  return std::exp(low);
}

// Any order gives a bound; the search only makes it small.
double ConcentratedUpper(const PreciseInterval& rho, double epsilon) {
  const PreciseInterval excess = PreciseInterval::Of(BestOrderExcess(rho.UpperBound(), epsilon));
  const PreciseInterval order = One() + excess;
  const PreciseInterval log_delta = excess * (order * rho - PreciseInterval::Of(epsilon)) -
                                    Log(excess) + order * Log(excess / order);
  return Exp(log_delta).UpperBound();
}

// The shift floor(D) along one coordinate, with integrals in place of sums.
double OneCoordinateLower(double shift, const PreciseInterval& variance, double epsilon) {
  const PreciseInterval stddev = Sqrt(variance);
  const double best = std::round(epsilon * variance.Middle() / shift - shift / 2);
  const PreciseInterval cut = PreciseInterval::Of(std::max(best, 1 - shift));
  const PreciseInterval pi = [] {
    PreciseInterval value(kDefaultPrecision);
    mpfr_const_pi(value.lower().get(), MPFR_RNDD);
    mpfr_const_pi(value.upper().get(), MPFR_RNDU);
    return value;
  }();
  const PreciseInterval theta = Whole(3) * Exp(-ShiftLeft(pi * pi * variance, 1));
  const PreciseInterval hit = NormalCdf(-(cut / stddev)) / (One() + theta);
  const PreciseInterval miss = NormalCdf(-((cut + PreciseInterval::Of(shift) - One()) / stddev));
  return Positive(hit - Exp(PreciseInterval::Of(epsilon)) * miss).LowerBound();
}

// One discrete Gaussian per coordinate.
class Single {
 public:
  Single(double sensitivity, const GridVariance& exact, size_t dimension)
      : sensitivity_(sensitivity),
        shift_(std::floor(sensitivity)),
        dimension_(dimension),
        variance_(PreciseInterval::Of(exact)),
        stddev_(StddevUpperBound(exact)) {
    if (stddev_ <= kMaxSummedStddev && shift_ <= kMaxSummedShift) tails_.emplace(exact);
  }

  Bounds Delta(double epsilon) const {
    Bounds bounds;
    bounds.upper = std::min({1.0, ContinuousUpper(sensitivity_, variance_, dimension_, epsilon),
                             ConcentratedUpper(Rho(sensitivity_, variance_), epsilon)});
    if (tails_) {
      const PreciseInterval summed = DiscreteGaussianProfile(*tails_, shift_, epsilon);
      bounds.lower = summed.LowerBound();
      if (dimension_ == 1) bounds.upper = std::min(bounds.upper, summed.UpperBound());
    } else if (stddev_ > kMaxSummedStddev) {
      bounds.lower = OneCoordinateLower(shift_, variance_, epsilon);
    }
    return bounds;
  }

 private:
  double sensitivity_, shift_;
  size_t dimension_;
  PreciseInterval variance_;
  double stddev_;
  std::optional<DiscreteGaussianTails> tails_;
};

// delta_sum(eps) from the single one's: eps and delta move by the gap of all coordinates, either
// way.
Bounds WithGap(double gap, double epsilon, const std::function<Bounds(double)>& single) {
  if (gap == 0) return single(epsilon);
  const PreciseInterval shift = PreciseInterval::Of(2 * gap);
  const double room = (PreciseInterval::Of(epsilon) - shift).LowerBound();
  const PreciseInterval factor = Exp(PreciseInterval::Of(gap));
  PreciseInterval upper = factor * PreciseInterval::Of(single(std::max(0.0, room)).upper);
  if (room < 0) upper = upper + Expm1(shift);
  const double farther = (PreciseInterval::Of(epsilon) + shift).UpperBound();
  const PreciseInterval lower = PreciseInterval::Of(single(farther).lower) / factor;
  return {lower.LowerBound(), std::min(1.0, upper.UpperBound())};
}

void CheckWholeUnits(GridL2Sensitivity sensitivity) {
  if (sensitivity.value() >= 1) return;
  throw Error(ErrorCode::kUsage,
              fmt::format("a sensitivity of {} grid units says that nothing ever changes",
                          sensitivity.value()),
              "give the sensitivity in grid units: times 2 to the fraction bits");
}

void CheckNoise(const DiscreteGaussianNoise& noise) {
  CheckVariance(noise.share_variance);
  if (noise.shares == 0 || noise.dimension == 0) {
    throw Error(ErrorCode::kUsage, "noise needs at least one share and one coordinate");
  }
}

}  // namespace

double ShareGap(const GridVariance& share_variance, uint32_t shares) {
  CheckVariance(share_variance);
  if (shares <= 1) return 0;
  const double stddev = StddevLowerBound(share_variance);
  if (!(stddev > kMinShareStddev)) {
    throw Error(
        ErrorCode::kUsage,
        fmt::format("noise shares of standard deviation {:.3g} are too small to add up to a "
                    "discrete Gaussian: more than 4 grid units are needed",
                    stddev),
        "use more fraction bits");
  }
  // pi^2 > 9.8696.
  const PreciseInterval decay =
      Exp(-(PreciseInterval::Of(9.8696) * PreciseInterval::Of(share_variance)));
  return (Whole(10) * Whole(shares - 1) * decay).UpperBound();
}

DiscreteGaussianProfileOf::DiscreteGaussianProfileOf(GridL2Sensitivity sensitivity,
                                                     const DiscreteGaussianNoise& noise) {
  CheckNoise(noise);
  CheckWholeUnits(sensitivity);
  const double gap =
      (PreciseInterval::Of(ShareGap(noise.share_variance, noise.shares)) * Whole(noise.dimension))
          .UpperBound();
  const GridVariance total = Multiply(noise.share_variance, noise.shares);
  const auto single = std::make_shared<const Single>(sensitivity.value(), total, noise.dimension);
  delta_ = [gap, single](double epsilon) {
    return WithGap(gap, epsilon, [&single](double at) { return single->Delta(at); });
  };
}

Bounds DiscreteGaussianProfileOf::Delta(Epsilon epsilon) const { return delta_(epsilon.value()); }

Bounds DiscreteGaussianProfileOf::EpsilonAt(privacy::Delta delta) const {
  const double level = AccountedDelta(delta.value());
  // The two ends are looked for apart, from the same steps at first.
  std::map<double, Bounds> known;
  const auto at = [&](double epsilon) {
    const auto found = known.find(epsilon);
    return found != known.end() ? found->second
                                : known.emplace(epsilon, delta_(epsilon)).first->second;
  };
  if (at(0).upper <= level) return {0, 0};
  const Bounds last = at(kUselessEpsilon);
  if (last.upper > level) return {last.lower > level ? kUselessEpsilon : 0, HUGE_VAL};
  const auto only = [&](double Bounds::*end) {
    return [&at, end](double epsilon) {
      const double value = at(epsilon).*end;
      return Bounds{value, value};
    };
  };
  Bounds epsilon;
  epsilon.upper = FindCrossing(only(&Bounds::upper), level, kEpsilonWidth).upper;
  if (at(0).lower > level) {
    epsilon.lower = FindCrossing(only(&Bounds::lower), level, kEpsilonWidth).lower;
  }
  return epsilon;
}

Bounds DiscreteGaussianEpsilon(GridL2Sensitivity sensitivity, const DiscreteGaussianNoise& noise,
                               Delta delta) {
  return DiscreteGaussianProfileOf(sensitivity, noise).EpsilonAt(delta);
}

GridVariance CalibrateDiscreteGaussian(GridL2Sensitivity sensitivity, size_t dimension,
                                       Epsilon epsilon, Delta delta) {
  if (dimension == 0) throw Error(ErrorCode::kUsage, "noise needs at least one coordinate");
  CheckWholeUnits(sensitivity);
  const double start = AnalyticGaussianStddev(L2Sensitivity(sensitivity.value()), epsilon, delta);
  const double level = AccountedDelta(delta.value());
  const auto meets = [&](double stddev) {
    const Single single(sensitivity.value(), VarianceOfStddev(stddev), dimension);
    return single.Delta(epsilon.value()).upper <= level;
  };
  // The continuous noise is nearly right; look for a bracket around it.
  double upper = start;
  while (!meets(upper)) upper *= 1 + 1e-9 + (upper - start) / start;
  double lower = start * (1 - 1e-9);
  while (meets(lower)) {
    upper = lower;
    lower *= 0.999;
  }
  while (upper > lower * (1 + kStddevWidth)) {
    const double middle = lower + (upper - lower) / 2;
    (meets(middle) ? upper : lower) = middle;
  }
  return VarianceOfStddev(upper);
}

}  // namespace partita::privacy
