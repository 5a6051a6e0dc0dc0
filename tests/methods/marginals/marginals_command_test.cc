// The example of method `marginals` by the program: plan, result and files, rows drawn from what
// opened, all JSON of its schema (process.h compares).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "tests/cli/process.h"
#include "tests/cli/study_folder.h"
#include "tests/paths.h"

namespace partita::testing::marginals_command_test {
namespace {

using ::testing::HasSubstr;

const std::string kExample = SourcePath("examples/synthetic_registry/tables.toml");

nlohmann::json DataOf(const ProcessResult& run) {
  EXPECT_EQ(run.exit_code, 0) << run.err;
  return nlohmann::json::parse(run.out)["data"];
}

TEST(MarginalsCommandTest, ThePlanSaysWhatOpens) {
  const ProcessResult valid = Partita({"study", "validate", kExample});
  ASSERT_EQ(valid.exit_code, 0) << valid.err;
  EXPECT_THAT(valid.out, ::testing::EndsWith("6 variables\n"));
  const ProcessResult text = Partita({"study", "plan", kExample});
  ASSERT_EQ(text.exit_code, 0) << text.err;
  EXPECT_THAT(text.out, HasSubstr("21 one-way and two-way tables of 6 columns"));
  EXPECT_THAT(text.out, HasSubstr("Forecast on made-up rows"));
  const auto json = DataOf(Partita({"study", "plan", kExample, "--format", "json"}));
  EXPECT_EQ(json["method"], "marginals");
  for (const auto& row : json["privacy"]) {
    if (row["adversary"] != "party insurer") continue;
    const std::string loss = row["loss"];
    ASSERT_EQ(loss.rfind("eps <= ", 0), 0u) << loss;
    EXPECT_LE(std::stod(loss.substr(7)), 3);
    EXPECT_GT(std::stod(loss.substr(7)), 2.9);
  }
}

TEST(MarginalsCommandTest, TheExampleRunsAndRowsAreDrawnAgain) {
  const StudyFolder folder;
  const std::string result = folder.path() + "/result.json";
  std::vector<std::string> simulate = {"study", "simulate", kExample, "--output", result};
  for (const std::string party : {"clinic", "insurer"}) {
    simulate.insert(
        simulate.end(),
        {"--data", party + "=" + SourcePath("examples/synthetic_registry/" + party + "/data.csv")});
  }
  const ProcessResult text = Partita(simulate);
  ASSERT_EQ(text.exit_code, 0) << text.err;
  EXPECT_THAT(text.out, HasSubstr("Candidates"));
  EXPECT_THAT(StudyFolder::Read(folder.path() + "/report.html"), HasSubstr("Counts of smoking"));
  const std::string csv = StudyFolder::Read(folder.path() + "/synthetic_2.csv");
  EXPECT_EQ(csv.substr(0, csv.find('\n')), "age,sex,smoking,visits,region,cost");
  EXPECT_EQ(std::count(csv.begin(), csv.end(), '\n'), 801);
  const ProcessResult none =
      Partita({"study", "report", result, "--csv", folder.path() + "/none.csv"});
  EXPECT_EQ(none.exit_code, 2);
  EXPECT_THAT(none.err, HasSubstr("a result of method marginals that ended as 'converged' has no "
                                  "table of estimates"));
  const auto report = DataOf(Partita({"study", "report", result, "--format", "json"}));
  EXPECT_EQ(report["result"]["rows"], 800);
  const auto drawn =
      DataOf(Partita({"synthetic", "draw", folder.path() + "/model.json", "--folder",
                      folder.path() + "/north", "--rows", "25", "--format", "json"}));
  const std::string again = StudyFolder::Read(drawn["files"][0]);
  EXPECT_EQ(std::count(again.begin(), again.end(), '\n'), 26);
  EXPECT_FALSE(drawn["privacy"].is_null());
  EXPECT_THAT(drawn["purpose"].get<std::string>(), HasSubstr("pairs of columns"));
  EXPECT_THAT(StudyFolder::Read(folder.path() + "/counts.csv"),
              HasSubstr("column,level,with,with_level,count,lower,upper\nage,"));
  EXPECT_EQ(report["result"]["quartiles"].size(), 9);  // of age, visits and cost
  const auto women =
      DataOf(Partita({"synthetic", "draw", folder.path() + "/model.json", "--folder",
                      folder.path() + "/south", "--rows", "30", "--given",
                      "smoking=" + report["result"]["counts"][2]["levels"][0].get<std::string>(),
                      "--format", "json"}));
  EXPECT_EQ(women["rows"], 30);
  // Two tables for intervals, an estimate of each, and one interval.
  std::filesystem::create_directory(folder.path() + "/west");
  const auto sets = DataOf(Partita({"synthetic", "draw", folder.path() + "/model.json", "--folder",
                                    folder.path() + "/west", "--sets", "3", "--for-intervals",
                                    "sex,smoking", "--format", "json"}));
  ASSERT_EQ(sets["files"].size(), 3);
  EXPECT_EQ(sets["rows"], 800);
  const std::string first = StudyFolder::Read(sets["files"][0]);
  EXPECT_EQ(first.substr(0, first.find('\n')), "sex,smoking");
  const std::string estimates = folder.path() + "/estimates.csv";
  StudyFolder::Write(estimates, "term,estimate,se\na,1,0.5\na,2,0.5\nb,3,0.1\na,3,0.5\nb,5,0.1\n");
  const auto combined = DataOf(Partita({"synthetic", "combine", estimates, "--format", "json"}));
  ASSERT_EQ(combined["terms"].size(), 2);
  EXPECT_EQ(combined["terms"][0]["tables"], 3);
  EXPECT_EQ(combined["terms"][0]["estimate"], 2);
  // (1 + 1/3) 1 - 0.25.
  EXPECT_NEAR(combined["terms"][0]["se"].get<double>(), std::sqrt(4.0 / 3 - 0.25), 1e-12);
  StudyFolder::Write(estimates, "term,estimate,se\na,1,0.5\n");
  const ProcessResult one = Partita({"synthetic", "combine", estimates});
  EXPECT_NE(one.exit_code, 0);
  EXPECT_THAT(one.err, HasSubstr("has one estimate of 'a'"));
}

}  // namespace
}  // namespace partita::testing::marginals_command_test
