#include "privacy/ledger/filter.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "privacy/ledger/decimal.h"
#include "privacy/rounded_text.h"
#include "privacy/sampling/interval.h"

namespace partita::privacy::ledger {
namespace {

constexpr double kSmallestOrder = 1 + 1.0 / 1024;
constexpr double kLargestOrder = 0x1p24;
constexpr double kMaxSensitivity = 0x1p200;
constexpr uint64_t kMaxUses = uint64_t{1} << 32;

double RequireWithin(double value, double low, double high, const char* what) {
  // Also false for NaN.
  if (!(value >= low && value <= high)) {
    throw Error(ErrorCode::kUsage, fmt::format("a mechanism's {} is {}", what, value),
                fmt::format("it must lie from {} to {}", low, high));
  }
  return value;
}

PreciseInterval Integer(uint64_t value) { return PreciseInterval::Of(UInt128{value}); }

// a, from its units.
PreciseInterval OrderOf(uint64_t order) {
  if (order < static_cast<uint64_t>(kSmallestOrder * (1 << kOrderBits)) ||
      order > static_cast<uint64_t>(kLargestOrder) << kOrderBits) {
    throw Error(ErrorCode::kUsage, fmt::format("a Renyi order of {}/65536", order));
  }
  return ShiftLeft(Integer(order), -kOrderBits);
}

// The part of delta that the conversion from RDP takes.
PreciseInterval ConversionDelta(const Budget& budget) {
  return OfDecimal(budget.delta) - OfDecimal(budget.approximate_delta);
}

// log((a - 1)/a) - (log d + log a)/(a - 1): what the conversion adds to the RDP.
PreciseInterval Conversion(const PreciseInterval& order, const PreciseInterval& delta) {
  const PreciseInterval less = order - Integer(1);
  return Log(less) - Log(order) - (Log(delta) + Log(order)) / less;
}

// B/a in double precision, to find a good order: whatever it is, the budget is computed exactly.
double GaussianBudget(double order, double epsilon, double delta) {
  return (epsilon - std::log1p(-1 / order) + (std::log(delta) + std::log(order)) / (order - 1)) /
         order;
}

double BestOrder(double epsilon, double delta) {
  constexpr int kGrid = 400, kSections = 80;
  constexpr double kGolden = 0.61803398874989485;
  const double low = std::log(kSmallestOrder - 1), high = std::log(kLargestOrder - 1);
  const double step = (high - low) / kGrid;
  const auto at = [&](double x) { return GaussianBudget(1 + std::exp(x), epsilon, delta); };
  double best = low;
  for (int i = 1; i <= kGrid; ++i) {
    if (at(low + step * i) > at(best)) best = low + step * i;
  }
  double a = std::max(low, best - step), b = std::min(high, best + step);
  for (int i = 0; i < kSections; ++i) {
    const double c = b - kGolden * (b - a), d = a + kGolden * (b - a);
    (at(c) > at(d) ? b : a) = at(c) > at(d) ? d : c;
  }
  return 1 + std::exp((a + b) / 2);
}

// A lower end, scaled and rounded down; at least 0.
uint64_t UnitsDown(const PreciseInterval& value, int bits) {
  const PreciseInterval units = Positive(ShiftLeft(value, bits));
  if (mpfr_cmp_ui_2exp(units.lower().get(), 1, 62) >= 0) return kMaxUnits;
  return mpfr_get_ui(units.lower().get(), MPFR_RNDD);
}

// An upper end, scaled and rounded up.
uint64_t UnitsUp(const PreciseInterval& value, int bits) {
  const PreciseInterval units = ShiftLeft(value, bits);
  if (mpfr_cmp_ui_2exp(units.upper().get(), 1, 62) > 0) {
    throw Error(ErrorCode::kBudget, "a mechanism costs more than any budget holds",
                "use more noise, or fewer numbers");
  }
  return std::max<uint64_t>(1, mpfr_get_ui(units.upper().get(), MPFR_RNDU));
}

// a D^2/(2 s), and for a sum of shares d tau (2 a - 1)/(a - 1).
PreciseInterval RenyiLoss(const GridGaussian& gaussian, const PreciseInterval& order) {
  const DiscreteGaussianNoise& noise = gaussian.remaining;
  const PreciseInterval sensitivity = PreciseInterval::Of(gaussian.sensitivity);
  const PreciseInterval variance =
      PreciseInterval::Of(noise.share_variance) * Integer(noise.shares);
  PreciseInterval loss = ShiftLeft(order * sensitivity * sensitivity / variance, -1);
  if (noise.shares == 1) return loss;
  const PreciseInterval gap = PreciseInterval::Of(ShareGap(noise.share_variance, noise.shares));
  const PreciseInterval one = Integer(1);
  return loss + Integer(noise.dimension) * gap * (ShiftLeft(order, 1) - one) / (order - one);
}

PreciseInterval RenyiLoss(const ZeroConcentrated& mechanism, const PreciseInterval& order) {
  return order * PreciseInterval::Of(mechanism.rho);
}

PreciseInterval PureLoss(double epsilon, const PreciseInterval& order) {
  const PreciseInterval e = PreciseInterval::Of(epsilon), one = Integer(1);
  // Both terms of the sum lie on either side of e^(e/2): no cancellation but in the logarithm,
  // where 192 bits leave an absolute error below 2^-140.
  const PreciseInterval moment = Exp(order * e) + Exp((one - order) * e);
  return Positive((Log(moment) - Log(one + Exp(e))) / (order - one));
}

PreciseInterval RenyiLoss(const PureDp& mechanism, const PreciseInterval& order) {
  return PureLoss(mechanism.epsilon, order);
}

PreciseInterval RenyiLoss(const ApproximateDp& mechanism, const PreciseInterval& order) {
  return PureLoss(mechanism.epsilon, order);
}

void CheckNoise(const GridGaussian& gaussian) {
  const DiscreteGaussianNoise& noise = gaussian.remaining;
  RequireWithin(gaussian.sensitivity, 1, kMaxSensitivity, "sensitivity in grid units");
  CheckVariance(noise.share_variance);
  RequireWithin(noise.shares, 1, static_cast<double>(kMaxUses), "number of shares");
  RequireWithin(static_cast<double>(noise.dimension), 1, static_cast<double>(kMaxUses),
                "dimension");
  if (noise.shares > 1) ShareGap(noise.share_variance, noise.shares);  // throws if too small
}

constexpr double kSmallestEpsilon = 1e-12, kLargestEpsilon = 1e6;

struct ChargeChecker {
  void operator()(const GridGaussian& gaussian) const { CheckNoise(gaussian); }
  void operator()(const ZeroConcentrated& mechanism) const {
    RequireWithin(mechanism.rho, 1e-24, 1e6, "rho");
  }
  void operator()(const PureDp& mechanism) const {
    RequireWithin(mechanism.epsilon, kSmallestEpsilon, kLargestEpsilon, "epsilon");
  }
  void operator()(const ApproximateDp& mechanism) const {
    RequireWithin(mechanism.epsilon, kSmallestEpsilon, kLargestEpsilon, "epsilon");
    RequireWithin(mechanism.delta, 1e-30, 0.1, "delta");
  }
};

struct Describer {
  std::string operator()(const GridGaussian& gaussian) const {
    const DiscreteGaussianNoise& noise = gaussian.remaining;
    const double sigma = StddevLowerBound(noise.share_variance) * std::sqrt(noise.shares);
    return fmt::format("discrete Gaussian, {} {}, sigma {} grid units, sensitivity {}, {} {}",
                       noise.shares, noise.shares == 1 ? "share" : "shares",
                       RoundedText(sigma, 3, false), RoundedText(gaussian.sensitivity, 3, true),
                       noise.dimension, noise.dimension == 1 ? "number" : "numbers");
  }
  std::string operator()(const ZeroConcentrated& mechanism) const {
    return fmt::format("zero-concentrated, rho {}", mechanism.rho);
  }
  std::string operator()(const PureDp& mechanism) const {
    return fmt::format("epsilon {}", mechanism.epsilon);
  }
  std::string operator()(const ApproximateDp& mechanism) const {
    return fmt::format("epsilon {} at delta {}", mechanism.epsilon, mechanism.delta);
  }
};

uint64_t AddUnits(uint64_t a, uint64_t b) {
  if (a > kMaxUnits || b > kMaxUnits || a + b > kMaxUnits) {
    throw Error(ErrorCode::kBudget, "the charges together are more than any budget holds",
                "use more noise, or fewer numbers");
  }
  return a + b;
}

}  // namespace

bool GridGaussian::operator==(const GridGaussian& other) const {
  return remaining.share_variance == other.remaining.share_variance &&
         remaining.shares == other.remaining.shares &&
         remaining.dimension == other.remaining.dimension && sensitivity == other.sensitivity;
}

void CheckMechanism(const ChargedMechanism& mechanism) { std::visit(ChargeChecker{}, mechanism); }

std::string MechanismText(const ChargedMechanism& mechanism) {
  return std::visit(Describer{}, mechanism);
}

Cost operator+(const Cost& a, const Cost& b) {
  return {AddUnits(a.rdp, b.rdp), AddUnits(a.delta, b.delta)};
}

Cost Larger(const Cost& a, const Cost& b) {
  return {std::max(a.rdp, b.rdp), std::max(a.delta, b.delta)};
}

bool Fits(const Cost& cost, const Cost& budget) {
  return cost.rdp <= budget.rdp && cost.delta <= budget.delta;
}

Cost BudgetAtOrder(const Budget& budget, uint64_t order) {
  const PreciseInterval a = OrderOf(order);
  const PreciseInterval renyi = OfDecimal(budget.epsilon) - Conversion(a, ConversionDelta(budget));
  return {UnitsDown(renyi, kRdpUnitBits),
          UnitsDown(OfDecimal(budget.approximate_delta), kDeltaUnitBits)};
}

Filter DesignFilter(const Budget& budget) {
  const double epsilon = OfDecimal(budget.epsilon).LowerBound();
  const double delta = ConversionDelta(budget).LowerBound();
  if (!(delta > 0)) {
    throw Error(ErrorCode::kUsage, "no delta is left beside approximate_delta",
                "use a smaller approximate_delta");
  }
  Filter filter;
  filter.order = static_cast<uint64_t>(std::llround(BestOrder(epsilon, delta) * (1 << kOrderBits)));
  filter.budget = BudgetAtOrder(budget, filter.order);
  if (filter.budget.rdp == 0) {
    throw Error(ErrorCode::kUsage,
                fmt::format("no study would ever fit into epsilon {} at delta {}", budget.epsilon,
                            budget.delta),
                "use a larger epsilon or delta");
  }
  return filter;
}

Cost CostOf(const ChargedMechanism& mechanism, uint64_t count, uint64_t order) {
  CheckMechanism(mechanism);
  if (count < 1 || count > kMaxUses) {
    throw Error(ErrorCode::kUsage, fmt::format("{} uses of a mechanism", count),
                "a mechanism is used 1 to 2^32 times");
  }
  const PreciseInterval a = OrderOf(order), uses = Integer(count);
  const auto loss = [&](const auto& kind) { return RenyiLoss(kind, a) * uses; };
  Cost cost;
  cost.rdp = UnitsUp(std::visit(loss, mechanism), kRdpUnitBits);
  if (const auto* approximate = std::get_if<ApproximateDp>(&mechanism))
    cost.delta = UnitsUp(PreciseInterval::Of(approximate->delta) * uses, kDeltaUnitBits);
  return cost;
}

double EpsilonAfter(const Budget& budget, const Filter& filter, const Cost& spent) {
  if (spent == Cost{}) return 0;
  const PreciseInterval delta =
      OfDecimal(budget.delta) - ShiftLeft(Integer(spent.delta), -kDeltaUnitBits);
  if (mpfr_sgn(delta.lower().get()) <= 0) return HUGE_VAL;
  const PreciseInterval renyi = ShiftLeft(Integer(spent.rdp), -kRdpUnitBits);
  const double epsilon =
      std::max(0.0, (renyi + Conversion(OrderOf(filter.order), delta)).UpperBound());
  if (!Fits(spent, filter.budget)) return epsilon;
  return std::min(epsilon, OfDecimal(budget.epsilon).UpperBound());
}

}  // namespace partita::privacy::ledger
