// A commitment to the exact bytes of a table: peers see that a party does not change its data
// during a study, and learn nothing about the data.
//
// commitment = SHA-256("partita snapshot v1" || salt || bytes), salt: 32 secret random bytes, new
// for every study and kept by the owner. Without the salt the digest of a small table could be
// found by trying tables; with it the commitment hides (random oracle) and binds (collision
// resistance).
#pragma once

#include <filesystem>

#include "crypto/hash.h"
#include "crypto/random.h"

namespace partita::data {

struct Snapshot {
  crypto::Key salt;  // never leaves the owner
  crypto::Digest commitment{};
};

// Streaming: pass the bytes in order, e.g. as the observer of ReadCsvFile.
class SnapshotHasher {
 public:
  explicit SnapshotHasher(crypto::RandomSource& random);
  // Commits again under a kept salt, to check that a table is still the same.
  explicit SnapshotHasher(const crypto::Key& salt);

  void Update(ByteView bytes) { hash_.Update(bytes); }
  // To be called once.
  Snapshot Finish();

 private:
  crypto::Key salt_;
  crypto::Sha256 hash_;
};

// The snapshot of a whole file, of the bytes that are parsed (source/open_table.h). Throws kBadInput if it
// cannot be read.
Snapshot TakeSnapshot(const std::filesystem::path& path, crypto::RandomSource& random);

}  // namespace partita::data
