// The filter that keeps adaptively chosen studies within one budget: Renyi differential privacy at
// one fixed order (Feldman & Zrnic, NeurIPS 2021, section 4), in integer units.
//
// Theorem. Let order a > 1, budget B >= 0 and d >= 0 be fixed in advance, and let every study t,
// all of its parameters chosen after the results of the studies before it, be d_t-approximately (a,
// r_t)-RDP. If a study runs only while sum r_t <= B and sum d_t <= d including its own, all results
// together are d-approximately (a, B)-RDP, whoever chose the studies and however. With delta = d +
// d', that is (epsilon, delta)-differential privacy for
//
//   epsilon = B + log((a - 1)/a) - (log d' + log a)/(a - 1)
//
// (Canonne, Kamath & Steinke 2020, Proposition 12). Proof in README.md; the part with d_t is
// Whitehouse, Ramdas, Rogers & Wu 2023.
//
// The order. Of all orders the one with the largest B/a is taken, on a grid of 2^-16: Gaussian
// noise of rho costs a rho, so at exhaustion nothing is lost against the best order of an
// accountant that had known all studies beforehand. The order of an account is part of its chain.
//
// Units. RDP in 2^-40, delta in 2^-62. Charges round up and budgets down; every real number on the
// way is an interval that contains it (privacy/sampling/interval.h).
#pragma once

#include <cstdint>
#include <string>
#include <variant>

#include "privacy/ledger/policy.h"
#include "privacy/sampling/discrete_gaussian_mechanism.h"

namespace partita::privacy::ledger {

inline constexpr int kRdpUnitBits = 40;
inline constexpr int kDeltaUnitBits = 62;
inline constexpr int kOrderBits = 16;
inline constexpr uint64_t kMaxUnits = uint64_t{1} << 62;

// Mechanisms, by what is known of them. All numbers are upper bounds of what they bound, and the
// doubles are exact numbers.

// Discrete Gaussian noise of each coordinate, drawn as a sum of shares. Costs
// a D^2/(2 s) + d tau (2 a - 1)/(a - 1): s the variance of all shares that the adversary does not
// know, tau the distance of their sum from one discrete Gaussian (ShareGap), d the dimension.
struct GridGaussian {
  DiscreteGaussianNoise remaining;  // RemainingNoise: without the shares that the adversary knows
  double sensitivity = 0;           // D, L2, grid units

  bool operator==(const GridGaussian& other) const;
};
// rho-zCDP (Bun & Steinke 2016): costs a rho.
struct ZeroConcentrated {
  double rho = 0;
  bool operator==(const ZeroConcentrated&) const = default;
};
// (epsilon, 0)-differential privacy, as of discrete Laplace noise. Costs what randomised response
// costs, of which every such mechanism is a post-processing (Kairouz, Oh & Viswanath 2015):
// log((e^(a e) + e^((1 - a) e)) / (1 + e^e)) / (a - 1), below e and a e^2/2.
struct PureDp {
  double epsilon = 0;
  bool operator==(const PureDp&) const = default;
};
// (epsilon, delta)-differential privacy: PureDp but for an event of probability delta (the same
// theorem). A plan of many steps, composed by a PLD, is charged like this.
struct ApproximateDp {
  double epsilon = 0;
  double delta = 0;
  bool operator==(const ApproximateDp&) const = default;
};

using ChargedMechanism = std::variant<GridGaussian, ZeroConcentrated, PureDp, ApproximateDp>;

// Throws kUsage for NaN, infinities, zero, negative and out-of-range parameters (epsilon above 1e6,
// rho above 1e6, sensitivity above 2^200, dimension or shares of 0 or above 2^32, shares too small
// for ShareGap).
void CheckMechanism(const ChargedMechanism& mechanism);
// "discrete Gaussian, 3 shares, sigma 1.2e+06 together, sensitivity 5.1e+04, 65 numbers".
std::string MechanismText(const ChargedMechanism& mechanism);

struct Cost {
  uint64_t rdp = 0;    // units of 2^-40
  uint64_t delta = 0;  // units of 2^-62
  bool operator==(const Cost&) const = default;
};

// Throws kBudget if a term exceeds kMaxUnits (above every budget): sums never wrap.
Cost operator+(const Cost& a, const Cost& b);
// Term by term the larger one.
Cost Larger(const Cost& a, const Cost& b);
// Both terms.
bool Fits(const Cost& cost, const Cost& budget);

struct Filter {
  uint64_t order = 0;  // a, in units of 2^-16
  Cost budget;         // B and d
  bool operator==(const Filter&) const = default;
};

// Of a checked budget. Throws kUsage if nothing at all would fit (epsilon too small for delta).
Filter DesignFilter(const Budget& budget);
// B and d of a budget at a given order, for verification and for the cost of keeping an order.
Cost BudgetAtOrder(const Budget& budget, uint64_t order);

// `count` independent uses, 1 to 2^32, rounded up together. Throws kBudget if the cost exceeds
// kMaxUnits, kUsage as CheckMechanism.
Cost CostOf(const ChargedMechanism& mechanism, uint64_t count, uint64_t order);

// An upper bound of epsilon at the budget's delta after `spent`; at most the budget's epsilon while
// `spent` fits; 0 if nothing is spent. Of use for people: what is promised is the budget, not this.
double EpsilonAfter(const Budget& budget, const Filter& filter, const Cost& spent);

}  // namespace partita::privacy::ledger
