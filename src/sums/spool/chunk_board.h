// Who of several processes sums which part of the agreed set: chunks, leases on them, results.
//
// The agreed set, sorted by client, is cut into chunks of equally many uploads. A worker takes a
// chunk for a while, sums it and records the result. When the lease runs out, because the worker
// died or is slow, another may take the chunk. The result of a chunk is determined by its uploads,
// so a lease only saves work: whoever is first records the result, later ones change nothing.
//
// Times are milliseconds since 1970 by the clock of whoever asks; clocks that disagree make work
// be done twice, or wait longer, and change no result.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/bytes.h"

namespace partita::sums {

struct ChunkPlan {
  uint32_t chunk_uploads = 0;  // the last chunk may have fewer
  uint32_t chunks = 0;
};

class ChunkBoard {
 public:
  virtual ~ChunkBoard() = default;

  // Cuts a set of `uploads` (> 0) for good, into chunks of `chunk_uploads`. Returns what is
  // recorded: another process may have cut it before. Throws kRefused if there is no closing.
  virtual ChunkPlan CutChunks(uint32_t uploads, uint32_t chunk_uploads) = 0;
  // A chunk without result that nobody holds at `now_ms`, held by `worker` until `until_ms`;
  // nothing if there is none. No two calls get one chunk before its lease runs out.
  virtual std::optional<uint32_t> TakeChunk(const std::string& worker, int64_t now_ms,
                                            int64_t until_ms) = 0;
  // Whether this was the first result of this chunk; a later one is dropped.
  virtual bool RecordChunk(uint32_t chunk, ByteView result) = 0;
  // Chunks without a result.
  virtual uint32_t OpenChunks() = 0;
  virtual std::optional<Bytes> ChunkResult(uint32_t chunk) = 0;
};

}  // namespace partita::sums
