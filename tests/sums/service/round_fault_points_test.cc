// Some of the fault points of a private sum; all of them are in round_fault_points_all_test.cc.
#include "tests/sums/service/round_fault_points.h"

namespace partita::sums::round_fault_points_test {
namespace {

class RoundFaultPointsTest : public ::testing::TestWithParam<const char*> {
 protected:
  void Print(const std::string& where, int points) { PrintFaultPoints(where, GetParam(), points); }
  RoundLives lives_{GetParam()};
};

INSTANTIATE_TEST_SUITE_P(NoiseFrom, RoundFaultPointsTest, ::testing::Values("nodes", "clients"),
                         [](const auto& source) { return std::string(source.param); });

TEST_P(RoundFaultPointsTest, ThePowerFails) {
  const int points =
      FailTheDisk(lives_, CrashDisk::Failure::kPower, CrashDisk::Survivors::kPart, 5);
  Print("every fifth operation of the disk, torn writes", points);
  EXPECT_GT(points, 15);
}

TEST_P(RoundFaultPointsTest, TheNodeStopsOnAFile) {
  const int points = StopTheNode(lives_, SqliteStoreOf(lives_, lives_.Path("node0.uploads")));
  Print("calls of the SQLite store and messages", points);
  EXPECT_GT(points, 30);
}

TEST_P(RoundFaultPointsTest, TheNodeStopsOnADatabase) {
  const int points = StopTheNode(lives_, PostgresStoreOf(lives_, SharedServer().MakeDatabase()));
  Print("calls of the PostgreSQL store and messages", points);
  EXPECT_GT(points, 40);
}

}  // namespace
}  // namespace partita::sums::round_fault_points_test
