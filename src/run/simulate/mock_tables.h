// Mock tables of a study, in the folders where its commands look for tables.
#pragma once

#include <filesystem>
#include <vector>

#include "data/mock.h"
#include "run/method/study.h"

namespace partita::run {

// Share of missing cells where the study copes with them.
inline constexpr double kMockMissingRate = 0.03;

// data::MakeMockStudy with what the study file says: format of the tables, missing cells if the
// design drops incomplete rows, its patterns of missing values if there are, and the indicators of
// one latent variable as a cluster.
data::MockStudy MakeMockTables(const Study& study, uint64_t rows_per_block, uint64_t seed);

// Of a block that is matched the tables have rows besides, each holder others, and MATCHING.matched
// lies beside each: the made-up result of a matching, which says that it is the study's. The tables
// have a column of keys for it, kMockKey.
inline constexpr char kMockKey[] = "mock-key";

// Writes FOLDER/PARTY/data.csv for every holder and returns the paths by channel index (empty for
// others). Throws kUsage if a file is there already or cannot be written: real data is never
// overwritten.
std::vector<std::filesystem::path> WriteMockTables(const Study& study, const data::MockStudy& mock,
                                                   const std::filesystem::path& folder);

}  // namespace partita::run
