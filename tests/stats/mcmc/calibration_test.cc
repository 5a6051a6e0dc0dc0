// The tests of ranks, on ranks whose law is known, and small calibrations. Seeds are fixed; with
// others every test that expects uniform ranks fails with probability 1e-6 at most.
#include "tests/stats/mcmc/calibration.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "tests/stats/mcmc/calibration_models.h"

namespace partita::stats::mcmc::calibration_test {
namespace {

using Eigen::VectorXd;

constexpr size_t kLargest = 99;

double Phi(double z) { return std::erfc(-z / std::sqrt(2.0)) / 2; }

// Ranks of N(0, 1) parameters among draws of N(shift, scale^2).
VectorXd NormalRanks(Eigen::Index count, double shift, double scale, blr::Variates& variates) {
  VectorXd ranks(count);
  for (double& rank : ranks) {
    const double u = Phi((variates.Normal() - shift) / scale);
    rank = 0;
    for (size_t k = 0; k < kLargest; ++k) rank += variates.Uniform() < u ? 1 : 0;
  }
  return ranks;
}

TEST(CheckRanks, KnowsTheirVariance) {
  // Every rank once: (100^2 - 1) / 12.
  VectorXd ranks(100);
  for (Eigen::Index r = 0; r < 100; ++r) ranks(r) = static_cast<double>(r);
  const RankCheck even = CheckRanks(ranks, kLargest);
  EXPECT_NEAR(even.variance_ratio, 1, 1e-12);
  EXPECT_EQ(even.variance_p, 1);
  EXPECT_GT(even.ecdf_p, 0.5);
  // All ranks 0: the distribution function at 0 is 1 with probability 100^-100.
  const RankCheck low = CheckRanks(VectorXd::Zero(100), kLargest);
  EXPECT_NEAR(std::log(low.ecdf_p), std::log(2 * 99) - 100 * std::log(100), 1e-6);
  EXPECT_LT(low.variance_p, 1e-6);
  EXPECT_THROW(CheckRanks(VectorXd::Constant(3, 100), kLargest), Error);
  EXPECT_THROW(CheckRanks(VectorXd::Constant(3, 0.5), kLargest), Error);
}

// 2000 sets of 100 uniform ranks: no more p-values below 0.05 than that level allows (153 and more
// of 2000 have probability 3e-7).
TEST(CheckRanks, PValuesAreBounds) {
  blr::TestRandom random(5);
  blr::Variates variates(random);
  int ecdf = 0, variance = 0;
  for (int set = 0; set < 2000; ++set) {
    VectorXd ranks(100);
    for (double& rank : ranks) rank = static_cast<double>(variates.Below(kLargest + 1));
    const RankCheck check = CheckRanks(ranks, kLargest);
    ecdf += check.ecdf_p < 0.05 ? 1 : 0;
    variance += check.variance_p < 0.05 ? 1 : 0;
  }
  EXPECT_LT(ecdf, 153);
  EXPECT_LT(variance, 153);
}

// What is said to be detectable with probability 0.8 is found in at least 44 of 80 repetitions
// (fewer have probability 2e-7). The errors themselves are those stated for 4000 data sets.
TEST(SmallestDetectable, IsDetected) {
  const double level = testing::kFalseAlarm / 6;
  const DetectableErrors errors = SmallestDetectable(4000, kLargest, level);
  EXPECT_NEAR(errors.shift, 0.136, 0.01);
  EXPECT_NEAR(errors.narrower, 0.08, 0.01);
  EXPECT_NEAR(errors.wider, 0.085, 0.01);
  blr::TestRandom random(6);
  blr::Variates variates(random);
  int shift = 0, narrower = 0, wider = 0;
  for (int k = 0; k < 80; ++k) {
    const auto check = [&](double by, double scale) {
      return CheckRanks(NormalRanks(4000, by, scale, variates), kLargest);
    };
    shift += check(errors.shift, 1).ecdf_p < level ? 1 : 0;
    narrower += check(0, 1 - errors.narrower).variance_p < level ? 1 : 0;
    wider += check(0, 1 + errors.wider).variance_p < level ? 1 : 0;
  }
  EXPECT_GE(shift, 44);
  EXPECT_GE(narrower, 44);
  EXPECT_GE(wider, 44);
}

TEST(Calibration, SmallOnesHold) {
  testing::ExpectCalibrated(
      testing::Calibrate(testing::LogisticCalibration(), Acceptance::kBarker, 60, 11));
  testing::ExpectCalibrated(
      testing::Calibrate(testing::WeibullCalibration(), Acceptance::kMetropolis, 60, 12));
}

TEST(Calibration, FlatPriorsAreRefused) {
  CalibrationModel model = testing::LogisticCalibration();
  model.priors[1] = ParsePrior("flat");
  EXPECT_THROW(testing::Calibrate(model, Acceptance::kBarker, 1, 1), Error);
}

}  // namespace
}  // namespace partita::stats::mcmc::calibration_test
