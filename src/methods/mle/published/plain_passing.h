// Protocol `plain-passing`: the chain of conditionals without any masks (Snoke et al. 2018,
// Algorithm 12), the baseline that shows what masks cost.
//
// FOR SIMULATION AND COMPARISON ONLY.
//
// Ideal function    As conditional.h.
// Revealed          Everything that the masks would hide: node k+1 sees the conditional means of
//                   its and all later columns given the rows of nodes 1..k (so, with the
//                   covariances, which it sees too, projections of those rows), the running
//                   log-likelihood, all parameters of its own and later columns; the centre sees
//                   what it sees in `conditional`.
// Cost              Per question and block K + 1 rounds and a word to every party.
#pragma once

#include <functional>

#include "methods/mle/published/normal.h"

namespace partita::methods::mle::published {

Answer AskPlainly(net::Channel& channel, const Layout& layout, const Question& question);

// What node k+1 can keep: the means of its and all later columns given the rows of nodes 1..k, one
// row per observation.
struct PlainSight {
  size_t block = 0, node = 0;  // the receiver's place in the chain
  const Eigen::MatrixXd& conditional_mean;
};
using PlainWatch = std::function<void(const PlainSight&)>;

// watch may be empty.
void AnswerPlainly(net::Channel& channel, const Layout& layout, const OwnRows& rows,
                   const PlainWatch& watch);

}  // namespace partita::methods::mle::published
