// Which uploads enter a sum: a set of (client, upload id), sorted by client, each client once.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/bytes.h"
#include "sums/protocol/upload.h"

namespace partita::sums {

struct AcceptedUpload {
  ClientId client{};
  UploadId upload{};

  auto operator<=>(const AcceptedUpload&) const = default;  // NOLINT(modernize-use-nullptr)
};

using AcceptedSet = std::vector<AcceptedUpload>;

// 48 bytes per upload.
Bytes EncodeSet(const AcceptedSet& set);
// Throws kPeerFault unless `bytes` is a set: sorted by client, each client once.
AcceptedSet ParseSet(ByteView bytes);

// What the compute nodes compare: the number of uploads and a SHA-256 of them, the study and the
// epoch.
crypto::Digest SetHash(const StudyHash& study, uint64_t epoch, const AcceptedSet& set);

// The uploads that every node has: what is agreed. Every node can compute it from the M frozen
// sets. A client whose nodes hold different uploads is in none of it. Throws kUsage for no sets.
AcceptedSet Intersect(std::span<const AcceptedSet> sets);

}  // namespace partita::sums
