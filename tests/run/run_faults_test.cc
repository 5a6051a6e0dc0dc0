// A part of the faults that run_faults_slow_test.cc tries.
#include "tests/run/fault_tries.h"

namespace partita::testing::run_faults_test {
namespace {

TEST(RunFaultsTest, NoReleaseWithoutItsCharge) { TryAllFaults(397, 7, 0); }

TEST(RunFaultsTest, OfLongRunsOnOneEngine) {
  for (const FaultScenario& scenario : FaultScenarios()) {
    if (HasLongRuns(scenario) && scenario.engine == "replicated") TryFaults(scenario, 7, 1, 3);
  }
}

}  // namespace
}  // namespace partita::testing::run_faults_test
