// Summing by several processes over one store: chunks of the agreed set under leases
// (chunk_board.h), added up when all are there.
//
// A worker process needs what the compute node needs for summing: its secret key, and the right to
// read shares and write chunks. Chunks' sums are stored encrypted and authenticated under a key of
// the node, bound to the agreed set and their place in it, so that whoever writes to the store can
// neither read them nor put one in another's place. Rounds and bytes: none between institutions.
//
// What each adds does not matter: sums in the ring do not depend on order, so the sum has the same
// bytes whoever did which part, however often.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>

#include "crypto/random.h"
#include "sums/protocol/masked_sum.h"
#include "sums/protocol/open_upload.h"
#include "sums/spool/spool.h"

namespace partita::sums {

// Where a worker has its time from; tests turn the hands.
struct WorkClock {
  std::function<int64_t()> now_ms;       // since 1970
  std::function<void(int64_t ms)> wait;  // for that long, or less
};
WorkClock SystemWorkClock();

struct WorkerSettings {
  std::string name = "worker";  // in the store, for the operator
  unsigned threads = 2;
  // A worker that needs longer for a chunk risks that another does it too.
  std::chrono::milliseconds lease = std::chrono::seconds(60);
  // How often to look again when all that is left is held by others.
  std::chrono::milliseconds poll = std::chrono::milliseconds(200);
  // Uploads per chunk; 0: such that a chunk is some 8 MiB of shares, at least 256 uploads.
  uint32_t chunk_uploads = 0;
  WorkClock clock = SystemWorkClock();
};

// Sums chunks of the closed round in `spool` until every one has a result, and returns how many
// results came from here. What `partita compute-worker` runs; any number at the same time. Memory:
// the agreed set (48 bytes per client) and per thread one page of shares and two vectors. Throws
// kRefused if the round is not closed, kUsage if the store is not shared (Spool::chunks), kBadInput
// if the store lacks a share of the agreed set or holds one that was changed, or if this node did
// not record that set.
uint32_t HelpToSum(Spool& spool, const NodeRound& round, const WorkerSettings& settings,
                   crypto::RandomSource& random);

// The same for `agreed`, which must be the recorded set, and then the sum of all chunks. Throws
// kBadInput too if a chunk's stored sum was changed.
MaskedSum SumWithWorkers(Spool& spool, const NodeRound& round, const AcceptedSet& agreed,
                         const WorkerSettings& settings, crypto::RandomSource& random);

}  // namespace partita::sums
