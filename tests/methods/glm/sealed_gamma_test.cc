// Sealed fits of gamma models against their twin in the clear: splits, engines, errors, weights, offsets,
// ridges, rows that are left out, small and large dispersions.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "methods/glm/sealed/row_values.h"
#include "mpc/fixed_point.h"
#include "mpc/functions/scoring_step.h"
#include "tests/methods/glm/sealed_twin.h"
#include "tests/thorough.h"

namespace partita::methods::glm::sealed_gamma_test {
namespace {

using testing::ExpectTwin;
using testing::Ran;
using testing::Robust;
using testing::RunSealed;
using testing::SealedCase;
using testing::SealedText;
using testing::WithCosts;

SealedCase Made(const std::string& formula, const std::string& split, uint64_t seed,
                const std::string& engine = "dealer", const std::string& missing = "refuse",
                size_t rows = 300) {
  return {SealedText("gamma", formula, split, engine, missing), seed, rows};
}

// Of little variance, of an exponential law and of more.
TEST(SealedGammaTest, ColumnsSplit) {
  ExpectTwin(Made("years ~ age + dose * smoker + stage", "columns", 1));
  ExpectTwin(WithCosts(Made("years ~ age + dose + stage", "columns", 2), 200));
  ExpectTwin(WithCosts(Made("years ~ age * dose + smoker", "columns", 3), 1));
  ExpectTwin(WithCosts(Made("years ~ dose + smoker", "columns", 4), 0.5));
}

TEST(SealedGammaTest, RowsAndBothSplit) {
  ExpectTwin(WithCosts(Made("years ~ age + dose + stage", "rows", 5), 4));
  ExpectTwin(WithCosts(Made("years ~ age + dose + smoker:stage + stage + smoker", "both", 6), 4));
}

TEST(SealedGammaTest, OffsetsAndNoIntercept) {
  ExpectTwin(WithCosts(Made("years ~ age + stage + offset(dose)", "columns", 7), 4));
  ExpectTwin(WithCosts(Made("years ~ age + dose - 1", "columns", 8), 4));
  ExpectTwin(WithCosts(Made("years ~ age + smoker - 1 + offset(dose)", "columns", 9), 4));
  ExpectTwin(WithCosts(Made("years ~ 1", "columns", 10), 4));
}

// At the one with the outcome, and at the one with the offset.
TEST(SealedGammaTest, HoldersLeaveRowsOut) {
  ExpectTwin(
      WithCosts(Made("years ~ age + dose + offset(dose)", "columns", 11, "dealer", "complete"), 4));
  ExpectTwin(WithCosts(Made("years ~ age * dose", "both", 12, "dealer", "complete"), 4));
}

TEST(SealedGammaTest, RobustErrors) {
  const auto robust = [](SealedCase made, const char* errors) {
    made.text = Robust(made.text, errors);
    return WithCosts(made, 2);
  };
  ExpectTwin(robust(Made("years ~ age + dose * smoker + stage", "columns", 13), "robust"));
  ExpectTwin(robust(Made("years ~ age + dose", "both", 14, "dealer", "complete"), "HC1"));
}

TEST(SealedGammaTest, Ridges) {
  const auto ridge = [](SealedCase made) {
    made.text += "penalty = {ridge = 0.02}\n";
    return WithCosts(made, 4);
  };
  ExpectTwin(ridge(Made("years ~ age + dose + stage", "columns", 15)));
  ExpectTwin(ridge(Made("years ~ age + smoker - 1 + offset(dose)", "rows", 16)));
}

TEST(SealedGammaTest, Weights) {
  const auto weighted = [](SealedCase made, const char* kind, bool at_second) {
    made.text = testing::WithWeights(made.text, kind, at_second);
    return WithCosts(made, 4);
  };
  ExpectTwin(weighted(Made("years ~ age + dose + stage", "columns", 17), "sampling", true));
  ExpectTwin(weighted(Made("years ~ age + offset(dose)", "columns", 18, "dealer", "complete"),
                      "sampling", false));
  ExpectTwin(weighted(Made("years ~ age + dose + stage", "rows", 19), "frequency", false));
  ExpectTwin(weighted(Made("years ~ age - 1 + offset(dose)", "rows", 20, "dealer", "complete"),
                      "frequency", false));
  SealedCase robust = weighted(Made("years ~ age + dose", "rows", 21), "frequency", false);
  robust.text = Robust(robust.text);
  ExpectTwin(robust);
}

TEST(SealedGammaTest, EveryEngine) {
  ExpectTwin(
      WithCosts(Made("years ~ dose + smoker", "columns", 22, "replicated", "refuse", 200), 4));
  ExpectTwin(WithCosts(Made("years ~ dose", "both", 23, "shamir", "refuse", 120), 4));
  ExpectTwin(WithCosts(Made("years ~ dose", "columns", 24, "ot", "refuse", 120), 4));
}

// Scores of rows, and that what is more than kMostSealedRatio times its mean is counted and capped.
TEST(SealedGammaTest, RowsFarFromTheModelAreBeyondTheLimits) {
  const std::vector<std::pair<double, double>> rows = {
      // predictor and outcome; the last two are far
      {0, 2}, {1, 0.5}, {-3, 12}, {6, 0.001}, {-3, 13}, {0.5, 500}};
  const SealedCase made = WithCosts(Made("years ~ age", "columns", 1), 1);
  const GlmStudy study = testing::SealedStudyOf(made);
  mpc::testing::RunOptions options;
  options.releases = {{"test", "", "all", "exact", 1, mpc::kEverybody, 2 * rows.size() + 1}};
  const auto result = mpc::testing::RunAndComparePlan(options, [&](mpc::Engine& engine, size_t) {
    const mpc::Shape shape{rows.size(), 1};
    std::vector<mpc::PrivateMatrix> inputs = {{0, shape, mpc::kStepBits, 20, {}},
                                              {0, shape, mpc::kStepBits, 20, {}}};
    if (engine.self() == std::optional<size_t>(0)) {
      inputs[0].read = [&](size_t first, size_t count, Int128* out) {
        for (size_t r = first; r < first + count; ++r)
          *out++ = mpc::EncodeFixed(rows[r].first, mpc::kStepBits);
      };
      inputs[1].read = [&](size_t first, size_t count, Int128* out) {
        for (size_t r = first; r < first + count; ++r)
          *out++ = mpc::EncodeFixed(std::log(rows[r].second), mpc::kStepBits);
      };
    }
    const std::vector<mpc::Shared> shared = engine.Input(inputs);
    const RowValues values = ValuesAt(engine, study.task, shared[0], shared[1], true);
    const std::vector<mpc::Shared> opened = {values.outside, values.residual, values.pearson};
    const auto numbers = engine.Reveal("test", opened, mpc::kEverybody);
    if (!engine.self()) return;
    EXPECT_EQ(numbers[0].values.front(), 2);
    for (size_t r = 0; r < rows.size(); ++r) {
      const double ratio = std::min(rows[r].second / std::exp(rows[r].first), kMostSealedRatio);
      EXPECT_EQ(rows[r].second / std::exp(rows[r].first) > kMostSealedRatio, r >= 4);
      // The cap is on a grid of 2^-20.
      const double error = std::max(ratio, 1.0) * (r < 4 ? 0x1p-36 : 0x1p-19);
      EXPECT_NEAR(mpc::DecodeFixed(numbers[1].values[r], kMeanBits), ratio - 1, error);
      EXPECT_NEAR(mpc::DecodeFixed(numbers[2].values[r], kMeanBits), std::pow(ratio - 1, 2),
                  2 * (ratio + 1) * error);
    }
  });
  result.ThrowIfFailed();
}

// A row of more than kMostSealedRatio times its mean, and outcomes that follow from the columns.
TEST(SealedGammaTest, WhatIsBeyondTheLimitsIsNotTold) {
  for (const double shape : {0.01, 1e9}) {
    SealedCase made = WithCosts(Made("years ~ age + dose", "columns", 25), shape);
    if (shape > 1) made.costs_follow = true;
    const GlmStudy study = testing::SealedStudyOf(made);
    const Ran ran = RunSealed(study, testing::SealedRowsOf(study, made));
    const FittedModel& told = ran.fitted.model.value();
    EXPECT_FALSE(told.converged) << shape;
    EXPECT_EQ(ran.fitted.points.back(), Eigen::VectorXd::Zero(3));
    EXPECT_EQ(told.standard_errors, Eigen::VectorXd::Zero(3));
    for (const double total : told.totals) EXPECT_EQ(total, 0);
  }
}

// Of columns of two holders.
TEST(SealedGammaTest, CollinearColumnsAreNamed) {
  SealedCase made = WithCosts(Made("years ~ age + dose + smoker", "columns", 26), 4);
  made.dose_is_age = true;
  const GlmStudy study = testing::SealedStudyOf(made);
  const Ran ran = RunSealed(study, testing::SealedRowsOf(study, made));
  EXPECT_EQ(ran.collinear.columns, std::vector<size_t>{2});
}

}  // namespace
}  // namespace partita::methods::glm::sealed_gamma_test
