// Accept-reject decisions of which only the bit opens: Version 3 of Aslett's confidential
// accept-reject, with a threshold of which nobody knows any part (methods.md 5.3).
//
// Ideal function   (each party's log-ratio differences for C chains) -> to everybody, C bits
//                  [sum_p difference_p + V >= 0], V fresh for every decision: -log U (Metropolis)
//                  or logistic (Barker).
// Method           V is made of bits to which every party contributes (mpc/functions/variates.h),
// ahead,
//                  for many decisions at once. Online: C numbers from each party, one comparison.
// Revealed         The bits. With Barker's rule each is (Delta, (1 + e^Delta) 2^-39)-private
//                  for differences that one person moves by at most Delta: the distribution of V
//                  errs by 2^-39 at most (variates.h), and the deltas of all bits add up.
//                  Metropolis's chain has no such bound (methods.md 5.3).
// Precision        Differences are rounded to 2^-40, V errs by 2^-39 at most in its distribution; a
// bit
//                  is the exact one unless |log r + V| < (P + 2) 2^-41.
// Range            A party's difference beyond +-kLargestDifference is cut to it (-infinity: the
//                  proposal is impossible): |V| < 29, so the decision is the same unless the
//                  others' differences outweigh it, where the proposal is rejected with certainty
//                  only if their sum stays below kLargestDifference.
// Cost             Input of C numbers, Decompose and the carries of C comparisons, one opening:
//                  1 + D + ceil(log2 (w - 1)) rounds (compare.h).
#pragma once

#include <deque>
#include <span>
#include <vector>

#include "mpc/engine.h"
#include "stats/mcmc/chains.h"

namespace partita::methods::accept {

inline constexpr double kLargestDifference = 0x1p20;
inline constexpr int kDecisionBits = 40;
inline constexpr char kDecisionsRelease[] = "decisions";

struct DecisionTask {
  size_t chains = 1;  // decided together
  stats::mcmc::Acceptance acceptance = stats::mcmc::Acceptance::kBarker;
  // Variates are made for so many decisions of all chains at once.
  size_t ahead = 64;
};

// `decisions`: of all chains together, each; the gate counts them.
mpc::Release ReleaseOf(const DecisionTask& task, uint64_t decisions);

class Decisions {
 public:
  // random: this party's, for its part of the bits. Both must outlive the object.
  Decisions(mpc::Engine& engine, const DecisionTask& task, crypto::RandomSource& random)
      : engine_(engine), task_(task), random_(random) {}

  // own: this party's differences, the public prior's with one party's; empty at the dealer. One
  // bit per chain; empty at the dealer. Throws kBadData, to the owner, for NaN or +infinity. Makes
  // variates when none are left.
  std::vector<bool> Decide(std::span<const double> own);
  // Ahead of time: variates for the next `decisions`.
  void Prepare(size_t decisions);

 private:
  mpc::Engine& engine_;
  DecisionTask task_;
  crypto::RandomSource& random_;
  std::deque<mpc::Shared> variates_;  // 1 x chains each
};

}  // namespace partita::methods::accept
