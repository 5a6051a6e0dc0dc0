// Power failures and failing disks at every operation (R1, R3, R4).
#include <gtest/gtest.h>

#include "tests/privacy/ledger/crash_scenario.h"

namespace partita::privacy::ledger::crash_test {
namespace {

std::string FirstOf(const std::vector<std::string>& faults) {
  return faults.empty() ? "" : std::to_string(faults.size()) + " faults, first: " + faults[0];
}

TEST(CrashTest, NoAcknowledgedEntryIsLostWhereverThePowerFails) {
  CrashDisk disk("crash-disk");
  const CrashCount count = CrashEverywhere(disk, 8);
  EXPECT_EQ(FirstOf(count.faults), "");
  // Six transactions with a journal: fewer operations would mean that not all were interrupted.
  EXPECT_GE(count.operations, 5u * 8);
  RecordProperty("cut_points", static_cast<int>(count.operations));
  RecordProperty("crashes", static_cast<int>(count.crashes));
}

// The same with a disk that does not sync folders, which is what SQLite's synchronous=FULL asks
// for: deleted journals come back and undo what was acknowledged. The test above is awake, and
// EXTRA is needed.
TEST(CrashTest, WithoutSyncsOfTheFolderSpendsAreLost) {
  CrashDisk disk("crash-disk");
  disk.IgnoreDirectorySyncs(true);
  const CrashCount count = CrashEverywhere(disk, 2);
  EXPECT_NE(FirstOf(count.faults).find("lost"), std::string::npos) << FirstOf(count.faults);
}

TEST(CrashTest, ALedgerThatWasBeingMadeIsThereOrNot) {
  CrashDisk disk("crash-disk");
  for (uint64_t operation = 1;; ++operation) {
    for (uint64_t seed = 0; seed < 6; ++seed) {
      disk.Load({});
      disk.FailAt(operation, CrashDisk::Failure::kPower);
      bool opened = false;
      try {
        CountingRandom random;
        SqliteLedger::Create(OnDisk());
        SqliteLedger(OnDisk()).OpenAccount(PolicyOf("visits"), random, Now());
        opened = true;
      } catch (const Error&) {
        ASSERT_TRUE(disk.failed());
      }
      const bool last = !disk.failed();
      disk.Crash(seed == 0 ? CrashDisk::Survivors::kNothing : CrashDisk::Survivors::kPart, seed);
      try {
        SqliteLedger ledger(OnDisk());
        ledger.Verify();
        EXPECT_TRUE(!opened || ledger.HasAccount("visits")) << operation;
      } catch (const Error& error) {
        // Half made: refused as a whole, and only if nothing was acknowledged.
        EXPECT_FALSE(opened) << operation << ": " << error.what();
      }
      if (last && seed == 5) {
        EXPECT_GT(operation, 15u);
        return;
      }
    }
  }
}

class DiskErrorTest : public ::testing::TestWithParam<CrashDisk::Failure> {};

// One error at the k-th operation, for every k: the call fails with a named error, the object
// refuses everything afterwards, and opened again the ledger holds what was acknowledged (and the
// call that failed, or not).
TEST_P(DiskErrorTest, StopsTheLedgerAndLosesNothing) {
  CrashDisk disk("crash-disk");
  const CrashDisk::Image start = StartImage(disk);
  uint64_t operation = 1;
  for (;; ++operation) {
    disk.Load(start);
    disk.FailAt(operation, GetParam());
    Acknowledged done;
    bool failed = false;
    try {
      PlayScenario(done);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kStorage) << error.what();
      EXPECT_NE(std::string(error.what()).find("/ledger"), std::string::npos);
      failed = true;
    }
    if (!disk.failed()) break;
    // SQLite may live with a journal that it could not delete at first; then nothing has failed.
    EXPECT_TRUE(failed || done.kinds == WholeScenario());
    EXPECT_EQ(WhatIsWrong(done), "") << "operation " << operation;
  }
  EXPECT_GE(operation, 5u * 8);
}

INSTANTIATE_TEST_SUITE_P(Errors, DiskErrorTest,
                         ::testing::Values(CrashDisk::Failure::kIo, CrashDisk::Failure::kNoSpace,
                                           CrashDisk::Failure::kIoDone));

TEST(DiskTest, AfterAFailureTheObjectRefusesEverything) {
  CrashDisk disk("crash-disk");
  disk.Load(StartImage(disk));
  SqliteLedger ledger(OnDisk());
  disk.FailAt(3, CrashDisk::Failure::kIo);
  ExpectError(ErrorCode::kStorage, [&] { ledger.Reserve(RequestOf("visits", 2, 0.001), Now()); });
  ExpectError(
      ErrorCode::kUsage, [&] { ledger.Reserve(RequestOf("visits", 2, 0.001), Now()); },
      "failed before");
  ExpectError(
      ErrorCode::kUsage, [&] { ledger.StandingOf("visits"); }, "failed before");
  SqliteLedger again(OnDisk());
  EXPECT_EQ(again.StandingOf("visits").studies_spent, 1u);
}

}  // namespace
}  // namespace partita::privacy::ledger::crash_test
