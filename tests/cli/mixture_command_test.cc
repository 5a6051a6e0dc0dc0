// A study of method mixture by the commands, as processes over TLS: validate, plan, simulate, the
// files beside the result, and what is drawn from the model afterwards.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "tests/cli/process.h"
#include "tests/cli/study_folder.h"
#include "tests/paths.h"

namespace partita::testing::mixture_command_test {
namespace {

using ::testing::HasSubstr;

const std::string kStudy = SourcePath("examples/synthetic_registry/study.toml");

nlohmann::json DataOf(const ProcessResult& run) {
  EXPECT_EQ(run.exit_code, 0) << run.err;
  return nlohmann::json::parse(run.out)["data"];
}

size_t LinesOf(const std::string& text) {
  return static_cast<size_t>(std::count(text.begin(), text.end(), '\n'));
}

TEST(MixtureCommandTest, ValidateAndPlan) {
  const ProcessResult valid = Partita({"study", "validate", kStudy});
  ASSERT_EQ(valid.exit_code, 0) << valid.err;
  EXPECT_THAT(valid.out, HasSubstr("6 variables"));
  const ProcessResult plan = Partita({"study", "plan", kStudy});
  ASSERT_EQ(plan.exit_code, 0) << plan.err;
  EXPECT_THAT(plan.out, HasSubstr("Batches disjoint: 120 iterations, a row in at most 30"));
  EXPECT_THAT(plan.out, HasSubstr("Batches full: 30 iterations"));
  EXPECT_THAT(plan.out, HasSubstr("masked once"));
  // The promise, against each party.
  const auto json = DataOf(Partita({"study", "plan", kStudy, "--format", "json"}));
  for (const auto& row : json["privacy"]) {
    if (row["adversary"] != "party insurer") continue;
    const std::string loss = row["loss"];
    ASSERT_EQ(loss.rfind("eps <= ", 0), 0u) << loss;
    EXPECT_LE(std::stod(loss.substr(7)), 3);
    EXPECT_GT(std::stod(loss.substr(7)), 2.9);
  }
}

TEST(MixtureCommandTest, SimulateWritesTablesAndAModel) {
  StudyFolder folder;
  const std::string result = folder.path() + "/out.json";
  const ProcessResult run =
      Partita({"study", "simulate", kStudy, "--output", result, "--format", "json"});
  const auto data = DataOf(run);
  EXPECT_EQ(data["result"]["openings"], 120);
  EXPECT_EQ(data["result"]["iterations"], 120);
  EXPECT_EQ(data["result"]["max_uses"], 30);
  for (const std::string name : {"synthetic_1.csv", "synthetic_2.csv"}) {
    const std::string csv = StudyFolder::Read(folder.path() + "/" + name);
    EXPECT_EQ(csv.substr(0, csv.find('\n')), "age,sex,smoking,visits,region,cost");
    EXPECT_EQ(LinesOf(csv), 801u);
  }
  EXPECT_THAT(StudyFolder::Read(folder.path() + "/out.html"), HasSubstr("Privacy of this run"));
  const ProcessResult again = Partita({"study", "report", result});
  ASSERT_EQ(again.exit_code, 0) << again.err;
  EXPECT_THAT(again.out, HasSubstr("mixture of 4 components over 6 columns"));
  EXPECT_THAT(again.out, HasSubstr("Synthetic data are for writing"));

  const auto drawn =
      DataOf(Partita({"synthetic", "draw", folder.path() + "/model.json", "--folder",
                      folder.path() + "/north", "--rows", "25", "--format", "json"}));
  EXPECT_EQ(LinesOf(StudyFolder::Read(drawn["files"][0])), 26u);
  EXPECT_FALSE(drawn["privacy"].is_null());
}

// Noise that leaves nothing: the plan says so, and neither an approval nor a run is made of it unless
// asked for. Nothing is written.
TEST(MixtureCommandTest, UselessStudiesAreRefused) {
  StudyFolder folder;
  const std::string study = folder.path() + "/useless.toml";
  StudyFolder::Write(study, StudyFolder::Read(kStudy));
  folder.Edit(study, "epsilon = 3\n", "epsilon = 0.1\n");
  std::vector<std::string> simulate = {"study", "simulate", study, "--output",
                                       folder.path() + "/out.json"};
  for (const std::string party : {"clinic", "insurer"}) {
    simulate.insert(
        simulate.end(),
        {"--data", party + "=" + SourcePath("examples/synthetic_registry/" + party + "/data.csv")});
  }
  const ProcessResult plan = Partita({"study", "plan", study});
  ASSERT_EQ(plan.exit_code, 0) << plan.err;
  EXPECT_THAT(plan.out, HasSubstr("Forecast of usefulness"));
  EXPECT_THAT(plan.out, HasSubstr("WARNING: synthetic rows would go"));

  const ProcessResult refused = Partita(simulate);
  EXPECT_EQ(refused.exit_code, 5) << refused.out;
  EXPECT_THAT(refused.err, HasSubstr("the result would hardly be useful: synthetic rows would go"));
  EXPECT_THAT(refused.err, HasSubstr("--accept-useless"));
  EXPECT_FALSE(std::filesystem::exists(folder.path() + "/out.json"));
  EXPECT_FALSE(std::filesystem::exists(folder.path() + "/synthetic_1.csv"));

  simulate.emplace_back("--accept-useless");
  const ProcessResult accepted = Partita(simulate);
  EXPECT_EQ(accepted.exit_code, 0) << accepted.err;
  EXPECT_TRUE(std::filesystem::exists(folder.path() + "/synthetic_1.csv"));
  const auto result = nlohmann::json::parse(StudyFolder::Read(folder.path() + "/out.json"));
  EXPECT_TRUE(result["result"]["poor_for_learning"].is_array());
}

}  // namespace
}  // namespace partita::testing::mixture_command_test
