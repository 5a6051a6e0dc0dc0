// What the versions of confidential accept-reject tell about one person: trade-off functions per
// decision and over a chain (f-DP; methods.md 5, research/peers-dp.md 3; Aslett's text).
//
// Delta bounds how far one person moves log r. m parties; an adversary knows its own `known` parts
// of a noise that all of them add: 0 outside, 1 a party, t a coalition.
//
// Version 1   log r + V, V ~ Gamma((m - known)/m, 1). The loss has no epsilon: delta(eps) =
//             F_V(Delta) for EVERY eps >= 0. The text's pair (Delta + log(1 + Delta/tau)/m,
//             F_V(tau)) holds too and says less.
// Version 2   (log r + V) W. The text's law is an outsider's and for log r <= 0; ProductCdf holds
//             for all. A participant's view is a function of Version 1's against it and of its
//             noise W, so Version 1's guarantee holds against it.
// Version 3   A bit that falls with probability p or q. Barker's is a function of log r + L, L
//             logistic, and the worst case over log r of such bits is that law's own trade-off
//             (logit of beta is that of 1 - alpha minus Delta). Over n decisions, chosen
//             adaptively: Delta^2/8-zCDP each (the two losses of a bit lie within an interval of
//             length Delta; Cesar & Rogers 2021, Dong, Durfee & Rogers 2020), and n such laws
//             composed. Metropolis's rule: at r >= 1 a rejection tells the data sets apart, so that
//             n decisions can be worth f(alpha) = (1 - alpha) e^(-n Delta) and no better is
//             promised.
#pragma once

#include <cstdint>

#include "privacy/accounting/mechanism.h"
#include "privacy/accounting/trade_off.h"

namespace partita::methods::mcmc {

// (m - known) / m. Throws kUsage unless known < m.
double RemainingShape(uint32_t parties, uint32_t known);

// F_V(Delta) for V ~ Gamma(shape, 1): delta of Version 1 at every epsilon.
double SumDelta(double shape, double delta);
// T(log r + V, log r' + V), shift = log r - log r'. kExact.
privacy::TradeOff SumTradeOff(double shape, double shift);
// max(0, 1 - F_V(Delta) - alpha): the largest convex function below both signs of the shift.
// kLower.
privacy::TradeOff SumGuarantee(double shape, double delta);

// P((log_ratio + V) W <= x), V, W ~ Exp(1); x finite.
double ProductCdf(double log_ratio, double x);
// T of Version 2, seen from outside. Both ratios at most 0 (kUsage). kExact to about 1e-9.
privacy::TradeOff ProductTradeOff(double log_ratio, double other);

// n decisions, chosen adaptively, of which each tells the data sets apart with probability `lost`
// at most and otherwise nothing: max(0, (1 - lost)^n - alpha). Versions 1 and 2 with SumDelta, the
// bits of Metropolis's rule with 1 - e^-Delta. kLower.
privacy::TradeOff LosingChain(double lost, uint64_t decisions);

// Independent bits that are 1 with probability p under H0 and q under H1, 0 < p, q < 1: the best
// test counts them. kExact. As an attack on a chain it is one of those that there are.
privacy::TradeOff BitsTradeOff(double p, double q, uint64_t bits);
// Against every single bit of Barker's rule. kLower.
privacy::TradeOff BarkerGuarantee(double delta);
// The pair of laws behind it, for composition.
privacy::Mechanism BarkerMechanism(double delta);
// What n decisions of Metropolis's rule can be worth to an attacker. kUpper.
privacy::TradeOff MetropolisChain(double delta, uint64_t decisions);
// zCDP of one bit of Barker's rule: delta^2 / 8.
double BarkerRho(double delta);

}  // namespace partita::methods::mcmc
