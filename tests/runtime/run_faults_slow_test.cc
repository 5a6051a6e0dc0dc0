// Every fault of every small study (fault_tries.h).
#include "tests/runtime/fault_tries.h"

namespace partita::testing::run_faults_slow_test {
namespace {

TEST(RunFaultsSlowTest, NoReleaseWithoutItsCharge) { TryAllFaults(1); }

}  // namespace
}  // namespace partita::testing::run_faults_slow_test
