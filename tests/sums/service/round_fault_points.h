// One fault at one point of a compute node's round, after which it starts again: at every operation
// of the disk that holds store and ledger, at every call of the store, at every message.
//
// After each: at most one sum left, charged before it left and once (RoundLives::ExpectSound); the
// node comes to its end, and the sum is that of all clients with the noise that belongs to it.
#pragma once

#include <fmt/format.h>
#include <sqlite3.h>

#include <cstdio>
#include <memory>

#include "privacy/ledger/seen_heads.h"
#include "sums/spool/postgres_spool.h"
#include "sums/spool/sqlite_spool.h"
#include "tests/privacy/ledger/crash_vfs.h"
#include "tests/sums/protocol/cutting_proxy.h"
#include "tests/sums/protocol/postgres_server.h"
#include "tests/sums/service/round_lives.h"

namespace partita::sums {

using privacy::ledger::CrashDisk;

// The disk is SQLite's default as long as this lives.
class DefaultDisk {
 public:
  explicit DefaultDisk(const std::string& name) : name_(name), disk_(name) {
    sqlite3_vfs_register(sqlite3_vfs_find(name.c_str()), 1);
  }
  const std::string& name() const { return name_; }
  CrashDisk& operator*() { return disk_; }

 private:
  std::string name_;
  CrashDisk disk_;
};

// What is printed, and goes into docs/reliability.md.
inline void PrintFaultPoints(const std::string& where, const std::string& noise_from, int points) {
  fmt::print("private sum, noise from {}, {}: {} fault points\n", noise_from, where, points);
  std::fflush(stdout);
}

// Store and ledger on one disk, which fails at every `step`-th of its operations in turn. Returns
// how many.
inline int FailTheDisk(RoundLives& lives, CrashDisk::Failure failure,
                       CrashDisk::Survivors survivors, uint64_t step) {
  DefaultDisk disk("round-disk");
  const run::LedgerOptions ledger = lives.OpenAccount("ledger", disk.name());
  const CrashDisk::Image start = (*disk).Save();
  const auto live = [&](Told& told) -> std::string {
    try {
      SqliteSpool spool("spool", lives.collection().contract.study, lives.collection().epoch);
      return lives.Live(spool, ledger, lives.HonestPeer(), told);
    } catch (const Error& error) {
      return error.message();
    }
  };
  int points = 0;
  bool failed = true;
  for (uint64_t operation = 1; failed && !::testing::Test::HasFailure(); operation += step) {
    (*disk).Load(start);
    // What this host has seen of the ledger that begins anew; it outlives the crash.
    std::filesystem::remove(privacy::ledger::SeenHeads::PathOf(ledger.file));
    Told told;
    (*disk).FailAt(operation, failure);
    const std::string problem = live(told);
    failed = (*disk).failed();
    EXPECT_TRUE(failed || problem.empty()) << problem;
    (*disk).Crash(survivors, operation);
    lives.ExpectSound(told, ledger);
    EXPECT_EQ(live(told), "") << "after operation " << operation;
    (*disk).Crash(CrashDisk::Survivors::kNothing, operation);
    EXPECT_EQ(live(told), "");
    lives.ExpectSound(told, ledger);
    lives.ExpectTheSum(told, ledger);
    if (failed) ++points;
  }
  return points;
}

// A store that can be made empty again, and whose leases can be made to run out.
struct AnyStore {
  std::function<std::unique_ptr<Spool>()> open;
  std::function<void()> clear;
  std::function<void()> let_time_pass;
};

// The process ends before, or after, each of its calls of the store in turn, and each message.
inline int StopTheNode(RoundLives& lives, const AnyStore& store) {
  const auto stop_at = [](int at) {
    return [at](int number) {
      if (number == at) throw Error(ErrorCode::kCancelled, "stopped");
    };
  };
  const auto go_on = [](int) {};
  int points = 0, ledgers = 0;
  // Returns whether the life was stopped.
  const auto live_twice = [&](const WatchedSpool::Watch& before, const WatchedSpool::Watch& after,
                              const AskPeers& ask) {
    store.clear();
    const run::LedgerOptions ledger = lives.OpenAccount(fmt::format("ledger{}", ++ledgers));
    Told told;
    std::string problem;
    {
      const std::unique_ptr<Spool> spool = store.open();
      WatchedSpool watched(*spool, before, after);
      problem = lives.Live(watched, ledger, ask, told);
    }
    EXPECT_TRUE(problem.empty() || problem == "stopped") << problem;
    lives.ExpectSound(told, ledger);
    store.let_time_pass();
    for (int life = 0; life < 2; ++life) {
      EXPECT_EQ(lives.Live(*store.open(), ledger, lives.HonestPeer(), told), "");
    }
    lives.ExpectSound(told, ledger);
    lives.ExpectTheSum(told, ledger);
    std::filesystem::remove(ledger.file);
    return problem == "stopped";
  };
  for (int call = 1; !::testing::Test::HasFailure(); ++call) {
    if (!live_twice(stop_at(call), go_on, lives.HonestPeer())) break;
    EXPECT_TRUE(live_twice(go_on, stop_at(call), lives.HonestPeer()));
    points += 2;
  }
  for (int message = 1; !::testing::Test::HasFailure(); ++message) {
    if (!live_twice(go_on, go_on, lives.HonestPeer(stop_at(message)))) break;
    EXPECT_TRUE(live_twice(go_on, go_on, lives.HonestPeer({}, stop_at(message))));
    points += 2;
  }
  return points;
}

// Stores for StopTheNode.
inline AnyStore SqliteStoreOf(const RoundLives& lives, const std::filesystem::path& file) {
  return {[&lives, file] {
            return std::make_unique<SqliteSpool>(file, lives.collection().contract.study,
                                                 lives.collection().epoch);
          },
          [file] { std::filesystem::remove(file); }, [] {}};
}
inline PostgresSettings DatabaseOf(const RoundLives& lives, const std::string& database) {
  PostgresSettings settings = SharedServer().Settings(database);
  settings.node = lives.box_key();
  return settings;
}
inline AnyStore PostgresStoreOf(const RoundLives& lives, const std::string& database) {
  const auto open = [&lives, database] {
    return std::make_unique<PostgresSpool>(
        DatabaseOf(lives, database), lives.collection().contract.study, lives.collection().epoch);
  };
  return {open,
          [open, database] {
            open();
            SharedServer().Administer(
                database,
                "DELETE FROM partita_dca.chunk; DELETE FROM partita_dca.share; DELETE FROM "
                "partita_dca.round");
          },
          [database] {
            SharedServer().Administer(database, "UPDATE partita_dca.chunk SET until_ms = 0");
          }};
}

// The connection to the database is cut at every `step`-th byte, in each direction.
inline int CutTheConnection(RoundLives& lives, const std::string& database, uint64_t step) {
  CuttingProxy proxy(SharedServer().socket(), SharedServer().folder());
  const AnyStore store = PostgresStoreOf(lives, database);
  PostgresSettings cut = DatabaseOf(lives, database);
  cut.connection += " port=6543";
  cut.reconnect_for = std::chrono::milliseconds(0);
  const auto live = [&](const PostgresSettings& settings, const run::LedgerOptions& ledger,
                        Told& told) -> std::string {
    try {
      PostgresSpool spool(settings, lives.collection().contract.study, lives.collection().epoch);
      return lives.Live(spool, ledger, lives.HonestPeer(), told);
    } catch (const Error& error) {
      return error.message();
    }
  };
  int points = 0, ledgers = 0;
  for (const CuttingProxy::Way way : {CuttingProxy::Way::kToServer, CuttingProxy::Way::kToClient}) {
    bool was_cut = true;
    for (uint64_t at = step; was_cut && !::testing::Test::HasFailure(); at += step) {
      store.clear();
      const run::LedgerOptions ledger = lives.OpenAccount(fmt::format("cut{}", ++ledgers));
      Told told;
      proxy.CutNext(way, at);
      const std::string problem = live(cut, ledger, told);
      was_cut = proxy.cut();
      EXPECT_TRUE(was_cut || problem.empty()) << problem;
      lives.ExpectSound(told, ledger);
      store.let_time_pass();
      for (int life = 0; life < 2; ++life) {
        EXPECT_EQ(live(DatabaseOf(lives, database), ledger, told), "");
      }
      lives.ExpectSound(told, ledger);
      lives.ExpectTheSum(told, ledger);
      std::filesystem::remove(ledger.file);
      if (was_cut) ++points;
    }
  }
  return points;
}

}  // namespace partita::sums
