// What is of the file alone; what every store promises is in store_test.cc.
#include "node/store/sqlite_store.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "base/sqlite.h"
#include "tests/node/store/changes.h"
#include "tests/node/store/places.h"

namespace partita::node::sqlite_store_test {
namespace {

namespace fs = std::filesystem;

class SqliteStoreTest : public ::testing::Test {
 protected:
  fs::path File() const { return place_.File(); }

  const SqlitePlace place_{};
  CountedRandom random_{1};
};

std::string BytesIn(const fs::path& file) {
  std::ifstream stream(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

TEST_F(SqliteStoreTest, TheFileIsItsOwnersAlone) {
  const SqliteStore store(File(), random_);
  struct stat status {};
  ASSERT_EQ(::stat(File().c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600u);
}

TEST_F(SqliteStoreTest, OtherFilesAreRefused) {
  std::ofstream(File()) << "this is no database, and longer than a header would be: "
                        << std::string(200, 'x');
  EXPECT_THROW(SqliteStore(File(), random_), Error);
  const fs::path other = place_.folder.path() / "other.sqlite";
  OpenRaw(other, true).Execute("CREATE TABLE t (x)");
  EXPECT_THROW(SqliteStore(other, random_), Error);
}

TEST_F(SqliteStoreTest, AStudyIsReadBackFromItsBytesOrRefused) {
  for (const Study& study : States()) {
    const Bytes bytes = EncodeStudy(study);
    EXPECT_EQ(DecodeStudy(bytes), study);
    for (size_t size = 0; size < bytes.size(); size += 7) {
      try {
        DecodeStudy(ByteView(bytes).first(size));
        ADD_FAILURE() << size;
      } catch (const Error& error) {
        EXPECT_EQ(error.code(), ErrorCode::kBadInput);
      }
    }
  }
}

TEST_F(SqliteStoreTest, WhatIsKeptNoLongerIsGoneFromTheFile) {
  Study over = States().back();
  over.file = "the words of a study that nobody is to read any more";
  SqliteStore store(File(), random_);
  Change change = OverAt(over, 5000);
  change.received = ReceivedMessage{
      Digest{1}, "west", Incarnation{2}, 7, over.id, BytesOf("a message of long ago"), 20'000, 300};
  store.Commit(change);
  ASSERT_NE(BytesIn(File()).find("nobody is to read"), std::string::npos);
  ASSERT_NE(BytesIn(File()).find("a message of long ago"), std::string::npos);
  Change less;
  less.keep_less = {{over.id, 5000, Kept::kNumber}};
  store.Commit(less);
  EXPECT_EQ(BytesIn(File()).find("nobody is to read"), std::string::npos);
  EXPECT_EQ(BytesIn(File()).find("a message of long ago"), std::string::npos);
}

// What such a file does not say: when studies ended. Their expiry is the last time that they can have.
TEST_F(SqliteStoreTest, AFileOfAnOlderReleaseGetsTheEndsOfItsStudies) {
  const std::vector<Study> states = States();
  const Study over = states.back();
  Study open = states.front();
  open.id[0] ^= 1;
  {
    SqliteStore store(File(), random_);
    store.Commit(OverAt(over, 5000));
    Change change;
    change.study = open;
    store.Commit(change);
  }
  OpenRaw(File()).Execute("DROP TABLE ending; DROP INDEX received_study; PRAGMA user_version = 4");
  SqliteStore store(File(), random_);
  EXPECT_EQ(store.FindEnded(),
            (std::vector<OverStudy>{{over.id, over.expires + kClosingSeconds, Kept::kAll}}));
  EXPECT_EQ(store.Open().open.size(), 1U);
}

TEST_F(SqliteStoreTest, AFileOfALaterReleaseIsRefused) {
  SqliteStore(File(), random_);
  OpenRaw(File()).Execute("PRAGMA user_version = 6");
  EXPECT_THROW(SqliteStore(File(), random_), Error);
}

}  // namespace
}  // namespace partita::node::sqlite_store_test
