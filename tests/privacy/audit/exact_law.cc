#include "tests/privacy/audit/exact_law.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/error.h"
#include "privacy/accounting/types.h"
#include "privacy/sampling/interval.h"

namespace partita::privacy {
namespace {

constexpr double kLargestScale = 4096;
constexpr double kGaussianReach = 17;  // exp(-17^2 / 2) < 2^-208
constexpr double kLaplaceReach = 72;   // exp(-72) < 2^-103
double Up(double value) { return std::nextafter(value, kInfinity); }
double Down(double value) { return std::max(0.0, std::nextafter(value, -kInfinity)); }

// From weights of 0, 1, .., last of a symmetric law; `rest` bounds the weight of one tail beyond.
IntegerLaw Symmetric(const std::vector<PreciseInterval>& weights, const PreciseInterval& rest) {
  PreciseInterval total = PreciseInterval::Of(0.0);
  for (size_t k = 0; k < weights.size(); ++k) {
    total = total + (k == 0 ? weights[k] : ShiftLeft(weights[k], 1));
  }
  // The true total is between this and this plus both tails.
  const PreciseInterval with_tails = total + ShiftLeft(rest, 1);
  const auto last = static_cast<int64_t>(weights.size()) - 1;
  IntegerLaw law{-last, std::vector<Bounds>(2 * weights.size() - 1), 0};
  for (int64_t k = 0; k <= last; ++k) {
    const PreciseInterval& weight = weights[static_cast<size_t>(k)];
    const Bounds mass{(weight / with_tails).LowerBound(), (weight / total).UpperBound()};
    law.masses[static_cast<size_t>(last + k)] = mass;
    law.masses[static_cast<size_t>(last - k)] = mass;
  }
  law.outside = (ShiftLeft(rest, 1) / total).UpperBound();
  return law;
}

void RequireSmall(double scale) {
  if (scale <= kLargestScale) return;
  throw Error(ErrorCode::kUsage, fmt::format("the masses of noise of scale {} are too many", scale),
              "use the accountant (partita privacy) for scales above 4096 grid units");
}

const Bounds& MassAt(const IntegerLaw& law, int64_t k) {
  static constexpr Bounds kNone{0, 0};
  const int64_t index = k - law.first;
  if (index < 0 || index >= static_cast<int64_t>(law.masses.size())) return kNone;
  return law.masses[static_cast<size_t>(index)];
}

struct Window {
  int64_t first = 0;
  int64_t end = 0;
};
// Where either law, p shifted, has masses.
Window Union(const IntegerLaw& p, const IntegerLaw& q, int64_t shift) {
  const auto size = [](const IntegerLaw& law) { return static_cast<int64_t>(law.masses.size()); };
  return {std::min(p.first + shift, q.first),
          std::max(p.first + shift + size(p), q.first + size(q))};
}

}  // namespace

IntegerLaw DiscreteGaussianLaw(const GridVariance& variance) {
  CheckVariance(variance);
  const double stddev = StddevUpperBound(variance);
  RequireSmall(stddev);
  const PreciseInterval slope =
      -(PreciseInterval::Of(1.0) / ShiftLeft(PreciseInterval::Of(variance), 1));
  const auto last = static_cast<uint64_t>(std::ceil(kGaussianReach * stddev)) + 1;
  std::vector<PreciseInterval> weights;
  for (uint64_t k = 0; k <= last; ++k) {
    const PreciseInterval whole = PreciseInterval::Of(UInt128{k});
    weights.push_back(Exp(whole * whole * slope));
  }
  // Beyond, the masses fall at least as fast as by the last ratio: by exp(-17 / sigma), or more.
  const PreciseInterval rest = weights.back() * PreciseInterval::Of(1 + stddev);
  return Symmetric(weights, rest);
}

IntegerLaw DiscreteLaplaceLaw(const GridScale& scale) {
  CheckScale(scale);
  const PreciseInterval t =
      PreciseInterval::Of(scale.numerator) / PreciseInterval::Of(scale.denominator);
  RequireSmall(t.UpperBound());
  const PreciseInterval slope = -(PreciseInterval::Of(1.0) / t);
  const auto last = static_cast<uint64_t>(std::ceil(kLaplaceReach * t.UpperBound())) + 1;
  std::vector<PreciseInterval> weights;
  for (uint64_t k = 0; k <= last; ++k) {
    weights.push_back(Exp(PreciseInterval::Of(UInt128{k}) * slope));
  }
  // A geometric series: a^(last + 1) / (1 - a).
  const PreciseInterval ratio = Exp(slope);
  const PreciseInterval rest = weights.back() * ratio / (PreciseInterval::Of(1.0) - ratio);
  return Symmetric(weights, rest);
}

IntegerLaw LawOfCounts(int64_t first, std::span<const uint64_t> counts) {
  UInt128 total = 0;
  for (const uint64_t count : counts) total += count;
  if (total == 0) throw Error(ErrorCode::kUsage, "no counts are no law");
  IntegerLaw law{first, {}, 0};
  for (const uint64_t count : counts) {
    const PreciseInterval mass = PreciseInterval::Of(UInt128{count}) / PreciseInterval::Of(total);
    law.masses.push_back({mass.LowerBound(), mass.UpperBound()});
  }
  return law;
}

IntegerLaw SumOfLaws(const IntegerLaw& a, const IntegerLaw& b) {
  IntegerLaw sum{a.first + b.first, {}, Up(a.outside + b.outside)};
  sum.masses.resize(a.masses.size() + b.masses.size() - 1, Bounds{0, 0});
  for (size_t i = 0; i < a.masses.size(); ++i) {
    for (size_t j = 0; j < b.masses.size(); ++j) {
      Bounds& mass = sum.masses[i + j];
      mass.lower = Down(mass.lower + Down(a.masses[i].lower * b.masses[j].lower));
      mass.upper = Up(mass.upper + Up(a.masses[i].upper * b.masses[j].upper));
    }
  }
  // What was outside may have come in.
  for (Bounds& mass : sum.masses) mass.upper = std::min(1.0, Up(mass.upper + sum.outside));
  return sum;
}

Bounds ExactDelta(const IntegerLaw& p, const IntegerLaw& q, int64_t shift, double epsilon) {
  if (!(epsilon >= 0)) {
    throw Error(ErrorCode::kUsage, fmt::format("epsilon {} is not at least 0", epsilon));
  }
  const PreciseInterval factor = Exp(PreciseInterval::Of(epsilon));
  const double factor_low = factor.LowerBound();
  const double factor_high = factor.UpperBound();
  PreciseInterval lower = PreciseInterval::Of(0.0);
  PreciseInterval upper = PreciseInterval::Of(p.outside);
  const Window window = Union(p, q, shift);
  for (int64_t k = window.first; k < window.end; ++k) {
    const Bounds& with = MassAt(p, k - shift);
    const Bounds& without = MassAt(q, k);
    // Outside its window Q may still have up to q.outside, in all: charged once below.
    const double least = Down(with.lower - Up(factor_high * without.upper));
    const double most = with.upper - Down(factor_low * without.lower);
    if (least > 0) lower = lower + PreciseInterval::Of(least);
    if (most > 0) upper = upper + PreciseInterval::Of(Up(most));
  }
  const double missing = (factor * PreciseInterval::Of(q.outside)).UpperBound();
  return {std::max(0.0, (lower - PreciseInterval::Of(missing)).LowerBound()),
          std::min(1.0, upper.UpperBound())};
}

double LargestLoss(const IntegerLaw& p, const IntegerLaw& q, int64_t shift) {
  double largest = 0;
  const Window window = Union(p, q, shift);
  for (int64_t k = window.first; k < window.end; ++k) {
    const Bounds& a = MassAt(p, k - shift);
    const Bounds& b = MassAt(q, k);
    for (const auto& [more, less, outside] :
         {std::tuple{a, b, q.outside}, std::tuple{b, a, p.outside}}) {
      const double most = less.upper > 0 ? less.upper : outside;
      if (more.lower <= 0) continue;
      if (most == 0) return kInfinity;
      largest = std::max(largest, Down(std::log(more.lower / most)));
    }
  }
  return largest;
}

}  // namespace partita::privacy
