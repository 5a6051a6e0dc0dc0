// The example of method `describe` by the program: plan, table on the terminal and as files, all
// JSON of its schema (process.h compares).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "tests/cli/process.h"
#include "tests/cli/study_folder.h"
#include "tests/paths.h"

namespace partita::testing::describe_command_test {
namespace {

using ::testing::HasSubstr;

const std::string kExample = "examples/baseline_table/study.toml";

TEST(DescribeCommandTest, ThePlanSaysWhatOpens) {
  const ProcessResult text = Partita({"study", "plan", SourcePath(kExample)});
  ASSERT_EQ(text.exit_code, 0) << text.err;
  EXPECT_THAT(text.out, HasSubstr("means and standard deviations on a grid of 2^-6"));
  EXPECT_THAT(text.out, HasSubstr("for each level of arm"));
  EXPECT_THAT(text.out, HasSubstr("a rank statistic of each on 2^-6"));
  const ProcessResult json = Partita({"study", "plan", SourcePath(kExample), "--format", "json"});
  ASSERT_EQ(json.exit_code, 0) << json.err;
  EXPECT_EQ(nlohmann::json::parse(json.out)["data"]["method"], "describe");
}

TEST(DescribeCommandTest, TheExampleMakesATable) {
  const StudyFolder folder;
  const std::string result = folder.path() + "/result.json";
  const ProcessResult text = Partita(
      {"study", "simulate", SourcePath(kExample), "--in-process", "--output", result, "--force"});
  ASSERT_EQ(text.exit_code, 0) << text.err;
  EXPECT_THAT(text.out, HasSubstr("age (years), mean (sd)"));
  EXPECT_THAT(text.out, HasSubstr("diabetes = type 2"));
  EXPECT_THAT(StudyFolder::Read(folder.path() + "/table1.csv"),
              HasSubstr("variable,arm = control,arm = treated,all,SMD,p\n"));
  EXPECT_THAT(StudyFolder::Read(folder.path() + "/report.html"), HasSubstr("smoker = 1"));

  const ProcessResult report = Partita({"study", "report", result, "--format", "json"});
  ASSERT_EQ(report.exit_code, 0) << report.err;
  const auto table = nlohmann::json::parse(report.out)["data"]["result"];
  ASSERT_EQ(table["variables"].size(), 6u);
  // Counted in the three files.
  const auto& sex = table["variables"][1]["columns"];
  ASSERT_EQ(sex.size(), 3u);
  EXPECT_EQ(sex[2]["n"], 1080);
  const auto& smoker = table["variables"][4]["columns"];
  EXPECT_EQ(smoker[0]["missing"], 36);
  EXPECT_EQ(smoker[1]["missing"], 42);
  EXPECT_EQ(table["variables"][5]["columns"][2]["counts"], (std::vector<int>{780, 76, 224}));
  for (const auto& variable : table["variables"]) {
    for (const auto& column : variable["columns"])
      EXPECT_EQ(column["withheld"], false) << variable["name"] << column["group"];
  }
}

// Groups at an office, what they describe at a clinic.
TEST(DescribeCommandTest, TheExampleOfColumnsMakesATable) {
  const StudyFolder folder;
  const std::string result = folder.path() + "/result.json";
  const ProcessResult text =
      Partita({"study", "simulate", SourcePath("examples/linked_outcomes/table.toml"),
               "--in-process", "--output", result, "--force"});
  ASSERT_EQ(text.exit_code, 0) << text.err;
  EXPECT_THAT(text.out, HasSubstr("1/256 of the bounds"));
  EXPECT_THAT(text.out, HasSubstr("rows left out among them"));
  const ProcessResult report = Partita({"study", "report", result, "--format", "json"});
  ASSERT_EQ(report.exit_code, 0) << report.err;
  const auto table = nlohmann::json::parse(report.out)["data"]["result"];
  ASSERT_EQ(table["variables"].size(), 5u);
  // Counted in the joined files.
  const auto& readmitted = table["variables"][3]["columns"];
  EXPECT_EQ(readmitted[0]["counts"], (std::vector<int>{521, 132}));
  EXPECT_EQ(readmitted[1]["counts"], (std::vector<int>{454, 109}));
  EXPECT_EQ(readmitted[2]["counts"], (std::vector<int>{325, 59}));
  const auto& smoker = table["variables"][2]["columns"];
  EXPECT_EQ(smoker[0]["withheld"], true);
  EXPECT_EQ(smoker[3]["missing"], 23);
  EXPECT_EQ(table["variables"][4]["columns"][1]["missing"], 14);
}

}  // namespace
}  // namespace partita::testing::describe_command_test
