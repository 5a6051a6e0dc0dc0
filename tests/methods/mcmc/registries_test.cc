// The simulated registries: what the analyses share and where they must differ. The seed is fixed.
#include "methods/mcmc/registries.h"

#include <gtest/gtest.h>

#include <cmath>
#include <stdexcept>

#include "base/error.h"
#include "tests/stats/blr/random.h"

namespace partita::methods::mcmc::registries_test {
namespace {

const RegistryRow& RowOf(const RegistryResults& results, size_t events, const std::string& name) {
  for (const RegistryRow& row : results.rows) {
    if (row.events == events && row.analysis == name) return row;
  }
  throw std::runtime_error("no analysis " + name);
}

// 40 data sets. Coverage of 95 % intervals with 40 data sets lies above 0.7 but with probability
// 2e-7. A mean lies within 6 of its standard errors of its expectation, and the pooled maximum's
// bias of order 1 / events, at most 0.02 here, is allowed for.
TEST(Registries, JointAnalysesFindTheTruth) {
  RegistrySettings settings;
  settings.events = {15};
  settings.data_sets = 40;
  stats::blr::TestRandom random(8);
  SilentProgress progress;
  const RegistryResults results = SimulateRegistries(settings, random, progress);
  ASSERT_EQ(results.rows.size(), 5u);
  EXPECT_LT(results.largest_rhat, 1.1);
  for (const char* name : {"one stage", "pooled"}) {
    const RegistryRow& row = RowOf(results, 15, name);
    EXPECT_EQ(row.estimates, 40u) << name;
    EXPECT_EQ(row.registries_used, 7) << name;
    EXPECT_LT(std::abs(row.bias), 6 * row.bias_error + 0.02) << name;
    EXPECT_GT(row.coverage, 0.7) << name;
  }
  // 105 events: the posterior is nearly the pooled likelihood. Means of 40 paired differences.
  const RegistryRow& one = RowOf(results, 15, "one stage");
  const RegistryRow& pooled = RowOf(results, 15, "pooled");
  EXPECT_NEAR(one.bias, pooled.bias, 0.03);
  EXPECT_NEAR(one.mean_width / pooled.mean_width, 1, 0.05);
  // 24 of the 105 events: its intervals are about sqrt(105 / 24) = 2.1 times as wide.
  EXPECT_GT(RowOf(results, 15, "largest registry").mean_width, 1.6 * pooled.mean_width);
}

// With 2 to 8 events per registry some have no maximum: they drop out of two stages, not of one.
TEST(Registries, OnlyOneStageKeepsTheSmallest) {
  RegistrySettings settings;
  settings.events = {5};
  settings.data_sets = 10;
  stats::blr::TestRandom random(9);
  SilentProgress progress;
  const RegistryResults results = SimulateRegistries(settings, random, progress);
  EXPECT_EQ(RowOf(results, 5, "one stage").registries_used, 7);
  EXPECT_LT(RowOf(results, 5, "two stages, fixed").registries_used, 7);
  EXPECT_EQ(RowOf(results, 5, "two stages, random").registries_used,
            RowOf(results, 5, "two stages, fixed").registries_used);
  settings.events = {1};
  EXPECT_THROW(SimulateRegistries(settings, random, progress), Error);
}

}  // namespace
}  // namespace partita::methods::mcmc::registries_test
