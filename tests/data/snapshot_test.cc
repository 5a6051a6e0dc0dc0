// Snapshot commitments: what they bind, and that the salt hides.
#include "data/snapshot.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "data/csv_reader.h"
#include "tests/data/expect_error.h"
#include "tests/data/tables.h"

namespace partita::data::snapshot_test {
namespace {

// Hands out 0, 1, 2, ...
class CountingSource : public crypto::RandomSource {
 public:
  void Fill(std::span<uint8_t> out) override {
    for (uint8_t& byte : out) byte = next_++;
  }

 private:
  uint8_t next_ = 0;
};

std::filesystem::path WriteFile(const std::string& name, const std::string& text) {
  std::filesystem::path path = std::filesystem::path(testing::TempDir()) / name;
  std::ofstream(path, std::ios::binary) << text;
  return path;
}

TEST(SnapshotTest, CommitsToLabelSaltAndBytes) {
  CountingSource random;
  const Snapshot snapshot = TakeSnapshot(WriteFile("snapshot.csv", "x\n1\n2\n"), random);
  // { printf 'partita snapshot v1'; printf '\x00..\x1f'; printf 'x\n1\n2\n'; } | sha256sum
  EXPECT_EQ(ToHex(snapshot.commitment),
            "791b94860ee4058c8a55511c3e500f2e3f89e1899f200c1c3170fdcc6ef446a3");
  EXPECT_EQ(snapshot.salt.Expose()[31], 31);
}

TEST(SnapshotTest, EveryStudyHasItsOwnSalt) {
  CountingSource random;
  const auto path = WriteFile("salted.csv", "x\n1\n");
  EXPECT_NE(TakeSnapshot(path, random).commitment, TakeSnapshot(path, random).commitment);
}

TEST(SnapshotTest, TheReadersObserverGivesTheFilesCommitment) {
  std::string text = "x\n";
  for (int i = 0; i < 600000; ++i) text += std::to_string(i % 10) + "\n";
  const auto path = WriteFile("observed.csv", text);
  CountingSource random;
  SnapshotHasher hasher(random);
  ReadCsvFile(path, {{Numeric("x")}}, {}, [&](ByteView bytes) { hasher.Update(bytes); });
  const Snapshot snapshot = hasher.Finish();
  CountingSource same;
  EXPECT_EQ(TakeSnapshot(path, same).commitment, snapshot.commitment);
}

TEST(SnapshotTest, AnyChangeIsNoticed) {
  const auto path = WriteFile("changed.csv", "x\n1\n2\n");
  const auto commitment = [&] {
    CountingSource random;
    return TakeSnapshot(path, random).commitment;
  };
  const crypto::Digest original = commitment();
  for (const char* text : {"x\n1\n3\n", "x\n1\n2", "x\n1\n2\n\n", "", "x\n2\n1\n"}) {
    WriteFile("changed.csv", text);
    EXPECT_NE(commitment(), original) << text;
  }
  WriteFile("changed.csv", "x\n1\n2\n");
  EXPECT_EQ(commitment(), original);
}

}  // namespace
}  // namespace partita::data::snapshot_test
