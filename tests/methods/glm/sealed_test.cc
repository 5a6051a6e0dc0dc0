// Sealed fits against their twin in the clear, with rows, columns and both split, on every engine,
// with exactly the messages of the plan.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <Eigen/Cholesky>
#include <algorithm>
#include <cmath>
#include <random>

#include "methods/glm/document.h"
#include "methods/glm/result.h"
#include "methods/glm/sealed/fitter.h"
#include "methods/glm/sealed/plan_layout.h"
#include "methods/glm/sealed/row_values.h"
#include "methods/prepare_study.h"
#include "mpc/fixed_point.h"
#include "mpc/functions/scoring_step.h"
#include "run/simulate/simulate.h"
#include "stats/glm/fit.h"
#include "stats/glm/guarded.h"
#include "stats/glm/robust.h"
#include "stats/glm/wald.h"
#include "tests/methods/glm/sealed_tables.h"
#include "tests/methods/glm/sealed_twin.h"
#include "tests/mpc/harness.h"
#include "tests/thorough.h"

namespace partita::methods::glm::sealed_test {
namespace {

using mpc::Engine;
using testing::ExpectTwin;
using testing::Ran;
using testing::Robust;
using testing::RunSealed;
using testing::SealedCase;

TEST(SealedTest, ColumnsSplit) {
  ExpectTwin(
      {testing::SealedText("binomial", "event ~ age + dose * smoker + stage", "columns"), 1});
  ExpectTwin({testing::SealedText("poisson", "visits ~ age + smoker * dose + offset(log(years))",
                                  "columns"),
              2});
  ExpectTwin({testing::SealedText("gaussian", "score ~ age * dose + stage", "columns"), 3});
}

TEST(SealedTest, OffsetsAndNoIntercept) {
  ExpectTwin({testing::SealedText("binomial", "event ~ dose + offset(log(years))", "columns"), 17});
  ExpectTwin({testing::SealedText("binomial", "event ~ age + dose - 1", "columns"), 18});
  ExpectTwin({testing::SealedText("poisson", "visits ~ 1", "columns"), 19});
}

TEST(SealedTest, RowsSplit) {
  ExpectTwin({testing::SealedText("binomial", "event ~ age + smoker + stage", "rows"), 4});
  ExpectTwin({testing::SealedText("poisson", "visits ~ age + dose", "rows"), 5});
  ExpectTwin({testing::SealedText("gaussian", "score ~ age + dose - 1", "rows"), 6});
}

TEST(SealedTest, RowsAndColumnsSplit) {
  ExpectTwin({testing::SealedText("binomial", "event ~ age + dose + smoker:stage + stage + smoker",
                                  "both"),
              7});
  ExpectTwin({testing::SealedText("poisson",
                                  "visits ~ age + dose + smoker - 1 + offset(log(years))", "both"),
              8});
  ExpectTwin({testing::SealedText("gaussian", "score ~ age + dose", "both"), 9});
}

TEST(SealedTest, RobustErrors) {
  using testing::SealedText;
  ExpectTwin(
      {Robust(SealedText("binomial", "event ~ age + dose * smoker + stage", "columns")), 31});
  ExpectTwin({Robust(SealedText("poisson", "visits ~ age + smoker * dose + offset(log(years))",
                                "columns")),
              32});
  for (const SealedCase& made : Cases<SealedCase>(
           {{Robust(SealedText("gaussian", "score ~ age + dose - 1", "rows")), 35},
            {Robust(SealedText("poisson", "visits ~ age + dose", "both"), "HC1"), 36}},
           {{Robust(SealedText("gaussian", "score ~ age * dose + stage", "columns")), 33},
            {Robust(SealedText("binomial", "event ~ age + smoker", "rows"), "HC1"), 34}}))
    ExpectTwin(made);
  // Risk ratios, of rows that holders leave out, too.
  ExpectTwin({SealedText("modified-poisson", "event ~ dose + smoker", "columns"), 37});
  ExpectTwin(
      {SealedText("modified-poisson", "event ~ dose + smoker", "both", "dealer", "complete"), 38});
  ExpectTwin(
      {Robust(SealedText("gaussian", "score ~ age + dose", "columns", "dealer", "complete")), 39});
}

TEST(SealedTest, RobustErrorsOnEveryEngine) {
  using testing::SealedText;
  const auto binomial = [](const char* engine) {
    return SealedCase{Robust(SealedText("binomial", "event ~ dose * smoker", "columns", engine)),
                      41, 240};
  };
  const auto gaussian = [](const char* engine) {
    return SealedCase{Robust(SealedText("gaussian", "score ~ dose + smoker", "both", engine)), 42,
                      160};
  };
  for (const SealedCase& made : Cases<SealedCase>(
           {binomial("replicated"), gaussian("shamir")},
           {binomial("shamir"),
            gaussian("replicated"),
            {Robust(SealedText("poisson", "visits ~ smoker", "columns", "ot")), 43, 120}}))
    ExpectTwin(made);
}

// ---- a ridge

std::string Ridge(const std::string& text, double ridge) {
  return text + fmt::format("penalty = {{ridge = {}}}\n", ridge);
}

TEST(SealedTest, RidgesOfEverySplit) {
  using testing::SealedText;
  ExpectTwin(
      {Ridge(SealedText("binomial", "event ~ age + dose * smoker + stage", "columns"), 0.01), 51});
  ExpectTwin(
      {Ridge(SealedText("gaussian", "score ~ age * dose + stage", "both", "dealer", "complete"),
             0.05),
       52});
  for (const SealedCase& made : Cases<SealedCase>(
           {{Ridge(SealedText("poisson", "visits ~ age + stage + offset(log(years))", "columns",
                              "dealer", "complete"),
                   0.1),
             53},
            {Ridge(SealedText("gaussian", "score ~ age + dose - 1", "rows"), 1e-6), 54}},
           {{Ridge(SealedText("binomial", "event ~ age + dose - 1", "rows"), 10), 55},
            {Ridge(Robust(SealedText("binomial", "event ~ dose + stage", "both"), "HC1"), 0.02),
             56},
            {Ridge(Robust(SealedText("gaussian", "score ~ age + stage", "columns")), 0.2), 57},
            {Ridge(SealedText("modified-poisson", "event ~ dose + stage", "columns"), 0.02), 58}}))
    ExpectTwin(made);
}

TEST(SealedTest, RidgesOnEveryEngine) {
  using testing::SealedText;
  const auto made = [](const char* engine, const char* split, size_t rows) {
    return SealedCase{Ridge(SealedText("binomial", "event ~ dose + stage", split, engine), 0.02),
                      61, rows};
  };
  ExpectTwin(made("replicated", "columns", 240));
  ExpectTwin(made("shamir", "both", 160));
  ExpectTwin(made("ot", "columns", 120));
}

// Where there is no maximum without it; and of columns that follow from others.
TEST(SealedTest, ARidgeHasAMaximum) {
  SealedCase separated{
      Ridge(testing::SealedText("binomial", "event ~ age + smoker + stage", "columns"), 0.01), 15};
  separated.separated = true;
  ExpectTwin(separated);
  SealedCase collinear{
      Ridge(testing::SealedText("gaussian", "score ~ age + dose + smoker", "columns"), 0.01), 16};
  collinear.dose_is_age = true;
  ExpectTwin(collinear);
}

// ---- weights

TEST(SealedTest, FrequenciesOfWholeRows) {
  using testing::SealedText;
  using testing::WithWeights;
  const auto made = [](const std::string& text, uint64_t seed) {
    return SealedCase{WithWeights(text, "frequency", false), seed};
  };
  ExpectTwin(made(SealedText("binomial", "event ~ age + dose * smoker + stage", "rows"), 71));
  ExpectTwin(made(SealedText("poisson", "visits ~ age + smoker * dose + offset(log(years))", "rows",
                             "dealer", "complete"),
                  72));
  ExpectTwin(made(SealedText("gaussian", "score ~ age + dose", "rows", "dealer", "complete"), 73));
  for (const SealedCase& each : Cases<SealedCase>(
           {made(SealedText("binomial", "event ~ age + stage", "rows"), 74),
            made(Robust(SealedText("gaussian", "score ~ age + stage", "rows"), "HC1"), 75),
            made(Ridge(SealedText("poisson", "visits ~ dose + smoker - 1", "rows"), 0.02), 76)},
           {made(Robust(SealedText("binomial", "event ~ dose + smoker - 1", "rows", "dealer",
                                   "complete")),
                 77),
            made(SealedText("modified-poisson", "event ~ dose + smoker", "rows"), 78),
            made(SealedText("gaussian", "score ~ age + dose - 1", "rows"), 79)}))
    ExpectTwin(each);
}

TEST(SealedTest, SamplingWeightsAndPrecisions) {
  using testing::SealedText;
  using testing::WithWeights;
  const auto made = [](const std::string& text, const char* kind, bool at_second, uint64_t seed) {
    return SealedCase{WithWeights(text, kind, at_second), seed};
  };
  ExpectTwin(made(SealedText("binomial", "event ~ age + dose * smoker + stage", "columns"),
                  "sampling", false, 81));
  ExpectTwin(made(SealedText("gaussian", "score ~ age + stage", "columns", "dealer", "complete"),
                  "precision", true, 82));
  for (const SealedCase& each : Cases<SealedCase>(
           {made(SealedText("poisson", "visits ~ age + dose", "both", "dealer", "complete"),
                 "sampling", true, 83),
            made(Robust(SealedText("gaussian", "score ~ dose + smoker - 1", "rows")), "precision",
                 false, 84)},
           {made(SealedText("gaussian", "score ~ dose + smoker", "both"), "sampling", false, 85),
            made(SealedText("modified-poisson", "event ~ dose + smoker", "columns"), "sampling",
                 true, 86),
            made(SealedText("poisson", "visits ~ dose + offset(log(years))", "rows"), "sampling",
                 false, 87)}))
    ExpectTwin(each);
}

TEST(SealedTest, WeightsOnEveryEngine) {
  using testing::SealedText;
  using testing::WithWeights;
  const auto made = [](const char* family, const char* formula, const char* engine,
                       const char* split, const char* kind, size_t rows) {
    return SealedCase{WithWeights(SealedText(family, formula, split, engine), kind, true), 91,
                      rows};
  };
  ExpectTwin(made("binomial", "event ~ dose + smoker", "replicated", "columns", "sampling", 240));
  ExpectTwin(made("poisson", "visits ~ dose", "shamir", "both", "sampling", 160));
  for (const SealedCase& each :
       Cases<SealedCase>({made("gaussian", "score ~ dose", "ot", "columns", "precision", 120)},
                         {made("binomial", "event ~ smoker", "ot", "columns", "sampling", 120),
                          made("gaussian", "score ~ dose", "shamir", "both", "precision", 160)}))
    ExpectTwin(each);
}

// One person's weight above a tenth of all is found on shares, in whichever group it is.
TEST(SealedTest, ALargeWeightIsFound) {
  for (const char* split : {"columns", "both"}) {
    SealedCase made{testing::WithWeights(testing::SealedText("binomial", "event ~ dose", split),
                                         "sampling", true),
                    92, 60};
    made.one_weighs = true;
    const GlmStudy study = testing::SealedStudyOf(made);
    RunSealed(study, testing::SealedRowsOf(study, made));
  }
}

// Squares of rows that are farther from the model than the sandwich's bounds take are 0, and these count
// as beyond the limits; with errors of the model they do not.
TEST(SealedTest, RowsFarFromTheModelAreBeyondTheLimits) {
  struct Far {
    const char *family, *formula;
    std::vector<std::pair<double, int>> rows;  // predictor and outcome; the last two are far
  };
  for (const Far& far :
       {Far{"poisson", "visits ~ smoker", {{-2, 3}, {-10, 0}, {-10, 60}, {-9, 13}}},
        Far{"binomial", "event ~ smoker", {{13.8, 0}, {-2, 0}, {14, 0}, {-14, 1}}}}) {
    for (const bool robust : {true, false}) {
      SCOPED_TRACE(fmt::format("{} {}", far.family, robust));
      SealedCase made{testing::SealedText(far.family, far.formula, "columns")};
      if (robust) made.text = Robust(made.text);
      const GlmStudy study = testing::SealedStudyOf(made);
      mpc::testing::RunOptions options;
      options.releases = {
          {"test", "", "all", "exact", 1, mpc::kEverybody, robust ? far.rows.size() + 1 : 1}};
      const auto result = mpc::testing::RunAndComparePlan(options, [&](Engine& engine, size_t) {
        const mpc::Shape shape{far.rows.size(), 1};
        const bool own = engine.self() == std::optional<size_t>(0);
        std::vector<mpc::PrivateMatrix> inputs = {{0, shape, mpc::kStepBits, 20, {}},
                                                  {0, shape, 0, 60, {}}};
        if (own) {
          inputs[0].read = [&](size_t first, size_t rows, Int128* out) {
            for (size_t r = first; r < first + rows; ++r)
              *out++ = mpc::EncodeFixed(far.rows[r].first, mpc::kStepBits);
          };
          inputs[1].read = [&](size_t first, size_t rows, Int128* out) {
            for (size_t r = first; r < first + rows; ++r) *out++ = far.rows[r].second;
          };
        }
        const std::vector<mpc::Shared> shared = engine.Input(inputs);
        const RowValues values = ValuesAt(engine, study.task, shared[0], shared[1], true);
        std::vector<mpc::Shared> opened = {values.outside};
        if (robust) opened.push_back(values.squares);
        const auto numbers = engine.Reveal("test", opened, mpc::kEverybody);
        if (!engine.self()) return;
        EXPECT_EQ(numbers[0].values.front(), robust ? 2 : 0);
        for (size_t r = 0; robust && r < far.rows.size(); ++r) {
          const auto [predictor, outcome] = far.rows[r];
          const double mean = std::string(far.family) == "poisson" ? std::exp(predictor)
                                                                   : 1 / (1 + std::exp(-predictor));
          const double square = mpc::DecodeFixed(numbers[1].values[r], opened[1].fraction_bits);
          EXPECT_NEAR(square, r < 2 ? std::pow(outcome - mean, 2) : 0,
                      std::ldexp(64, -SquareBits(study.task)));
        }
      });
      result.ThrowIfFailed();
    }
  }
}

// Each of two holders leaves rows out that the other one keeps. For `./test` each family and each split.
TEST(SealedTest, HoldersLeaveRowsOut) {
  using Split = std::pair<std::string, std::string>;  // of a family
  for (const auto& [family, split] : Cases<Split>({{"binomial", "columns"},
                                                   {"poisson", "both"},
                                                   {"gaussian", "rows"},
                                                   {"gaussian", "both"}},
                                                  {{"binomial", "rows"},
                                                   {"binomial", "both"},
                                                   {"poisson", "rows"},
                                                   {"poisson", "columns"},
                                                   {"gaussian", "columns"}})) {
    const std::string outcome = family == "binomial"  ? "event"
                                : family == "poisson" ? "visits"
                                                      : "score";
    ExpectTwin({testing::SealedText(family, outcome + " ~ age + dose * smoker", split, "dealer",
                                    "complete"),
                10});
  }
}

// For `./test` each engine with two of the three families.
TEST(SealedTest, EveryEngine) {
  const auto binomial = [](const char* engine) {
    return SealedCase{
        testing::SealedText("binomial", "event ~ dose * smoker", "columns", engine, "complete"), 11,
        240};
  };
  const auto poisson = [](const char* engine) {
    return SealedCase{testing::SealedText("poisson", "visits ~ dose + smoker", "both", engine), 12,
                      160};
  };
  const auto gaussian = [](const char* engine) {
    return SealedCase{testing::SealedText("gaussian", "score ~ dose + smoker", "both", engine), 13,
                      160};
  };
  for (const SealedCase& made : Cases<SealedCase>(
           {binomial("replicated"), poisson("shamir"), gaussian("replicated"), gaussian("shamir")},
           {binomial("shamir"), poisson("replicated")}))
    ExpectTwin(made);
}

TEST(SealedTest, ByTransfers) {
  ExpectTwin({testing::SealedText("binomial", "event ~ smoker", "columns", "ot"), 14, 120});
}

// The first whole step goes 17 too far in the linear predictor of smokers: without the guard there are
// far too few steps to come back.
TEST(SealedTest, TheGuardHalvesSteps) {
  SealedCase made{testing::SealedText("poisson", "visits ~ smoker + dose", "columns"), 20};
  made.many_visits = true;
  ExpectTwin(made);
}

// The first direction is longer than any point may be, and is halved as well.
TEST(SealedTest, TheGuardHalvesStepsBeyondAllPoints) {
  SealedCase made{testing::SealedText("poisson", "visits ~ dose", "columns"), 21};
  made.many_visits = made.little_dose = true;
  const GlmStudy study = testing::SealedStudyOf(made);
  const testing::SealedRows rows = testing::SealedRowsOf(study, made);
  const double sum = rows.pooled.y.sum(), n = static_cast<double>(rows.pooled.y.size());
  Eigen::VectorXd start = Eigen::VectorXd::Zero(2);
  start[0] = std::log(sum / n);
  const stats::glm::PointSums sums =
      stats::glm::SumsAt(study.task.spec.law, rows.pooled, start, study.task.units.limits);
  EXPECT_GT(sums.information.ldlt().solve(sums.score)[1], mpc::kMostCoordinate);
  ExpectTwin(made);
}

// ---- what does not converge, and what is collinear

TEST(SealedTest, AFitWithoutARestIsNamed) {
  for (const char* split : {"columns", "rows"}) {
    SealedCase made{testing::SealedText("gaussian", "score ~ age + smoker", split), 22};
    made.score_is_exact = true;
    const GlmStudy study = testing::SealedStudyOf(made);
    const Ran ran = RunSealed(study, testing::SealedRowsOf(study, made));
    EXPECT_FALSE(ran.fitted.model.value().converged);
    for (const double total : ran.fitted.model->totals) EXPECT_EQ(total, 0);
    const study::Document document =
        RegressionDocument("", study.task, study.factors, RegressionOf(study.task, ran.fitted));
    EXPECT_NE(document.sections.front().paragraphs.front().find("(a perfect fit)"),
              std::string::npos);
  }
}

// In half-widths of 25 and with some hundred rows the errors are some 2^-18, below every grid.
TEST(SealedTest, ErrorsBelowEveryGridAreNotTold) {
  for (const double rest : {0.001, 0.1}) {
    SealedCase made{testing::SealedText("gaussian", "score ~ age + smoker", "rows"), 22};
    made.score_is_exact = true;
    made.score_rest = rest;
    const GlmStudy study = testing::SealedStudyOf(made);
    const Ran ran = RunSealed(study, testing::SealedRowsOf(study, made));
    EXPECT_EQ(ran.fitted.model.value().converged, rest > 0.01);
    if (ran.fitted.model->converged) {
      EXPECT_GT(ran.fitted.model->standard_errors.minCoeff(), 0);
    }
  }
}

std::string WithSteps(const std::string& text, int steps) {
  return text + fmt::format("steps = {}\n", steps);
}

TEST(SealedTest, TooFewStepsAreReported) {
  SealedCase made{WithSteps(testing::SealedText("poisson", "visits ~ smoker + dose", "columns"), 4),
                  20};
  made.many_visits = true;
  const GlmStudy study = testing::SealedStudyOf(made);
  const Ran ran = RunSealed(study, testing::SealedRowsOf(study, made));
  EXPECT_FALSE(ran.fitted.model.value().converged);
  EXPECT_EQ(ran.fitted.points.back(), Eigen::VectorXd::Zero(3));
}

TEST(SealedTest, SeparationTellsNothingElse) {
  SealedCase made{WithSteps(testing::SealedText("binomial", "event ~ age + smoker", "columns"), 25),
                  15};
  made.separated = true;
  const GlmStudy study = testing::SealedStudyOf(made);
  const Ran ran = RunSealed(study, testing::SealedRowsOf(study, made));
  const FittedModel& told = ran.fitted.model.value();
  EXPECT_FALSE(told.converged);
  EXPECT_EQ(ran.fitted.points.back(), Eigen::VectorXd::Zero(3));
  EXPECT_EQ(told.standard_errors, Eigen::VectorXd::Zero(3));
  EXPECT_EQ(told.steps, Eigen::VectorXd::Zero(3));
  for (const double total : told.totals) EXPECT_EQ(total, 0);
  const Regression regression = RegressionOf(study.task, ran.fitted);
  EXPECT_FALSE(regression.converged);
  EXPECT_TRUE(regression.coefficients.empty());
  EXPECT_TRUE(regression.path.empty());
}

// Of columns of two holders.
TEST(SealedTest, CollinearColumnsAreNamed) {
  SealedCase made{testing::SealedText("binomial", "event ~ age + dose + smoker", "columns"), 16};
  made.dose_is_age = true;
  const GlmStudy study = testing::SealedStudyOf(made);
  const Ran ran = RunSealed(study, testing::SealedRowsOf(study, made));
  EXPECT_EQ(ran.collinear.columns, std::vector<size_t>{2});
}

}  // namespace
}  // namespace partita::methods::glm::sealed_test
