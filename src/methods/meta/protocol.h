// Meta-analysis of sites' estimates: of which sites there are any, and what opens of them.
//
// Ideal function   (every site's estimate and error, or none) -> to everybody, how many sites have one;
//                  if they are enough: at level `pooled` tau^2 to everybody (tau_search.h) and the
//                  pooled estimate (pooling.h); at level `site-estimates` instead, to the receiver or
//                  all, every site's estimate and standard error in multiples of 2^e, e = floor(log2(g
//                  SE)), with e, and which sites have none.
// Revealed         Releases `sites`, `search` and `pooled`, or `sites` and `site-estimates`.
// Cost             One input and one opening, and those of tau_search.h and pooling.h, or one of each.
#pragma once

#include <optional>
#include <vector>

#include "methods/meta/pooling.h"
#include "methods/meta/tau_search.h"

namespace partita::methods::meta {

inline constexpr char kSitesRelease[] = "sites", kSiteEstimatesRelease[] = "site-estimates";
inline constexpr uint64_t kNumOfSite = 4;

// Opens it to everybody; all holders where it is not learned.
uint64_t OpenSites(mpc::Engine& engine, const Task& task, const SiteEstimate& own);

// Level `pooled`.
std::optional<OpenedPool> OpenPooled(mpc::Engine& engine, const Task& task, const SiteEstimate& own,
                                     uint64_t sites);

// Level `site-estimates`: by holder, rounded by the holder.
std::optional<std::vector<SiteEstimate>> OpenSiteEstimates(mpc::Engine& engine, const Task& task,
                                                           const SiteEstimate& own);

// What the sites' estimates say: at level `site-estimates`, in the clear.
OpenedPool PoolOfSites(const Spec& spec, const std::vector<SiteEstimate>& sites);

}  // namespace partita::methods::meta
