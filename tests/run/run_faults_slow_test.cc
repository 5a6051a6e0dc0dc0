// Faults of every small study (fault_tries.h): spread over each, and every one of four.
#include "tests/run/fault_tries.h"

namespace partita::testing::run_faults_slow_test {
namespace {

TEST(RunFaultsSlowTest, NoReleaseWithoutItsCharge) { TryAllFaults(1, 120, 60); }

TEST(RunFaultsSlowTest, EveryFault) {
  for (const FaultScenario& scenario : FaultScenarios()) {
    for (const char* method :
         {"mle private moments", "marginals of columns", "glm aggregates", "hidden robust"}) {
      if (scenario.method == method) TryFaults(scenario, 0, 1);
    }
  }
}

TEST(RunFaultsSlowTest, EveryMessageOfALinearSealedRegression) {
  for (const FaultScenario& scenario : FaultScenarios()) {
    if (scenario.method == "glm sealed linear" && scenario.engine == "dealer")
      TryEveryMessage(scenario);
  }
}

TEST(RunFaultsSlowTest, MessagesOfSealedRegressions) { TryMessagesOf({"glm sealed"}, 100); }

TEST(RunFaultsSlowTest, MessagesOfEveryOtherMethod) {
  TryMessagesOf({"describe", "glm rows", "glm iterates", "glm aggregates", "survival", "mixed",
                 "meta", "mle", "marginals", "hidden"},
                60);
}

TEST(RunFaultsSlowTest, OtherBytesAtTheEnd) {
  const char* only = std::getenv("PARTITA_FAULTS_OF");
  for (const FaultScenario& scenario : FaultScenarios()) {
    const std::string name = scenario.method + ", " + scenario.engine;
    if (only == nullptr || name.find(only) != std::string::npos)
      TryGarbageAtTheEnd(scenario, 12, 2);
  }
}

}  // namespace
}  // namespace partita::testing::run_faults_slow_test
