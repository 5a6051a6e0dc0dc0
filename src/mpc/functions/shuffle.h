// The rows of a shared matrix in a random order that nobody knows.
//
// Every party in turn applies a permutation of its own, uniformly random, through a network of
// blocks of up to 8 rows (16 in the middle) that are permuted in any way (switching_network.h): a
// block of s rows is the product of an (s - 1) x (s - 1) matrix of its bits, shared or (`dealer`) as the
// party's own, and s - 1 shared differences. The order is uniformly random and unknown to every coalition
// that the engine tolerates, because one honest party's permutation is enough for that. No dealer
// knows any of them.
//
// Exact; failure probability 0; passive security as the engine's (settings other than 0 and 1 are
// not caught). Nothing is revealed.
// Rounds   m (2 ceil((ceil(log2 n) - 4) / 3) + 1) for m parties and 9 to 2^14 rows, for more rows
//          m (2 ceil(log2 n) - 1), and one more where an input takes one (`replicated`): 10 and 16
//          for 1000 rows.
// Bytes    per party and layer a product of about 7 n settings, 14 n in the middle, and n rows: for
//          1000 rows of one column all processes send 1500 (`dealer`, two parties) or 2500
//          (`replicated`) per row, as much as or 1.4 times of what shared switches of two rows cost,
//          which take 2 ceil(log2 n) - 1 layers.
// Timing   constant in shares; NOT in the own permutation, which its party draws and routes before
//          the first message (switching_network.h).
#pragma once

#include "crypto/random.h"
#include "mpc/engine.h"

namespace partita::mpc {

// own: this party's randomness; not used at a dealer or in a plan.
Shared ShuffleRows(Engine& engine, const Shared& value, crypto::RandomSource& own);

}  // namespace partita::mpc
