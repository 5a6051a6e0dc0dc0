// The example of level `sealed` by the program: plan, regression of two holders' columns, template.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/cli/process.h"
#include "tests/cli/study_folder.h"
#include "tests/paths.h"

namespace partita::testing::glm_sealed_command_test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

const std::string kExample = "examples/linked_outcomes/study.toml";

TEST(GlmSealedCommandTest, ThePlanSaysThatTheResultOpens) {
  const ProcessResult text = Partita({"study", "plan", SourcePath(kExample)});
  ASSERT_EQ(text.exit_code, 0) << text.err;
  EXPECT_THAT(text.out, HasSubstr("Nothing opens on the way"));
  EXPECT_THAT(text.out, Not(HasSubstr("coefficients on the way")));
  const ProcessResult json = Partita({"study", "plan", SourcePath(kExample), "--format", "json"});
  ASSERT_EQ(json.exit_code, 0) << json.err;
  EXPECT_EQ(nlohmann::json::parse(json.out)["data"]["leakage_level"], "sealed");
}

// The numbers are those of R's glm on the joined files, whose incomplete rows it leaves out as well.
TEST(GlmSealedCommandTest, TheExampleMakesARegression) {
  const StudyFolder folder;
  const std::string result = folder.path() + "/result.json";
  const ProcessResult text = Partita(
      {"study", "simulate", SourcePath(kExample), "--in-process", "--output", result, "--force"});
  ASSERT_EQ(text.exit_code, 0) << text.err;
  EXPECT_THAT(text.out, HasSubstr("odds ratio"));
  EXPECT_THAT(StudyFolder::Read(folder.path() + "/report.html"), HasSubstr("smoker:income"));
  const ProcessResult report = Partita({"study", "report", result, "--format", "json"});
  ASSERT_EQ(report.exit_code, 0) << report.err;
  const auto regression = nlohmann::json::parse(report.out)["data"]["result"];
  EXPECT_EQ(regression["level"], "sealed");
  EXPECT_EQ(regression["converged"], true);
  EXPECT_EQ(regression["rows"], 1527);
  EXPECT_EQ(regression["events"], 289);
  const std::vector<double> estimates = {-2.1244707429, 0.0199495788,  0.2865324301,  0.4149294273,
                                         -0.0269054086, -0.0357627371, -0.3093193121, 0.0018712095};
  const std::vector<double> errors = {0.3041256205, 0.0032142661, 0.1352814672, 0.3190905416,
                                      0.0066514998, 0.1519793142, 0.1794129179, 0.0107004878};
  ASSERT_EQ(regression["coefficients"].size(), estimates.size());
  for (size_t c = 0; c < estimates.size(); ++c) {
    const auto& row = regression["coefficients"][c];
    // Half a step of 2^-6 standard errors at most.
    EXPECT_NEAR(row["estimate"], estimates[c], 0.008 * errors[c]) << row["term"];
    EXPECT_NEAR(row["standard_error"], errors[c], 0.008 * errors[c]) << row["term"];
  }
  EXPECT_NEAR(regression["fit"]["null_deviance"], 1481.64, 0.01);
  EXPECT_NEAR(regression["fit"]["deviance"], 1394.07, 0.02);
  EXPECT_NEAR(regression["fit"]["aic"], 1410.07, 0.02);
  ASSERT_EQ(regression["tests"].size(), 1u);
  EXPECT_EQ(regression["tests"][0]["term"], "education");
  EXPECT_NEAR(regression["tests"][0]["statistic"], 3.19638, 0.009);
}

// The commented file of columns at two holders is accepted as it stands.
TEST(GlmSealedCommandTest, TheTemplateOfSplitColumnsIsAStudy) {
  const StudyFolder folder;
  const std::string file = folder.path() + "/new.toml";
  const ProcessResult made =
      Partita({"study", "new", file, "--commented", "--method", "glm", "--partition", "vertical"});
  ASSERT_EQ(made.exit_code, 0) << made.err;
  const ProcessResult valid = Partita({"study", "validate", file});
  EXPECT_EQ(valid.exit_code, 0) << valid.err;
}

}  // namespace
}  // namespace partita::testing::glm_sealed_command_test
