// One holder's table, read, checked, put into the agreed row order and made ready for the
// computations: values of the design columns, and selectors of the rows.
#pragma once

#include <filesystem>
#include <vector>

#include "base/progress.h"
#include "crypto/random.h"
#include "data/holding.h"
#include "data/snapshot.h"
#include "match/row_order.h"
#include "runtime/mle_study.h"
#include "runtime/protocol.h"

namespace partita::runtime {

// The owner's own counts over all its blocks, by its own columns: in a block whose columns are
// split, other holders may drop more rows. For its own report only.
struct OwnRows {
  uint64_t observed = 0, not_in_population = 0, incomplete = 0;  // each row for its first reason
};

struct LocalData {
  data::Holding holding;
  data::Snapshot snapshot;
  match::BlockDigests row_order;
  LocalRows protocol_rows;
  OwnRows rows;
  double seconds_read = 0,
         seconds_order = 0;  // CSV and checks; sorting and digests of the row order
};

// Reads `path` as `party` and commits to its bytes under `salt`. Throws kBadData (details for the
// owner only), or kBadInput if the file cannot be read.
LocalData LoadLocalData(const MleStudy& study, size_t party, const std::filesystem::path& path,
                        const crypto::Key& salt, Progress& progress);

// What a party without a table brings: nothing, in the right shape.
LocalData NoLocalData(const MleStudy& study);

}  // namespace partita::runtime
