// As restart_test.cc, at every message and every sync of every process, on more engines, and two
// kills one after the other.
#include <gtest/gtest.h>

#include <iostream>

#include "tests/run/restart_cases.h"

namespace partita::run::restart_full_test {
namespace {

using testing::ExpectRestarts;
using testing::RestartCase;
using testing::RestartCounts;
using testing::RestartText;

void ExpectAll(const RestartCase& of) {
  const RestartCounts counts = ExpectRestarts(of, 0);
  EXPECT_GT(counts.points, 0u);
  std::cout << RestartText(of.name, counts);
}

TEST(RestartFullTest, MixtureOnDealer) { ExpectAll(testing::MixtureRestarts("dealer", 3, 10, 0)); }
TEST(RestartFullTest, MixtureOnReplicated) {
  ExpectAll(testing::MixtureRestarts("replicated", 2, 1, 1));
}
TEST(RestartFullTest, McmcOnDealer) { ExpectAll(testing::McmcRestarts("dealer", 12)); }
TEST(RestartFullTest, McmcOnReplicated) { ExpectAll(testing::McmcRestarts("replicated", 8)); }
TEST(RestartFullTest, MomentsOnDealer) { ExpectAll(testing::MomentsRestarts("dealer")); }
TEST(RestartFullTest, MomentsOnReplicated) { ExpectAll(testing::MomentsRestarts("replicated")); }
TEST(RestartFullTest, ClassifyOnDealer) { ExpectAll(testing::ClassifyRestarts("dealer")); }
TEST(RestartFullTest, MarginalsOnDealer) { ExpectAll(testing::MarginalsRestarts()); }
TEST(RestartFullTest, ClassifyOnReplicated) { ExpectAll(testing::ClassifyRestarts("replicated")); }

TEST(RestartFullTest, TwoKillsOneAfterTheOther) {
  const RestartCase of = testing::MixtureRestarts("dealer", 3, 10, 1);
  RestartCounts counts;
  for (uint64_t first = 5; first < 150; first += 12) {
    for (uint64_t second = 3; second < 150; second += 14) {
      testing::ExpectRestart(of, {{"south", first}, {"north", second}}, counts);
      if (HasFatalFailure()) return;
    }
  }
  std::cout << RestartText(of.name + ", two kills", counts);
}

}  // namespace
}  // namespace partita::run::restart_full_test
