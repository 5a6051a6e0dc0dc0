#include "privacy/accounting/accountant.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "privacy/accounting/normal.h"
#include "privacy/accounting/rdp.h"
#include "privacy/accounting/types.h"

namespace partita::privacy {
namespace {

constexpr double kLargestNoise = 1e6;
constexpr double kSmallestNoise = 1e-2;
// So many widths of the accountant are near enough for a search that has used its work.
constexpr uint64_t kTiredStrides = 16;

Guarantee NotApplicable(AccountantKind kind) { return {kind, {0, kInfinity}, true, false}; }

Guarantee ByRdp(const std::vector<Event>& events, double delta) {
  for (const Event& event : events) {
    if (!event.mechanism.rdp) return NotApplicable(AccountantKind::kRdp);
  }
  const double epsilon = RdpEpsilon(
      [&](double order) {
        double sum = 0;
        for (const Event& event : events)
          sum += static_cast<double>(event.count) * event.mechanism.rdp(order);
        return sum;
      },
      delta);
  return {AccountantKind::kRdp, {0, epsilon}, true, true};
}

// The better of basic and heterogeneous advanced composition (Dwork, Rothblum & Vadhan 2010, with
// the sums of Kairouz, Oh & Viswanath 2015, Theorem 3.5, first bound) of pure guarantees.
Guarantee ByAdvanced(const std::vector<Event>& events, double delta) {
  double sum = 0, square = 0, drift = 0;
  for (const Event& event : events) {
    const double epsilon = event.mechanism.pure_epsilon, count = static_cast<double>(event.count);
    if (!(epsilon > 0)) return NotApplicable(AccountantKind::kAdvancedComposition);
    sum += count * epsilon;
    square += count * epsilon * epsilon;
    drift += count * epsilon * std::expm1(epsilon) / (std::exp(epsilon) + 1);
  }
  const double advanced = drift + std::sqrt(-2 * square * std::log(delta));
  return {AccountantKind::kAdvancedComposition, {0, std::min(sum, advanced)}, true, true};
}

Guarantee ByClt(const std::vector<Event>& events, double delta) {
  double square = 0;
  for (const Event& event : events) {
    const double mu = event.mechanism.clt_mu;
    if (!(mu > 0)) {
      Guarantee none = NotApplicable(AccountantKind::kGaussianClt);
      none.is_bound = false;
      return none;
    }
    square += mu * mu * static_cast<double>(event.count);
  }
  const double epsilon = GaussianEpsilon(std::sqrt(square), delta);
  return {AccountantKind::kGaussianClt, {epsilon, epsilon}, false, true};
}

// Whether the upper end is within the budget. A rough interval decides where the budget is far:
// also for whoever computes the whole interval later, whose upper end is as near to the truth as
// asked.
bool Fits(const std::vector<Event>& events, const EpsilonDelta& budget, const PldOptions& options) {
  PldOptions rough = options;
  rough.decide = budget.epsilon;
  const Interval there = PldEpsilon(events, budget.delta, rough).value;
  if (there.lower > budget.epsilon) return false;
  if (there.upper <= budget.epsilon * (1 - options.relative_width)) return true;
  if (options.work && *options.work <= 0) return false;  // undecided
  return PldEpsilon(events, budget.delta, options).value.upper <= budget.epsilon;
}

// Where the largest number of steps may lie, by the central limit theorem; 1 where it says nothing.
uint64_t GuessSteps(const EventsAtSteps& events, const EpsilonDelta& budget, uint64_t max_steps) {
  const std::vector<Event> one = events(1);
  const auto fits = [&](uint64_t steps) {
    std::vector<Event> all = one;
    for (Event& event : all) event.count *= steps;
    const Guarantee guess = ByClt(all, budget.delta);
    return guess.applicable && guess.epsilon.upper <= budget.epsilon;
  };
  uint64_t low = 1, high = max_steps + 1;
  while (high - low > 1) {
    const uint64_t middle = low + (high - low) / 2;
    (fits(middle) ? low : high) = middle;
  }
  return low;
}

}  // namespace

std::string_view AccountantName(AccountantKind kind) {
  switch (kind) {
    case AccountantKind::kPld:
      return "pld";
    case AccountantKind::kRdp:
      return "rdp";
    case AccountantKind::kAdvancedComposition:
      return "advanced";
    case AccountantKind::kGaussianClt:
      return "clt";
  }
  throw Error(ErrorCode::kInternal, "unknown accountant");
}

Guarantee Account(AccountantKind kind, const std::vector<Event>& events, double delta,
                  const PldOptions& options) {
  RequireDelta(delta);
  if (events.empty())
    throw Error(ErrorCode::kUsage, "there is no mechanism to account", "give at least one event");
  for (const Event& event : events) RequireCount(event.count);
  switch (kind) {
    case AccountantKind::kPld:
      return {kind, PldEpsilon(events, delta, options).value, true, true};
    case AccountantKind::kRdp:
      return ByRdp(events, delta);
    case AccountantKind::kAdvancedComposition:
      return ByAdvanced(events, delta);
    case AccountantKind::kGaussianClt:
      return ByClt(events, delta);
  }
  throw Error(ErrorCode::kInternal, "unknown accountant");
}

NoiseCalibration NoiseForBudget(const EventsAtNoise& events, const EpsilonDelta& budget,
                                double tolerance, const PldOptions& options) {
  RequirePositive(RequireEpsilon(budget.epsilon), "the budget's epsilon");
  RequireDelta(budget.delta);
  if (!(tolerance >= 1e-9 && tolerance <= 1))
    throw Error(ErrorCode::kUsage, "the tolerance of a calibration must lie in [1e-9, 1]");
  const auto fits = [&](double noise) { return Fits(events(noise), budget, options); };
  double low = 0, high = 1;
  while (!fits(high)) {
    low = high;
    if ((high *= 2) > kLargestNoise) {
      throw Error(ErrorCode::kBudget, "no noise up to 1e6 times the sensitivity meets the budget",
                  "allow a larger epsilon or delta, or fewer uses");
    }
  }
  while (low == 0 && high > kSmallestNoise) {
    if (fits(high / 2)) {
      high /= 2;
    } else {
      low = high / 2;
    }
  }
  while (low > 0 && high > low * (1 + tolerance)) {
    const double middle = std::sqrt(low * high);
    (fits(middle) ? high : low) = middle;
  }
  // A wider interval may have decided than is asked for.
  Interval epsilon = PldEpsilon(events(high), budget.delta, options).value;
  epsilon.upper = std::min(epsilon.upper, budget.epsilon);
  return {high, epsilon};
}

StepsCalibration StepsForBudget(const EventsAtSteps& events, const EpsilonDelta& budget,
                                uint64_t max_steps, const PldOptions& options) {
  RequireEpsilon(budget.epsilon);
  RequireDelta(budget.delta);
  RequireCount(max_steps);
  const double work_before = options.work ? *options.work : 0;
  const auto fits = [&](uint64_t steps) { return Fits(events(steps), budget, options); };
  StepsCalibration best;
  if (!fits(1)) return best;
  // From a guess that is often near, in growing strides to a number on the other side.
  uint64_t low = 1, high = max_steps + 1;
  const uint64_t guess = GuessSteps(events, budget, max_steps);
  const auto stride_at = [&](uint64_t steps) {
    return 1 + static_cast<uint64_t>(static_cast<double>(steps) * options.relative_width);
  };
  uint64_t stride = stride_at(guess);
  if (guess == 1 || fits(guess)) {
    low = guess;
    while (high - low > stride) {
      if (!fits(low + stride)) {
        high = low + stride;
        break;
      }
      low += stride;
      stride *= 4;
    }
    if (high == max_steps + 1 && low < max_steps && fits(max_steps)) low = max_steps;
  } else {
    high = guess;
    while (high - low > stride) {
      if (fits(high - stride)) {
        low = high - stride;
        break;
      }
      high -= stride;
      stride *= 4;
    }
  }
  // The rest of the work is for what the number found costs.
  const auto near_enough = [&] {
    if (!options.work || *options.work > work_before / 2) return false;
    return high - low <= (*options.work > 0 ? 1 : kTiredStrides) * stride_at(low);
  };
  while (high - low > 1 && !near_enough()) {
    const uint64_t middle = low + (high - low) / 2;
    (fits(middle) ? low : high) = middle;
  }
  best.steps = low;
  // A search without work left may have taken the undecided for what does not fit.
  best.largest = high - low == 1 && !(options.work && *options.work <= 0);
  best.epsilon = PldEpsilon(events(best.steps), budget.delta, options).value;
  best.epsilon.upper = std::min(best.epsilon.upper, budget.epsilon);
  return best;
}

}  // namespace partita::privacy
