// What is of the database alone; what every store promises is in store_test.cc. One process at a time, and what a process
// does that is none any more; connections that end at every place; servers that lose power; databases that were put back.
#include "node/store/postgres_store.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/files.h"
#include "tests/node/store/changes.h"
#include "tests/node/store/places.h"
#include "tests/sums/protocol/cutting_proxy.h"

namespace partita::node::postgres_store_test {
namespace {

using sums::CuttingProxy;
using ::testing::HasSubstr;

// Whether the server's last word is read before its end is seen is a matter of chance.
constexpr char kItsName[] = "the database of the node's state";

template <typename Work>
std::string Refused(ErrorCode code, const Work& work) {
  try {
    work();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), code) << error.message();
    EXPECT_FALSE(error.hint().empty()) << error.message();
    return error.message();
  }
  ADD_FAILURE() << "it was taken";
  return "";
}

class PostgresStoreTest : public ::testing::Test {
 protected:
  std::unique_ptr<PostgresStore> Open() {
    PostgresState state = place_.state;
    state.lock_patience = patience_;
    return std::make_unique<PostgresStore>(state, random_);
  }
  std::string OpenRefused(ErrorCode code) {
    return Refused(code, [&] { Open(); });
  }
  // The change number `n`: another study, message and number each.
  Change Numbered(uint8_t n) const {
    Study study = study_;
    study.id = StudyId{n};
    Change change = Example(study);
    change.received->name = Digest{n};
    change.received->number = n;
    change.send[0].number = n;
    change.audit.resize(1);
    return change;
  }
  bool Holds(Store& store, uint8_t n) const {
    const bool holds = store.FindStudy(StudyId{n}).has_value();
    EXPECT_EQ(store.HasReceived(Digest{n}), holds) << "half of a change";
    EXPECT_EQ(store.FindNumber("west", Incarnation{2}, n).has_value(), holds) << "half of a change";
    return holds;
  }
  void EndConnections() {
    place_.Administer(
        "SELECT pg_terminate_backend(pid, 60000) FROM pg_stat_activity WHERE datname = "
        "current_database() AND pid <> pg_backend_pid()");
  }

  PostgresPlace place_;
  std::chrono::milliseconds patience_{20};
  CountedRandom random_{1};
  const Study study_ = States().front();
};

TEST_F(PostgresStoreTest, TheSecondProcessIsToldWhoHasTheState) {
  auto store = Open();
  EXPECT_THAT(OpenRefused(ErrorCode::kUsage),
              HasSubstr("another node serves, or is being backed up, from the database of this one "
                        "(from the machine of the database, since 20"));
  EXPECT_THAT(Refused(ErrorCode::kUsage,
                      [&] {
                        PostgresState state = place_.state;
                        state.lock_patience = patience_;
                        CopyPostgresState(state, place_.folder.path() / "copy");
                      }),
              HasSubstr("another node serves"));
  store->Commit(Numbered(1));
  store.reset();
  patience_ = std::chrono::seconds(60);  // the server's process may take a moment to end
  EXPECT_TRUE(Holds(*Open(), 1));
}

// The lock ends with the connection; nothing is tried again on another one.
TEST_F(PostgresStoreTest, ALostConnectionEndsTheStoreForGood) {
  auto store = Open();
  store->RequireHeld();
  EndConnections();
  EXPECT_THAT(Refused(ErrorCode::kStorage, [&] { store->RequireHeld(); }), HasSubstr(kItsName));
  for (int tries = 0; tries < 2; ++tries) {
    EXPECT_THAT(Refused(ErrorCode::kStorage, [&] { store->Commit(Numbered(1)); }),
                HasSubstr("was lost"));
    Refused(ErrorCode::kStorage, [&] { store->RequireHeld(); });
    Refused(ErrorCode::kStorage, [&] { store->FindStudy(StudyId{1}); });
  }
  EXPECT_FALSE(Holds(*Open(), 1));
}

// A pooler, or a standby that took over, may lose a lock that its process believes to hold.
TEST_F(PostgresStoreTest, WhoLostTheLockUnseenWritesNothing) {
  const auto store = Open();
  store->Commit(Numbered(1));
  store->sql().Do("SELECT pg_advisory_unlock_all()");
  store->RequireHeld();
  const auto other = Open();
  EXPECT_THAT(Refused(ErrorCode::kStorage, [&] { store->RequireHeld(); }),
              HasSubstr("somebody else has written"));
  EXPECT_THAT(Refused(ErrorCode::kStorage, [&] { store->Commit(Numbered(2)); }),
              HasSubstr("somebody else has written"));
  other->Commit(Numbered(3));
  other->RequireHeld();
  EXPECT_FALSE(Holds(*other, 2));
  EXPECT_TRUE(Holds(*other, 3));
}

// The connection ends within each statement of a change, one after the other, and within the commit.
TEST_F(PostgresStoreTest, AChangeIsWholeOrNotThereWhereverTheConnectionEnds) {
  Open()->Commit(Numbered(1));
  place_.Administer(
      "CREATE SEQUENCE strokes; CREATE TABLE mortal (at bigint); INSERT INTO mortal VALUES (0); "
      "CREATE FUNCTION strike() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$BEGIN "
      "IF nextval('partita_node.strokes') = (SELECT at FROM partita_node.mortal) THEN "
      "PERFORM pg_terminate_backend(pg_backend_pid()); PERFORM pg_sleep(60); END IF; "
      "RETURN NULL; END$$");
  for (const char* table :
       {"store", "node", "study", "outbox", "received", "taken", "body", "audit", "audit_head"}) {
    place_.Administer(
        fmt::format("CREATE TRIGGER strike AFTER INSERT OR UPDATE OR DELETE ON {} "
                    "FOR EACH STATEMENT EXECUTE FUNCTION strike()",
                    table));
  }
  place_.Administer(
      "CREATE CONSTRAINT TRIGGER strike_at_commit AFTER UPDATE ON store DEFERRABLE INITIALLY "
      "DEFERRED FOR EACH ROW EXECUTE FUNCTION strike()");
  patience_ = std::chrono::seconds(60);
  int64_t at = 1;
  for (bool is_done = false;; ++at) {
    const auto store = Open();
    place_.Administer(
        fmt::format("UPDATE mortal SET at = {}; SELECT setval('strokes', 1, false)", at));
    try {
      store->Commit(Numbered(2));
      is_done = true;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kStorage);
      EXPECT_THAT(error.message(), HasSubstr(kItsName)) << at;
      Refused(ErrorCode::kStorage, [&] { store->Commit(Numbered(2)); });
    }
    place_.Administer("UPDATE mortal SET at = 0");
    if (is_done) break;
    EXPECT_FALSE(Holds(*Open(), 2)) << at;
  }
  // An INSERT that updates what is there counts twice.
  EXPECT_EQ(at - 1, 12) << "statements that write, and the commit";
  EXPECT_TRUE(Holds(*Open(), 2));
}

// At bytes in both directions: what is not known may be either, and what was said to be there is.
TEST_F(PostgresStoreTest, AChangeIsWholeOrNotThereWhereverBytesStop) {
  using Way = CuttingProxy::Way;
  patience_ = std::chrono::seconds(60);
  Open();
  CuttingProxy proxy(place_.server.socket(), place_.server.folder());
  PostgresState through = place_.state;
  through.lock_patience = patience_;
  through.connection += " port=6543";
  uint8_t n = 0;
  int kept = 0, cuts = 0;
  for (const auto& [way, places] : {std::pair(Way::kToServer, 16), std::pair(Way::kToClient, 16)}) {
    uint64_t begin = 0, end = 0;
    {
      PostgresStore measured(through, random_);
      begin = proxy.bytes(way);
      measured.Commit(Numbered(++n));
      end = proxy.bytes(way);
    }
    // The last byte is cut as well: of the answer to the commit.
    for (int place = 0; place < places; ++place) {
      const uint64_t at = end - 1 - (end - 1 - begin) * place / places;
      proxy.CutNext(way, at);
      ++n;
      bool is_said = false;
      try {
        PostgresStore store(through, random_);
        store.Commit(Numbered(n));
        is_said = true;
      } catch (const Error& error) {
        EXPECT_EQ(error.code(), ErrorCode::kStorage) << error.message();
      }
      EXPECT_TRUE(proxy.cut()) << at;
      ++cuts;
      // The folder takes the database back either way.
      const bool is_there = Holds(*Open(), n);
      EXPECT_TRUE(is_there || !is_said) << at;
      kept += is_there && !is_said ? 1 : 0;
    }
  }
  EXPECT_EQ(cuts, 32);
  EXPECT_GT(kept, 0) << "no commit was done and not answered";
}

// Commits that do not wait for the disk are the default of this server, and its log is written 10 s late.
TEST_F(PostgresStoreTest, WhatWasCommittedOutlivesTheServer) {
  sums::PostgresServer server;
  PostgresPlace place(server);
  CountedRandom random(1);
  {
    const auto store = place.OpenHere(random);
    store->Commit(Numbered(1));
    server.Kill();
    Refused(ErrorCode::kStorage, [&] { store->Commit(Numbered(2)); });
  }
  server.Start();
  {
    const auto store = place.OpenHere(random);
    EXPECT_TRUE(Holds(*store, 1));
    EXPECT_FALSE(Holds(*store, 2));
  }
  for (const char* careless : {"fsync", "full_page_writes"}) {
    server.Stop();
    server.Start({{careless, "off"}});
    EXPECT_THAT(Refused(ErrorCode::kBadInput, [&] { place.OpenHere(random); }),
                HasSubstr("does not write durably"));
  }
}

TEST_F(PostgresStoreTest, AnOlderCopyIsRefusedAndCanBeBackedUp) {
  Open()->Commit(Numbered(1));
  patience_ = std::chrono::seconds(60);
  const PostgresState state = place_.state;
  place_.server.Administer(
      "postgres", fmt::format("CREATE DATABASE {0}_old TEMPLATE {0} OWNER spool", place_.database));
  {
    const auto store = Open();  // a change
    store->Commit(Numbered(2));
  }
  place_.state.connection = place_.server.Connection(place_.database + "_old");
  EXPECT_THAT(OpenRefused(ErrorCode::kRefused),
              HasSubstr("an older state than this node left: 2 changes of 4"));
  const std::filesystem::path copy = place_.folder.path() / "copy.sqlite";
  CopyPostgresState(place_.state, copy);
  SqliteStore read(copy, random_);
  EXPECT_TRUE(Holds(read, 1));
  EXPECT_FALSE(Holds(read, 2));
  // It is not the node's by that.
  OpenRefused(ErrorCode::kRefused);
  place_.state = state;
  EXPECT_TRUE(Holds(*Open(), 2));
}

// Whatever process ends between database and folder.
TEST_F(PostgresStoreTest, TheFolderMayBeOneChangeBehind) {
  patience_ = std::chrono::seconds(60);
  Open();
  const DatabaseMark before = ReadDatabaseMark(place_.state.mark).value();
  Open();
  const DatabaseMark after = ReadDatabaseMark(place_.state.mark).value();
  EXPECT_EQ(after, (DatabaseMark{before.identity, before.changes + 1}));
  WriteDatabaseMark(place_.state.mark, before);
  Open();
  WriteDatabaseMark(place_.state.mark, before);
  EXPECT_THAT(OpenRefused(ErrorCode::kRefused), HasSubstr("another copy of the folder served"));
  WriteDatabaseMark(place_.state.mark, {before.identity, before.changes + 3});
  EXPECT_THAT(OpenRefused(ErrorCode::kRefused), HasSubstr("an older state"));
  WriteDatabaseMark(place_.state.mark, {{1}, before.changes + 2});
  EXPECT_THAT(OpenRefused(ErrorCode::kRefused), HasSubstr("another state"));
  std::filesystem::remove(place_.state.mark);
  EXPECT_THAT(OpenRefused(ErrorCode::kRefused), HasSubstr("does not know of it"));
  WriteFileAtomically(place_.state.mark.string(), "partita node database 1\n12\n");
  EXPECT_THAT(OpenRefused(ErrorCode::kBadInput), HasSubstr("is damaged"));
}

TEST_F(PostgresStoreTest, AnEmptiedDatabaseIsNoNewNode) {
  Open();
  place_.Administer("DROP SCHEMA partita_node CASCADE");
  EXPECT_THAT(OpenRefused(ErrorCode::kRefused), HasSubstr("the database is empty"));
  // Where its making did not come to an end.
  WriteDatabaseMark(place_.state.mark, {{1}, 0});
  Open();
}

TEST_F(PostgresStoreTest, OtherTablesAreRefused) {
  Open();
  for (const int version : {4, 6}) {
    place_.Administer(fmt::format("UPDATE store SET version = {}", version));
    EXPECT_THAT(OpenRefused(ErrorCode::kBadInput), HasSubstr("of this version of Partita"));
  }
}

TEST_F(PostgresStoreTest, AStateMovesFromFileToDatabaseAndBack) {
  const std::filesystem::path file = place_.folder.path() / "a.sqlite";
  const std::filesystem::path back = place_.folder.path() / "b.sqlite";
  {
    SqliteStore store(file, random_);
    for (uint8_t n = 1; n < 30; ++n) store.Commit(Numbered(n));
  }
  FillPostgresState(place_.state, file, random_);
  EXPECT_THAT(Refused(ErrorCode::kUsage, [&] { FillPostgresState(place_.state, file, random_); }),
              HasSubstr("there is the state of a node in the database"));
  EXPECT_THAT(Refused(ErrorCode::kUsage, [&] { RequireNoPostgresState(place_.state); }),
              HasSubstr("there is the state of a node in the database"));
  const auto store = Open();
  store->CopyTo(back);
  EXPECT_EQ(DumpOf(back), DumpOf(file));
  EXPECT_THROW(store->CopyTo(back), Error);
  store->Commit(Numbered(30));
}

TEST_F(PostgresStoreTest, PasswordsAndRowsAreNotInMessages) {
  place_.state.connection += " password=tattled";
  const std::string message = OpenRefused(ErrorCode::kBadInput);
  EXPECT_EQ(message.find("tattled"), std::string::npos);
  place_.state.connection = place_.server.Connection(place_.database);
  const auto store = Open();
  store->Commit(Numbered(1));
  const std::string twice = Refused(ErrorCode::kStorage, [&] { store->Commit(Numbered(1)); });
  EXPECT_THAT(twice, HasSubstr("(23505)"));
  EXPECT_EQ(twice.find("\\x"), std::string::npos) << twice;
}

}  // namespace
}  // namespace partita::node::postgres_store_test
