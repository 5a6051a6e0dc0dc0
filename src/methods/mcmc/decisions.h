// Accept-reject decisions of which only the bit opens: Version 3 of Aslett's confidential
// accept-reject, with a threshold of which nobody knows any part (methods.md 5.3, 5.4).
//
// Ideal function   (each party's log-ratio differences for C chains) -> to everybody, C bits
//                  [sum_p difference_p + V >= 0], V fresh for every decision: -log U (Metropolis)
//                  or logistic (Barker).
// Blocks           k decisions at once: differences for all 2^k - 1 questions that may come up
//                  (stats/mcmc/chains.h), each with a V of its own; of every chain the k bits on
//                  the path that it takes are selected on shares, and only these open.
// Method           V is made of bits to which every party contributes (mpc/functions/variates.h),
//                  ahead, for many blocks at once. Online: an input, a comparison, selections.
// Revealed         The bits. With Barker's rule each is (Delta, (1 + e^Delta) 2^-39)-private for
//                  differences that one person moves by at most Delta (variates.h); the deltas of
//                  all bits add up. Metropolis's chain has no such bound (methods.md 5.3).
// Precision        Differences are rounded to 2^-40, V errs by 2^-39 at most in its distribution;
//                  a bit is the exact one unless |log r + V| < (P + 2) 2^-41.
// Range            A party's difference beyond +-kLargestDifference is cut to it (-infinity: the
//                  proposal is impossible): |V| < 29, so the decision is the same unless the
//                  others' differences outweigh it, where the proposal is rejected with certainty
//                  only if their sum stays below kLargestDifference.
// Cost             Input of (2^k - 1) C numbers, as many comparisons, fewer than 2^(k+2) C ANDs,
//                  one opening of k C bits: D + ceil(log2 (w - 1)) + ceil(log2 k) + 1 rounds with w
//                  of 62 to 65 bits (compare.h), where inputs cost no round: 8 on `dealer` and 9 on
//                  `replicated` for one decision, 12 and 13 for ten (`replicated`, whose messages
//                  go around a ring, takes one more for some k).
#pragma once

#include <Eigen/Core>
#include <deque>
#include <vector>

#include "mpc/engine.h"
#include "stats/mcmc/chains.h"

namespace partita::methods::mcmc {

inline constexpr double kLargestDifference = 0x1p20;
inline constexpr int kDecisionBits = 40;
inline constexpr size_t kMaxBlock = 10;
inline constexpr char kDecisionsRelease[] = "decisions";

struct DecisionTask {
  size_t chains = 1;  // decided together
  stats::mcmc::Acceptance acceptance = stats::mcmc::Acceptance::kBarker;
  // Variates are made for so many blocks of all chains at once.
  size_t ahead = 64;
  size_t block = 1;  // decisions at once, 1 to kMaxBlock
};

// By decision of the block and chain.
using Bits = std::vector<std::vector<bool>>;

// On the grid, cut to the range. Throws kBadData, to the owner, for NaN or +infinity.
Int128 EncodeDifference(double difference);

// The gate counts `blocks` of all chains together.
mpc::Release ReleaseOf(const DecisionTask& task, uint64_t blocks);

class Decisions {
 public:
  // random: this party's, for its part of the bits. Both must outlive the object. Throws kUsage for
  // a block out of range.
  Decisions(mpc::Engine& engine, const DecisionTask& task, crypto::RandomSource& random);

  // own: this party's differences, questions by chains, the public prior's with one party's; empty
  // at the dealer. Empty at the dealer. Throws kBadData, to the owner, for NaN or +infinity. Makes
  // variates when none are left.
  Bits Decide(const Eigen::MatrixXd& own);
  // Ahead of time: variates for the next `blocks`.
  void Prepare(size_t blocks);
  // Ahead of time: variates made elsewhere for one block, questions by chains, kDecisionBits.
  void Use(mpc::Shared variates) { variates_.push_back(std::move(variates)); }

  size_t questions() const { return (size_t{1} << task_.block) - 1; }

 private:
  mpc::SharedBits PathOf(const std::vector<mpc::SharedBits>& accepted);

  mpc::Engine& engine_;
  DecisionTask task_;
  crypto::RandomSource& random_;
  std::deque<mpc::Shared> variates_;  // questions x chains each
};

}  // namespace partita::methods::mcmc
