// What PostgreSQL's store promises beyond the contract of all spools (spool_test.cc): several
// processes, servers and connections that break, whose database it is, secrets in messages.
#include "sums/spool/postgres_spool.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <atomic>
#include <barrier>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <thread>

#include "base/libpq.h"
#include "tests/sums/protocol/cut_put.h"
#include "tests/sums/protocol/postgres_server.h"
#include "tests/sums/protocol/shares.h"

namespace partita::sums::postgres_spool_test {
namespace {

class PostgresSpoolTest : public ::testing::Test {
 protected:
  PostgresSettings Settings() const { return SharedServer().Settings(database_); }
  std::unique_ptr<PostgresSpool> Open(const PostgresSettings& settings) const {
    return std::make_unique<PostgresSpool>(settings, StudyHash{}, 1);
  }
  std::unique_ptr<PostgresSpool> Open() const { return Open(Settings()); }
  postgres::Rows Administer(const std::string& sql) const {
    return SharedServer().Administer(database_, sql);
  }
  void ExpectRefusal(ErrorCode code) const {
    ExpectError(code, [&] { Open(); });
  }

  const std::string database_ = SharedServer().MakeDatabase();
};

TEST(LibpqTest, SaysWhatToInstallIfItIsNotThere) {
  EXPECT_NE(postgres::Pq().connectdbParams, nullptr);
  // One that is nowhere, and one that is something else.
  for (const char* name : {"libpq-of-nobody.so.5", "libm.so.6"}) {
    try {
      postgres::OpenLibpq(name);
      ADD_FAILURE() << name;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kUsage);
      EXPECT_THAT(error.hint(), ::testing::HasSubstr("libpq5"));
      EXPECT_THAT(error.what(), ::testing::Not(::testing::HasSubstr(name)));
    }
  }
}

TEST_F(PostgresSpoolTest, ServesOneComputeNode) {
  Open();
  PostgresSettings other = Settings();
  other.node.fill(2);
  ExpectError(ErrorCode::kRefused, [&] { Open(other); });
  EXPECT_NO_THROW(Open());
}

// What a restored backup looks like: another server, or another timeline of the same.
TEST_F(PostgresSpoolTest, RefusesADatabaseThatWasMoved) {
  Open();
  Administer("UPDATE partita_dca.spool SET system = system + 1");
  ExpectRefusal(ErrorCode::kRefused);
  Administer("UPDATE partita_dca.spool SET system = system - 1, timeline = '00000007'");
  ExpectRefusal(ErrorCode::kRefused);
}

TEST_F(PostgresSpoolTest, RefusesOtherVersionsAndStrangers) {
  Open();
  Administer("UPDATE partita_dca.spool SET version = 2");
  ExpectRefusal(ErrorCode::kBadInput);
  Administer("DELETE FROM partita_dca.spool");
  ExpectRefusal(ErrorCode::kBadInput);
  Administer(
      "DROP SCHEMA partita_dca CASCADE; CREATE SCHEMA partita_dca; "
      "CREATE TABLE partita_dca.spool (id integer)");
  ExpectRefusal(ErrorCode::kBadInput);
}

// A role with exactly the rights that the operator's page names.
TEST_F(PostgresSpoolTest, NeedsNoMoreThanTheDocumentedRights) {
  Open();
  PostgresSettings settings = Settings();
  const std::string role = "working_" + database_;
  settings.connection = SharedServer().Connection(database_, role);
  Administer("CREATE ROLE " + role + " LOGIN");
  ExpectError(ErrorCode::kBadInput, [&] { Open(settings); });
  Administer("GRANT USAGE ON SCHEMA partita_dca TO " + role +
             "; GRANT SELECT ON ALL TABLES IN SCHEMA partita_dca TO " + role +
             "; GRANT INSERT ON partita_dca.round, partita_dca.share, partita_dca.chunk TO " +
             role + "; GRANT UPDATE ON partita_dca.round, partita_dca.chunk TO " + role);
  const auto spool = Open(settings);
  EXPECT_EQ(PutOne(*spool, Share(1, 1)), PutResult::kStored);
  spool->Freeze();
  spool->RecordClosing(Bytes{1});
  EXPECT_EQ(spool->CutChunks(5, 2).chunks, 3U);
  EXPECT_EQ(spool->TakeChunk("worker", 0, 10), 0U);
  EXPECT_TRUE(spool->RecordChunk(0, Bytes{1}));
  EXPECT_EQ(spool->RecordPublication(Bytes{2}), Bytes{2});
  // What it may not do: take anything back.
  for (const char* sql :
       {"DELETE FROM partita_dca.share", "UPDATE partita_dca.share SET request = ''",
        "DELETE FROM partita_dca.round", "UPDATE partita_dca.spool SET node = ''"}) {
    postgres::Session connection = OpenSpoolSession(settings.connection, std::chrono::seconds(60));
    ExpectError(ErrorCode::kBadInput, [&] { connection.Execute(sql); });
  }
  Administer("REVOKE INSERT ON partita_dca.share FROM " + role);
  ExpectError(ErrorCode::kBadInput, [&] { PutOne(*spool, Share(2, 1)); });
}

// The tables do not let states return, whoever writes.
TEST_F(PostgresSpoolTest, StatesNeverReturn) {
  const auto spool = Open();
  spool->Freeze();
  spool->RecordClosing(Bytes{1});
  spool->RecordPublication(Bytes{2});
  for (const char* sql : {"UPDATE partita_dca.round SET frozen = false",
                          "UPDATE partita_dca.round SET closing = NULL"}) {
    ExpectError(ErrorCode::kUnreachable, [&] { Administer(sql); });
  }
}

TEST_F(PostgresSpoolTest, MessagesHoldNoPassword) {
  const std::string secret = "hunter2";
  const std::string folder = SharedServer().folder().string();
  for (const std::string& connection :
       {"host=" + folder + " dbname=none user=spool password=" + secret,
        "host=" + folder + " port=1 dbname=none password=" + secret,
        "host=/nowhere password='" + secret + " dbname=x", "password=x " + secret + " host=/x",
        "postgresql://spool:" + secret + "@[/none", "postgresql://spool:" + secret + "@/none",
        "host=db.example.org sslmode=require password=" + secret,
        "host=127.0.0.1 port=1 password=" + secret, "nonsense=" + secret}) {
    PostgresSettings settings = Settings();
    settings.connection = connection;
    try {
      Open(settings);
      ADD_FAILURE() << "opened " << connection;
    } catch (const Error& error) {
      EXPECT_EQ((error.message() + error.hint()).find(secret), std::string::npos)
          << error.message() << error.hint();
      EXPECT_FALSE(error.hint().empty()) << error.message();
    }
  }
}

// Refused before anything is sent.
TEST_F(PostgresSpoolTest, OtherMachinesMustProveWhoTheyAre) {
  for (const char* connection :
       {"host=192.0.2.1 sslmode=disable", "host=192.0.2.1 sslmode=prefer",
        "host=db.example.org sslmode=require", "postgresql://db.example.org/x?sslmode=verify-ca",
        "host=localhost hostaddr=192.0.2.1 sslmode=allow",
        "host=/tmp,db.example.org sslmode=require", "dbname=x", "service=x",
        "host=localhost service=x"}) {
    PostgresSettings settings = Settings();
    settings.connection = connection;
    ExpectError(ErrorCode::kBadInput, [&] { Open(settings); });
  }
}

TEST_F(PostgresSpoolTest, BatchesOfSeveralStatementsAreOneTransaction) {
  const auto spool = Open();
  std::vector<StoredShare> batch;
  for (uint32_t client = 0; client < 3; ++client) batch.push_back(Share(client, 1, 700 << 10));
  EXPECT_EQ(spool->Put(batch), std::vector<PutResult>(3, PutResult::kStored));
  batch[1].request.fill(9);
  batch.push_back(Share(3, 1));
  batch.push_back(Share(3, 2));
  const std::vector<PutResult> expected = {PutResult::kIdentical, PutResult::kDifferent,
                                           PutResult::kIdentical, PutResult::kStored,
                                           PutResult::kDifferent};
  EXPECT_EQ(spool->Put(batch), expected);
  EXPECT_TRUE(spool->Put({}).empty());
  EXPECT_EQ(spool->Shares({}, size_t{1} << 30).size(), 4U);
}

// --- Several front ends -------------------------------------------------------------------------

// Front ends race for the same clients with different uploads, in batches of opposite orders: each
// client is stored for one of them, and all others are told so.
TEST_F(PostgresSpoolTest, FrontEndsRaceForClients) {
  constexpr uint8_t kFrontEnds = 4;
  constexpr uint32_t kClients = 200;
  constexpr uint32_t kBatch = 10;
  std::vector<std::vector<PutResult>> results(kFrontEnds);
  std::barrier start(kFrontEnds);
  std::vector<std::thread> threads;
  for (uint8_t front_end = 0; front_end < kFrontEnds; ++front_end) {
    threads.emplace_back([&, front_end] {
      const auto spool = Open();
      for (uint32_t first = 0; first < kClients; first += kBatch) {
        std::vector<StoredShare> batch;
        for (uint32_t i = 0; i < kBatch; ++i) batch.push_back(Share(first + i, front_end));
        if (front_end % 2 != 0) std::reverse(batch.begin(), batch.end());
        start.arrive_and_wait();
        std::vector<PutResult> made = spool->Put(batch);
        if (front_end % 2 != 0) std::reverse(made.begin(), made.end());
        results[front_end].insert(results[front_end].end(), made.begin(), made.end());
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::map<ClientId, uint8_t> owners;
  for (const StoredShare& share : Open()->Shares({}, size_t{1} << 30)) {
    owners[share.client] = share.request[0];
  }
  for (uint32_t client = 0; client < kClients; ++client) {
    for (uint8_t front_end = 0; front_end < kFrontEnds; ++front_end) {
      EXPECT_EQ(results[front_end][client],
                owners.at(IdOf(client)) == front_end ? PutResult::kStored : PutResult::kDifferent);
    }
  }
}

// Freezing from another process than those that put.
TEST_F(PostgresSpoolTest, AFreezeHoldsForAllFrontEnds) {
  constexpr uint32_t kFrontEnds = 3;
  std::atomic<uint32_t> stored = 0;
  std::vector<std::thread> threads;
  for (uint32_t front_end = 0; front_end < kFrontEnds; ++front_end) {
    threads.emplace_back([&, front_end] {
      const auto spool = Open();
      for (uint32_t client = front_end;; client += kFrontEnds) {
        const PutResult result = PutOne(*spool, Share(client, 1));
        if (result == PutResult::kFrozen) return;
        ++stored;
      }
    });
  }
  const auto spool = Open();
  while (stored < 100) std::this_thread::yield();
  spool->Freeze();
  const AcceptedSet frozen = spool->Accepted();
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(stored, frozen.size());
  EXPECT_EQ(spool->Accepted(), frozen);
}

// A lock that this round's processes use, as the store asks for it.
constexpr char kAlone[] = "SELECT pg_advisory_xact_lock(1346651969, 1)";
constexpr char kSomebodyWaits[] =
    "SELECT 1 FROM pg_locks JOIN pg_database d ON d.oid = database "
    "WHERE d.datname = current_database() AND locktype = 'advisory' AND NOT granted";

// A put that is under way, because somebody else's insert of the same client is, holds up the
// freeze; what it stores is in the frozen set.
TEST_F(PostgresSpoolTest, AFreezeWaitsForPutsThatAreUnderWay) {
  const auto spool = Open();
  postgres::Session other =
      OpenSpoolSession(SharedServer().Connection(database_, "postgres"), std::chrono::seconds(60));
  auto insert =
      std::make_optional<postgres::Transaction>(other, postgres::Transaction::Kind::kDurable);
  other.Query("INSERT INTO partita_dca.share VALUES (1, $1, '', '', '')",
              {postgres::Value::Blob(IdOf(1))});
  std::atomic<bool> frozen = false;
  AcceptedSet seen;
  std::thread putting([&] { EXPECT_EQ(PutOne(*spool, Share(1, 1)), PutResult::kStored); });
  while (Administer("SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' "
                    "AND datname = current_database()")
             .size() == 0) {
    std::this_thread::yield();
  }
  std::thread freezing([&] {
    spool->Freeze();
    seen = spool->Accepted();
    frozen = true;
  });
  while (!frozen && Administer(kSomebodyWaits).size() == 0) std::this_thread::yield();
  EXPECT_FALSE(frozen);
  insert.reset();  // the other one gives up
  putting.join();
  freezing.join();
  EXPECT_EQ(seen.size(), 1U);
  EXPECT_EQ(spool->Accepted(), seen);
}

// A put that waits for a freeze sees it, though the server's default is to look at what was there
// when the transaction began.
TEST_F(PostgresSpoolTest, APutThatWaitedForAFreezeIsLate) {
  const auto spool = Open();
  postgres::Session other =
      OpenSpoolSession(SharedServer().Connection(database_, "postgres"), std::chrono::seconds(60));
  postgres::Transaction freeze(other, postgres::Transaction::Kind::kDurable, kAlone);
  std::thread putting([&] { EXPECT_EQ(PutOne(*spool, Share(1, 1)), PutResult::kFrozen); });
  while (Administer(kSomebodyWaits).size() == 0) std::this_thread::yield();
  other.Execute("UPDATE partita_dca.round SET frozen = true");
  freeze.Commit();
  putting.join();
  EXPECT_TRUE(spool->Accepted().empty());
}

// The server writes its log to disk late unless it is asked: after each call, what was in the log
// when it began, and more, is on disk.
TEST_F(PostgresSpoolTest, EveryStepIsOnDiskWhenItReturns) {
  const auto spool = Open();
  const auto is_flushed = [&](const std::function<void()>& step) {
    const std::string begin = Administer("SELECT pg_current_wal_insert_lsn()::text").Text(0, 0);
    step();
    return Administer("SELECT 1 WHERE pg_current_wal_flush_lsn() > '" + begin + "'::pg_lsn")
               .size() == 1;
  };
  EXPECT_TRUE(is_flushed([&] { PutOne(*spool, Share(1, 1)); }));
  EXPECT_TRUE(is_flushed([&] { spool->Freeze(); }));
  EXPECT_TRUE(is_flushed([&] { spool->RecordClosing(Bytes{1}); }));
  EXPECT_TRUE(is_flushed([&] { spool->RecordPublication(Bytes{1}); }));
}

// A standby that must confirm every commit, and does not: what a transaction finds there, though
// nobody confirmed it, is not acknowledged either.
TEST_F(PostgresSpoolTest, NothingIsAcknowledgedWithoutTheStandby) {
  PostgresServer server;
  PostgresSettings settings = server.Settings(server.MakeDatabase());
  settings.statement_timeout = std::chrono::milliseconds(2000);
  settings.reconnect_for = std::chrono::milliseconds(0);
  PostgresSpool probe(settings, StudyHash{}, 0);
  // A round for each step: one that waits for the standby keeps its round's lock.
  std::vector<std::unique_ptr<PostgresSpool>> rounds;
  for (uint64_t epoch = 1; epoch <= 4; ++epoch) {
    rounds.push_back(std::make_unique<PostgresSpool>(settings, StudyHash{}, epoch));
    PutOne(*rounds.back(), Share(1, 1));
    rounds.back()->Freeze();
    rounds.back()->RecordClosing(Bytes{1});
    rounds.back()->RecordPublication(Bytes{2});
  }
  server.Administer("postgres", "ALTER SYSTEM SET synchronous_standby_names = 'standby'");
  server.Administer("postgres", "SELECT pg_reload_conf()");
  // The server has taken it over when a commit waits in vain.
  for (uint32_t client = 0, waited = 0; waited == 0; ++client) {
    try {
      PutOne(probe, Share(client, 1));
    } catch (const Error&) {
      waited = 1;
    }
  }
  const auto unconfirmed = [](const std::function<void()>& step) {
    ExpectError(ErrorCode::kUnreachable, step);
  };
  // What is refused is refused at once.
  EXPECT_EQ(PutOne(*rounds[0], Share(1, 2)), PutResult::kDifferent);
  EXPECT_EQ(PutOne(*rounds[0], Share(2, 1)), PutResult::kFrozen);
  unconfirmed([&] { PutOne(*rounds[1], Share(1, 1)); });
  unconfirmed([&] { rounds[2]->RecordClosing(Bytes{1}); });
  unconfirmed([&] { rounds[3]->RecordPublication(Bytes{2}); });
}

TEST_F(PostgresSpoolTest, PasswordsInTheStringAreRefused) {
  for (const char* connection :
       {"host=/tmp dbname=x password=secret", "postgresql://spool:secret@localhost/x",
        "postgresql://localhost/x?password=secret"}) {
    PostgresSettings settings = Settings();
    settings.connection = connection;
    try {
      Open(settings);
      ADD_FAILURE() << "opened " << connection;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kBadInput);
      EXPECT_NE(error.hint().find("passfile"), std::string::npos) << error.hint();
    }
  }
}

// Makes the tables and the round at the same time.
TEST_F(PostgresSpoolTest, ProcessesStartTogether) {
  std::barrier start(4);
  std::atomic<int> opened = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      start.arrive_and_wait();
      Open();
      ++opened;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(opened, 4);
  EXPECT_EQ(Administer("SELECT 1 FROM partita_dca.round").size(), 1U);
}

// --- Broken connections -------------------------------------------------------------------------

TEST_F(PostgresSpoolTest, NothingIsAcknowledgedOverABrokenConnection) {
  // Every 61st byte; the crash tests take every third.
  EXPECT_GT(CutPutEverywhere(SharedServer(), database_, 61), 10);
}

// A front end that stops in the middle of a put does not hold up the freeze for ever, and its
// share is not acknowledged.
TEST_F(PostgresSpoolTest, AStoppedFrontEndDoesNotHoldUpTheFreeze) {
  CuttingProxy proxy(SharedServer().socket(), SharedServer().folder());
  PostgresSettings settings = Settings();
  settings.connection += " port=6543";
  settings.statement_timeout = std::chrono::milliseconds(4500);
  settings.reconnect_for = std::chrono::milliseconds(0);
  const auto spool = Open();
  {
    const auto measured = Open(settings);
    const uint64_t opened = proxy.bytes(CuttingProxy::Way::kToServer);
    PutOne(*measured, Share(100, 1));
    // In the statement that inserts, after the lock was taken.
    proxy.CutNext(CuttingProxy::Way::kToServer,
                  (opened + proxy.bytes(CuttingProxy::Way::kToServer)) / 2,
                  CuttingProxy::End::kStall);
  }
  const auto stalled = Open(settings);
  std::thread putting(
      [&] { ExpectError(ErrorCode::kUnreachable, [&] { PutOne(*stalled, Share(1, 1)); }); });
  while (!proxy.cut()) std::this_thread::yield();
  spool->Freeze();
  const AcceptedSet frozen = spool->Accepted();
  putting.join();
  EXPECT_EQ(frozen.size(), 1U);
  EXPECT_EQ(spool->Accepted(), frozen);
}

// The server ends all connections while they are idle.
TEST_F(PostgresSpoolTest, ReconnectsByItself) {
  const auto spool = Open();
  EXPECT_EQ(PutOne(*spool, Share(1, 1)), PutResult::kStored);
  Administer(
      "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
      "WHERE datname = current_database() AND pid <> pg_backend_pid()");
  EXPECT_EQ(PutOne(*spool, Share(1, 1)), PutResult::kIdentical);
  EXPECT_EQ(PutOne(*spool, Share(2, 1)), PutResult::kStored);
}

}  // namespace
}  // namespace partita::sums::postgres_spool_test
