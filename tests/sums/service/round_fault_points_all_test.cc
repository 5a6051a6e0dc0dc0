// Every fault point of a private sum (docs/reliability.md has the counts that this prints).
#include "tests/sums/service/round_fault_points.h"

namespace partita::sums::round_fault_points_all_test {
namespace {

class RoundFaultPointsAllTest : public ::testing::TestWithParam<const char*> {
 protected:
  void Print(const std::string& where, int points) {
    PrintFaultPoints(where, GetParam(), points);
    EXPECT_GT(points, 10);
  }
  void FailEveryOperation(const std::string& where, CrashDisk::Failure failure,
                          CrashDisk::Survivors survivors) {
    Print(where, FailTheDisk(lives_, failure, survivors, 1));
  }
  RoundLives lives_{GetParam()};
};

INSTANTIATE_TEST_SUITE_P(NoiseFrom, RoundFaultPointsAllTest, ::testing::Values("nodes", "clients"),
                         [](const auto& source) { return std::string(source.param); });

TEST_P(RoundFaultPointsAllTest, ThePowerFailsAndUnsyncedWritesAreLost) {
  FailEveryOperation("power fails, unsynced writes lost", CrashDisk::Failure::kPower,
                     CrashDisk::Survivors::kNothing);
}

TEST_P(RoundFaultPointsAllTest, ThePowerFailsAndUnsyncedWritesAreThere) {
  FailEveryOperation("power fails, unsynced writes there", CrashDisk::Failure::kPower,
                     CrashDisk::Survivors::kEverything);
}

TEST_P(RoundFaultPointsAllTest, ThePowerFailsAndUnsyncedWritesAreTorn) {
  FailEveryOperation("power fails, unsynced writes torn", CrashDisk::Failure::kPower,
                     CrashDisk::Survivors::kPart);
}

TEST_P(RoundFaultPointsAllTest, TheDiskReportsAnError) {
  FailEveryOperation("disk reports an error", CrashDisk::Failure::kIo,
                     CrashDisk::Survivors::kEverything);
}

TEST_P(RoundFaultPointsAllTest, TheDiskReportsAnErrorAfterTheFact) {
  FailEveryOperation("disk reports an error after the fact", CrashDisk::Failure::kIoDone,
                     CrashDisk::Survivors::kEverything);
}

TEST_P(RoundFaultPointsAllTest, TheDiskIsFull) {
  FailEveryOperation("disk full", CrashDisk::Failure::kNoSpace, CrashDisk::Survivors::kEverything);
}

TEST_P(RoundFaultPointsAllTest, ConnectionsToTheDatabaseAreCut) {
  Print("connection to PostgreSQL cut at every 53rd byte",
        CutTheConnection(lives_, SharedServer().MakeDatabase(), 53));
}

}  // namespace
}  // namespace partita::sums::round_fault_points_all_test
