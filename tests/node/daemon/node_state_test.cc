// A node whose state is in a database: where its state may be, backup and restore to either place, and moves.
#include "node/daemon/node_state.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/files.h"
#include "node/daemon/backup.h"
#include "node/job/closed.h"
#include "tests/node/store/changes.h"
#include "tests/node/store/places.h"

namespace partita::node::node_state_test {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr char kPassphrase[] = "a long passphrase";
constexpr int64_t kNow = 1'790'000'000;

Bytes BytesAt(const fs::path& file) {
  const std::string text = ReadFile(file, 64 << 20, "a file");
  return {text.begin(), text.end()};
}

template <typename Work>
std::string Refused(ErrorCode code, const Work& work) {
  try {
    work();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), code) << error.message();
    return error.message() + ": " + error.hint();
  }
  ADD_FAILURE() << "it was taken";
  return "";
}

class NodeStateTest : public ::testing::Test {
 protected:
  static NodeConfig ConfigOf(const NodeFolder& folder) { return LoadNodeConfig(folder); }
  std::unique_ptr<SqlStore> Open(const NodeFolder& folder) {
    return OpenState(folder, ConfigOf(folder), random_);
  }
  // node.toml with the state in a database; empty: in the folder.
  static void NameDatabase(const NodeFolder& folder, const std::string& database) {
    std::string text = ReadFile(folder.config(), 1 << 20, "node.toml");
    const size_t begin = text.find("\n[state]");
    if (begin != std::string::npos) text.erase(begin, text.find("\n[limits]") - begin);
    if (!database.empty()) {
      text.insert(text.find("\n[limits]"), fmt::format("\n[state]\ndatabase = \"{}\"\n",
                                                       sums::SharedServer().Connection(database)));
    }
    WriteFileAtomically(folder.config().string(), text);
  }
  void Fill(SqlStore& store) {
    incarnation_ = store.Open().incarnation;
    Change change = Example(study_);
    change.audit.resize(3);
    change.close_day = 20'000;
    store.Commit(change);
  }
  Bytes Backup(const NodeFolder& folder) {
    const fs::path copy = scratch_.path() / "copy.sqlite";
    CopyState(folder, ConfigOf(folder), copy);
    const Bytes state = BytesAt(copy);
    fs::remove(copy);
    return MakeBackup(folder, state, kPassphrase, kNow);
  }
  void Restore(const Bytes& backup, const NodeFolder& folder) {
    RestoreBackup(backup, folder, kPassphrase, kNow + 100, random_);
  }
  void ExpectRestored(SqlStore& store) {
    const Opening opening = store.Open();
    EXPECT_NE(opening.incarnation, incarnation_);
    EXPECT_EQ(opening.next_number, 1u);
    EXPECT_TRUE(opening.restored);
    EXPECT_THAT(opening.outbox, IsEmpty());
    EXPECT_EQ(store.FindStudy(study_.id), study_);
    const AuditPage log = store.ReadAudit({}, 0, 10);
    ASSERT_EQ(log.entries.size(), 4u);
    EXPECT_EQ(log.entries[0].record.action, AuditAction::kRestored);
    EXPECT_EQ(opening.newest_day.entry, 4u);
    EXPECT_EQ(store.CheckAudit(1, 100).fault, std::nullopt);
  }

  void SetUp() override { InitNodeFolder(west_, "west", "west.example:7400"); }

  run::TemporaryFolder scratch_;
  const NodeFolder west_{scratch_.path() / "west"}, again_{scratch_.path() / "again"};
  const std::string database_ = sums::SharedServer().MakeDatabase();
  const std::string other_ = sums::SharedServer().MakeDatabase();
  crypto::SystemRandom random_;
  const Study study_ = States().front();
  Incarnation incarnation_{};
};

TEST_F(NodeStateTest, ABackupGoesToEitherPlaceAndBeginsAnewThere) {
  NameDatabase(west_, database_);
  Fill(*Open(west_));
  EXPECT_FALSE(fs::exists(west_.state() / "node.sqlite"));
  const Bytes of_database = Backup(west_);
  // Its node.toml names the database in which the state still is: nothing is written.
  EXPECT_THAT(Refused(ErrorCode::kUsage, [&] { Restore(of_database, again_); }),
              HasSubstr("there is the state of a node in the database: Stop that node."));
  EXPECT_FALSE(fs::exists(again_.path()));
  // A node.toml that is there counts.
  fs::create_directories(again_.path());
  fs::copy_file(west_.config(), again_.config());
  NameDatabase(again_, other_);
  Restore(of_database, again_);
  EXPECT_TRUE(ReadRestoredMark(again_.restored()).has_value());
  EXPECT_FALSE(fs::exists(again_.state() / "restoring.sqlite"));
  ExpectRestored(*Open(again_));
  // From the database to a folder.
  const NodeFolder third(scratch_.path() / "third");
  fs::create_directories(third.path());
  fs::copy_file(west_.config(), third.config());
  NameDatabase(third, "");
  Restore(of_database, third);
  EXPECT_FALSE(fs::exists(third.state() / "database.mark"));
  ExpectRestored(*Open(third));
}

TEST_F(NodeStateTest, ABackupOfAFileGoesIntoADatabase) {
  Fill(*Open(west_));
  const Bytes of_file = Backup(west_);
  fs::create_directories(again_.path());
  fs::copy_file(west_.config(), again_.config());
  NameDatabase(again_, database_);
  Restore(of_file, again_);
  ExpectRestored(*Open(again_));
  // Once: a second restore would set back what went on.
  EXPECT_THAT(Refused(ErrorCode::kUsage, [&] { Restore(of_file, again_); }),
              HasSubstr("there is the state of a node in the database"));
  Open(again_)->RequireHeld();
}

// A backup by an administrator of the database who did not ask the node.
TEST_F(NodeStateTest, AnOlderDatabaseIsNoticedAndComesBackByARestore) {
  NameDatabase(west_, database_);
  Fill(*Open(west_));
  sums::SharedServer().Administer(
      "postgres", fmt::format("CREATE DATABASE {0}_old TEMPLATE {0} OWNER spool", database_));
  Open(west_);
  NameDatabase(west_, database_ + "_old");
  EXPECT_THAT(Refused(ErrorCode::kRefused, [&] { Open(west_); }),
              HasSubstr("an older state than this node left"));
  const Bytes backup = Backup(west_);
  NameDatabase(west_, other_);
  EXPECT_THAT(Refused(ErrorCode::kRefused, [&] { Open(west_); }), HasSubstr("is empty"));
  Restore(backup, west_);
  ExpectRestored(*Open(west_));
}

TEST_F(NodeStateTest, AStateThatIsElsewhereIsNotForgotten) {
  Fill(*Open(west_));
  NameDatabase(west_, database_);
  EXPECT_THAT(Refused(ErrorCode::kUsage, [&] { Open(west_); }), HasSubstr("move-state"));
  Refused(ErrorCode::kUsage, [&] { Backup(west_); });
  fs::remove(west_.state() / "node.sqlite");
  Fill(*Open(west_));
  NameDatabase(west_, "");
  EXPECT_THAT(Refused(ErrorCode::kUsage, [&] { Open(west_); }),
              HasSubstr("does not name any more"));
  Refused(ErrorCode::kUsage, [&] { Backup(west_); });
}

TEST_F(NodeStateTest, AStateMovesAsItIs) {
  Fill(*Open(west_));
  const fs::path file = west_.state() / "node.sqlite";
  const std::string before = DumpOf(file);
  Refused(ErrorCode::kUsage, [&] { MoveStateToDatabase(west_, ConfigOf(west_), random_); });
  NameDatabase(west_, database_);
  MoveStateToDatabase(west_, ConfigOf(west_), random_);
  EXPECT_FALSE(fs::exists(file));
  EXPECT_EQ(Open(west_)->Open().incarnation, incarnation_);
  EXPECT_THAT(
      Refused(ErrorCode::kUsage, [&] { MoveStateToDatabase(west_, ConfigOf(west_), random_); }),
      HasSubstr("already"));
  {
    const net::Socket serving = LockState(west_);
    EXPECT_THAT(
        Refused(ErrorCode::kUsage, [&] { MoveStateToFile(west_, ConfigOf(west_), random_); }),
        HasSubstr("serves in"));
  }
  const std::string mark = ReadFile(west_.state() / "database.mark", 1000, "the mark");
  MoveStateToFile(west_, ConfigOf(west_), random_);
  EXPECT_EQ(DumpOf(file), before);
  // The database is none of this node's any more.
  fs::rename(file, west_.state() / "apart");
  EXPECT_THAT(Refused(ErrorCode::kRefused, [&] { Open(west_); }), HasSubstr("does not know of it"));
  fs::rename(west_.state() / "apart", file);
  // Killed before the mark was gone.
  WriteFileAtomically((west_.state() / "database.mark").string(), mark);
  Refused(ErrorCode::kUsage, [&] { Open(west_); });
  NameDatabase(west_, "");
  Refused(ErrorCode::kUsage, [&] { Open(west_); });
  NameDatabase(west_, database_);
  MoveStateToFile(west_, ConfigOf(west_), random_);
  NameDatabase(west_, "");
  EXPECT_EQ(Open(west_)->Open().incarnation, incarnation_);
}

TEST_F(NodeStateTest, ThePasswordIsReadFromAFileOfItsOwner) {
  NameDatabase(west_, database_);
  std::string text = ReadFile(west_.config(), 1 << 20, "node.toml");
  text.insert(text.find("\n[limits]"), "credentials = \"state.pass\"\n");
  WriteFileAtomically(west_.config().string(), text);
  EXPECT_THAT(Refused(ErrorCode::kBadInput, [&] { Open(west_); }), HasSubstr("state.pass"));
  const fs::path password = west_.path() / "state.pass";
  WriteFileAtomically(password.string(), "not asked for\n");
  fs::permissions(password, fs::perms(0640));
  EXPECT_THAT(Refused(ErrorCode::kRefused, [&] { Open(west_); }), HasSubstr("other users"));
  fs::permissions(password, fs::perms(0600));
  Open(west_);
}

}  // namespace
}  // namespace partita::node::node_state_test
