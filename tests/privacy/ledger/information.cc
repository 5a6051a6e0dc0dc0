#include "tests/privacy/ledger/information.h"

#include <cmath>
#include <cstdlib>
#include <map>
#include <tuple>

#include "base/error.h"
#include "privacy/accounting/pld.h"
#include "privacy/accounting/rdp.h"

namespace partita::privacy::ledger {
namespace {

// Mechanisms of one adversary, equal ones together. All Gaussians are one.
struct Collected {
  Cost cost;                                                  // at the account's order
  double squared_mu = 0;                                      // sum D^2/sigma^2
  double rho = 0;                                             // of mechanisms known by rho alone
  std::map<std::pair<double, double>, uint64_t> approximate;  // (epsilon, delta)

  void Add(const Charge& charge, uint64_t order) {
    cost = cost + CostOf(charge.mechanism, charge.count, order);
    const double count = static_cast<double>(charge.count);
    if (const auto* gaussian = std::get_if<GridGaussian>(&charge.mechanism)) {
      const double multiplier = StddevLowerBound(gaussian->remaining.share_variance) *
                                std::sqrt(gaussian->remaining.shares) / gaussian->sensitivity;
      squared_mu += count / (multiplier * multiplier);
    } else if (const auto* concentrated = std::get_if<ZeroConcentrated>(&charge.mechanism)) {
      rho += count * concentrated->rho;
    } else if (const auto* pure = std::get_if<PureDp>(&charge.mechanism)) {
      approximate[{pure->epsilon, 0}] += charge.count;
    } else if (const auto* failing = std::get_if<ApproximateDp>(&charge.mechanism)) {
      approximate[{failing->epsilon, failing->delta}] += charge.count;
    }
  }

  bool empty() const { return squared_mu == 0 && rho == 0 && approximate.empty(); }
};

std::vector<Event> EventsOf(const Collected& collected) {
  std::vector<Event> events;
  if (collected.squared_mu > 0)
    events.push_back({GaussianMechanism(1 / std::sqrt(collected.squared_mu), {})});
  for (const auto& [guarantee, count] : collected.approximate)
    events.push_back({ApproximateDpMechanism({guarantee.first, guarantee.second}), count});
  return events;
}

// By the best Renyi order; infinite if the mechanisms' own deltas leave none.
double RenyiEpsilon(const Collected& collected, double delta) {
  for (const auto& [guarantee, count] : collected.approximate)
    delta -= guarantee.second * static_cast<double>(count);
  if (!(delta > 0)) return HUGE_VAL;
  const auto curve = [&](double order) {
    double sum = order * (collected.squared_mu / 2 + collected.rho);
    for (const auto& [guarantee, count] : collected.approximate)
      sum += static_cast<double>(count) * PureDpRdp(guarantee.first)(order);
    return sum;
  };
  return RdpEpsilon(curve, delta);
}

Bounds EpsilonOf(const Collected& collected, double delta) {
  if (collected.empty()) return {};
  // Of a mechanism that is known by its rho alone there is no loss distribution.
  if (collected.rho > 0) return {0, RenyiEpsilon(collected, delta)};
  const Interval epsilon = PldEpsilon(EventsOf(collected), delta).value;
  return {epsilon.lower, epsilon.upper};
}

}  // namespace

Bounds NonAdaptiveEpsilon(const std::vector<Entry>& entries, const Policy& policy,
                          AdversaryClass adversary_class) {
  const Budget* budget = BudgetOf(policy, adversary_class);
  if (budget == nullptr) {
    throw Error(ErrorCode::kUsage, "the policy has no budget against insiders",
                "ask about outsiders");
  }
  const uint64_t order = DesignFilter(*budget).order;
  std::map<uint64_t, const Reserved*> counted;
  for (const Entry& entry : entries) {
    if (const auto* reserved = std::get_if<Reserved>(&entry.body))
      counted.emplace(entry.sequence, reserved);
    else if (const auto* refunded = std::get_if<Refunded>(&entry.body))
      counted.erase(refunded->reservation);
  }
  std::map<std::tuple<AdversaryKind, std::string, uint32_t>, Collected> by_adversary;
  for (const auto& [sequence, reserved] : counted) {
    for (const Charge& charge : reserved->charges) {
      const Adversary& adversary = charge.adversary;
      if (ClassOf(adversary) == adversary_class)
        by_adversary[{adversary.kind, adversary.party, adversary.size}].Add(charge, order);
    }
  }
  Collected most;
  for (const auto& [adversary, collected] : by_adversary)
    if (most.empty() || collected.cost.rdp > most.cost.rdp) most = collected;
  return EpsilonOf(most, std::strtod(budget->delta.c_str(), nullptr));
}

}  // namespace partita::privacy::ledger
