// Simulation-based calibration of two models at full size: 4000 data sets, 99 draws each. With
// probability 0.8 found would be a posterior shifted by 0.14 of its standard deviation or one whose
// standard deviation is 8 % off (SmallestDetectable). The seeds are fixed; with others a false
// alarm has probability 1e-6 at most.
#include <gtest/gtest.h>

#include "tests/stats/mcmc/calibration_models.h"

namespace partita::stats::mcmc::calibration_full_test {
namespace {

using testing::Calibrate;

TEST(FullCalibration, LogisticByBarkersRule) {
  testing::ExpectCalibrated(
      Calibrate(testing::LogisticCalibration(), Acceptance::kBarker, 4000, 21));
}

TEST(FullCalibration, WeibullByMetropolissRule) {
  testing::ExpectCalibrated(
      Calibrate(testing::WeibullCalibration(), Acceptance::kMetropolis, 4000, 22));
}

TEST(FullCalibration, CatchesClassicMistakes) {
  EXPECT_TRUE(
      testing::IsCaught(Calibrate(testing::PriorOfEveryParty(), Acceptance::kBarker, 1000, 23)));
  EXPECT_TRUE(
      testing::IsCaught(Calibrate(testing::JacobianTwice(), Acceptance::kMetropolis, 1000, 24)));
}

}  // namespace
}  // namespace partita::stats::mcmc::calibration_full_test
