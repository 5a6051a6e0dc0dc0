// The trade-off function of a composition, certified: what a privacy statement shows beside its
// epsilon.
//
// Every (epsilon, delta) that holds is a line below the trade-off function (Dong, Roth & Su 2022,
// Proposition 2.5); the accountant gives as many as are asked for, and their maximum is a
// guarantee. Each line that an attacker certainly reaches bounds it from above likewise
// (trade_off.h).
#pragma once

#include <span>
#include <vector>

#include "privacy/accounting/trade_off.h"

namespace partita::privacy {

// A lower bound of the type II error at the type I error `alpha` in (0, 1): the best line that a
// search over epsilon in [0, largest_epsilon] finds. A bound whatever is found. `largest_epsilon`:
// the epsilon at a small delta; about 15 calls of the accountant at a relative width of 1e-2.
double GuaranteedBeta(const std::vector<Event>& events, double alpha, double largest_epsilon,
                      const PldOptions& options = {});

// Type I errors that show a curve: 0 and 1, even steps, and small values down to 1e-4.
std::vector<double> ShowingAlphas();

// lower <= upper at every alpha, from one profile.
struct CertifiedPoint {
  double alpha = 0;
  Interval beta;
};
std::vector<CertifiedPoint> CertifiedTradeOff(const std::vector<ProfilePoint>& profile,
                                              std::span<const double> alphas);

}  // namespace partita::privacy
