// How many runs an audit needs (security.md 5.4), per world, before it is started.
#pragma once

#include <cstdint>

namespace partita::privacy {

struct Power {
  double alpha = 1e-6;   // probability that correct code is flagged
  double power = 0.999;  // probability that the fault is found
};

// Runs that count (those that choose the event come on top) with an event of these probabilities:
// the fewest from which the bound refutes the claim even when both counts are as bad as their joint
// 1 - power quantiles. Throws kUsage if the event does not refute the claim, or 1e12 are not
// enough.
uint64_t RunsForEvent(double first_probability, double second_probability, double claimed_epsilon,
                      double delta, const Power& power = {});

// Discrete Laplace noise at sensitivity 1 that is `actual`-private and claimed to be `claimed`; the
// best threshold event.
uint64_t RunsForDiscreteLaplace(double claimed_epsilon, double actual_epsilon,
                                const Power& power = {});

// Gaussian noise that is actual_mu-GDP and claimed to be claimed_mu; the test with both error rates
// equal.
uint64_t RunsForGaussian(double claimed_mu, double actual_mu, const Power& power = {});

}  // namespace partita::privacy
