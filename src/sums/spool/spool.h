// Where one compute node keeps the uploads and the state of one round (study, epoch), durably.
//
// Contract of every implementation: a change is on stable storage when the call that made it
// returns, or is not there at all after a crash (a call that throws may have happened or not).
// Calls of several threads are serialised. The states follow one another and never return:
//   open -> frozen (nothing more is accepted) -> closed (the agreed set is recorded) -> published
// That holds for honest stores. Whoever can write to one, or put it back, can do anything else:
// what is read is checked (compute_node.h), and what was opened is remembered elsewhere too
// (sums/service/round_charge.h).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/bytes.h"
#include "crypto/hash.h"
#include "sums/protocol/accepted_set.h"
#include "sums/spool/chunk_board.h"

namespace partita::sums {

struct StoredShare {
  ClientId client{};
  UploadId upload{};
  crypto::Digest request{};  // SHA-256 of the envelope as it came, to know identical retries
  Bytes share;               // the content, encrypted for this node alone (compute_node.h)
};

enum class PutResult {
  kStored,     // new, durable
  kIdentical,  // this client's request is here already
  kDifferent,  // another request of this client is here
  kFrozen,     // nothing of this client is here, and nothing more is taken
};

class Spool {
 public:
  virtual ~Spool() = default;

  // All in one transaction, one result each, in order; whether the round is frozen is decided
  // inside it. Of equal clients in one call the first is stored.
  virtual std::vector<PutResult> Put(std::span<const StoredShare> shares) = 0;
  // Nothing is stored any more. Again: no effect.
  virtual void Freeze() = 0;
  virtual bool frozen() = 0;
  // All stored uploads.
  virtual AcceptedSet Accepted() = 0;
  // The stored shares with client > after (all if empty), sorted by client: as many as fit
  // max_bytes, but at least one; none at the end.
  virtual std::vector<StoredShare> Shares(const std::optional<ClientId>& after,
                                          size_t max_bytes) = 0;
  // The one closing of this round (SealSet). Throws kRefused if another one was recorded, or if the
  // round is not frozen; the same one again has no effect.
  virtual void RecordClosing(ByteView closing) = 0;
  virtual std::optional<Bytes> closing() = 0;
  // What this node publishes, before it leaves. Returns what is recorded: the argument, or what was
  // recorded earlier. Throws kRefused if there is no closing.
  virtual Bytes RecordPublication(ByteView publication) = 0;
  virtual std::optional<Bytes> publication() = 0;

  // Where several processes share the work of summing this round; null if one process has this
  // store for itself.
  virtual ChunkBoard* chunks() { return nullptr; }
};

// An epoch as the stores hold it: a blob, least byte first.
inline std::array<uint8_t, 8> EpochBytes(uint64_t epoch) {
  std::array<uint8_t, 8> bytes{};
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<uint8_t>(epoch >> (8 * i));
  return bytes;
}

}  // namespace partita::sums
