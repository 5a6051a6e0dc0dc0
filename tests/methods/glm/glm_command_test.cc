// The example of method `glm` by the program: plan, regression on the terminal and as files, all JSON
// of its schema (process.h compares).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/cli/process.h"
#include "tests/cli/study_folder.h"
#include "tests/paths.h"

namespace partita::testing::glm_command_test {
namespace {

using ::testing::HasSubstr;

const std::string kExample = "examples/readmission/study.toml";

TEST(GlmCommandTest, ThePlanSaysWhatOpens) {
  const ProcessResult text = Partita({"study", "plan", SourcePath(kExample)});
  ASSERT_EQ(text.exit_code, 0) << text.err;
  EXPECT_THAT(text.out, HasSubstr("coefficients on the way"));
  EXPECT_THAT(text.out, HasSubstr("link logit"));
  const ProcessResult json = Partita({"study", "plan", SourcePath(kExample), "--format", "json"});
  ASSERT_EQ(json.exit_code, 0) << json.err;
  const auto plan = nlohmann::json::parse(json.out)["data"];
  EXPECT_EQ(plan["method"], "glm");
  EXPECT_EQ(plan["leakage_level"], "iterates");
}

// The numbers are those of R's glm on the three files together.
TEST(GlmCommandTest, TheExampleMakesARegression) {
  const StudyFolder folder;
  const std::string result = folder.path() + "/result.json";
  const ProcessResult text = Partita(
      {"study", "simulate", SourcePath(kExample), "--in-process", "--output", result, "--force"});
  ASSERT_EQ(text.exit_code, 0) << text.err;
  EXPECT_THAT(text.out, HasSubstr("odds ratio"));
  EXPECT_THAT(text.out, HasSubstr("ward.surgery"));
  EXPECT_THAT(StudyFolder::Read(folder.path() + "/coefficients.csv"),
              HasSubstr("term,estimate,std.error,statistic,p.value,conf.low,conf.high,ratio"));
  EXPECT_THAT(StudyFolder::Read(folder.path() + "/terms.csv"),
              HasSubstr("term,df,df.residual,statistic,p.value\nward,2,,"));
  EXPECT_THAT(StudyFolder::Read(folder.path() + "/report.html"), HasSubstr("sex.male:smoker"));

  const std::string csv = folder.path() + "/estimates.csv";
  ASSERT_EQ(Partita({"study", "report", result, "--csv", csv}).exit_code, 0);
  EXPECT_THAT(StudyFolder::Read(csv), HasSubstr("term,estimate,std. error,z,p-value,"));
  EXPECT_THAT(StudyFolder::Read(csv), HasSubstr("\nsex.male:smoker,"));

  const ProcessResult report = Partita({"study", "report", result, "--format", "json"});
  ASSERT_EQ(report.exit_code, 0) << report.err;
  const auto regression = nlohmann::json::parse(report.out)["data"]["result"];
  EXPECT_EQ(regression["converged"], true);
  EXPECT_EQ(regression["rows"], 1305);
  const std::vector<double> estimates = {-3.531683, 0.024571, 0.237034, 0.579923, -0.536325,
                                         0.478793,  0.381275, 0.198617, -0.104651};
  const std::vector<double> errors = {0.392294, 0.005015, 0.153348, 0.219901, 0.162343,
                                      0.152597, 0.105542, 0.078551, 0.288982};
  ASSERT_EQ(regression["coefficients"].size(), estimates.size());
  for (size_t c = 0; c < estimates.size(); ++c) {
    const auto& row = regression["coefficients"][c];
    EXPECT_NEAR(row["estimate"], estimates[c], 0.01 * errors[c]) << row["term"];
    EXPECT_NEAR(row["standard_error"], errors[c], 0.01 * errors[c]) << row["term"];
  }
  EXPECT_NEAR(regression["fit"]["null_deviance"], 1535.4, 0.1);
  EXPECT_NEAR(regression["fit"]["deviance"], 1438.0, 0.1);
  EXPECT_NEAR(regression["fit"]["aic"], 1456, 0.1);
  // R: 32.1432. Half a step of 1/64 standard errors of both estimates moves it by 0.2 at most.
  ASSERT_EQ(regression["tests"].size(), 1u);
  EXPECT_EQ(regression["tests"][0]["term"], "ward");
  EXPECT_NEAR(regression["tests"][0]["statistic"], 32.1432, 0.2);
}

}  // namespace
}  // namespace partita::testing::glm_command_test
