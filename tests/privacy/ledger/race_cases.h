// The race for one budget, and a ledger that loses it.
#pragma once

#include <sqlite3.h>
#include <sys/stat.h>

#include <string>

#include "privacy/ledger/audit.h"
#include "tests/privacy/ledger/fixtures.h"
#include "tests/privacy/ledger/race.h"

namespace partita::privacy::ledger {

// The rho of which exactly `cap` fit into the budget.
inline double RhoFor(const Policy& policy, uint64_t cap) {
  const Filter filter = DesignFilter(policy.outside);
  const double whole = static_cast<double>(filter.budget.rdp) * 0x1p-40 /
                       (static_cast<double>(filter.order) * 0x1p-16);
  return whole / static_cast<double>(cap) * (1 - 1e-6);
}

// One round: `processes` ask `attempts` times each for one of `cap` places; each place that was
// granted is spent, every tenth attempt refunds and asks again.
inline void RaceForTheBudget(int processes, uint64_t attempts, uint64_t cap) {
  const Folder folder;
  const LedgerOptions options{folder / "ledger", std::chrono::minutes(2), ""};
  const Policy policy = PolicyOf("visits");
  const double rho = RhoFor(policy, cap);
  {
    SqliteLedger::Create(options);
    crypto::SystemRandom random;
    SqliteLedger(options).OpenAccount(policy, random, Now());
  }
  SharedCounts counts;
  Race(
      processes, attempts,
      [&]() -> Attempt {
        auto ledger = std::make_shared<SqliteLedger>(options);
        return [ledger, rho](uint64_t run) {
          uint64_t number = ledger->Reserve(RequestOf("visits", run, rho), Now()).number;
          if (run % 10 == 0) {
            // The place is free for a moment: somebody else may take it, and then this one is
            // refused.
            ledger->Refund("visits", number, NothingSent("again"), Now());
            number = ledger->Reserve(RequestOf("visits", run, rho), Now()).number;
          }
          ledger->Spend("visits", number, Now());
        };
      },
      *counts);
  EXPECT_EQ(counts->spent, cap);
  EXPECT_EQ(counts->refused, static_cast<uint64_t>(processes) * attempts - cap);
  EXPECT_EQ(counts->failed, 0u);
  SqliteLedger ledger(options);
  ledger.Verify();
  const Standing standing = ledger.StandingOf("visits");
  const Cost cost = CostOf(ZeroConcentrated{rho}, 1, standing.outside.order);
  EXPECT_EQ(standing.studies_spent, cap);
  EXPECT_EQ(standing.spent.outside.rdp, cap * cost.rdp);
  EXPECT_EQ(StudiesLeft(standing, cost, cost), 0u);
}

// A faulty ledger: looks whether there is room, and then writes, in two transactions. Returns how
// many places were granted beyond the cap.
inline uint64_t RaceCheckThenAct(int processes, uint64_t attempts, uint64_t cap) {
  const Folder folder;
  const std::string file = (folder / "naive").string();
  const auto run_sql = [](sqlite3* connection, const char* sql) {
    if (sqlite3_exec(connection, sql, nullptr, nullptr, nullptr) != SQLITE_OK)
      throw Error(ErrorCode::kInternal, sqlite3_errmsg(connection));
  };
  const auto open = [&] {
    sqlite3* connection = nullptr;
    if (sqlite3_open(file.c_str(), &connection) != SQLITE_OK)
      throw Error(ErrorCode::kInternal, "no database");
    sqlite3_busy_timeout(connection, 120'000);
    run_sql(connection, "PRAGMA synchronous=OFF");
    return connection;
  };
  const auto used = [](sqlite3* connection) {
    sqlite3_stmt* statement = nullptr;
    sqlite3_prepare_v2(connection, "SELECT count(*) FROM spent", -1, &statement, nullptr);
    const bool row = sqlite3_step(statement) == SQLITE_ROW;
    const auto count = static_cast<uint64_t>(sqlite3_column_int64(statement, 0));
    sqlite3_finalize(statement);
    if (!row) throw Error(ErrorCode::kInternal, "no count");
    return count;
  };
  sqlite3* connection = open();
  run_sql(connection, "CREATE TABLE spent(run INTEGER)");
  sqlite3_close(connection);
  SharedCounts counts;
  Race(
      processes, attempts,
      [&]() -> Attempt {
        sqlite3* own = open();
        return [=](uint64_t) {
          if (used(own) >= cap) throw Error(ErrorCode::kBudget, "no room");
          run_sql(own, "BEGIN IMMEDIATE; INSERT INTO spent VALUES(1); COMMIT");
        };
      },
      *counts);
  EXPECT_EQ(counts->failed, 0u);
  return counts->spent > cap ? counts->spent - cap : 0;
}

}  // namespace partita::privacy::ledger
