// Concurrent processes cannot overspend (R32), and the test would notice (R33). The full size is in
// slow_test.cc.
#include <gtest/gtest.h>

#include "tests/privacy/ledger/race_cases.h"

namespace partita::privacy::ledger::race_test {
namespace {

TEST(RaceTest, ProcessesShareABudgetToTheLastPlace) {
  for (int round = 0; round < 3; ++round) RaceForTheBudget(8, 12, 30);
}

// Two processes at the edge are in each other's way in most rounds: 40 rounds without are a sign
// that the race is none.
TEST(RaceTest, CheckThenActIsCaught) {
  uint64_t over = 0;
  for (int round = 0; round < 40 && over == 0; ++round) over = RaceCheckThenAct(8, 40, 100);
  EXPECT_GT(over, 0u);
}

}  // namespace
}  // namespace partita::privacy::ledger::race_test
