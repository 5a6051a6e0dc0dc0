// One holder's table, read, checked and put into the agreed row order.
#pragma once

#include <filesystem>
#include <vector>

#include "base/progress.h"
#include "crypto/random.h"
#include "data/holding.h"
#include "data/snapshot.h"
#include "match/row_order.h"
#include "methods/mle/pooled_moments.h"
#include "runtime/mle_study.h"

namespace partita::runtime {

struct LocalData {
  data::Holding holding;
  data::Snapshot snapshot;
  match::BlockDigests row_order;
  std::vector<methods::mle::LocalBlock> blocks;  // by block of the task
  double seconds_read = 0,
         seconds_order = 0;  // CSV and checks; sorting and digests of the row order
};

// Reads `path` as `party` and commits to it under `salt`. Throws kBadData (details for the owner
// only), or kBadInput if the file cannot be read.
LocalData LoadLocalData(const MleStudy& study, size_t party, const std::filesystem::path& path,
                        const crypto::Key& salt, Progress& progress);

}  // namespace partita::runtime
