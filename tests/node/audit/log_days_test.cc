// Days of audit logs told between three nodes: what each keeps of the others, what shows at them when a log was cut,
// restored or written anew, and what a site that lies cannot do.
#include "node/audit/log_days.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "node/store/sqlite_store.h"
#include "tests/node/world.h"

namespace partita::node::log_days_test {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr int64_t kDay = 86'400;

AuditRecord Served(int64_t now) {
  AuditRecord record;
  record.time = now;
  record.outcome = "version 1";
  return record;
}

WorldOptions Telling() {
  WorldOptions options;
  options.tells_log = true;
  return options;
}

struct Logs {
  World world;

  explicit Logs(WorldOptions options = Telling()) : world(std::move(options)) {
    for (size_t i = 0; i < 3; ++i) {
      Note(i);
      world.Run(world.site(i), [&] { world.node(i).Tick(world.now); });
    }
  }
  void Note(size_t i) {
    world.Run(world.site(i), [&] { world.node(i).Note(Served(world.now)); });
  }
  // So many days, an entry a day everywhere but at `quiet`.
  void Days(int days, size_t quiet = 3) {
    for (int day = 0; day < days; ++day) {
      world.RunUntilQuiet(world.now + kDay);
      for (size_t i = 0; i < 3; ++i) {
        if (i != quiet) Note(i);
      }
    }
    world.RunUntilQuiet(world.now + 3600);
  }
  Disk& disk(size_t i) { return world.site(i).disk; }
  const PeerLog& Kept(size_t at, const std::string& of) { return disk(at).peer_logs[of]; }
  // The disk of a site as it was before; the machine that had it starts again.
  void Restore(size_t i, Disk before) {
    before.incarnation.fill(77);
    before.outbox.clear();
    before.next_number = 1;
    world.site(i).node.reset();
    disk(i) = std::move(before);
    world.Again(i);
  }
  // Entries about faults, of the log of a site.
  std::vector<AuditRecord> FaultEntries(size_t i) {
    std::vector<AuditRecord> found;
    for (const AuditEntry& entry : disk(i).audit) {
      if (entry.record.action == AuditAction::kLogFault) found.push_back(entry.record);
    }
    return found;
  }
  void ExpectKept(size_t at, size_t of) {
    ASSERT_THAT(disk(of).days, ::testing::Not(IsEmpty()));
    const LogDay& newest = disk(of).days.back();
    const PeerLog& kept = Kept(at, ThreeParties()[of]);
    EXPECT_EQ(kept.number, newest.number) << at << " of " << of;
    EXPECT_EQ(kept.digest, newest.digest) << at << " of " << of;
    EXPECT_EQ(kept.day, newest.day) << at << " of " << of;
    const KeptReceipt& receipt = disk(of).receipts[ThreeParties()[at]];
    EXPECT_EQ(receipt.receipt.number, newest.number) << at << " of " << of;
    EXPECT_EQ(receipt.receipt.digest, newest.digest) << at << " of " << of;
    EXPECT_TRUE(disk(of).received.contains(receipt.message));
  }
  void ExpectAllKept() {
    for (size_t at = 0; at < 3; ++at) {
      for (size_t of = 0; of < 3; ++of) {
        if (at != of) ExpectKept(at, of);
      }
    }
  }
};

TEST(LogDaysTest, EveryDayIsKeptAndSignedForByAllOthers) {
  Logs logs;
  logs.Days(6);
  EXPECT_THAT(logs.disk(0).days, SizeIs(7));
  logs.ExpectAllKept();
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_THAT(logs.disk(i).faults, IsEmpty());
    EXPECT_THAT(logs.FaultEntries(i), IsEmpty());
    EXPECT_THAT(logs.disk(i).outbox, IsEmpty());
  }
}

TEST(LogDaysTest, ADayWithoutEntriesIsTold) {
  Logs logs;
  logs.Days(4, 1);
  const std::vector<LogDay>& days = logs.disk(1).days;
  ASSERT_THAT(days, SizeIs(5));
  EXPECT_EQ(days[1].entry, days[4].entry);
  EXPECT_NE(days[1].digest, days[4].digest);
  logs.ExpectAllKept();
}

TEST(LogDaysTest, WhoWasAwayGetsAllDaysThatItLacks) {
  WorldOptions options = Telling();
  Logs logs(std::move(options));
  logs.Days(2);
  logs.world.loses = [](const OutboxEntry& entry) { return entry.to == "south"; };
  logs.Days(9);
  EXPECT_EQ(logs.Kept(1, "north").number, 3U);
  logs.world.loses = nullptr;
  logs.Days(1);
  logs.ExpectAllKept();
}

TEST(LogDaysTest, MoreDaysThanOneMessageTakesFollowAtOnce) {
  Logs logs;
  logs.world.site(0).node.reset();
  Disk& north = logs.disk(0);
  const AuditHead newest = HeadOf(north.audit.back());
  while (north.days.size() < 2 * kMaxDaysTold + 7)
    north.days.push_back(DayAfter(north.days.back(), 1000, newest));
  logs.world.Again(0);
  logs.Days(1);
  EXPECT_GT(north.days.size(), 2 * kMaxDaysTold + 7);
  logs.ExpectAllKept();
  EXPECT_THAT(logs.FaultEntries(1), IsEmpty());
}

TEST(LogDaysTest, ARestoredLogShowsAtEveryOtherSite) {
  Logs logs;
  logs.Days(3);
  const Disk before = logs.disk(0);
  logs.Days(4);
  const LogDay told = logs.disk(0).days[5];
  logs.Restore(0, before);
  logs.Days(1);
  for (const size_t i : {1, 2}) {
    ASSERT_THAT(logs.disk(i).faults, SizeIs(1));
    const LogFault& fault = logs.disk(i).faults[0];
    EXPECT_EQ(fault.party, "north");
    EXPECT_EQ(fault.departs, 5U);
    EXPECT_EQ(fault.had, 8U);
    // Both messages are there, and say so, signed by north.
    const SignedMessage first = DecodeMessage(logs.disk(i).received.at(fault.before).message);
    const SignedMessage then = DecodeMessage(logs.disk(i).received.at(fault.message).message);
    const NamedTrust trust("south", {"north"});
    EXPECT_TRUE(trust.SignedBySender(first) && trust.SignedBySender(then));
    const LogHead early = DecodeLogHead(first.message.body),
                  late = DecodeLogHead(then.message.body);
    EXPECT_NE(early.days.at(5 - early.first).digest, late.days.at(5 - late.first).digest);
    const std::vector<AuditRecord> entries = logs.FaultEntries(i);
    ASSERT_THAT(entries, SizeIs(1));
    EXPECT_EQ(entries[0].subject, "north");
    EXPECT_EQ(entries[0].message, fault.message);
    EXPECT_THAT(entries[0].outcome,
                HasSubstr("of the 8 days that it told before, those from 5 on"));
  }
  EXPECT_NE(logs.disk(0).days[5].digest, told.digest);
  // North hears it from both, and what comes then goes on.
  ASSERT_THAT(logs.FaultEntries(0), SizeIs(2));
  EXPECT_THAT(logs.FaultEntries(0)[0].outcome, HasSubstr("had 8 days of this site's audit log"));
  logs.Days(3);
  logs.ExpectAllKept();
  EXPECT_THAT(logs.disk(1).faults, SizeIs(1));
  EXPECT_THAT(logs.FaultEntries(0), SizeIs(2));
}

TEST(LogDaysTest, ALogThatWasCutShowsThoughItsDaysAgree) {
  Logs logs;
  logs.Days(5);
  const Disk now = logs.disk(0);
  Disk cut = now;
  cut.days.resize(2);
  cut.receipts.clear();
  logs.Restore(0, std::move(cut));
  // On the day itself nothing is closed: what is told are the two days.
  logs.world.node(0).Tick(logs.world.now - 4 * kDay);
  logs.world.RunUntilQuiet(logs.world.now + 100);
  ASSERT_THAT(logs.disk(1).faults, SizeIs(1));
  EXPECT_EQ(logs.disk(1).faults[0].departs, 3U);
  EXPECT_EQ(logs.disk(1).faults[0].had, 6U);
}

// A head of north, as it would sign it.
struct Told {
  Logs logs;
  std::vector<ToldDay> days;
  uint64_t number = 500;

  Told() {
    logs.Days(3);
    for (const LogDay& day : logs.disk(0).days) days.push_back({day.day, day.digest});
  }
  LogHead Head(uint64_t first, std::vector<ToldDay> told) {
    LogHead head;
    head.first = first;
    head.newest = first + told.size() - 1;
    if (first > 1) head.before = days.at(first - 2).digest;
    head.days = std::move(told);
    return head;
  }
  Receipt Send(const LogHead& head, const StudyId& study = {}) {
    return logs.world.node(1).Receive(
        SignedBy("north", "south", Kind::kLogHead, study, Encode(head), ++number, logs.world.now),
        logs.world.now);
  }
  LogReceipt Answer() {
    LogReceipt last;
    for (const auto& [key, entry] : logs.disk(1).outbox) {
      const SignedMessage message = DecodeMessage(entry.message);
      if (message.message.kind == Kind::kLogReceipt) last = DecodeLogReceipt(message.message.body);
    }
    return last;
  }
};

TEST(LogDaysTest, ASiteThatTellsADayTwiceIsCaughtOnceADay) {
  Told told;
  std::vector<ToldDay> days = {told.days[2], told.days[3]};
  days[0].digest[0] ^= 1;
  EXPECT_EQ(told.Send(told.Head(3, days)), Receipt::kTaken);
  ASSERT_THAT(told.logs.disk(1).faults, SizeIs(1));
  EXPECT_EQ(told.logs.disk(1).faults[0].departs, 3U);
  EXPECT_EQ(told.Answer().departs, 3U);
  EXPECT_EQ(told.Answer().had, 4U);
  // And back to the first story: evidence again, but not without end.
  EXPECT_EQ(told.Send(told.Head(3, {told.days[2], told.days[3]})), Receipt::kLater);
  told.logs.world.now += kDay;
  EXPECT_EQ(told.Send(told.Head(3, {told.days[2], told.days[3]})), Receipt::kTaken);
  EXPECT_THAT(told.logs.disk(1).faults, SizeIs(2));
}

TEST(LogDaysTest, TheDayBeforeHasToBeTheOneThatIsKept) {
  Told told;
  LogHead head = told.Head(5, {{20'000, Digest{5}}});
  head.before[0] ^= 1;
  EXPECT_EQ(told.Send(head), Receipt::kTaken);
  ASSERT_THAT(told.logs.disk(1).faults, SizeIs(1));
  EXPECT_EQ(told.logs.disk(1).faults[0].departs, 4U);
  EXPECT_EQ(told.Answer().number, 5U);
}

TEST(LogDaysTest, WhatComesLateOrTwiceIsNoFault) {
  Told told;
  const Disk before = told.logs.disk(1);
  // As the same node told it earlier, and the network kept it back.
  Incarnation incarnation{};
  incarnation.fill(1);
  SignedMessage late;
  late.message.kind = Kind::kLogHead;
  late.message.from = "north";
  late.message.to = "south";
  late.message.incarnation = incarnation;
  late.message.number = 0;
  late.message.time = told.logs.world.now;
  SetBody(late.message, Encode(told.Head(1, {told.days[0], told.days[1]})));
  late.signature = NamedTrust::SignAs("north", late.message);
  const auto receive = [&] {
    return told.logs.world.node(1).Receive(EncodeMessage(late), told.logs.world.now);
  };
  EXPECT_EQ(receive(), Receipt::kTaken);
  EXPECT_EQ(told.Answer().number, 4U);
  EXPECT_EQ(receive(), Receipt::kTaken);
  EXPECT_THAT(told.logs.disk(1).faults, IsEmpty());
  EXPECT_EQ(told.logs.disk(1).peer_logs, before.peer_logs);
}

TEST(LogDaysTest, DaysThatFollowNothingHereAreAskedForByTheReceipt) {
  Told told;
  LogHead head = told.Head(5, {{20'000, Digest{5}}});
  head.first = head.newest = 7;
  EXPECT_EQ(told.Send(head), Receipt::kTaken);
  EXPECT_EQ(told.Answer().number, 4U);
  EXPECT_EQ(told.Answer().departs, 0U);
  EXPECT_EQ(told.logs.Kept(1, "north").number, 4U);
}

TEST(LogDaysTest, LogsHaveNoStudyAndNoBodyToFetch) {
  Told told;
  StudyId study{};
  study.fill(3);
  EXPECT_EQ(told.Send(told.Head(5, {{20'000, Digest{5}}}), study), Receipt::kRefused);
  EXPECT_EQ(told.logs.Kept(1, "north").number, 4U);
}

// Receipts of a day that the log does not have are evidence at whose log it is.
TEST(LogDaysTest, AReceiptForAnotherLogIsNoted) {
  Told told;
  LogReceipt receipt;
  receipt.number = 2;
  receipt.digest = Digest{9};
  const auto send = [&](uint64_t number) {
    return told.logs.world.node(0).Receive(SignedBy("south", "north", Kind::kLogReceipt, {},
                                                    Encode(receipt), number, told.logs.world.now),
                                           told.logs.world.now);
  };
  EXPECT_EQ(send(900), Receipt::kTaken);
  ASSERT_THAT(told.logs.FaultEntries(0), SizeIs(1));
  EXPECT_EQ(told.logs.FaultEntries(0)[0].actor.name, "south");
  EXPECT_EQ(send(901), Receipt::kTaken);
  EXPECT_THAT(told.logs.FaultEntries(0), SizeIs(1));
  // It is told all again the next day.
  told.logs.Days(1);
  told.logs.ExpectKept(1, 0);
}

TEST(LogDaysTest, ALeapOfTheClockClosesNoDay) {
  Logs logs;
  logs.Days(1);
  const size_t days = logs.disk(0).days.size();
  logs.world.node(0).Tick(logs.world.now + 3000 * kDay);
  EXPECT_EQ(logs.disk(0).days.size(), days);
}

// A SIGKILL at every write and delivery: in the end all have all, and nobody is suspected.
TEST(LogDaysTest, KillsLeaveNoGapAndNoFault) {
  uint64_t points = 1;
  {
    Logs whole;
    whole.Days(2);
    points = whole.world.points;
  }
  ASSERT_GT(points, 50U);
  for (const Harm harm : {Harm::kNode, Harm::kMachine}) {
    for (uint64_t point = 1; point <= points; ++point) {
      WorldOptions options = Telling();
      options.harms[point] = harm;
      Logs logs(std::move(options));
      logs.Days(2);
      logs.Days(1);
      for (size_t i = 0; i < 3; ++i) {
        ASSERT_THAT(logs.disk(i).faults, IsEmpty()) << point;
        ASSERT_THAT(logs.FaultEntries(i), IsEmpty()) << point;
      }
      logs.ExpectAllKept();
      if (::testing::Test::HasFailure()) FAIL() << "point " << point;
    }
  }
}

class LogDaysStoreTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "log_days_XXXXXX").string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
  }
  void TearDown() override { fs::remove_all(folder_); }
  fs::path File() const { return folder_ / "state.sqlite"; }
  void Tamper(const std::string& sql) {
    sqlite::Database database(File().string(),
                              {.fail = [](const std::string&, int, const std::string& reason) {
                                return Error(ErrorCode::kStorage, reason);
                              }});
    database.Execute(sql.c_str());
  }

  fs::path folder_;
  CountedRandom random_{1};
};

TEST_F(LogDaysStoreTest, KeepsWhatItIsGiven) {
  PeerLog log{"south", 2, 20'000, Digest{2}, Incarnation{3}, UINT64_MAX, 20'001};
  LogFault fault{"south", 1, 5, 1'790'000'000, Digest{6}, Digest{7}};
  KeptReceipt kept{"west",         {Digest{1}, 1, Digest{2}, 1, 3},
                   Incarnation{4}, UINT64_MAX - 1,
                   Digest{5},      1'790'000'000,
                   20'002};
  {
    SqliteStore store(File(), random_);
    Change change;
    change.audit = {Served(1), Served(2)};
    change.close_day = 20'000;
    change.peer_log =
        PeerLogNews{log, 0, {{1, Digest{1}, Digest{8}}, {2, Digest{2}, Digest{8}}}, {}};
    change.log_receipt = kept;
    store.Commit(change);
    change = {};
    change.close_day = 20'001;
    log.number = 1;
    change.peer_log = PeerLogNews{log, 1, {{1, Digest{9}, Digest{7}}}, fault};
    store.Commit(change);
  }
  SqliteStore store(File(), random_);
  const Opening opening = store.Open();
  EXPECT_EQ(opening.newest_day.number, 2U);
  EXPECT_EQ(opening.newest_day.entry, 2U);
  EXPECT_EQ(opening.log_receipts, std::vector<KeptReceipt>{kept});
  EXPECT_EQ(store.FindLogDays(2, 10), std::vector<LogDay>{opening.newest_day});
  EXPECT_THAT(store.FindLogDays(1, 10), SizeIs(2));
  EXPECT_EQ(store.FindPeerLogs(), std::vector<PeerLog>{log});
  EXPECT_EQ(store.FindPeerDay("south", 1), (PeerDay{1, Digest{9}, Digest{7}}));
  EXPECT_EQ(store.FindPeerDay("south", 2), std::nullopt);
  EXPECT_EQ(store.FindLogFaults(5), std::vector<LogFault>{fault});
}

// Entries written anew, each after the other, so that the log alone holds.
TEST_F(LogDaysStoreTest, ALogWrittenAnewDoesNotFitItsDaysNorTheReceipts) {
  LogDay first;
  {
    SqliteStore store(File(), random_);
    Change change;
    change.audit = {Served(1), Served(2)};
    change.close_day = 20'000;
    store.Commit(change);
    first = store.FindLogDays(1, 1).at(0);
    EXPECT_EQ(store.CheckAudit(1, 100).fault, std::nullopt);
  }
  const fs::path other = folder_ / "other.sqlite";
  {
    SqliteStore store(other, random_);
    Change change;
    change.audit = {Served(1), Served(3)};
    change.close_day = 20'000;
    store.Commit(change);
  }
  {
    // The days of the first, the entries of the second.
    Tamper("ATTACH '" + other.string() +
           "' AS other; DROP TRIGGER audit_is_not_cut; DELETE FROM audit; INSERT INTO audit "
           "SELECT * FROM other.audit; DELETE FROM audit_head; INSERT INTO audit_head SELECT * "
           "FROM other.audit_head;");
    SqliteStore store(File(), random_);
    const AuditCheck check = store.CheckAudit(1, 100);
    ASSERT_TRUE(check.fault.has_value());
    EXPECT_EQ(check.fault->number, 2U);
    EXPECT_THAT(check.fault->what, HasSubstr("was closed with another one"));
  }
  // Days and entries of the second, and a receipt for the first.
  SqliteStore store(other, random_);
  Change change;
  change.log_receipt =
      KeptReceipt{"south", {Digest{1}, 1, first.digest, 0, 0}, {}, 1, Digest{5}, 1, 0};
  store.Commit(change);
  const AuditCheck check = store.CheckAudit(1, 100);
  ASSERT_TRUE(check.fault.has_value());
  EXPECT_THAT(check.fault->what, HasSubstr("south signed for another log"));
}

TEST_F(LogDaysStoreTest, AFileOfBeforeGetsTheTables) {
  {
    SqliteStore store(File(), random_);
    Change change;
    change.audit = {Served(1)};
    store.Commit(change);
  }
  for (const char* table :
       {"audit_day", "peer_log", "peer_day", "log_fault", "log_receipt", "ending"})
    Tamper(std::string("DROP TABLE ") + table);
  Tamper("DROP INDEX received_study");
  Tamper("ALTER TABLE node DROP COLUMN restored");
  Tamper("PRAGMA user_version = 3");
  SqliteStore store(File(), random_);
  Change change;
  change.close_day = 20'000;
  store.Commit(change);
  EXPECT_THAT(store.FindLogDays(1, 9), SizeIs(1));
  EXPECT_THAT(store.ReadAudit({}, 0, 9).entries, SizeIs(1));
}

TEST_F(LogDaysStoreTest, DaysAreNotChangedOrDeleted) {
  {
    SqliteStore store(File(), random_);
    Change change;
    change.audit = {Served(1)};
    change.close_day = 20'000;
    store.Commit(change);
  }
  EXPECT_THROW(Tamper("DELETE FROM audit_day"), Error);
  EXPECT_THROW(Tamper("UPDATE audit_day SET day = 1"), Error);
}

}  // namespace
}  // namespace partita::node::log_days_test
