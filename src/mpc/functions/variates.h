// Random variates that no single party and no dealer knows (rule R-b): uniform, exponential and
// logistic, made of bits to which every party contributes (Engine::RandomBits). They depend on no
// data, so they may be made ahead.
//
// Values    U = (2 K + 1) / 2^41 with K uniform below 2^40; exponential -log U; logistic
//           log U - log(1 - U).
// Error     The logarithms err by 2^-f + 2^-41 each (logarithm.h). So with f = 40 the distribution
//           function of every kind differs from the continuous one by less than 2^-39 everywhere.
//           The range is finite: an exponential variate is at most 28.5, a logistic one at most
//           28.5 in magnitude. A statement about privacy that assumes the continuous distribution
//           has to add that: if a secret decision by a logistic variate is claimed Delta-private,
//           it is (Delta, (1 + e^Delta) 2^-39)-private for thresholds of whatever size.
// Rounds    D = 1 (`dealer`) or 2 (`replicated`): UniformVariates D; the others
//           14 + 3 D.
// Bytes     per entry 40 bits made ring elements and, for every logarithm, 42 more with the
//           products and cuts of Log: the busiest process sends 640, 1710 and 2780 for the three
//           kinds on `dealer`, 640, 1540 and 2430 on `replicated`. Nothing is revealed.
// Timing    constant in shares; not in shapes and bounds (public). Not run by tests/ctime.
#pragma once

#include "crypto/random.h"
#include "mpc/engine.h"

namespace partita::mpc {

// In (0, 1), exact at 41 fraction bits. own: this party's randomness.
Shared UniformVariates(Engine& engine, Shape shape, crypto::RandomSource& own);
// Of mean 1, at least zero.
Shared ExponentialVariates(Engine& engine, Shape shape, crypto::RandomSource& own,
                           int fraction_bits);
// Of mean 0 and variance pi^2 / 3.
Shared LogisticVariates(Engine& engine, Shape shape, crypto::RandomSource& own, int fraction_bits);

}  // namespace partita::mpc
