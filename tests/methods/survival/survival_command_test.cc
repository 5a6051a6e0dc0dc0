// The example of method `survival` by the program: plan, curves on the terminal and as files, all
// JSON of its schema (process.h compares).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "tests/cli/process.h"
#include "tests/cli/study_folder.h"
#include "tests/paths.h"

namespace partita::testing::survival_command_test {
namespace {

using ::testing::HasSubstr;

const std::string kExample = "examples/trial_survival/study.toml";

TEST(SurvivalCommandTest, ThePlanSaysWhatOpens) {
  const ProcessResult text = Partita({"study", "plan", SourcePath(kExample)});
  ASSERT_EQ(text.exit_code, 0) << text.err;
  EXPECT_THAT(text.out, HasSubstr("at days 182, 365, 730 and 1095"));
  EXPECT_THAT(text.out, HasSubstr("for each level of arm"));
  const ProcessResult json = Partita({"study", "plan", SourcePath(kExample), "--format", "json"});
  ASSERT_EQ(json.exit_code, 0) << json.err;
  EXPECT_EQ(nlohmann::json::parse(json.out)["data"]["method"], "survival");
}

TEST(SurvivalCommandTest, TheExampleMakesCurves) {
  const StudyFolder folder;
  const std::string result = folder.path() + "/result.json";
  const ProcessResult text = Partita(
      {"study", "simulate", SourcePath(kExample), "--in-process", "--output", result, "--force"});
  ASSERT_EQ(text.exit_code, 0) << text.err;
  EXPECT_THAT(text.out, HasSubstr("Followed further"));
  EXPECT_THAT(text.out, HasSubstr("Chi-square"));
  EXPECT_THAT(StudyFolder::Read(folder.path() + "/curves.csv"),
              HasSubstr("strata,time,n.event,n.censor,n.after,estimate,std.error,conf.low"));
  EXPECT_THAT(StudyFolder::Read(folder.path() + "/report.html"), HasSubstr("Survival by arm"));

  const ProcessResult report = Partita({"study", "report", result, "--format", "json"});
  ASSERT_EQ(report.exit_code, 0) << report.err;
  const auto curves = nlohmann::json::parse(report.out)["data"]["result"];
  ASSERT_EQ(curves["curves"].size(), 2u);
  // R's survfit and survdiff of the three files.
  EXPECT_EQ(curves["curves"][0]["rows"], 577);
  EXPECT_EQ(curves["curves"][1]["rows"], 513);
  EXPECT_EQ(curves["curves"][0]["points"][0]["events"], 85);
  EXPECT_NEAR(curves["curves"][0]["points"][1]["survival"], 0.717, 0.001);
  EXPECT_NEAR(curves["curves"][1]["points"][3]["survival"], 0.475, 0.001);
  EXPECT_EQ(curves["curves"][0]["median"]["estimate"], 772);
  EXPECT_EQ(curves["curves"][0]["median"]["lower"], 692);
  EXPECT_EQ(curves["curves"][0]["median"]["upper"], 856);
  EXPECT_EQ(curves["curves"][1]["median"]["estimate"], 1049);
  // R's upper bound is 1255: few deaths lie around it.
  const auto& upper = curves["curves"][1]["median"]["within"]["upper"];
  ASSERT_TRUE(upper.is_array());
  EXPECT_LT(upper[0], 1255);
  EXPECT_GE(upper[1], 1255);
  EXPECT_EQ(curves["log_rank"]["groups"][0]["observed"], 368);
  EXPECT_NEAR(curves["log_rank"]["chi_square"], 20.5, 0.06);
}

TEST(SurvivalCommandTest, TheExampleOfHazardRatiosIsThatOfR) {
  const StudyFolder folder;
  const std::string result = folder.path() + "/result.json";
  const ProcessResult text =
      Partita({"study", "simulate", SourcePath("examples/trial_survival/hazards.toml"),
               "--in-process", "--output", result, "--force"});
  ASSERT_EQ(text.exit_code, 0) << text.err;
  EXPECT_THAT(text.out, HasSubstr("hazard ratio"));
  EXPECT_THAT(StudyFolder::Read(folder.path() + "/coefficients.csv"),
              HasSubstr("term,estimate,std.error,statistic"));
  EXPECT_THAT(StudyFolder::Read(folder.path() + "/report.html"), HasSubstr("hazard ratio"));
  const ProcessResult report = Partita({"study", "report", result, "--format", "json"});
  ASSERT_EQ(report.exit_code, 0) << report.err;
  const auto model = nlohmann::json::parse(report.out)["data"]["result"];
  // coxph(Surv(days, died) ~ arm + age + sex + stage) of the three files, and cox.zph of it, with
  // transform = "identity" and terms = FALSE.
  const double estimates[] = {-0.383206, 0.024186, 0.132575, 0.256128, 0.831051};
  ASSERT_EQ(model["coefficients"].size(), 5u);
  for (size_t c = 0; c < 5; ++c) {
    EXPECT_NEAR(model["coefficients"][c]["estimate"], estimates[c],
                1.01 * model["coefficients"][c]["step"].get<double>());
  }
  EXPECT_EQ(model["events"], 633);
  EXPECT_NEAR(model["fit"]["log_likelihood"], -3984.866, 0.01);
  EXPECT_NEAR(model["fit"]["likelihood_ratio"]["chi_square"], 116.36, 0.034);
  EXPECT_NEAR(model["fit"]["proportional"]["all"]["chi_square"], 1.509, 0.02);
}

}  // namespace
}  // namespace partita::testing::survival_command_test
