// The example of method `meta` by the program: plan, pooled estimate on the terminal and as files, all
// JSON of its schema (process.h compares).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/cli/process.h"
#include "tests/cli/study_folder.h"
#include "tests/paths.h"

namespace partita::testing::meta_command_test {
namespace {

using ::testing::HasSubstr;

const std::string kExample = "examples/pooled_registries/study.toml";

TEST(MetaCommandTest, ThePlanSaysWhatOpens) {
  const ProcessResult text = Partita({"study", "plan", SourcePath(kExample)});
  ASSERT_EQ(text.exit_code, 0) << text.err;
  EXPECT_THAT(text.out, HasSubstr("intervals of Hartung and Knapp"));
  const ProcessResult json = Partita({"study", "plan", SourcePath(kExample), "--format", "json"});
  ASSERT_EQ(json.exit_code, 0) << json.err;
  EXPECT_EQ(nlohmann::json::parse(json.out)["data"]["method"], "meta");
}

// R's numbers of the same five estimates are those of tests/references/meta ("few").
TEST(MetaCommandTest, TheExampleIsPooled) {
  const StudyFolder folder;
  const std::string result = folder.path() + "/result.json";
  const ProcessResult text = Partita(
      {"study", "simulate", SourcePath(kExample), "--in-process", "--output", result, "--force"});
  ASSERT_EQ(text.exit_code, 0) << text.err;
  EXPECT_THAT(text.out, HasSubstr("Hartung and Knapp"));
  EXPECT_THAT(StudyFolder::Read(folder.path() + "/report.html"), HasSubstr("Forest plot"));
  const ProcessResult report = Partita({"study", "report", result, "--format", "json"});
  ASSERT_EQ(report.exit_code, 0) << report.err;
  const auto pooled = nlohmann::json::parse(report.out)["data"]["result"];
  EXPECT_EQ(pooled["sites"], 5);
  EXPECT_NEAR(pooled["estimate"], 0.6615, 0.004);
  EXPECT_NEAR(pooled["standard_error"], 0.2017, 0.004);
  EXPECT_NEAR(pooled["tau_squared"], 0.1549, 0.001);
}

}  // namespace
}  // namespace partita::testing::meta_command_test
