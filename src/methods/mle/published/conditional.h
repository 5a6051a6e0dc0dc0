// Protocol `conditional`: the log-likelihood along a chain of nodes that hold columns of the same
// rows (Snoke, Brick, Slavkovic & Hunter 2018, Algorithm 4 with Algorithms 5 to 11).
//
// FOR SIMULATION AND COMPARISON ONLY: what the nodes see determines rows (published/attacks).
//
// Ideal function    Rows held by nodes 1..K; the central node chooses mean and covariance of all
//                   variables and learns Q = sum_i (x_i - mu) S^-1 (x_i - mu)', LL = -1/2 Q +
//                   constants that it knows. methods.md 0, item 1 has the corrections: the factor
//                   -1/2 is outside, the conditional covariance stands in every place of Algorithm
//                   7, M_k+1 masks p_k+ columns, and P enters eq. (22) once.
// Method            With e = x - mu~, mu~ = mu + P:  (e + R) S^-1 (e - R)' + R S^-1 R' = e S^-1 e'.
//                   Node k adds its e S^-1 e' to the running total, which P_k alone masks;
//                   A1 = (e + R) S^-1 and A2 = (e - R) S^-1 + Q let the centre remove P at the end
//                   and make the next conditional means.
// Masks             kRing: everything is an integer modulo 2^128 (data 26 bits, S^-1 and Sigma_k,k+
//                   27 bits), masks are uniform, and identities hold exactly. B would grow by 54
//                   bits at every node, so the centre gives it a fresh mask P' and node and centre
//                   both drop the bits (Shorten); P stands for the shortened P' from there on. A
//                   conditional mean is wrong with probability below 2^-43 per entry (|mu| < 16).
//                   kPaper: doubles, masks uniform in [500, 2000).
// Revealed          To the centre: Q (hence LL) of every block at every question; R-k counts the
//                   rank. To node k+1: P_k, R_k, C_k, S_k+1 and the running total. The total of
//                   node 1 is masked by P_1 alone, which node 2 has: n p_1 + p_1 (p_1 + 1) / 2 + 1
//                   questions at one theta give node 2 the rows x_1 - mu_1, whatever the masks.
//                   (Later totals are masked by P_1 .. P_k-1 as well.) Centre and node k+1 together
//                   have the rows of node k at once. kPaper also: R averages out at the centre.
// Cost              Per question and block ConditionalRounds rounds and ConditionalElements
//                   elements (doubles 8 bytes, ring 16); FitPublished adds a byte to every party
//                   that says that there is a question.
// Accuracy          kRing: half a unit of 2^-26 per cell, and one per conditional mean. kPaper:
//                   doubles lose |mask|^2 / |x|^2 of their digits.
// Limits            Q below 2^48: n p below 2^26 with square distances below 2^22 per cell.
#pragma once

#include <cstdint>
#include <functional>

#include "crypto/random.h"
#include "methods/mle/published/normal.h"
#include "methods/mle/published/numbers.h"

namespace partita::methods::mle::published {

// What the centre can keep of one node's part of a question: A1, and what it knows itself.
template <typename T>
struct CentreSight {
  size_t block = 0, node = 0;
  const Matrix<T>&p, &a1, &precision;
  const Matrix<T>& noisy_mean;  // of this node's columns, as far as the centre has it: mu or mu~*
};

// What node k+1 can keep: what came from node k and the centre.
template <typename T>
struct NodeSight {
  size_t block = 0, node = 0;               // the receiver's place in the chain
  const Matrix<T>&previous_p, &previous_r;  // P_k, R_k
  T running_total = 0;                      // as node k sent it, with P_k Q_k
};

// Semi-honest parties follow the protocol and keep what they see.
template <typename T>
using CentreWatch = std::function<void(const CentreSight<T>&)>;
template <typename T>
using NodeWatch = std::function<void(const NodeSight<T>&)>;

// At the centre: one question. watch may be empty.
template <typename T>
Answer AskConditional(net::Channel& channel, const Layout& layout, const Question& question,
                      crypto::RandomSource& random, const CentreWatch<T>& watch);
// At a node: answers one question.
template <typename T>
void AnswerConditional(net::Channel& channel, const Layout& layout, const OwnRows& rows,
                       crypto::RandomSource& random, const NodeWatch<T>& watch);

}  // namespace partita::methods::mle::published
