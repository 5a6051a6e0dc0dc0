// Parties are killed somewhere and all start again: for every method that charges a ledger, at some
// of all points; restart_full_test.cc takes every one.
#include <gtest/gtest.h>

#include <iostream>

#include "tests/run/restart_cases.h"

namespace partita::run::restart_test {
namespace {

using testing::ExpectRestart;
using testing::ExpectRestarts;
using testing::RestartCase;
using testing::RestartCounts;
using testing::RestartText;

void ExpectSome(const RestartCase& of, uint64_t per_party) {
  const RestartCounts counts = ExpectRestarts(of, per_party);
  EXPECT_GE(counts.points, 2 * per_party);
  std::cout << RestartText(of.name, counts);
}

TEST(RestartTest, Mixture) { ExpectSome(testing::MixtureRestarts("dealer", 3, 10, 0), 3); }
TEST(RestartTest, MixtureWithAReserve) {
  ExpectSome(testing::MixtureRestarts("dealer", 3, 2, 2), 2);
}
TEST(RestartTest, Mcmc) { ExpectSome(testing::McmcRestarts("dealer", 12), 2); }
TEST(RestartTest, Moments) { ExpectSome(testing::MomentsRestarts("dealer"), 2); }
TEST(RestartTest, Classify) { ExpectSome(testing::ClassifyRestarts("dealer"), 2); }
TEST(RestartTest, Marginals) { ExpectSome(testing::MarginalsRestarts(), 2); }

// One process after another is killed, before the first iteration is over and behind it.
TEST(RestartTest, AgainAndAgain) {
  const RestartCase of = testing::MixtureRestarts("dealer", 3, 10, 0);
  RestartCounts counts;
  for (const uint64_t event : {20, 100}) {
    ExpectRestart(of, {{"south", event}, {"north", event + 7}, {"helper", event / 2}}, counts);
    ExpectRestart(of, {{"north", event, true}, {"south", event, true}}, counts);
  }
  std::cout << RestartText(of.name, counts);
}

}  // namespace
}  // namespace partita::run::restart_test
