// The file of served rows, read and written block by block: the same bytes as when it was in memory whole.
#include "run/party/row_set_record.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "base/files.h"
#include "crypto/state_file.h"
#include "run/party/rows_apart.h"
#include "tests/run/reference_study.h"

namespace partita::run::row_set_record_test {
namespace {

namespace fs = std::filesystem;

const crypto::StateKind kKind = {"partita row sets 1", "the record of served rows", ""};

class RowSetRecordTest : public ::testing::Test {
 protected:
  RowSetRecordTest() { crypto::SystemRandom().Fill(key_.Expose()); }
  ~RowSetRecordTest() override { fs::remove_all(folder_); }

  fs::path File() const { return folder_ + "/data.csv.row-sets"; }

  // As the format says, in memory.
  Bytes Encoded(const std::vector<RowDigests>& sets) const {
    ByteWriter content;
    content.Raw(key_.Expose());
    content.U64(sets.size());
    for (const RowDigests& set : sets) {
      content.U64(set.size());
      for (const uint64_t digest : set) content.U64(digest);
    }
    return crypto::EncodeState(kKind, {}, content.Take());
  }

  Bytes OnDisk() const {
    const std::string text = ReadFile(File(), 1 << 26, "the record");
    return {text.begin(), text.end()};
  }

  std::vector<RowDigests> Read() const {
    std::vector<RowDigests> sets;
    const auto record = ReadRowSets(File(), [&](uint64_t set, std::span<const uint64_t> digests) {
      ASSERT_TRUE(set == sets.size() || set + 1 == sets.size());
      if (set == sets.size()) sets.emplace_back();
      sets.back().insert(sets.back().end(), digests.begin(), digests.end());
    });
    EXPECT_TRUE(record);
    EXPECT_EQ(record->num_sets, sets.size());
    EXPECT_EQ(record->key.Expose(), key_.Expose());
    return sets;
  }

  const std::string folder_ = testing::MakeTemporaryFolder("row_set_record");
  crypto::Key key_;
};

RowDigests Digests(size_t size, uint64_t step) {
  RowDigests digests;
  for (size_t i = 0; i < size; ++i) digests.push_back((i + 1) * step);
  return digests;
}

// Around a block of 65,536 digests, and none.
std::vector<RowDigests> SetsAroundABlock() {
  std::vector<RowDigests> sets;
  for (const size_t size : {0, 1, 65535, 65536, 65537, 0, 200000, 131072})
    sets.push_back(Digests(size, 0x9E3779B97F4A7C15u % (1u << 31)));
  return sets;
}

TEST_F(RowSetRecordTest, BytesAreThoseOfARecordInMemory) {
  const std::vector<RowDigests> sets = SetsAroundABlock();
  WriteRowSets(File(), {.key = key_}, {});
  EXPECT_EQ(OnDisk(), Encoded({}));
  EXPECT_EQ(Read(), std::vector<RowDigests>{});
  for (size_t s = 0; s < sets.size(); ++s)
    WriteRowSets(File(), {.key = key_, .num_sets = s}, std::span(sets).subspan(s, 1));
  EXPECT_EQ(OnDisk(), Encoded(sets));
  EXPECT_EQ(Read(), sets);
  WriteRowSets(File(), {.key = key_}, sets);
  EXPECT_EQ(OnDisk(), Encoded(sets));
  EXPECT_EQ(ReadRowSets(folder_ + "/none", [](uint64_t, std::span<const uint64_t>) {}),
            std::nullopt);
}

// Lists that differ by three rows, in the first block and in the last.
TEST_F(RowSetRecordTest, RowsApartAreCountedOverBlocks) {
  const RowDigests served = Digests(200000, 3);
  WriteRowSets(File(), {.key = key_}, std::span(&served, 1));
  RowDigests asked = served;
  asked.erase(asked.begin() + 7);
  asked.erase(asked.begin() + 65535);
  asked.push_back(asked.back() + 1);
  BesideServed apart(asked), same(served);
  ReadRowSets(File(), [&](uint64_t, std::span<const uint64_t> digests) {
    apart.Add(digests);
    same.Add(digests);
  });
  EXPECT_EQ(apart.Count(), 3u);
  EXPECT_EQ(same.Count(), 0u);
}

// A damaged record is neither believed nor written anew with a digest that fits.
TEST_F(RowSetRecordTest, DamageIsNoticedAndStays) {
  const std::vector<RowDigests> sets = SetsAroundABlock();
  WriteRowSets(File(), {.key = key_}, sets);
  const Bytes whole = OnDisk();
  for (const size_t at : {size_t{9}, size_t{60}, size_t{100}, size_t{106}, size_t{300000},
                          whole.size() - 40, whole.size() - 1}) {
    Bytes damaged = whole;
    damaged[at] ^= 1;
    crypto::WriteState(File(), damaged);
    EXPECT_THROW(ReadRowSets(File(), [](uint64_t, std::span<const uint64_t>) {}), Error) << at;
    EXPECT_THROW(WriteRowSets(File(), {.key = key_, .num_sets = sets.size()}, {}), Error) << at;
    EXPECT_EQ(OnDisk(), damaged) << at;
  }
}

}  // namespace
}  // namespace partita::run::row_set_record_test
