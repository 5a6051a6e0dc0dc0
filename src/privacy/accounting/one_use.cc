#include "privacy/accounting/one_use.h"

#include <algorithm>
#include <cmath>

#include "privacy/accounting/normal.h"

namespace partita::privacy {
namespace {

constexpr int kHalvings = 200;
constexpr double kLeastUpper = 1e-300;  // underflow is mass too

Interval PartOf(const LossCell& cell, double epsilon) {
  if (cell.high <= epsilon) return {0, 0};
  const double error = cell.error + 8 * kRounding;
  const double all = cell.p * (1 + error);
  const double lost = RaisedMass(epsilon, cell.q);
  const double charge = cell.p * error + lost * (error + RaisedError(epsilon));
  const double merged = cell.p - lost;
  Interval part{std::max(0.0, merged - charge), std::clamp(merged + charge, 0.0, all)};
  if (cell.low >= epsilon) return part;
  // Divided: the largest part is that of a spread onto both ends.
  double up = all;
  if (std::isfinite(cell.low)) {
    const double excess =
        all - RaisedMass(cell.low, cell.q * std::max(0.0, 1 - error - RaisedError(cell.low)));
    up = std::clamp(excess / -std::expm1(cell.low - cell.high) * (1 + 8 * kRounding), 0.0, all);
  }
  part.upper = std::max(part.upper, up * -std::expm1(epsilon - cell.high) * (1 + 8 * kRounding));
  part.upper = std::min(part.upper, all);
  return part;
}

double LargestFinite(const std::vector<LossCell>& cells) {
  double largest = 0;
  for (const LossCell& cell : cells) {
    for (const double loss : {cell.low, cell.high}) {
      if (std::isfinite(loss)) largest = std::max(largest, loss);
    }
  }
  return largest;
}

// Where a falling function of epsilon reaches delta: to neighbouring doubles in [low, high].
template <class F>
Interval Crossing(F at, double delta, double low, double high) {
  for (int i = 0; i < kHalvings; ++i) {
    const double middle = 0.5 * (low + high);
    if (middle <= low || middle >= high) break;
    (at(middle) > delta ? low : high) = middle;
  }
  return {low, high};
}

}  // namespace

Interval OneUseDelta(const std::vector<LossCell>& cells, double epsilon) {
  long double lower = 0, upper = kLeastUpper;
  for (const LossCell& cell : cells) {
    const Interval part = PartOf(cell, epsilon);
    lower += part.lower;
    upper += part.upper;
  }
  // Sums in extended precision, of up to 2^30 terms.
  return {std::clamp(static_cast<double>(lower * (1 - 0x1p-32L)) * (1 - kRounding), 0.0, 1.0),
          std::clamp(static_cast<double>(upper * (1 + 0x1p-32L)) * (1 + kRounding), 0.0, 1.0)};
}

Interval OneUseEpsilon(const std::vector<LossCell>& cells, double delta) {
  const double last = LargestFinite(cells);
  const auto lower = [&](double epsilon) { return OneUseDelta(cells, epsilon).lower; };
  const auto upper = [&](double epsilon) { return OneUseDelta(cells, epsilon).upper; };
  Interval epsilon;
  if (upper(0) <= delta) return epsilon;
  epsilon.upper = upper(last) <= delta ? Crossing(upper, delta, 0, last).upper : kInfinity;
  if (lower(last) >
      delta) {  // what is left there has infinite loss, or lies beyond all that is known
    double infinite = 0;
    for (const LossCell& cell : cells) {
      if (std::isinf(cell.low) && cell.low > 0) infinite += PartOf(cell, last).lower;
    }
    epsilon.lower = infinite * (1 - 0x1p-40) > delta ? kInfinity : last;
  } else if (lower(0) > delta) {
    epsilon.lower = Crossing(lower, delta, 0, last).lower;
  }
  return epsilon;
}

}  // namespace partita::privacy
