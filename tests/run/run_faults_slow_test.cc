// Faults of every small study (fault_tries.h): spread over each, and every one of private moments.
#include "tests/run/fault_tries.h"

namespace partita::testing::run_faults_slow_test {
namespace {

TEST(RunFaultsSlowTest, NoReleaseWithoutItsCharge) { TryAllFaults(1, 120, 60); }

TEST(RunFaultsSlowTest, EveryFaultOfPrivateMoments) {
  for (const FaultScenario& scenario : FaultScenarios()) {
    if (scenario.method == "mle private moments") TryFaults(scenario, 0, 1);
  }
}

TEST(RunFaultsSlowTest, EveryMessageOfALinearSealedRegression) {
  for (const FaultScenario& scenario : FaultScenarios()) {
    if (scenario.method == "glm sealed linear" && scenario.engine == "dealer")
      TryEveryMessage(scenario);
  }
}

TEST(RunFaultsSlowTest, MessagesOfSealedRegressions) { TryMessagesOfSealed(100); }

}  // namespace
}  // namespace partita::testing::run_faults_slow_test
