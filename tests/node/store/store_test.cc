// What every store promises, in whichever database.
#include "node/store/store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/clock.h"
#include "tests/node/scene.h"
#include "tests/node/store/changes.h"
#include "tests/node/store/places.h"

namespace partita::node::store_test {
namespace {

class StoreTest : public ::testing::TestWithParam<std::string> {
 protected:
  static std::unique_ptr<Place> MakePlace(const std::string& kind) {
    if (kind == "sqlite") return std::make_unique<SqlitePlace>();
    return std::make_unique<PostgresPlace>();
  }
  const std::unique_ptr<Place> place_ = MakePlace(GetParam());
  CountedRandom random_{1};
};

INSTANTIATE_TEST_SUITE_P(Places, StoreTest, ::testing::Values("sqlite", "postgres"),
                         [](const auto& place) { return place.param; });

TEST_P(StoreTest, KeepsEverythingAcrossAStart) {
  const std::vector<Study> states = States();
  ASSERT_GT(states.size(), size_t{30});
  Incarnation incarnation{};
  {
    const auto opened = place_->Open(random_);
    SqlStore& store = *opened;
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
  const auto opened = place_->Open(random_);
  SqlStore& store = *opened;
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
TEST_P(StoreTest, StudiesThatAreOverAreNotReadAtTheStart) {
  const std::vector<Study> states = States();
  {
    const auto opened = place_->Open(random_);
    SqlStore& store = *opened;
    Change change;
    change.study = states.back();
    ASSERT_FALSE(IsOpen(*change.study));
    store.Commit(change);
  }
  place_->Administer(
      GetParam() == "sqlite"
          ? "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 10000) "
            "INSERT INTO study SELECT randomblob(32), 0, state FROM n, study"
          : "INSERT INTO study (id, is_open, state) SELECT sha256(i::text::bytea), 0, state "
            "FROM generate_series(1, 10000) i, study");
  const auto began = SteadyClock::now();
  const auto opened = place_->Open(random_);
  SqlStore& store = *opened;
  EXPECT_TRUE(store.Open().open.empty());
  EXPECT_EQ(store.FindStudy(states.back().id), states.back());
  EXPECT_LT(SecondsSince(began), 2.0);
  RecordProperty("milliseconds", static_cast<int>(1000 * SecondsSince(began)));
}

TEST_P(StoreTest, AStudyThatCannotBeReadIsSetApart) {
  Study sick = States().front();
  Study well = sick;
  well.id[0] ^= 1;
  {
    const auto opened = place_->Open(random_);
    SqlStore& store = *opened;
    for (const Study& study : {sick, well}) {
      Change change;
      change.study = study;
      store.Commit(change);
    }
  }
  place_->Administer((GetParam() == "sqlite"
                          ? "UPDATE study SET state = substr(state, 1, 50) WHERE id = X'"
                          : "UPDATE study SET state = substr(state, 1, 50) WHERE id = '\\x") +
                     ToHex(sick.id) + "'");
  const auto opened = place_->Open(random_);
  SqlStore& store = *opened;
  const Opening opening = store.Open();
  EXPECT_EQ(opening.open, std::vector<Study>{well});
  EXPECT_EQ(opening.set_apart, std::vector<StudyId>{sick.id});
}

TEST_P(StoreTest, AChangeThatFailsLeavesNothing) {
  const auto opened = place_->Open(random_);
  SqlStore& store = *opened;
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

TEST_P(StoreTest, TwoProcessesCannotHaveOneState) {
  {
    const auto store = place_->Open(random_);
    place_->patience = std::chrono::milliseconds(20);
    EXPECT_THROW(place_->Open(random_), Error);
  }
  place_->patience = std::chrono::seconds(60);
  // Where it is there already, neither has written yet.
  const auto store = place_->Open(random_);
  place_->patience = std::chrono::milliseconds(20);
  EXPECT_THROW(place_->Open(random_), Error);
  store->RequireHeld();
}

// Those that are over, the last one first, by pages that hang together while others end; open ones never.
TEST_P(StoreTest, PagesOfWhatIsOver) {
  Study study = States().back();
  ASSERT_TRUE(IsEnd(study.phase));
  const auto opened = place_->Open(random_);
  SqlStore& store = *opened;
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

TEST_P(StoreTest, WhatIsKeptNoLongerIsGone) {
  Study over = States().back();
  ASSERT_FALSE(IsOpen(over));
  over.file = "the words of a study that nobody is to read any more";
  const auto opened = place_->Open(random_);
  SqlStore& store = *opened;
  Change change = OverAt(over, 5000);
  change.received = ReceivedMessage{
      Digest{1}, "west", Incarnation{2}, 7, over.id, BytesOf("a message of long ago"), 20'000, 300};
  store.Commit(change);
  EXPECT_EQ(store.FindEnd(over.id), (OverStudy{over.id, 5000, Kept::kAll}));
  // The first time counts.
  store.Commit(OverAt(over, 6000));
  EXPECT_EQ(store.FindEnded(), (std::vector<OverStudy>{{over.id, 5000, Kept::kAll}}));
  Change less;
  less.keep_less = {{over.id, 5000, Kept::kDocuments}};
  store.Commit(less);
  EXPECT_EQ(store.FindStudy(over.id), over);
  const std::string message = ToHex(AsBytes("a message of long ago"));
  EXPECT_NE(place_->Dump(store).find(message), std::string::npos);
  less.keep_less = {{over.id, 5000, Kept::kNumber}};
  store.Commit(less);
  EXPECT_EQ(place_->Dump(store).find(message), std::string::npos);
  EXPECT_EQ(store.FindStudy(over.id), std::nullopt);
  EXPECT_EQ(store.FindEnd(over.id)->kept, Kept::kNumber);
  EXPECT_TRUE(store.HasReceived(Digest{1}));
  EXPECT_EQ(store.FindNumber("west", Incarnation{2}, 7), Digest{1});
  // Nothing is kept less of what is not over, or is gone.
  EXPECT_THROW(store.Commit(less), Error);
  less.keep_less = {{StudyId{99}, 5000, Kept::kDocuments}};
  EXPECT_THROW(store.Commit(less), Error);
}

// Changes of every kind, as a node wrote them: all that can be read is the same in both, and so is a copy.
TEST(StoresTest, HoldTheSame) {
  std::vector<Change> written;
  WorldOptions options;
  options.tells_log = true;
  options.doubled_percent = 10;
  World world(options);
  world.on_commit = [&](const std::string& site, const Change& change) {
    if (site == "north") written.push_back(change);
  };
  const StudyId id = world.Propose(0);
  world.RunUntilQuiet(World::kBegin + 2 * 86'400);
  ASSERT_EQ(world.StudyAt(0, id).phase, Phase::kFinished);
  ASSERT_GT(written.size(), 30u);
  // What the world does not do.
  written.emplace_back().keep_less = {{id, 0, Kept::kNumber}};
  CountedRandom random(3), same(3);
  SqlitePlace file;
  PostgresPlace database;
  const auto one = file.Open(random), other = database.Open(same);
  EXPECT_EQ(file.Dump(*one), database.Dump(*other));
  for (const Change& change : written) {
    one->Commit(change);
    other->Commit(change);
    EXPECT_EQ(one->FindOver(0, 10).studies, other->FindOver(0, 10).studies);
    EXPECT_EQ(one->FindEnded(), other->FindEnded());
  }
  EXPECT_EQ(one->Open().open, other->Open().open);
  EXPECT_EQ(one->Open().outbox.size(), other->Open().outbox.size());
  EXPECT_EQ(one->FindPeerLogs(), other->FindPeerLogs());
  EXPECT_EQ(one->FindLogDays(1, 10), other->FindLogDays(1, 10));
  EXPECT_EQ(one->CheckAudit(1, 1000).fault, std::nullopt);
  EXPECT_EQ(other->CheckAudit(1, 1000).fault, std::nullopt);
  EXPECT_EQ(one->ReadAudit({}, 0, 1000).entries, other->ReadAudit({}, 0, 1000).entries);
  EXPECT_EQ(one->ReadAudit({id, "node"}, 0, 3).entries,
            other->ReadAudit({id, "node"}, 0, 3).entries);
  EXPECT_EQ(file.Dump(*one), database.Dump(*other));
}

TEST_P(StoreTest, EntriesOfTheLogAreNotChangedUnseen) {
  {
    const auto store = place_->Open(random_);
    Change change;
    change.audit.resize(3);
    change.close_day = 20'000;
    store->Commit(change);
    EXPECT_EQ(store->CheckAudit(1, 100).fault, std::nullopt);
  }
  for (const char* sql : {"UPDATE audit SET number = 9 WHERE number = 3", "DELETE FROM audit",
                          "UPDATE audit_day SET day = 1", "DELETE FROM audit_day"})
    EXPECT_THROW(place_->Administer(sql), Error) << sql;
  const bool is_file = GetParam() == "sqlite";
  place_->Administer(is_file ? "DROP TRIGGER audit_is_not_cut"
                             : "DROP TRIGGER not_changed ON audit");
  place_->Administer("DELETE FROM audit WHERE number = 3");
  const auto store = place_->Open(random_);
  const AuditCheck check = store->CheckAudit(1, 100);
  ASSERT_TRUE(check.fault.has_value());
  EXPECT_EQ(check.fault->number, 3u);
}

// What a peer or a page calls itself is bytes to the store.
TEST_P(StoreTest, NamesAreBytes) {
  const std::string odd("\xff\xfe 'a\\", 6);
  const auto store = place_->Open(random_);
  Change change = Example(States().front());
  change.received->from = odd;
  change.send[0].to = odd;
  change.audit.resize(1);
  change.audit[0].actor = {ActorKind::kAccount, odd};
  store->Commit(change);
  EXPECT_EQ(store->BytesTaken(odd, 20'000), 300u);
  EXPECT_EQ(store->Open().outbox[0].to, odd);
  EXPECT_EQ(store->ReadAudit({std::nullopt, ActorText(change.audit[0].actor)}, 0, 9).entries.size(),
            1u);
}

TEST_P(StoreTest, LargeBodiesComeBack) {
  Change change = Example(States().front());
  Bytes body(8 << 20);
  CountedRandom(7).Fill(body);
  change.bodies = {body, Bytes()};
  const auto store = place_->Open(random_);
  store->Commit(change);
  EXPECT_EQ(store->FindBody(crypto::Sha256Of(body)), body);
  EXPECT_EQ(store->FindBody(crypto::Sha256Of(Bytes())), Bytes());
}

}  // namespace
}  // namespace partita::node::store_test
