// One holder's table, read, checked, put into the agreed row order and made ready for the method.
#pragma once

#include <filesystem>
#include <memory>

#include "base/progress.h"
#include "crypto/random.h"
#include "data/holding.h"
#include "data/snapshot.h"
#include "match/row_order.h"
#include "runtime/study.h"

namespace partita::runtime {

struct LocalData {
  data::Holding holding;
  data::Snapshot snapshot;
  match::BlockDigests row_order;
  std::unique_ptr<MethodRows> method;
  OwnRows rows;
  double seconds_read = 0,
         seconds_order = 0;  // CSV and checks; sorting and digests of the row order
};

// Reads `path` as `party` and commits to its bytes under `salt`. Throws kBadData (details for the
// owner only), or kBadInput if the file cannot be read.
LocalData LoadLocalData(const Study& study, size_t party, const std::filesystem::path& path,
                        const crypto::Key& salt, Progress& progress);

// What a party without a table brings: nothing, in the right shape.
LocalData NoLocalData(const Study& study);

}  // namespace partita::runtime
