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
#include <span>
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
// Of Laplace noise of scale b against a shift of mu b.
TradeOff LaplaceTradeOff(double mu);
// max(0, 1 - delta - e^eps alpha, e^-eps (1 - delta - alpha)).
TradeOff EpsilonDeltaTradeOff(const EpsilonDelta& guarantee);

// What an amplification by Poisson sampling at rate p makes of f, one direction: p f + (1 - p)(1 -
// alpha); and both directions at once, for symmetric f: min(p f + (1-p) Id, its inverse), made
// convex (Proposition A.1, op. cit.). The side stays.
TradeOff SampledOneSided(const TradeOff& f, double sampling_rate);
TradeOff SampledTwoSided(const TradeOff& f, double sampling_rate);

// f^-1(alpha) = the smallest alpha' with f(alpha') <= alpha: P and Q exchanged. By bisection; the
// side stays.
TradeOff Inverse(const TradeOff& f);

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

// The convex closure of min(f, f^-1): the guarantee in both directions at once. Sampled on `points`
// values of alpha; by supporting lines, so that the result lies below the true one (kLower; kUpper
// curves are refused).
TradeOff Symmetrised(const TradeOff& f, size_t points = 2000);

// A curve through measured points (alpha, beta): linear in between, ends (0, 1) and (1, 0) added if
// missing. Throws kBadInput if a point lies outside [0,1]^2 or above 1 - alpha, or if the points
// are not decreasing and convex.
struct OperatingPoint {
  double alpha = 0;
  double beta = 0;
};
TradeOff PiecewiseLinear(std::span<const OperatingPoint> points);

// Whether beta falls, is convex and at most 1 - alpha on `points` values of alpha, up to 1e-9.
bool LooksLikeTradeOff(const TradeOff& f, size_t points = 1000);

// delta(eps) = sup over alpha of 1 - f(alpha) - e^eps alpha, by search (accurate to about 1e-9 for
// smooth f; from below: for a guarantee use the accountant).
double DeltaOf(const TradeOff& f, double epsilon);
// The smallest mu whose Gaussian curve lies nowhere above the profile's guarantees for epsilons
// within its range.
double MuOf(const std::vector<ProfilePoint>& profile);
// The smallest mu (epsilon at this delta; delta at this epsilon) whose curve lies below all points.
// Measured points need not be convex; the rest is checked as above.
double MuThrough(std::span<const OperatingPoint> points);
double EpsilonThrough(std::span<const OperatingPoint> points, double delta);
double DeltaThrough(std::span<const OperatingPoint> points, double epsilon);

// What an attacker gets out of it. The advantage is the largest power minus false-positive rate,
// that is delta(0).
double AttackPower(const TradeOff& f, double false_positive_rate);
double AttackAdvantage(const TradeOff& f);

}  // namespace partita::privacy
