#include "privacy/audit/runs_needed.h"

#include <fmt/format.h>

#include <boost/math/distributions/binomial.hpp>
#include <cmath>
#include <functional>

#include "base/error.h"
#include "privacy/accounting/normal.h"
#include "privacy/audit/epsilon_audit.h"
#include "privacy/audit/trade_off_audit.h"

namespace partita::privacy {
namespace {

constexpr uint64_t kMostRuns = 1'000'000'000'000;

// The count that is undercut (exceeded) with probability at most `tail`.
uint64_t LowCount(uint64_t runs, double probability, double tail) {
  const boost::math::binomial law(static_cast<double>(runs), probability);
  return static_cast<uint64_t>(std::floor(boost::math::quantile(law, tail)));
}
uint64_t HighCount(uint64_t runs, double probability, double tail) {
  const boost::math::binomial law(static_cast<double>(runs), probability);
  return static_cast<uint64_t>(
      std::ceil(boost::math::quantile(boost::math::complement(law, tail))));
}

// The smallest number of runs that refutes, where more runs refute more.
uint64_t Fewest(const std::function<bool(uint64_t)>& refutes) {
  uint64_t high = 16;
  while (!refutes(high)) {
    high *= 2;
    if (high <= kMostRuns) continue;
    throw Error(ErrorCode::kUsage, fmt::format("{} runs do not refute the claim", kMostRuns),
                "such a small fault is found by the exact layers, not by more runs");
  }
  uint64_t low = high / 2;
  while (high - low > 1) {
    const uint64_t middle = low + (high - low) / 2;
    (refutes(middle) ? high : low) = middle;
  }
  return high;
}

void CheckPower(const Power& power) {
  if (power.alpha > 0 && power.alpha < 1 && power.power > 0 && power.power < 1) return;
  throw Error(ErrorCode::kUsage, "error rate and power of an audit are between 0 and 1");
}

}  // namespace

uint64_t RunsForEvent(double first_probability, double second_probability, double claimed_epsilon,
                      double delta, const Power& power) {
  CheckPower(power);
  if (!(first_probability > 0 && first_probability < 1 && second_probability >= 0 &&
        first_probability > std::exp(claimed_epsilon) * second_probability + delta)) {
    throw Error(ErrorCode::kUsage,
                fmt::format("an event of probability {} and {} does not contradict epsilon {}",
                            first_probability, second_probability, claimed_epsilon));
  }
  const double tail = (1 - power.power) / 2;
  return Fewest([&](uint64_t runs) {
    const Count first{LowCount(runs, first_probability, tail), runs};
    const Count second{HighCount(runs, second_probability, tail), runs};
    return EpsilonLower(first, second, delta, power.alpha) > claimed_epsilon;
  });
}

uint64_t RunsForDiscreteLaplace(double claimed_epsilon, double actual_epsilon, const Power& power) {
  // {x >= 1} for a shift of 1: 1/(1+a) against a/(1+a). All higher thresholds have the same ratio
  // and are rarer.
  const double below = std::exp(-actual_epsilon);
  return RunsForEvent(1 / (1 + below), below / (1 + below), claimed_epsilon, 0, power);
}

uint64_t RunsForGaussian(double claimed_mu, double actual_mu, const Power& power) {
  CheckPower(power);
  if (!(actual_mu > claimed_mu && claimed_mu >= 0)) {
    throw Error(ErrorCode::kUsage,
                fmt::format("mu {} does not contradict a claim of {}", actual_mu, claimed_mu));
  }
  const double error_rate = NormalUpperTail(actual_mu / 2);
  const double tail = (1 - power.power) / 2;
  return Fewest([&](uint64_t runs) {
    const Count errors{HighCount(runs, error_rate, tail), runs};
    return MuLower(errors, errors, power.alpha) > claimed_mu;
  });
}

}  // namespace partita::privacy
