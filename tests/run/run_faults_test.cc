// A part of the faults that run_faults_slow_test.cc tries.
#include "tests/run/fault_tries.h"
#include "tests/thorough.h"

namespace partita::testing::run_faults_test {
namespace {

TEST(RunFaultsTest, NoReleaseWithoutItsCharge) { TryAllFaults(397, 7, 0); }

TEST(RunFaultsTest, OfLongRunsOnOneEngine) {
  for (const FaultScenario& scenario : FaultScenarios()) {
    if (HasLongRuns(scenario) && scenario.engine == "replicated") TryFaults(scenario, 7, 1, 3);
  }
}

// Altered messages as well.
TEST(RunFaultsTest, SealedRegressions) {
  TryMessagesOf({"glm sealed"}, Thorough() ? 8 : 2);
  // With risk groups.
  if (Thorough()) TryMessagesOf({"glm rows sealed"}, 8);
}

// Most other bytes open as other numbers, of engines but `shamir` without anybody noticing. What no
// protocol opens is an error of the peers, never of this program. For `./test` of linear models.
TEST(RunFaultsTest, OtherSharesOfTheResult) {
  for (const FaultScenario& scenario : FaultScenarios()) {
    const bool wanted = scenario.method == "glm sealed linear" ||
                        (Thorough() && scenario.method == "glm sealed logistic");
    if (!wanted || scenario.engine == "ot") continue;
    const bool shamir = scenario.engine == "shamir 3";
    TryGarbageInTheLastOpening(scenario, shamir ? 1 : 2, shamir ? 1 : 3, shamir);
  }
}

TEST(RunFaultsTest, OtherBytesAtTheEnd) {
  for (const FaultScenario& scenario : FaultScenarios()) {
    if (!HasLongRuns(scenario) && scenario.engine == "replicated")
      TryGarbageAtTheEnd(scenario, Thorough() ? 8 : 2, 1);
  }
}

}  // namespace
}  // namespace partita::testing::run_faults_test
