// Protocol `secure-sum`: log-likelihoods of nodes that hold whole rows, added up around a ring of
// nodes (Snoke et al. 2018, Algorithm 2; Karr, Lin, Sanil & Reiter 2007).
//
// FOR SIMULATION AND COMPARISON ONLY.
//
// Ideal function    Every block held by one node; the centre chooses the distributions and learns
//                   the sum over nodes of Q_k (conditional.h). All nodes learn the question.
// Method            Node 1 adds a mask to its part, every next node adds its own, node 1 takes the
//                   mask off and tells the centre.
// Masks             kRing: modulo 2^128 in steps of 2^-40, the mask uniform. kPaper: a double,
//                   uniform in [500, 2000).
// Revealed          To the centre: the sum, at every question. Nodes k-1 and k+1 together: Q_k
//                   itself, at every question, and so, after enough of them, the moments of node
//                   k's rows. kPaper also: node 2 sees Q_1 up to 1500.
// Cost              Per question H + 1 rounds for H nodes, p + p^2 doubles to every node, H + 1
//                   elements, and a word to every party.
// Limits            At least three nodes (two of them tell each other their parts).
#pragma once

#include <functional>

#include "crypto/random.h"
#include "methods/mle/published/normal.h"
#include "methods/mle/published/numbers.h"

namespace partita::methods::mle::published {

// What a node gets from the one before it and sends to the one after: colluding neighbours of a
// node compare.
template <typename T>
struct SumSight {
  T received = 0, sent = 0;
};
template <typename T>
using SumWatch = std::function<void(const SumSight<T>&)>;

inline constexpr int kSumBits = 40;

// The answer has one entry per group: the sums over all its blocks. Groups are summed one after the
// other. Throws kUsage for a layout with a shared block or fewer than three nodes.
template <typename T>
Answer AskForSum(net::Channel& channel, const Layout& layout, const Question& question);
template <typename T>
void AnswerSum(net::Channel& channel, const Layout& layout, const OwnRows& rows,
               crypto::RandomSource& random, const SumWatch<T>& watch);
void CheckSumLayout(const Layout& layout);

}  // namespace partita::methods::mle::published
