#include "node/store/sqlite_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "base/clock.h"
#include "base/sqlite.h"
#include "tests/node/world.h"

namespace partita::node::sqlite_store_test {
namespace {

namespace fs = std::filesystem;

class SqliteStoreTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "node_store_XXXXXX").string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
  }
  void TearDown() override { fs::remove_all(folder_); }
  fs::path File() const { return folder_ / "state.sqlite"; }

  fs::path folder_;
  CountedRandom random_{1};
};

// Every state that a study passes through at three nodes.
std::vector<Study> States() {
  std::vector<Study> states;
  World world({});
  StudyId id{};
  world.on_delivery = [&](const OutboxEntry&) {
    for (size_t i = 0; i < 3; ++i) {
      const Study study = world.StudyAt(i, id);
      if (study.id == id) states.push_back(study);
    }
  };
  id = world.Propose(0);
  world.RunUntilQuiet(World::kBegin + 3600);
  for (size_t i = 0; i < 3; ++i) states.push_back(world.StudyAt(i, id));
  return states;
}

Change Example(const Study& study) {
  Change change;
  change.study = study;
  change.send = {{7, "south", study.id, 1000, BytesOf("message")}};
  change.bodies = {BytesOf("body")};
  change.received = ReceivedMessage{
      Digest{1}, "west", Incarnation{2}, UINT64_MAX, study.id, BytesOf("received"), 20'000, 300};
  change.next_number = 8;
  return change;
}

TEST_F(SqliteStoreTest, KeepsEverythingAcrossAStart) {
  const std::vector<Study> states = States();
  ASSERT_GT(states.size(), size_t{30});
  Incarnation incarnation{};
  {
    SqliteStore store(File(), random_);
    incarnation = store.Open().incarnation;
    for (const Study& study : states) {
      Change change;
      change.study = study;
      store.Commit(change);
      EXPECT_EQ(store.FindStudy(study.id), study);
    }
    Study open = states.front();
    open.id[0] ^= 1;
    store.Commit(Example(open));
  }
  struct stat status {};
  ASSERT_EQ(::stat(File().c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600u);
  SqliteStore store(File(), random_);
  const Opening opening = store.Open();
  EXPECT_EQ(opening.incarnation, incarnation);
  EXPECT_EQ(opening.next_number, 8u);
  EXPECT_FALSE(opening.stopped);
  ASSERT_EQ(opening.open.size(), size_t{1});  // the other is over
  EXPECT_NE(opening.open[0].id, states.front().id);
  EXPECT_EQ(store.FindStudy(states.back().id), states.back());
  ASSERT_EQ(opening.outbox.size(), size_t{1});
  EXPECT_EQ(opening.outbox[0].message, BytesOf("message"));
  EXPECT_EQ(opening.outbox[0].until, 1000);
  EXPECT_TRUE(store.HasReceived(Digest{1}));
  EXPECT_FALSE(store.HasReceived(Digest{2}));
  EXPECT_EQ(store.FindNumber("west", Incarnation{2}, UINT64_MAX), Digest{1});
  EXPECT_EQ(store.FindNumber("west", Incarnation{2}, 1), std::nullopt);
  EXPECT_EQ(store.FindBody(crypto::Sha256Of(AsBytes("body"))), BytesOf("body"));
  EXPECT_EQ(store.BytesTaken("west", 20'000), 300u);
  EXPECT_EQ(store.BytesTaken("west", 20'001), 0u);
  EXPECT_EQ(store.BytesTaken("south", 20'000), 0u);
  // Bodies go with their study.
  Change over;
  over.study = opening.open[0];
  over.study->phase = Phase::kWithdrawn;
  over.study->discarded = true;
  over.received = Example(opening.open[0]).received;
  over.received->name = Digest{3};
  over.received->number = 1;
  store.Commit(over);
  EXPECT_EQ(store.FindBody(crypto::Sha256Of(AsBytes("body"))), std::nullopt);
  EXPECT_EQ(store.BytesTaken("west", 20'000), 600u);
  Change gone;
  gone.gone = {7};
  gone.stopped = true;
  store.Commit(gone);
  EXPECT_TRUE(store.Open().outbox.empty());
  EXPECT_TRUE(store.Open().stopped);
}

// The design asks for a start in 2 s with 10,000 finished studies.
TEST_F(SqliteStoreTest, StudiesThatAreOverAreNotReadAtTheStart) {
  const std::vector<Study> states = States();
  {
    SqliteStore store(File(), random_);
    Change change;
    change.study = states.back();
    ASSERT_FALSE(IsOpen(*change.study));
    store.Commit(change);
  }
  {
    sqlite::Database database(File().string(),
                              {.fail = [](const std::string&, int, const std::string& reason) {
                                return Error(ErrorCode::kStorage, reason);
                              }});
    database.Execute(
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 10000) "
        "INSERT INTO study SELECT randomblob(32), 0, state FROM n, study");
    EXPECT_EQ(database.Pragma("SELECT count(*) FROM study"), "10001");
  }
  const auto began = SteadyClock::now();
  SqliteStore store(File(), random_);
  EXPECT_TRUE(store.Open().open.empty());
  EXPECT_EQ(store.FindStudy(states.back().id), states.back());
  EXPECT_LT(SecondsSince(began), 2.0);
  RecordProperty("milliseconds", static_cast<int>(1000 * SecondsSince(began)));
}

TEST_F(SqliteStoreTest, AStudyThatCannotBeReadIsSetApart) {
  Study sick = States().front();
  Study well = sick;
  well.id[0] ^= 1;
  {
    SqliteStore store(File(), random_);
    for (const Study& study : {sick, well}) {
      Change change;
      change.study = study;
      store.Commit(change);
    }
  }
  {
    sqlite::Database database(File().string(),
                              {.fail = [](const std::string&, int, const std::string& reason) {
                                return Error(ErrorCode::kStorage, reason);
                              }});
    sqlite::Statement cut(database, "UPDATE study SET state = substr(state, 1, 50) WHERE id = ?");
    cut.Bind(1, ByteView(sick.id)).Step();
  }
  SqliteStore store(File(), random_);
  const Opening opening = store.Open();
  EXPECT_EQ(opening.open, std::vector<Study>{well});
  EXPECT_EQ(opening.set_apart, std::vector<StudyId>{sick.id});
}

TEST_F(SqliteStoreTest, AChangeThatFailsLeavesNothing) {
  SqliteStore store(File(), random_);
  Study study = States().front();
  store.Commit(Example(study));
  Study other = study;
  other.id[0] ^= 1;
  Change change = Example(other);  // with a number and a name that were used
  change.send[0].number = 8;
  change.bodies = {BytesOf("another")};
  change.next_number = 99;
  EXPECT_THROW(store.Commit(change), Error);
  EXPECT_EQ(store.FindStudy(other.id), std::nullopt);
  EXPECT_EQ(store.FindBody(crypto::Sha256Of(AsBytes("another"))), std::nullopt);
  EXPECT_EQ(store.Open().next_number, 8u);
  EXPECT_EQ(store.Open().outbox.size(), size_t{1});
}

TEST_F(SqliteStoreTest, OtherFilesAreRefused) {
  std::ofstream(File()) << "this is no database, and longer than a header would be: "
                        << std::string(200, 'x');
  EXPECT_THROW(SqliteStore(File(), random_), Error);
  const fs::path other = folder_ / "other.sqlite";
  {
    sqlite::Database database(
        other.string(),
        {.fail = [](const std::string&, int,
                    const std::string& reason) { return Error(ErrorCode::kStorage, reason); },
         .create = true});
    database.Execute("CREATE TABLE t (x)");
  }
  EXPECT_THROW(SqliteStore(other, random_), Error);
}

TEST_F(SqliteStoreTest, TwoProcessesCannotUseOneFile) {
  {
    const SqliteStore store(File(), random_);
    EXPECT_THROW(SqliteStore(File(), random_), Error);
  }
  // With a file that is there already, neither has written yet.
  SqliteStore store(File(), random_);
  EXPECT_THROW(SqliteStore(File(), random_), Error);
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

// Those that are over, the last one first, by pages that hang together while others end; open ones never.
TEST_F(SqliteStoreTest, PagesOfWhatIsOver) {
  Study study = States().back();
  ASSERT_TRUE(IsEnd(study.phase));
  SqliteStore store(File(), random_);
  const auto put = [&](int number, Phase phase) {
    study.id = StudyId{static_cast<uint8_t>(number)};
    study.phase = phase;
    Change change;
    change.study = study;
    store.Commit(change);
  };
  const auto numbers = [](const OverPage& page) {
    std::string text;
    for (const Study& one : page.studies) text += std::to_string(one.id[0]) + " ";
    return text;
  };
  EXPECT_EQ(numbers(store.FindOver(0, 3)), "");
  for (int i = 1; i <= 5; ++i) put(i, Phase::kSettled);
  for (const int i : {2, 5, 1, 4}) put(i, Phase::kFinished);
  const OverPage first = store.FindOver(0, 2);
  EXPECT_EQ(numbers(first), "4 1 ");
  ASSERT_NE(first.next, 0);
  put(3, Phase::kWithdrawn);
  const OverPage second = store.FindOver(first.next, 2);
  EXPECT_EQ(numbers(second), "5 2 ");
  EXPECT_EQ(second.next, 0);
  EXPECT_EQ(numbers(store.FindOver(0, 9)), "3 4 1 5 2 ");
}

// A study that is over, as `Node` writes it.
Change Ending(const Study& study, int64_t ended) {
  Change change;
  change.study = study;
  change.ended = ended;
  return change;
}

std::string BytesIn(const fs::path& file) {
  std::ifstream stream(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

TEST_F(SqliteStoreTest, WhatIsKeptNoLongerIsGoneFromTheFile) {
  Study over = States().back();
  ASSERT_FALSE(IsOpen(over));
  over.file = "the words of a study that nobody is to read any more";
  SqliteStore store(File(), random_);
  Change change = Ending(over, 5000);
  change.received = ReceivedMessage{
      Digest{1}, "west", Incarnation{2}, 7, over.id, BytesOf("a message of long ago"), 20'000, 300};
  store.Commit(change);
  EXPECT_EQ(store.FindEnd(over.id), (OverStudy{over.id, 5000, Kept::kAll}));
  // The first time counts.
  store.Commit(Ending(over, 6000));
  EXPECT_EQ(store.FindEnded(), (std::vector<OverStudy>{{over.id, 5000, Kept::kAll}}));
  Change less;
  less.keep_less = {{over.id, 5000, Kept::kDocuments}};
  store.Commit(less);
  EXPECT_EQ(store.FindStudy(over.id), over);
  ASSERT_NE(BytesIn(File()).find("nobody is to read"), std::string::npos);
  ASSERT_NE(BytesIn(File()).find("a message of long ago"), std::string::npos);
  less.keep_less = {{over.id, 5000, Kept::kNumber}};
  store.Commit(less);
  EXPECT_EQ(store.FindStudy(over.id), std::nullopt);
  EXPECT_EQ(store.FindEnd(over.id)->kept, Kept::kNumber);
  EXPECT_TRUE(store.HasReceived(Digest{1}));
  EXPECT_EQ(store.FindNumber("west", Incarnation{2}, 7), Digest{1});
  EXPECT_EQ(BytesIn(File()).find("nobody is to read"), std::string::npos);
  EXPECT_EQ(BytesIn(File()).find("a message of long ago"), std::string::npos);
  // Nothing is kept less of what is not over, or is gone.
  EXPECT_THROW(store.Commit(less), Error);
  less.keep_less = {{StudyId{99}, 5000, Kept::kDocuments}};
  EXPECT_THROW(store.Commit(less), Error);
}

// What such a file does not say: when studies ended. Their expiry is the last time that they can have.
TEST_F(SqliteStoreTest, AFileOfAnOlderReleaseGetsTheEndsOfItsStudies) {
  const std::vector<Study> states = States();
  const Study over = states.back();
  Study open = states.front();
  open.id[0] ^= 1;
  {
    SqliteStore store(File(), random_);
    store.Commit(Ending(over, 5000));
    Change change;
    change.study = open;
    store.Commit(change);
  }
  {
    sqlite::Database old(File().string(),
                         {.fail = [](const std::string&, int, const std::string& why) {
                           return Error(ErrorCode::kStorage, why, "");
                         }});
    old.Execute("DROP TABLE ending; DROP INDEX received_study; PRAGMA user_version = 4");
  }
  SqliteStore store(File(), random_);
  EXPECT_EQ(store.FindEnded(),
            (std::vector<OverStudy>{{over.id, over.expires + kClosingSeconds, Kept::kAll}}));
  EXPECT_EQ(store.Open().open.size(), 1U);
}

}  // namespace
}  // namespace partita::node::sqlite_store_test
