// partita study prior: what is printed, and what is said when there is nothing to draw from.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/cli/process.h"
#include "tests/cli/study_folder.h"
#include "tests/paths.h"

namespace partita::testing::prior_command_test {
namespace {

using ::testing::HasSubstr;

const std::string kStudy = SourcePath("examples/registry_survival/study.toml");

nlohmann::json DataOf(const ProcessResult& run) {
  EXPECT_EQ(run.exit_code, 0) << run.err;
  return nlohmann::json::parse(run.out)["data"];
}

TEST(PriorCommandTest, TextAndJsonSayTheSame) {
  const ProcessResult text = Partita({"study", "prior", kStudy, "--draws", "500"});
  ASSERT_EQ(text.exit_code, 0) << text.err;
  EXPECT_THAT(text.out, HasSubstr("weibull regression of survival, 500 draws"));
  EXPECT_THAT(text.out, HasSubstr("Median time of survival in rows where one variable at a time"));
  EXPECT_THAT(text.out, HasSubstr("normal(1, 2)"));
  EXPECT_THAT(text.out, HasSubstr("age = 95"));
  EXPECT_THAT(text.out, HasSubstr("treatment = new"));
  EXPECT_THAT(text.out, HasSubstr("are events until the upper bound"));
  EXPECT_THAT(text.out, HasSubstr("No data goes in."));
  const ProcessResult json =
      Partita({"study", "prior", kStudy, "--draws", "500", "--format", "json"});
  const auto data = DataOf(json);
  EXPECT_EQ(data["draws"], 500);
  EXPECT_EQ(data["upper"], 20);
  EXPECT_EQ(data["parameters"].size(), 4u);      // intercept, two predictors, log_sigma
  EXPECT_EQ(data["reference_rows"].size(), 4u);  // middle, age low and high, the new treatment
  const double events = data["outcomes"]["event_share"], above = data["outcomes"]["above_share"];
  EXPECT_DOUBLE_EQ(events, 1 - above);
  EXPECT_THAT(text.out, HasSubstr(fmt::format("{:.3g} %  are events", 100 * events)));
  EXPECT_TRUE(data["outcomes"]["extreme_share"].is_null());
}

TEST(PriorCommandTest, ASeedGivesTheSameNumbers) {
  const auto run = [](const std::string& seed) {
    return DataOf(Partita({"study", "prior", kStudy, "--seed", seed, "--format", "json"}));
  };
  const auto first = run("7");
  EXPECT_EQ(run("7"), first);
  EXPECT_NE(run("8")["outcomes"], first["outcomes"]);
}

TEST(PriorCommandTest, MistakesHaveRemedies) {
  const ProcessResult other =
      Partita({"study", "prior", SourcePath("examples/synthetic_registry/study.toml")});
  EXPECT_NE(other.exit_code, 0);
  EXPECT_THAT(other.err, HasSubstr("its method is 'mixture'"));
  EXPECT_THAT(other.err, HasSubstr("method = \"mcmc\""));
  StudyFolder folder;
  const std::string copy = folder.path() + "/flat.toml";
  StudyFolder::Write(copy, StudyFolder::Read(kStudy));
  folder.Edit(copy, "intercept = \"normal(1, 2)\"", "intercept = \"flat\"");
  const ProcessResult flat = Partita({"study", "prior", copy});
  EXPECT_NE(flat.exit_code, 0);
  EXPECT_THAT(flat.err, HasSubstr("the prior of intercept is flat"));
  EXPECT_THAT(flat.err, HasSubstr("[analysis.priors]"));
  EXPECT_EQ(Partita({"study", "prior", kStudy, "--draws", "99"}).exit_code, 2);
  EXPECT_EQ(Partita({"study", "prior"}).exit_code, 2);
  const ProcessResult help = Partita({"study", "prior", "--help"});
  EXPECT_EQ(help.exit_code, 0);
  EXPECT_THAT(help.out, HasSubstr("--seed"));
}

}  // namespace
}  // namespace partita::testing::prior_command_test
