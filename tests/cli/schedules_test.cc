// Other schedules in the plan of a study: what they cost is what the plan of a study file that says
// so costs.
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "tests/cli/process.h"
#include "tests/cli/study_folder.h"
#include "tests/paths.h"

namespace partita::testing::schedules_test {
namespace {

using nlohmann::json;

json PlanOf(const std::string& file) {
  const ProcessResult run =
      Partita({"study", "plan", file, "--latency", "20ms", "--format", "json"});
  EXPECT_EQ(run.exit_code, 0) << run.err;
  return json::parse(run.out)["data"];
}

// The example with these keys of its analysis changed.
json PlanOfChanged(const std::string& example,
                   const std::vector<std::pair<std::string, std::string>>& changes) {
  StudyFolder folder;
  const std::string file = folder.path() + "/other.toml";
  StudyFolder::Write(file, StudyFolder::Read(SourcePath("examples/" + example + "/study.toml")));
  for (const auto& [from, to] : changes) folder.Edit(file, from, to);
  return PlanOf(file);
}

// The schedule with this text; fails if there is none.
json ScheduleOf(const json& plan, const std::string& text) {
  for (const json& one : plan["alternatives"]) {
    if (one["schedule"] == text) return one;
  }
  ADD_FAILURE() << "no schedule '" << text << "' in " << plan["alternatives"].dump(2);
  return {};
}

void ExpectCostOf(const json& schedule, const json& plan) {
  ASSERT_TRUE(schedule.is_object());
  EXPECT_EQ(schedule["rounds"], plan["totals"]["rounds"]);
  EXPECT_EQ(schedule["bytes"], plan["totals"]["bytes"]);
  ASSERT_EQ(schedule["estimates"].size(), 1U);
  EXPECT_NEAR(schedule["estimates"][0]["seconds"], plan["estimates"][0]["seconds"], 1e-9);
}

TEST(SchedulesTest, DecisionsTogether) {
  const json plan = PlanOf(SourcePath("examples/registry_survival/study.toml"));
  const std::string chains = "160 chains of 125 draws, ";
  EXPECT_EQ(plan["alternatives"][0]["schedule"], chains + "2 decisions together");
  ExpectCostOf(plan["alternatives"][0], plan);
  const json five = ScheduleOf(plan, chains + "5 decisions together");
  ExpectCostOf(five, PlanOfChanged("registry_survival", {{"speculation = 2", "speculation = 5"}}));
  EXPECT_LT(five["rounds"], plan["totals"]["rounds"]);
  EXPECT_EQ(five["result"], "20000 draws in all, from 104000 decisions.");
  ExpectCostOf(ScheduleOf(plan, chains + "one decision after the other"),
               PlanOfChanged("registry_survival", {{"speculation = 2", "speculation = 1"}}));
}

TEST(SchedulesTest, MoreAndShorterChains) {
  const json plan = PlanOfChanged("registry_survival", {{"draws = 125", "draws = 120"}});
  ExpectCostOf(ScheduleOf(plan, "320 chains of 60 draws, 2 decisions together"),
               PlanOfChanged("registry_survival", {{"draws = 125", "draws = 60"},
                                                   {"\nchains = 160", "\nchains = 320"}}));
}

TEST(SchedulesTest, LargerBatchesOfAMixture) {
  const json plan = PlanOf(SourcePath("examples/synthetic_registry/study.toml"));
  ExpectCostOf(plan["alternatives"][0], plan);
  const json twice = ScheduleOf(plan, "400 rows a batch, 60 iterations");
  ExpectCostOf(twice, PlanOfChanged("synthetic_registry", {{"size = 200", "size = 400"}}));
  EXPECT_LT(twice["rounds"], plan["totals"]["rounds"]);
}

TEST(SchedulesTest, LargerBatchesOfDescent) {
  const json plan = PlanOf(SourcePath("examples/private_classifier/study.toml"));
  ExpectCostOf(plan["alternatives"][0], plan);
  const json other = PlanOfChanged("private_classifier", {{"iterations = 100", "iterations = 50"},
                                                          {"rate = 0.2", "rate = 0.4"}});
  const json schedule = other["alternatives"][0];
  EXPECT_EQ(ScheduleOf(plan, schedule["schedule"])["result"], schedule["result"]);
  ExpectCostOf(ScheduleOf(plan, schedule["schedule"]), other);
  EXPECT_LT(schedule["rounds"], plan["totals"]["rounds"]);
}

// Of one schedule nothing is said.
TEST(SchedulesTest, NoneOfOtherMethods) {
  const json plan = PlanOf(SourcePath("examples/three_factor/horizontal/study.toml"));
  EXPECT_FALSE(plan.contains("alternatives"));
}

TEST(SchedulesTest, StandInTheTextAndOnThePage) {
  StudyFolder folder;
  const std::string page = folder.path() + "/plan.html";
  const ProcessResult run =
      Partita({"study", "plan", SourcePath("examples/registry_survival/study.toml"), "--latency",
               "20ms", "--latency", "100ms", "--html", page});
  ASSERT_EQ(run.exit_code, 0) << run.err;
  const std::string title =
      "Other schedules, the first is this plan's (not part of what is approved)";
  for (const std::string& text : {run.out, StudyFolder::Read(page)}) {
    EXPECT_NE(text.find("5 decisions together"), std::string::npos);
    EXPECT_NE(text.find("20000 draws in all, from 104000 decisions."), std::string::npos);
  }
  EXPECT_NE(run.out.find(title), std::string::npos);
}

}  // namespace
}  // namespace partita::testing::schedules_test
