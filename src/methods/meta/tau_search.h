// tau^2 of sites on shares: which of public candidates are below it.
//
// Ideal function   (estimates and errors of the sites) -> to everybody, for each pass how many
//                  candidates there are before the first one at which the score is not positive.
// Score            of stats/meta/pool.h, times c^2 (c of site_sums.h): with m = sum x b / sum x
//                  REML: sum x^2 (b - m)^2 - c (sum x - sum x^2 / sum x);
//                  DerSimonian and Laird, of weights without tau^2: sum x (b - m)^2 - c (sites - 1)
//                  - tau^2 (sum x - sum x^2 / sum x), over c.
//                  All candidates of a pass at once; the sites weigh in the clear, as candidates are
//                  public.
// Error            Of the score 2^-52 absolute where it is made of terms of at least 2^-42: a
//                  thousandth, so that a candidate that is that close to the root may fall on either
//                  side.
// Revealed         Release `search`: kRungBits a pass.
// Cost             A pass: one input (of DerSimonian and Laird in the first only), Divide, two rounds
//                  of products, one comparison and one of small numbers, one opening.
#pragma once

#include <cstdint>

#include "methods/meta/site_sums.h"

namespace partita::methods::meta {

inline constexpr char kSearchRelease[] = "search";

// In units. sites: of which estimates are there. Where nothing is learned the result means nothing.
double SearchTau(mpc::Engine& engine, const Task& task, const SiteEstimate& own, uint64_t sites);

}  // namespace partita::methods::meta
