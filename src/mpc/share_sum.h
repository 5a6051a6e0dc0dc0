// Shares that engines of one kind gave one party, added by that party alone.
//
// Sharings are linear: if every party adds its own shares of a and of b, it has a share of a + b, whichever
// connections and correlations a and b came over, as long as both are by the same engine between the same
// parties. Sums of ring or field elements are exact, so the order does not matter.
//
// Timing  as Engine::Add.
#pragma once

#include <vector>

#include "mpc/engine.h"

namespace partita::mpc {

// How elements of a sharing add up.
enum class ShareRing {
  kNone,      // no shares: the dealer, a plan
  kRing128,   // modulo 2^128: engines dealer, ot and replicated
  kField127,  // modulo 2^127 - 1: engine shamir
};

// The elements behind handles, all components of one after the other.
struct ShareWords {
  ShareRing ring = ShareRing::kNone;
  std::vector<UInt128> words;
};

// Throws kUsage for handles of other engines, or of several kinds.
ShareWords WordsOf(const std::vector<Shared>& values);
// The handles `like` with these elements instead of their own; kUsage unless there are as many.
std::vector<Shared> WithWords(const std::vector<Shared>& like, const ShareWords& words);
// Entry by entry; kUsage unless they are of one kind and as many.
void AddWords(ShareWords& sum, const ShareWords& more);

// sum[i] += more[i], of the same shape and fraction bits. The bound of sum[i] stays: the caller has stated
// that of the whole sum.
void AddShares(std::vector<Shared>& sum, const std::vector<Shared>& more);

}  // namespace partita::mpc
