#include "sums/protocol/accepted_set.h"

#include <algorithm>
#include <iterator>

#include "base/error.h"

namespace partita::sums {
namespace {

constexpr size_t kEntryBytes = sizeof(ClientId) + sizeof(UploadId);

}  // namespace

Bytes EncodeSet(const AcceptedSet& set) {
  Bytes bytes;
  bytes.reserve(set.size() * kEntryBytes);
  for (const AcceptedUpload& entry : set) {
    bytes.insert(bytes.end(), entry.client.begin(), entry.client.end());
    bytes.insert(bytes.end(), entry.upload.begin(), entry.upload.end());
  }
  return bytes;
}

AcceptedSet ParseSet(ByteView bytes) {
  if (bytes.size() % kEntryBytes != 0) {
    throw Error(ErrorCode::kPeerFault, "a set of uploads has a wrong length");
  }
  AcceptedSet set(bytes.size() / kEntryBytes);
  for (size_t i = 0; i < set.size(); ++i) {
    const ByteView entry = bytes.subspan(i * kEntryBytes, kEntryBytes);
    std::copy_n(entry.begin(), sizeof(ClientId), set[i].client.begin());
    std::copy_n(entry.begin() + sizeof(ClientId), sizeof(UploadId), set[i].upload.begin());
    if (i > 0 && set[i].client <= set[i - 1].client) {
      throw Error(ErrorCode::kPeerFault, "a set of uploads is not sorted by client");
    }
  }
  return set;
}

crypto::Digest SetHash(const StudyHash& study, uint64_t epoch, const AcceptedSet& set) {
  crypto::Sha256 hash;
  hash.Field("partita dca accepted set").Update(study).U64(epoch).Field(EncodeSet(set));
  return hash.Finish();
}

AcceptedSet Intersect(std::span<const AcceptedSet> sets) {
  if (sets.empty()) throw Error(ErrorCode::kUsage, "an intersection of no sets of uploads");
  AcceptedSet common = sets.front();
  for (const AcceptedSet& set : sets.subspan(1)) {
    AcceptedSet both;
    std::ranges::set_intersection(common, set, std::back_inserter(both));
    common = std::move(both);
  }
  return common;
}

}  // namespace partita::sums
