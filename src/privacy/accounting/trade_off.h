// Trade-off functions (f-DP): the smallest type II error of any test of "with the person" against
// "without", for every type I error alpha (Dong, Roth & Su 2022).
//
// A larger curve is more privacy. `side` says how a curve stands to the mechanism's own:
//   kExact   it is it (to rounding, about 1e-14),
//   kLower   nowhere above: a guarantee,
//   kUpper   nowhere below: what an attacker certainly achieves.
// Errors: kUsage for alpha outside [0, 1] and parameters out of range; kBadInput for inconsistent
// curves.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "privacy/accounting/pld.h"

namespace partita::privacy {

enum class CurveSide { kExact, kLower, kUpper };

struct TradeOff {
  CurveSide side = CurveSide::kExact;
  std::string name;
  std::function<double(double alpha)> beta;   // type II error; precise near 0
  std::function<double(double alpha)> power;  // 1 - beta; precise near 0, where alpha is small
};

// Phi(Phi^-1(1 - alpha) - mu). mu >= 0.
TradeOff GaussianTradeOff(double mu);
// max(0, 1 - delta - e^eps alpha, e^-eps (1 - delta - alpha)).
TradeOff EpsilonDeltaTradeOff(const EpsilonDelta& guarantee);

// One point of the profile of a mechanism, both directions: delta at epsilon, as an interval.
struct ProfilePoint {
  double epsilon = 0;
  Interval delta;
};

// delta at each epsilon, by the accountant.
std::vector<ProfilePoint> Profile(const std::vector<Event>& events,
                                  const std::vector<double>& epsilons,
                                  const PldOptions& options = {});
// Epsilons that show a curve: 0, then evenly to where delta is about 1e-9.
std::vector<double> ShowingEpsilons(const std::vector<Event>& events, size_t count,
                                    const PldOptions& options = {});

// From the upper ends of a profile: the largest curve that all its (epsilon, delta) guarantees
// imply; symmetric and convex, kLower. From the lower ends: between two neighbouring epsilons the
// loss is bounded by the smaller one's line at the larger one's delta; kUpper. The tensor product
// of several mechanisms is the profile of their composition. Throws kBadInput unless epsilons
// increase, deltas do not, and lower <= upper.
TradeOff LowerTradeOff(const std::vector<ProfilePoint>& profile);
TradeOff UpperTradeOff(const std::vector<ProfilePoint>& profile);

// delta(eps) = sup over alpha of 1 - f(alpha) - e^eps alpha, by search (accurate to about 1e-9 for
// smooth f; from below: for a guarantee use the accountant).
double DeltaOf(const TradeOff& f, double epsilon);

// Of an attacker: the largest power minus false-positive rate, that is delta(0).
double AttackAdvantage(const TradeOff& f);

}  // namespace partita::privacy
