// What sites add up to at public tau^2, on shares.
//
// Weights   x = c / (s^2 + tau^2) with c = least error^2 + tau^2, which is public: in (0, 1], and at
//           least 2^-21. All in units (task.h).
// Columns   of x, x b, x b^2, x^2, x^2 b, x^2 b^2, a row for each tau^2. A site without an estimate
//           adds 0.
// Cost      One input.
// Revealed  Nothing.
#pragma once

#include <span>
#include <vector>

#include "methods/meta/task.h"
#include "mpc/engine.h"

namespace partita::methods::meta {

inline constexpr int kSumBits = 56;
inline constexpr double kLeastWeight = 0x1p-21;

struct SharedSums {
  mpc::Shared w, wb, wbb, ww, wwb, wwbb;  // one row for each tau^2
};

// own: at a holder; not used elsewhere.
SharedSums ShareSums(mpc::Engine& engine, const Task& task, const SiteEstimate& own,
                     std::span<const double> tau_squared);

// c of a weight.
double WeightUnit(const Spec& spec, double tau_squared);

}  // namespace partita::methods::meta
