// Composition of (epsilon, delta) guarantees by theorem, without looking at mechanisms.
#pragma once

#include <cstdint>

#include "privacy/accounting/types.h"

namespace partita::privacy {

// k uses: (k epsilon, k delta).
EpsilonDelta BasicComposition(const EpsilonDelta& each, uint64_t count);

// Dwork, Rothblum & Vadhan 2010: (eps sqrt(2 k ln(1/slack)) + k eps (e^eps - 1), k delta + slack).
EpsilonDelta AdvancedComposition(const EpsilonDelta& each, uint64_t count, double slack);

// Kairouz, Oh & Viswanath 2015, Theorem 3.3: the exact delta of k-fold composition at an epsilon,
// for the worst mechanisms with the guarantee: 1 - (1-delta)^k (1 - d), d = sum_l C(k,l) (e^((k-l)
// eps) - e^(target + l eps))_+ / (1 + e^eps)^k. Relative error below 1e-9; for an interval, or
// unlike guarantees, compose ApproximateDpMechanism (mechanism.h). count at most 1e6.
double OptimalCompositionDelta(const EpsilonDelta& each, uint64_t count, double target_epsilon);

// mu of Gaussian differential privacy in the limit of many sampled Gaussian steps (Bu, Dong, Long &
// Su 2020). NOT A BOUND: the truth may be larger or smaller.
double CltMuPoisson(double noise_multiplier, double sampling_rate, uint64_t steps);
double CltMuUniform(double noise_multiplier, double sampling_rate, uint64_t steps);

}  // namespace partita::privacy
