// Calibration of the continuous mechanisms and of the discrete Laplace mechanism: the stored
// reference (40-digit closed forms), round trips, the safe side, brute force, bad input.
#include "privacy/sampling/calibrate.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>

#include "tests/paths.h"
#include "tests/privacy/sampling/expect_error.h"

namespace partita::privacy::calibrate_test {
namespace {

nlohmann::json Reference() {
  std::ifstream file(FixturePath("references/dp_accounting.json"));
  EXPECT_TRUE(file);
  return nlohmann::json::parse(file)["tables"];
}

double Number(const nlohmann::json& value) {
  return value.is_string() ? std::strtod(value.get<std::string>().c_str(), nullptr)
                           : value.get<double>();
}

TEST(GaussianCalibrationTest, StoredSigmas) {
  const auto tables = Reference();
  int classical = 0;
  ASSERT_GT(tables["C_gaussian_calibration"].size(), 30U);
  for (const auto& row : tables["C_gaussian_calibration"]) {
    const Epsilon epsilon(row["inputs"]["epsilon"].get<double>());
    const Delta delta(row["inputs"]["delta"].get<double>());
    const L2Sensitivity sensitivity(row["inputs"]["sensitivity"].get<double>());
    const double exact = Number(row["exact"]["sigma_analytic"]);
    const double ours = AnalyticGaussianStddev(sensitivity, epsilon, delta);
    // The reference has 15 digits; ours lies above the truth by at most 1e-12 of it.
    EXPECT_NEAR(ours / exact, 1, 2e-12) << row.dump();
    EXPECT_GE(ours, exact * (1 - 1e-14)) << row.dump();
    const auto& claim = row["exact"]["sigma_classical"];
    if (claim.is_null() || epsilon.value() > 1) continue;
    ++classical;
    EXPECT_NEAR(ClassicalGaussianStddev(sensitivity, epsilon, delta) / Number(claim), 1, 1e-14);
  }
  EXPECT_GT(classical, 5);
}

TEST(GaussianCalibrationTest, StoredDeltas) {
  const auto tables = Reference();
  ASSERT_GT(tables["C_gaussian_delta"].size(), 10U);
  for (const auto& row : tables["C_gaussian_delta"]) {
    const double exact = Number(row["exact"]["delta"]);
    const Bounds ours = GaussianDelta(L2Sensitivity(row["inputs"]["sensitivity"].get<double>()),
                                      row["inputs"]["sigma"].get<double>(),
                                      Epsilon(row["inputs"]["epsilon"].get<double>()));
    if (exact == 0) {  // below the smallest double, which is the upper bound
      EXPECT_EQ(ours.upper, std::numeric_limits<double>::denorm_min());
      EXPECT_EQ(ours.lower, 0);
      continue;
    }
    EXPECT_NEAR(ours.upper / exact, 1, 1e-13) << row.dump();
    EXPECT_LE(ours.lower, exact * (1 + 1e-14));
    EXPECT_GE(ours.upper, exact * (1 - 1e-14));
    EXPECT_LE(ours.upper, std::nextafter(ours.lower, 2));
  }
}

TEST(GaussianCalibrationTest, DirectionsAgree) {
  for (const double epsilon : {0.0, 1e-6, 0.1, 1.0, 10.0, 100.0, 1e4}) {
    for (const double delta : {0.5, 1e-3, 1e-9, 1e-30, 1e-300}) {
      SCOPED_TRACE(::testing::Message() << epsilon << " " << delta);
      const L2Sensitivity sensitivity(3.5);
      const double stddev = AnalyticGaussianStddev(sensitivity, Epsilon(epsilon), Delta(delta));
      EXPECT_LE(GaussianDelta(sensitivity, stddev, Epsilon(epsilon)).upper, delta);
      // A little less noise is certainly not enough.
      const double less = stddev * (1 - 2e-12);
      EXPECT_GT(GaussianDelta(sensitivity, less, Epsilon(epsilon)).lower, delta);
      const Bounds back = GaussianEpsilon(sensitivity, stddev, Delta(delta));
      EXPECT_LE(back.lower, back.upper);
      EXPECT_LE(back.lower, epsilon);
      if (epsilon > 0) {
        EXPECT_NEAR(back.upper / epsilon, 1, 1e-4);
      }
    }
  }
}

TEST(GaussianCalibrationTest, NothingRoundsToZero) {
  const L2Sensitivity sensitivity(1);
  for (const double stddev : {1e-300, 1.0, 1e10, 1e300}) {
    for (const double epsilon : {0.0, 1.0, 1e5, 1e300}) {
      const Bounds delta = GaussianDelta(sensitivity, stddev, Epsilon(epsilon));
      EXPECT_GT(delta.upper, 0) << stddev << " " << epsilon;
      EXPECT_LE(delta.lower, delta.upper);
      EXPECT_LE(delta.upper, 1);
    }
  }
  EXPECT_GT(GaussianEpsilon(sensitivity, 1e6, Delta(1e-300)).upper, 0);
  EXPECT_GT(GaussianEpsilon(sensitivity, 0x1p500, Delta(5e-324)).lower, 0);
  // Zero where it is the truth: delta(0) = 2 Phi(1/2000) - 1 < 1e-3.
  EXPECT_EQ(GaussianEpsilon(sensitivity, 1000, Delta(1e-3)).upper, 0);
}

TEST(GaussianCalibrationTest, ClassicalEndsAtOne) {
  const Delta delta(1e-5);
  EXPECT_NEAR(ClassicalGaussianStddev(L2Sensitivity(2), Epsilon(1), delta),
              2 * std::sqrt(2 * std::log(1.25e5)), 1e-14 * 10);
  ExpectUsage([&] { ClassicalGaussianStddev(L2Sensitivity(1), Epsilon(1.0000001), delta); });
  ExpectUsage([&] { ClassicalGaussianStddev(L2Sensitivity(1), Epsilon(0), delta); });
}

TEST(GaussianCalibrationTest, RefusesBadNoise) {
  for (const double bad : {std::nan(""), HUGE_VAL, 0.0, -1.0}) {
    ExpectUsage([&] { GaussianDelta(L2Sensitivity(1), bad, Epsilon(1)); });
    ExpectUsage([&] { GaussianEpsilon(L2Sensitivity(1), bad, Delta(0.1)); });
  }
}

TEST(LaplaceCalibrationTest, PureEpsilonBothWays) {
  const double scale = LaplaceScale(L1Sensitivity(3), Epsilon(0.7));
  EXPECT_GE(scale * 0.7, 3 * (1 - 1e-16));
  EXPECT_NEAR(scale, 3 / 0.7, 1e-15 * 5);
  ExpectUsage([] { LaplaceScale(L1Sensitivity(1), Epsilon(0)); });
  ExpectUsage([] { LaplaceScale(L1Sensitivity(1e300), Epsilon(1e-300)); });
}

TEST(DiscreteLaplaceCalibrationTest, PureEpsilonBothWays) {
  for (const double epsilon : {1e-9, 0.1, 0.7, 3.0}) {
    const GridL1Sensitivity sensitivity(1000);
    const GridScale scale = DiscreteLaplaceScale(sensitivity, Epsilon(epsilon));
    const Bounds back = DiscreteLaplaceEpsilon(sensitivity, scale);
    EXPECT_LE(back.lower, epsilon);
    EXPECT_GE(back.upper, epsilon * (1 - 1e-15));
  }
  ExpectUsage([] { DiscreteLaplaceScale(GridL1Sensitivity(10), Epsilon(0)); });
  ExpectUsage([] { DiscreteLaplaceScale(GridL1Sensitivity(0x1p110), Epsilon(0.1)); });
}

}  // namespace
}  // namespace partita::privacy::calibrate_test
