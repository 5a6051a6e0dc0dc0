// The rows of a shared matrix in a random order that nobody knows.
//
// Every party in turn applies a permutation of its own, uniformly random, through a network of
// switches (switching_network.h) whose settings it has shared: each switch is one product of a
// shared bit and a shared difference. The order is uniformly random and unknown to every coalition
// that the engine tolerates, because one honest party's permutation is enough for that. No dealer
// knows any of them.
//
// Exact; failure probability 0; passive security as the engine's (settings other than 0 and 1 are
// not caught). Nothing is revealed.
// Rounds   m (2 ceil(log2 n) - 1) for m parties and n rows, and one more where an input takes one
//          (`replicated`).
// Bytes    per party and layer a product of n / 2 rows (one setting for each), 2 ceil(log2 n) - 1
//          layers: for 1000 rows of one column every process sends about 600 per row.
// Timing   constant in shares; NOT in the own permutation, which its party draws and routes before
//          the first message (switching_network.h).
#pragma once

#include "crypto/random.h"
#include "mpc/engine.h"

namespace partita::mpc {

// own: this party's randomness; not used at a dealer or in a plan.
Shared ShuffleRows(Engine& engine, const Shared& value, crypto::RandomSource& own);

}  // namespace partita::mpc
