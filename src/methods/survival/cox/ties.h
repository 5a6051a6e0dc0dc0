// Ties by Efron's method on shares: the events of every cell of time one after the other, where how
// many there are is shared.
//
// Ideal function   (events d of every cell, shared; a public number K) -> shares of
//                    e_k = [k < d],  k = 0 .. K - 1:      is there a k-th event
//                    c_k = k / d where k < d, else 0:      the part of the tied that it leaves out
//                  and of the number of cells with more than K events.
//                  The term k of a cell is then one of Breslow's with e_k events and, in the place of
//                  S, S - c_k T, where T are the sums over the events alone.
// Method           Comparisons of d with 0 .. K; [d = j] = [j - 1 < d] - [j < d]; the rest is local.
// Error            c: (K + 1) 2^-41.
// Cost             IsNegative of (K + 1) numbers for each cell, and ToRing of as many bits.
// Revealed         Nothing.
// Timing           constant in shares; not in shapes and bounds (public). Not run by tests/ctime.
// Source           B. Efron, "The efficiency of Cox's likelihood function for censored data", JASA 1977.
#pragma once

#include "mpc/engine.h"

namespace partita::methods::survival {

inline constexpr int kGoneBits = 40;

// Block k of the rows is that of the term k of every cell.
struct TiedTerms {
  mpc::Shared events;  // e: K cells x 1
  mpc::Shared gone;    // c of k = 1 .. K - 1: (K - 1) cells x 1
  mpc::Shared beyond;  // 1 x 1
};
// events: cells x 1, whole numbers; most: K, at least 2. Of cells with more events c is not that.
TiedTerms TermsOfTies(mpc::Engine& engine, const mpc::Shared& events, size_t most);

}  // namespace partita::methods::survival
