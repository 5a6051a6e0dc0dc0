// One holder's table, read, checked, put into the agreed row order and made ready for the method.
#pragma once

#include <filesystem>
#include <memory>

#include "base/progress.h"
#include "crypto/random.h"
#include "data/holding.h"
#include "data/repair.h"
#include "data/snapshot.h"
#include "match/row_order.h"
#include "run/method/study.h"

namespace partita::run {

// Cells of the columns that the study reads.
struct OwnCells {
  uint64_t rows = 0, missing = 0;
};

// Rows that are in memory at a time where they pass (RowsInPieces).
inline constexpr uint64_t kRowsOfPiece = uint64_t{1} << 16;

struct LocalData {
  data::Holding holding;  // without rows where they have passed
  OwnCells cells;         // after repairs, for the owner only
  data::Snapshot snapshot;
  match::BlockDigests row_order;
  // Of a party whose block is matched: rows of its table, in the common order (MatchedRows::rows).
  std::vector<uint32_t> matched;
  std::unique_ptr<MethodRows> method;
  OwnRows rows;
  data::RepairedCells repaired;  // of a private study; for the owner only
  double seconds_read = 0,
         seconds_order = 0;  // CSV and checks; sorting and digests of the row order
};

// Whether rows pass where the method needs no more of them than their sums.
enum class Rows { kPass, kKept };

// Reads `path` as `party`, and beside it the result of the matching where the study names one, and
// commits to the table's bytes under `salt`; of a file of sums (pushed_sums.h), to these. Throws kRefused or kBadData unless that result is of the
// matching that the study names and of this table: of its other rows no cell but those of keys is
// looked at. Throws kBadData (details for the
// owner only), or kBadInput if the file cannot be read. In a private study what is in a row stops
// nothing (data/repair.h): what does is a file that is no CSV, a column that the header lacks, keys
// of shared blocks that are missing or stand twice, and numbers of rows that differ from those
// declared or are too many for the method; and what is said of a matching.
LocalData LoadLocalData(const Study& study, size_t party, const std::filesystem::path& path,
                        const crypto::Key& salt, Progress& progress, Rows rows = Rows::kPass);

// Throws kBadInput if others than its owner may read the result of a matching that the study takes
// rows of the table from. Before a party's own run and approval; tests on one machine need no secrets.
void RequireOwnersResult(const Study& study, size_t party, const std::filesystem::path& table);

// What a party without a table brings: nothing, in the right shape.
LocalData NoLocalData(const Study& study);

}  // namespace partita::run
