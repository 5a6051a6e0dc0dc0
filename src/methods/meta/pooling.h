// The pooled estimate of sites at a public tau^2, on shares: rounded to its grid, and opened.
//
// Ideal function   (estimates and errors of the sites) -> to the receiver, or all where the study
//                  says so: the pooled estimate and its standard error in multiples of 2^e, e =
//                  floor(log2(g SE)) of the standard error (sum w)^(-1/2), whichever opens; Q in
//                  multiples of g.
// Error            before it is rounded: of the estimate 2^-38, of a variance 2^-40, of Q 2^-20.
// Revealed         Release `pooled`: NumPooled numbers.
// Cost             One input, Divide, one round of products, one root, release_grid.h, one opening.
#pragma once

#include <cstdint>
#include <optional>

#include "methods/meta/site_sums.h"

namespace partita::methods::meta {

inline constexpr char kPooledRelease[] = "pooled";
inline constexpr uint64_t kNumPooled = 4;

struct OpenedPool {
  uint64_t sites = 0;
  double estimate = 0, standard_error = 0, tau_squared = 0, q = 0;  // as the variables are
  double step = 0;  // of the grid of estimate and error
};

// Empty where it is not learned.
std::optional<OpenedPool> OpenPool(mpc::Engine& engine, const Task& task, const SiteEstimate& own,
                                   uint64_t sites, double tau_squared);

}  // namespace partita::methods::meta
