// The ledger's tests at full size: R2, R3, R6, R32.
#include <gtest/gtest.h>
#include <signal.h>

#include <chrono>
#include <cstdio>
#include <ctime>
#include <random>

#include "base/clock.h"
#include "tests/privacy/ledger/crash_scenario.h"
#include "tests/privacy/ledger/race_cases.h"
#include "tests/privacy/ledger/tamper_cases.h"

namespace partita::privacy::ledger::slow_test {
namespace {

TEST(SlowRaceTest, AHundredRoundsAtFullSize) {
  for (int round = 0; round < 100; ++round) {
    RaceForTheBudget(8, 200, 500);
    ASSERT_FALSE(HasFailure()) << "round " << round;
  }
}

// Every bit of every cell of three ledgers after three runs.
TEST(SlowTamperTest, EveryFlippedBitIsNoticed) {
  Institutions institutions;
  for (uint64_t run = 1; run <= 3; ++run) institutions.Run(run);
  TamperCount all;
  for (const std::string& name : institutions.names()) {
    const TamperCount count =
        FlipEveryByte(institutions, name, {1, 2, 4, 8, 0x10, 0x20, 0x40, 0x80});
    EXPECT_EQ(count.accepted, 0u) << name << ": " << count.first_accepted;
    all.refused += count.refused;
    all.unchanged += count.unchanged;
    all.impossible += count.impossible;
  }
  std::printf("[ COUNTED  ] %llu refused, %llu without meaning, %llu impossible\n",
              static_cast<unsigned long long>(all.refused),
              static_cast<unsigned long long>(all.unchanged),
              static_cast<unsigned long long>(all.impossible));
  EXPECT_GT(all.refused, 100'000u);
}

TEST(SlowCrashTest, TenThousandPowerFailures) {
  CrashDisk disk("crash-disk");
  const CrashCount count = CrashEverywhere(disk, 180);
  EXPECT_GE(count.crashes, 10'000u);
  EXPECT_TRUE(count.faults.empty()) << count.faults.size() << ", first: " << count.faults[0];
}

// R2: processes that are killed at any moment. What one acknowledged (by counting, after the call)
// is in the ledger; the budget holds.
TEST(SlowKillTest, KilledProcessesLoseNothingThatTheyAcknowledged) {
  const Folder folder;
  const LedgerOptions options{folder / "ledger", std::chrono::minutes(1), ""};
  {
    SqliteLedger::Create(options);
    crypto::SystemRandom random;
    SqliteLedger(options).OpenAccount(PolicyOf("visits"), random, Now());
  }
  const double rho = RhoFor(PolicyOf("visits"), 5000);
  SharedCounts counts;
  std::mt19937_64 random(2);
  uint64_t runs = 0;
  for (int round = 0; round < 300; ++round) {
    runs += 1'000'000;
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      try {
        SqliteLedger ledger(options);
        for (uint64_t run = runs;; ++run) {
          const uint64_t number = ledger.Reserve(RequestOf("visits", run, rho), Now()).number;
          ledger.Spend("visits", number, Now());
          ++counts->spent;
        }
      } catch (const Error& error) {
        _exit(error.code() == ErrorCode::kBudget ? 0 : 3);
      }
    }
    // Not to wait for something, but to choose the moment: any is as good as another.
    usleep(static_cast<useconds_t>(random() % 20'000));
    kill(child, SIGKILL);
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(status) || WEXITSTATUS(status) == 0);
    SqliteLedger ledger(options);
    const Standing standing = ledger.StandingOf("visits");
    ASSERT_GE(standing.studies_spent, counts->spent);
    ASSERT_LE(standing.studies_spent, counts->spent + round + 1);
    ASSERT_TRUE(Fits(standing.spent.outside + standing.reserved.outside, standing.outside.budget));
    for (const auto& [number, reservation] : standing.reservations)
      ledger.Refund("visits", number, NothingSent("killed"), Now());
  }
  EXPECT_GT(counts->spent, 300u);
  SqliteLedger(options).Verify();
}

void Fill(const LedgerOptions& options, uint64_t studies) {
  SqliteLedger ledger(options);
  AccountState state(ledger.HeadOf("visits").pseudonym);
  for (const Entry& entry : ledger.Entries("visits")) state.Replay(EncodeEntry(entry), entry.hash);
  sqlite3* connection = nullptr;
  ASSERT_EQ(sqlite3_open(options.file.c_str(), &connection), SQLITE_OK);
  sqlite3_exec(connection, "BEGIN IMMEDIATE", nullptr, nullptr, nullptr);
  sqlite3_stmt* insert = nullptr;
  sqlite3_prepare_v2(connection, "INSERT INTO entries VALUES(1, ?, ?, ?)", -1, &insert, nullptr);
  const auto store = [&](const Entry& entry) {
    const Bytes body = EncodeEntry(entry);
    sqlite3_bind_int64(insert, 1, static_cast<sqlite3_int64>(entry.sequence));
    sqlite3_bind_blob(insert, 2, body.data(), static_cast<int>(body.size()), SQLITE_STATIC);
    sqlite3_bind_blob(insert, 3, entry.hash.data(), 32, SQLITE_STATIC);
    ASSERT_EQ(sqlite3_step(insert), SQLITE_DONE);
    sqlite3_reset(insert);
  };
  Reserved reserved = state.Price(DigestOf(1), DigestOf(2), "growth", Charges(1e-20), {});
  for (uint64_t study = 0; study < studies; ++study) {
    reserved.run_id = DigestOf(study);
    const Entry entry = state.Append(Now(), reserved);
    store(entry);
    store(state.Append(Now(), Spent{entry.sequence}));
  }
  sqlite3_finalize(insert);
  const std::string head = "UPDATE heads SET sequence = " + std::to_string(state.head().sequence) +
                           ", hash = x'" + ToHex(state.head().hash) + "'; COMMIT";
  ASSERT_EQ(sqlite3_exec(connection, head.c_str(), nullptr, nullptr, nullptr), SQLITE_OK);
  sqlite3_close(connection);
}

// R6: two seconds of processor time for a million entries, best of three.
TEST(SlowReloadTest, AMillionEntriesAreReadInTwoSeconds) {
  const Folder folder;
  const LedgerOptions options{folder / "ledger", std::chrono::minutes(1), ""};
  SqliteLedger::Create(options);
  {
    crypto::SystemRandom random;
    SqliteLedger(options).OpenAccount(PolicyOf("visits"), random, Now());
  }
  Fill(options, 500'000);
  double best = 1e9;
  for (int i = 0; i < 3; ++i) {
    const std::clock_t start = std::clock();
    SqliteLedger ledger(options);
    best = std::min(best, static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC);
    EXPECT_EQ(ledger.StandingOf("visits").studies_spent, 500'000u);
  }
  std::printf("a million entries in %.2f s\n", best);
  EXPECT_LT(best, 2);
}

}  // namespace
}  // namespace partita::privacy::ledger::slow_test
