// The audit log: its bytes, what its store keeps and gives back, what shows when somebody changes the file, and
// what a study's life writes.
#include "node/audit/audit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "node/store/sqlite_store.h"
#include "tests/node/scene.h"

namespace partita::node::audit_test {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;

StudyId StudyOf(uint8_t letter) {
  StudyId id{};
  id.fill(letter);
  return id;
}

AuditRecord Example(int i) {
  AuditRecord record;
  record.time = 1'790'000'000 + i;
  record.actor = i % 3 == 0 ? Actor{ActorKind::kAccount, "anna"}
                            : Actor{i % 3 == 1 ? ActorKind::kTerminal : ActorKind::kNode, ""};
  record.action = AuditAction::kApproval;
  record.study = i % 2 == 0 ? StudyOf(1) : StudyOf(2);
  record.subject = "north";
  record.outcome = "entry " + std::to_string(i);
  return record;
}

TEST(AuditEntryTest, IsReadBackAndNothingElseIs) {
  const AuditEntry entry = EntryAfter({7, Digest{9}}, Example(3));
  EXPECT_EQ(entry.number, 8U);
  EXPECT_EQ(entry.before, Digest{9});
  const Bytes bytes = Encode(entry);
  EXPECT_EQ(DecodeAuditEntry(bytes), entry);
  const auto refuses = [](const Bytes& other) {
    try {
      DecodeAuditEntry(other);
      return false;
    } catch (const Error& error) {
      return error.code() == ErrorCode::kBadInput;
    }
  };
  for (size_t size = 0; size < bytes.size(); ++size)
    EXPECT_TRUE(refuses({bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(size)}))
        << size;
  Bytes longer = bytes;
  longer.push_back(0);
  EXPECT_TRUE(refuses(longer));
  // Version, time, kind of actor, action, length of a name: by their places.
  const size_t time = 1 + 8 + 32, kind = time + 8, name = kind + 1, action = name + 8 + 4;
  for (const auto& [place, value] : std::vector<std::pair<size_t, uint8_t>>{
           {0, 2}, {time + 7, 0x80}, {kind, 0}, {kind, 6}, {action, 0}, {action, 35}, {name, 65}}) {
    Bytes other = bytes;
    other[place] = value;
    EXPECT_TRUE(refuses(other)) << place << " " << int{value};
  }
  for (int number = 1; number <= 34; ++number) {
    const auto named = static_cast<AuditAction>(number);
    EXPECT_EQ(AuditActionNamed(AuditActionName(named)), named);
  }
  EXPECT_EQ(AuditActionNamed("anything"), std::nullopt);
  EXPECT_EQ(AuditActionNamed(""), std::nullopt);
}

TEST(AuditEntryTest, LongWordsAreCutBetweenLetters) {
  AuditRecord record = Example(1);
  record.subject = std::string(63, 'a') + "\xc3\xa4" + "b";
  record.outcome = std::string(5000, 'x');
  const AuditEntry entry = EntryAfter({}, record);
  EXPECT_EQ(entry.record.subject, std::string(63, 'a'));
  EXPECT_EQ(entry.record.outcome.size(), kMaxAuditOutcome);
  EXPECT_EQ(DecodeAuditEntry(Encode(entry)), entry);
}

class AuditStoreTest : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::path(::testing::TempDir()) / ("audit-" + std::to_string(::getpid()));
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }
  fs::path File() const { return folder_ / "node.sqlite"; }

  // Entries 1 to `count`, in changes of one and of two.
  void Write(int count) {
    SqliteStore store(File(), random_);
    for (int i = 1; i <= count;) {
      Change change;
      change.audit.push_back(Example(i++));
      if (i % 3 == 0 && i <= count) change.audit.push_back(Example(i++));
      store.Commit(change);
    }
  }
  // As somebody who may write the file.
  void Tamper(const std::string& sql, const Bytes& bytes = {}) {
    sqlite::Database database(File().string(),
                              {.fail = [](const std::string&, int, const std::string& reason) {
                                return Error(ErrorCode::kStorage, reason);
                              }});
    sqlite::Statement statement(database, sql.c_str());
    if (!bytes.empty()) statement.Bind(1, ByteView(bytes));
    statement.Step();
  }
  void Unlock() {
    Tamper("DROP TRIGGER audit_is_not_changed");
    Tamper("DROP TRIGGER audit_is_not_cut");
  }
  // The fault that the whole log shows, looked at in pieces of 7; 0: none.
  uint64_t FaultNow() {
    SqliteStore store(File(), random_);
    uint64_t from = 1;
    for (int pieces = 0; pieces < 100; ++pieces) {
      const AuditCheck check = store.CheckAudit(from, 7);
      if (check.fault) return check.fault->number;
      if (check.next == 0) return 0;
      EXPECT_GT(check.next, from);
      from = check.next;
    }
    ADD_FAILURE() << "the check does not end";
    return 0;
  }
  static std::vector<uint64_t> NumbersOf(const AuditPage& page) {
    std::vector<uint64_t> numbers;
    for (const AuditEntry& entry : page.entries) numbers.push_back(entry.number);
    return numbers;
  }

  fs::path folder_;
  CountedRandom random_{1};
};

TEST_F(AuditStoreTest, GivesPagesFromTheNewestOn) {
  {
    SqliteStore store(File(), random_);
    EXPECT_TRUE(store.ReadAudit({}, 0, 10).entries.empty());
    EXPECT_EQ(store.ReadAudit({}, 0, 10).head, AuditHead());
    EXPECT_EQ(store.CheckAudit(1, 7).next, 0U);
  }
  EXPECT_EQ(FaultNow(), 0U);
  Write(20);
  EXPECT_EQ(FaultNow(), 0U);
  SqliteStore store(File(), random_);
  std::vector<uint64_t> seen;
  uint64_t before = 0;
  int pages = 0;
  do {
    const AuditPage page = store.ReadAudit({}, before, 6);
    EXPECT_EQ(page.fault, std::nullopt);
    EXPECT_EQ(page.head.number, 20U);
    for (const AuditEntry& entry : page.entries) {
      seen.push_back(entry.number);
      EXPECT_EQ(entry.record, Example(static_cast<int>(entry.number)));
    }
    before = page.next;
    ++pages;
  } while (before != 0 && pages < 10);
  EXPECT_EQ(pages, 4);
  ASSERT_EQ(seen.size(), 20U);
  for (size_t i = 0; i < seen.size(); ++i) EXPECT_EQ(seen[i], 20 - i);
  EXPECT_EQ(store.ReadAudit({}, 0, 20).next, 0U);
  // By study, by name, by kind, by two of them.
  EXPECT_THAT(NumbersOf(store.ReadAudit({StudyOf(2), ""}, 0, 3)), ElementsAre(19, 17, 15));
  EXPECT_EQ(store.ReadAudit({StudyOf(2), ""}, 0, 3).next, 15U);
  EXPECT_THAT(NumbersOf(store.ReadAudit({std::nullopt, "anna"}, 0, 9)),
              ElementsAre(18, 15, 12, 9, 6, 3));
  EXPECT_THAT(NumbersOf(store.ReadAudit({std::nullopt, "terminal"}, 10, 2)), ElementsAre(7, 4));
  EXPECT_THAT(NumbersOf(store.ReadAudit({StudyOf(1), "anna"}, 0, 9)), ElementsAre(18, 12, 6));
  EXPECT_TRUE(store.ReadAudit({StudyOf(3), ""}, 0, 9).entries.empty());
}

TEST_F(AuditStoreTest, OnlyGrows) {
  Write(3);
  EXPECT_THROW(Tamper("UPDATE audit SET actor = 'nobody' WHERE number = 2"), Error);
  EXPECT_THROW(Tamper("DELETE FROM audit WHERE number = 3"), Error);
  EXPECT_EQ(FaultNow(), 0U);
}

// Whoever changes the file shows, wherever it is.
TEST_F(AuditStoreTest, ChangesShowAtTheEntry) {
  constexpr int kCount = 16;
  for (const int number : {1, 2, 7, 8, 16}) {
    const std::string here = " WHERE number = " + std::to_string(number);
    // Another outcome, with all else as it was.
    SetUp();
    Write(kCount);
    Unlock();
    AuditEntry changed;
    {
      SqliteStore store(File(), random_);
      changed = store.ReadAudit({}, static_cast<uint64_t>(number) + 1, 1).entries.at(0);
    }
    changed.record.outcome = "nothing happened";
    Tamper("UPDATE audit SET entry = ?" + here, Encode(changed));
    EXPECT_EQ(FaultNow(), static_cast<uint64_t>(number));
    {
      SqliteStore store(File(), random_);
      const AuditPage page = store.ReadAudit({}, static_cast<uint64_t>(number) + 1, 1);
      ASSERT_TRUE(page.fault) << number;
      EXPECT_EQ(page.fault->number, static_cast<uint64_t>(number));
    }
    // Taken out.
    SetUp();
    Write(kCount);
    Unlock();
    Tamper("DELETE FROM audit" + here);
    EXPECT_EQ(FaultNow(), static_cast<uint64_t>(number));
    // Cut from here on.
    SetUp();
    Write(kCount);
    Unlock();
    Tamper("DELETE FROM audit WHERE number >= " + std::to_string(number));
    EXPECT_EQ(FaultNow(), static_cast<uint64_t>(number));
    // Kept where a search for its study or its actor does not find it.
    for (const char* column : {"study = zeroblob(32)", "actor = 'nobody'"}) {
      SetUp();
      Write(kCount);
      Unlock();
      Tamper(std::string("UPDATE audit SET ") + column + here);
      EXPECT_EQ(FaultNow(), static_cast<uint64_t>(number)) << column;
    }
    // No entry at all.
    SetUp();
    Write(kCount);
    Unlock();
    Tamper("UPDATE audit SET entry = x'00'" + here);
    EXPECT_EQ(FaultNow(), static_cast<uint64_t>(number));
  }
}

TEST_F(AuditStoreTest, AFileWithoutALogGetsOne) {
  Study kept;
  {
    Scene scene;
    kept = scene.At(0);
    SqliteStore store(File(), random_);
    Change change;
    change.study = kept;
    store.Commit(change);
  }
  Unlock();
  for (const char* table : {"audit", "audit_head", "audit_day", "peer_log", "peer_day", "log_fault",
                            "log_receipt", "ending"})
    Tamper(std::string("DROP TABLE ") + table);
  Tamper("DROP INDEX received_study");
  Tamper("ALTER TABLE node DROP COLUMN restored");
  Tamper("PRAGMA user_version = 2");
  SqliteStore store(File(), random_);
  EXPECT_EQ(store.FindStudy(kept.id), kept);
  Change change;
  change.audit.push_back(Example(1));
  store.Commit(change);
  EXPECT_EQ(store.ReadAudit({}, 0, 9).entries.size(), 1U);
}

// "approval south by party south", in order, of one node.
std::vector<std::string> Told(Scene& scene, size_t i) {
  std::vector<std::string> told;
  for (const AuditEntry& entry : scene.world.site(i).disk.audit) {
    const AuditRecord& record = entry.record;
    std::string line(AuditActionName(record.action));
    if (!record.subject.empty()) line += " " + record.subject;
    line += " by " + std::string(ActorKindName(record.actor.kind));
    if (!record.actor.name.empty()) line += " " + record.actor.name;
    if (!record.outcome.empty()) line += ": " + record.outcome;
    told.push_back(line);
    const bool is_of_a_peer = record.actor.kind == ActorKind::kParty;
    EXPECT_EQ(record.message != Digest{}, is_of_a_peer) << line;
    EXPECT_EQ(record.study, scene.id) << line;
  }
  return told;
}

TEST(AuditOfStudyTest, TellsItsLife) {
  Scene scene;
  scene.world.RunUntilQuiet(World::kBegin + World::kLife);
  ASSERT_EQ(scene.At(1).phase, Phase::kFinished);
  std::vector<std::string> told = Told(scene, 1);
  ASSERT_EQ(told.size(), 7U) << ::testing::PrintToString(told);
  EXPECT_EQ(told[0], "proposal by party north");
  // The order of approvals is that in which they came.
  std::sort(told.begin() + 1, told.begin() + 4);
  EXPECT_EQ(told[1], "approval north by party north");
  EXPECT_EQ(told[2], "approval south by terminal");
  EXPECT_EQ(told[3], "approval west by party west");
  EXPECT_EQ(told[4], "run-begin by node: attempt 1");
  EXPECT_THAT(told[5],
              ::testing::StartsWith("run-end by node: attempt 1: finished, something may"));
  EXPECT_THAT(told[6], ::testing::StartsWith("study-end by "));
  EXPECT_THAT(told[6], ::testing::HasSubstr(": finished"));
  EXPECT_EQ(Told(scene, 0).front(), "proposal by terminal");
  EXPECT_EQ(Told(scene, 0).size(), 7U);
}

TEST(AuditOfStudyTest, TellsWhoWithdrewAndWhoRejected) {
  Scene scene({}, false);
  scene.RunTo(2, Phase::kSettled);
  scene.world.node(1).Command(scene.id, OwnWithdrawal{true, "consent is gone"}, scene.world.now,
                              {ActorKind::kAccount, "anna"});
  scene.world.RunUntilQuiet(scene.world.now + 3600);
  EXPECT_THAT(
      Told(scene, 1),
      ElementsAre("proposal by party north", "withdrawal south by account anna: consent is gone",
                  "study-end by account anna: withdrawn by south: consent is gone"));
  EXPECT_THAT(
      Told(scene, 2),
      ElementsAre("proposal by party north", "withdrawal south by party south: consent is gone",
                  "study-end by party south: withdrawn by south: consent is gone"));

  Scene other({}, false);
  other.RunTo(2, Phase::kSettled);
  const Study study = other.At(2);
  other.world.node(2).Command(
      other.id,
      OwnRejection{RejectionText("west", "no ethics reference", *study.agreement_hash,
                                 study.facts.plan_hash)},
      other.world.now, {ActorKind::kAccount, "anna"});
  other.world.RunUntilQuiet(other.world.now + 3600);
  EXPECT_THAT(Told(other, 2)[1], ::testing::StartsWith("rejection west by account anna: "));
  EXPECT_THAT(Told(other, 1)[1], ::testing::StartsWith("rejection west by party west: "));
  EXPECT_THAT(Told(other, 1)[1], ::testing::HasSubstr("no ethics reference"));
}

TEST(AuditOfStudyTest, AStopIsOneEntryWhateverRuns) {
  Scene scene({}, false);
  scene.RunTo(1, Phase::kSettled);
  scene.world.node(1).EmergencyStop(scene.world.now, {ActorKind::kAccount, "otto"});
  scene.world.node(1).EndEmergencyStop(scene.world.now, {ActorKind::kAccount, "anna"});
  const std::vector<AuditEntry>& log = scene.world.site(1).disk.audit;
  ASSERT_GE(log.size(), 3U);
  EXPECT_EQ(log[1].record.action, AuditAction::kStop);
  EXPECT_EQ(log[1].record.actor.name, "otto");
  EXPECT_EQ(log.back().record.action, AuditAction::kGoOn);
  EXPECT_EQ(log.back().record.actor.name, "anna");
}

// A command that is refused, and a message that comes again, write nothing.
TEST(AuditOfStudyTest, WhatChangesNothingIsNotTold) {
  Scene scene({}, false);
  scene.RunTo(1, Phase::kSettled);
  const size_t before = scene.world.site(1).disk.audit.size();
  EXPECT_THROW(
      scene.world.node(1).Command(scene.id, OwnWithdrawal{false, "not ours"}, scene.world.now),
      Error);
  for (const OutboxEntry& entry : std::vector<OutboxEntry>(scene.sent)) {
    if (entry.to == "south") scene.world.node(1).Receive(entry.message, scene.world.now);
  }
  EXPECT_EQ(scene.world.site(1).disk.audit.size(), before);
}

}  // namespace
}  // namespace partita::node::audit_test
