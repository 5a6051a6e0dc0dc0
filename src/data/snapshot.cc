#include "data/snapshot.h"

#include <fmt/format.h>

#include "data/source/open_table.h"

namespace partita::data {

namespace {

constexpr std::string_view kLabel = "partita snapshot v1";

crypto::Key FreshSalt(crypto::RandomSource& random) {
  crypto::Key salt;
  random.Fill(salt.Expose());
  return salt;
}

Snapshot HashFile(const std::filesystem::path& path, SnapshotHasher& hasher) {
  const ByteSource source = OpenTableFile(path).bytes;
  Bytes block(size_t{1} << 20);
  size_t count = 0;
  do {
    count = source(block);
    hasher.Update(ByteView(block).first(count));
  } while (count == block.size());
  return hasher.Finish();
}

}  // namespace

SnapshotHasher::SnapshotHasher(const crypto::Key& salt) : salt_(salt) {
  hash_.Update(AsBytes(kLabel));
  hash_.Update(salt_.Expose());
}

SnapshotHasher::SnapshotHasher(crypto::RandomSource& random) : SnapshotHasher(FreshSalt(random)) {}

Snapshot SnapshotHasher::Finish() { return {.salt = salt_, .commitment = hash_.Finish()}; }

Snapshot TakeSnapshot(const std::filesystem::path& path, crypto::RandomSource& random) {
  SnapshotHasher hasher(random);
  return HashFile(path, hasher);
}

}  // namespace partita::data
