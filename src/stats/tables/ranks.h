// Rank tests of groups from histograms on common cells: values of one cell are tied.
//
// Source   W. H. Kruskal, W. A. Wallis, "Use of ranks in one-criterion variance analysis", Journal of
//          the American Statistical Association 1952, corrected for ties; R's kruskal.test. With two
//          groups its root is the |z| of Wilcoxon's rank-sum test without correction for continuity.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace partita::stats::tables {

// counts[cell][group]. Groups without values count for nothing. Empty where all values are in one
// cell, or there are none.
std::optional<double> KruskalWallis(const std::vector<std::vector<uint64_t>>& counts);

}  // namespace partita::stats::tables
