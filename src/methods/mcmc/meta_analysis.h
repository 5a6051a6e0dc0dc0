// Two-stage meta-analysis: every party fits its own rows, and only sums over the parties open,
// beside the one-stage fit of a chain.
//
// Estimates b_k with standard errors s_k of one coefficient at each of m parties.
//   Stage 1   sums of w, w b, w b^2 and w^2, w = 1 / s^2: the fixed-effect estimate, Cochran's Q,
//             I^2, and tau^2 by DerSimonian & Laird (Controlled Clinical Trials 1986).
//   Stage 2   sums of w* and w* b, w* = 1 / (s^2 + tau^2), tau^2 public by then: the random-effects
//             estimate.
// Revealed   To everybody the six sums, and what follows from them; no party's estimate. With two
//            parties each can subtract its own and has the other's, so three are needed.
// Precision  Sums are rounded to 2^-40. Weights are at most kLargestWeight.
// Rounds     Two inputs and openings.
#pragma once

#include <cstdint>
#include <vector>

#include "mpc/engine.h"

namespace partita::methods::mcmc {

inline constexpr double kLargestWeight = 0x1p30, kLargestEstimate = 0x1p10;
inline constexpr char kFirstSumsRelease[] = "meta-fixed", kSecondSumsRelease[] = "meta-random";

// By coefficient.
struct SiteEstimates {
  std::vector<double> estimate, standard_error;
};

struct PooledEstimate {
  double fixed = 0, fixed_error = 0;
  double random = 0, random_error = 0;
  double q = 0, tau_squared = 0, i_squared = 0;  // i_squared in [0, 1)
};

std::vector<mpc::Release> MetaReleasesOf(size_t coefficients);

// own: this party's; empty at the dealer, where the result is empty too. Throws kBadInput for fewer
// than three parties, kBadData, to the owner, for an estimate or error out of range.
std::vector<PooledEstimate> PoolEstimates(mpc::Engine& engine, size_t coefficients,
                                          const SiteEstimates& own);

// The same in the clear.
PooledEstimate PoolInTheClear(const std::vector<double>& estimates,
                              const std::vector<double>& standard_errors);

}  // namespace partita::methods::mcmc
