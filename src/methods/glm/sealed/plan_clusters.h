// What a study with errors of clusters at level `sealed` is asked, and what its plan says.
#pragma once

#include <string>
#include <vector>

#include "methods/glm/study.h"

namespace partita::methods::glm {

// Indicators of rows by values: up to two copies of 16 bytes each (clusters.h).
inline constexpr uint64_t kMostMembers = uint64_t{1} << 24,
                          kMostMembersByTransfers = uint64_t{1} << 18;
// Scores: values by holders of them by columns.
inline constexpr uint64_t kMostClusterScores = uint64_t{1} << 21;

// Values that the clusters' variable may have; 0 without clusters.
uint64_t NumClusterValues(const GlmStudy& study);

// Parties that hold the clusters' variable; 0 without clusters.
uint64_t NumClusterHolders(const GlmStudy& study);

// Throws kBadInput with the place for more than kMostMembers rows times values, kMostClusterScores scores, or
// mpc::kMostClusters values of all holders. Of a study whose rows are declared.
void RequireClusters(const GlmStudy& study);

// Throws kBadInput with the place where no rows would pass the check of how many clusters there are (counts.h):
// fewer values at the holders, or fewer rows, than it asks for, of all rows or without a group's. Of a study
// with its layout.
void RequireEnoughClusters(const GlmStudy& study);

// Rows of all blocks one after the other, where `row_blocks` names the block of each, by the holder of their
// clusters; without clusters all of them at once.
std::vector<std::vector<size_t>> PooledRowsByClusters(const GlmStudy& study,
                                                      const std::vector<std::string>& row_blocks);

// Values at each holder of clusters of which it has a row that it does not leave out (clusters.h), of all rows
// together. row_blocks: as above.
uint64_t NumOwnClusters(const GlmStudy& study, const data::Table& rows,
                        const std::vector<std::string>& row_blocks);

// What nobody learns, and what is public, of a study with clusters.
std::string ClustersText(const GlmStudy& study);

}  // namespace partita::methods::glm
