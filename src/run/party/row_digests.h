// Digests by which a record of served rows (row_sets.h) names rows, under its key.
#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

#include "crypto/random.h"
#include "data/holding.h"
#include "run/method/study.h"
#include "run/party/local_data.h"

namespace partita::run {

// Of the holding's block; null: it is not matched.
const study::RowMatch* HoldingMatch(const Study& study, const data::Holding& holding);

// In the order of the holding's table, by every way to name its rows; 0 at a position without a row. Reads the
// table at `data` again, a record at a time where all rows are those of one block. Throws kBadData if it has
// changed.
std::vector<std::vector<uint64_t>> DigestsOf(const Study& study, const LocalData& local,
                                             const std::filesystem::path& data,
                                             const crypto::Key& key);

// Of a matching of which nobody knows which rows match.
uint64_t HiddenMatching(const study::RowMatch& match, const crypto::Key& key);

// A study with a key column names rows by it, and which column that was or will be a matching does
// not know: of hidden rows, the cells of all of them, so that a keyed study of any has one in common.
std::vector<uint64_t> CellsAsKeys(const Study& study, const LocalData& local,
                                  const std::filesystem::path& data, const crypto::Key& key);

}  // namespace partita::run
