// Study files of one's own tables: equal to the commented ones where these say the same, for every
// method; engines, bounds, levels and rows as said; everything that is wrong is said in words of the
// command line.
#include "cli/study/new_study.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "methods/all.h"
#include "methods/prepare_study.h"
#include "run/matching/matched_rows.h"
#include "run/party/build_plan.h"
#include "study/plan/plan.h"
#include "tests/cli/study_folder.h"
#include "tests/study/edited.h"

namespace partita::cli::new_study_test {
namespace {

using study::Edited;
using ::testing::HasSubstr;

// What the parties would agree on, without the hash of the file's bytes.
nlohmann::json PlanOf(const std::string& text) {
  const auto study = methods::PrepareStudy(methods::ParseStudyFile(text, "study.toml"));
  nlohmann::json plan = nlohmann::json::parse(
      study::RenderPlanJson(run::BuildPlan(*study), study::DefaultNetworks()));
  plan.erase("study_file_hash");
  plan.erase("title");
  return plan;
}

std::string Template(const std::string& method, data::PartitionKind partition, bool is_private) {
  for (const auto& start : methods::MethodByName(method).templates()) {
    if (start.partition == partition && start.is_private == is_private) return start.text;
  }
  ADD_FAILURE() << method;
  return "";
}

std::string WithPartyBlocks(std::string text) {
  for (const std::string party : {"north", "south"}) {
    for (int i = 0; i < 2; ++i) text = Edited(text, "\"" + party + "-rows\"", "\"" + party + "\"");
  }
  return text;
}

class NewStudyTest : public ::testing::Test {
 protected:
  NewStudyTest() {
    options_.file = "my-study.toml";
    options_.method = "mle";
    options_.parties = {"north", "south"};
    options_.helper = "helper";
    options_.missing = "refuse";
  }

  std::string Written(const std::string& name, const std::string& text) {
    const std::string file = folder_.path() + "/" + name;
    partita::testing::StudyFolder::Write(file, text);
    return file;
  }

  void Dictionary(const std::string& text) {
    options_.dictionaries = {Written("dictionary.toml", text)};
  }

  // Of "x1" to "x<n>", without bounds.
  static std::string Numbers(int from, int to) {
    std::string text;
    for (int i = from; i <= to; ++i)
      text += "[[variable]]\nname = \"x" + std::to_string(i) + "\"\ntype = \"numeric\"\n";
    return text;
  }

  std::string Text() {
    Interview interview({});
    return study::ShortStudyText(NewStudy(options_, interview));
  }

  void ExpectRefused(const std::string& what) {
    try {
      const std::string text = Text();
      ADD_FAILURE() << what << " was not refused:\n" << text;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kUsage);
      EXPECT_THAT(error.what(), HasSubstr(what));
    }
  }

  partita::testing::StudyFolder folder_;
  NewStudyOptions options_;
};

TEST_F(NewStudyTest, IsTheCommentedOneOfWholeRows) {
  Dictionary(Numbers(1, 9));
  options_.bounds = {"x1,x2,x3=0..10", "x4, x5 ,x6=0..10"};
  options_.said = {{"model", "visual =~ x1 + x2 + x3\ntextual =~ x4 + x5 + x6"},
                   {"function", "cfa"}};
  const std::string text = Text();
  EXPECT_EQ(PlanOf(text),
            PlanOf(WithPartyBlocks(Template("mle", data::PartitionKind::kHorizontal, false))));
  EXPECT_LT(std::count(text.begin(), text.end(), '\n'), 80);
}

TEST_F(NewStudyTest, IsTheCommentedOneOfSplitColumns) {
  options_.dictionaries = {"north=" + Written("north.toml", Numbers(1, 3)),
                           "south=" + Written("south.toml", Numbers(4, 7))};
  options_.bounds = {"x1,x2,x3,x4,x5,x6=0..10"};
  options_.rows = {"300"};
  options_.key = "id";
  options_.said = {{"model", "visual =~ x1 + x2 + x3; textual =~ x4 + x5 + x6"}};
  options_.said["function"] = "cfa";
  EXPECT_EQ(PlanOf(Text()), PlanOf(Template("mle", data::PartitionKind::kVertical, false)));
}

TEST_F(NewStudyTest, IsTheCommentedOneWithNoise) {
  Dictionary(Numbers(1, 6));
  options_.missing = "";
  options_.bounds = {"x1,x2,x3,x4,x5,x6=0..10"};
  options_.rows = {"north,south=1500"};
  options_.said = {{"model", "visual =~ x1 + x2 + x3\ntextual =~ x4 + x5 + x6"},
                   {"function", "cfa"},
                   {"privacy.epsilon", "1"},
                   {"privacy.delta", "1e-6"}};
  EXPECT_EQ(PlanOf(Text()),
            PlanOf(WithPartyBlocks(Template("mle", data::PartitionKind::kHorizontal, true))));
}

TEST_F(NewStudyTest, IsTheCommentedOneOfAClassifier) {
  Dictionary(Template("classify", data::PartitionKind::kHorizontal, true));
  options_.method = "classify";
  options_.rows = {"north=1500", "south=1500"};
  options_.said = {{"outcome", "relapse"}, {"positive", "yes"},      {"predictors", "age,dose,sex"},
                   {"row_norm", "0.6"},    {"lambda", "0.0001"},     {"iterations", "100"},
                   {"step", "4"},          {"sampling_rate", "0.2"}, {"evaluation", "private"},
                   {"test_share", "0.25"}, {"privacy.epsilon", "2"}, {"privacy.delta", "1e-5"}};
  EXPECT_EQ(PlanOf(Text()),
            PlanOf(WithPartyBlocks(Template("classify", data::PartitionKind::kHorizontal, true))));
}

TEST_F(NewStudyTest, IsTheCommentedOneOfADescription) {
  const std::string commented = Template("describe", data::PartitionKind::kHorizontal, false);
  Dictionary(commented);
  options_.method = "describe";
  options_.missing = "";
  options_.said = {{"variables", "age, dose, sex"}, {"group", "relapse"}};
  ExpectRefused("missing: --min-rows COUNT");
  options_.min_rows = "200";
  EXPECT_EQ(PlanOf(Text()), PlanOf(WithPartyBlocks(commented)));
  // All variables, if none is named.
  options_.said = {{"group", "relapse"}};
  EXPECT_EQ(PlanOf(Text()), PlanOf(WithPartyBlocks(commented)));
}

TEST_F(NewStudyTest, IsTheCommentedOneOfADescriptionOfSplitColumns) {
  const std::string commented = Template("describe", data::PartitionKind::kVertical, false);
  const std::string dictionary = commented.substr(
      commented.find("[[variable]]"), commented.find("[design]") - commented.find("[[variable]]"));
  const size_t middle = dictionary.find("[[variable]]\nname = \"x4\"");
  options_.dictionaries = {"north=" + Written("north.toml", dictionary.substr(0, middle)),
                           "south=" + Written("south.toml", dictionary.substr(middle))};
  options_.method = "describe";
  options_.missing = "";
  options_.rows = {"300"};
  options_.key = "id";
  options_.min_rows = "200";
  options_.said = {{"group", "x6"}, {"quantiles", "[0.5]"}};
  EXPECT_EQ(PlanOf(Text()), PlanOf(commented));  // min_cell included
}

TEST_F(NewStudyTest, IsTheCommentedOneOfChains) {
  const std::string unscaled = [] {
    std::string text = Template("mcmc", data::PartitionKind::kHorizontal, true);
    text = Edited(text, "\"decades\", \"doses\"", "\"age\", \"dose\"");
    const size_t derived = text.find("\n# Predictors on a scale");
    return text.erase(derived, text.find("\n[design]") - derived);
  }();
  Dictionary(unscaled);
  options_.method = "mcmc";
  options_.missing = "";
  options_.said = {
      {"model", "logistic"},    {"outcome", "relapse.yes"}, {"predictors", "age,dose,sex.male"},
      {"warmup", "500"},        {"privacy.epsilon", "6"},   {"privacy.delta", "1e-5"},
      {"privacy.clip", "0.005"}};
  EXPECT_EQ(PlanOf(Text()), PlanOf(WithPartyBlocks(unscaled)));
}

TEST_F(NewStudyTest, IsTheCommentedOneOfAMixture) {
  const std::string commented = Template("mixture", data::PartitionKind::kVertical, true);
  const std::string dictionary = commented.substr(
      commented.find("[[variable]]"), commented.find("[design]") - commented.find("[[variable]]"));
  const size_t middle = dictionary.find("[[variable]]\nname = \"x4\"");
  options_.dictionaries = {"north=" + Written("north.toml", dictionary.substr(0, middle)),
                           "south=" + Written("south.toml", dictionary.substr(middle))};
  options_.method = "mixture";
  options_.rows = {"300"};
  options_.key = "id";
  const size_t columns = commented.find("columns = [\n") + 10;
  std::string list = commented.substr(columns, commented.find("\n]", columns) + 2 - columns);
  list = Edited(list, "  # levels that share one", "");
  std::replace(list.begin(), list.end(), '\n', ' ');
  options_.said = {{"columns", list},         {"components", "4"},      {"learning_rate", "0.05"},
                   {"synthetic_rows", "300"}, {"synthetic_sets", "2"},  {"batch.size", "60"},
                   {"privacy.epsilon", "3"},  {"privacy.delta", "1e-5"}};
  EXPECT_EQ(PlanOf(Text()), PlanOf(commented));
}

TEST_F(NewStudyTest, TablesOfMarginalsMayOpenAlone) {
  Dictionary(
      "[[variable]]\nname = \"g\"\ntype = \"factor\"\nlevels = [\"a\", \"b\"]\n"
      "[[variable]]\nname = \"h\"\ntype = \"factor\"\nlevels = [\"c\", \"d\"]\n");
  options_.method = "marginals";
  options_.rows = {"north=200", "south=200"};
  options_.missing = "";
  options_.said = {{"privacy.epsilon", "3"}, {"privacy.delta", "1e-5"}};
  EXPECT_EQ(Text().find("synthetic_rows"), std::string::npos);
  EXPECT_EQ(Text().find("select"), std::string::npos);
  EXPECT_NO_THROW(methods::ParseStudyFile(Text(), "s"));
  // A group, or a number of pairs, says which pairs are meant.
  const study::Said all = options_.said;
  options_.said["group"] = "h";
  EXPECT_NE(Text().find("group = \"h\"\nselect = \"group\""), std::string::npos) << Text();
  EXPECT_NO_THROW(methods::ParseStudyFile(Text(), "s"));
  options_.said = all;
  options_.said["pairs"] = "1";
  EXPECT_NE(Text().find("pairs = 1\nselect = \"scores\""), std::string::npos) << Text();
}

TEST_F(NewStudyTest, TheEngineFollowsFromTheParties) {
  Dictionary(Numbers(1, 2));
  options_.bounds = {"x1,x2=0..10"};
  options_.said = {{"model", "x1 ~ x2"}};
  const auto engine = [&] { return methods::ParseStudyFile(Text(), "study.toml").engine.name; };
  EXPECT_EQ(engine(), "dealer");
  options_.helper = "";
  EXPECT_EQ(engine(), "ot");
  options_.parties = {"a", "b", "c"};
  EXPECT_EQ(engine(), "replicated");
  options_.engine = "shamir";
  EXPECT_EQ(engine(), "shamir");
  options_.engine = "";
  options_.parties = {"a", "b", "c", "d"};
  EXPECT_EQ(engine(), "shamir");
  options_.parties = {"a", "b", "c", "d", "e", "f", "g", "h"};
  ExpectRefused("8 parties need a helper");
}

TEST_F(NewStudyTest, TheReceiverIsTheFirstUnlessSaid) {
  Dictionary(Numbers(1, 2));
  options_.bounds = {"x1,x2=-1..1.5"};
  options_.said = {{"model", "x1 ~ x2"}};
  EXPECT_TRUE(methods::ParseStudyFile(Text(), "s").parties[0].receiver);
  options_.receiver = "south";
  const study::StudyFile file = methods::ParseStudyFile(Text(), "s");
  EXPECT_FALSE(file.parties[0].receiver);
  EXPECT_TRUE(file.parties[1].receiver);
  EXPECT_EQ(file.dictionary.columns[0].upper, 1.5);
  options_.receiver = "souht";
  ExpectRefused("the receiver 'souht' is no --party");
}

std::string MatchingText(const std::string& north, const std::string& south) {
  std::string text =
      "matching = 1\nname = \"cohort\"\nkeys = [[\"number\"]]\n[[column]]\nname = \"number\"\n"
      "rule = \"digits\"\nlength = 4\n";
  for (const auto& [party, header] : {std::pair("north", north), std::pair("south", south)}) {
    text += std::string("[[party]]\nname = \"") + party +
            "\"\nrows = 60\n[[party.column]]\nname = \"number\"\nheader = \"" + header + "\"\n";
  }
  return text;
}

// A column that people were matched by says who somebody is: it is a variable only if the analysis names it,
// also where it describes all columns, and whatever each calls it.
TEST_F(NewStudyTest, WhatPeopleWereMatchedByIsNoVariable) {
  run::MatchedRows matched;
  matched.matching = "cohort";
  matched.file_text = MatchingText("x8", "x9");
  matched.party = "north";
  matched.partners = {"south"};
  matched.table_rows = 60;
  matched.counts = {60};
  for (uint32_t row = 0; row < 60; ++row) matched.rows.push_back(row);
  options_.matched = folder_.path() + "/cohort.matched";
  run::SaveMatchedRows(matched, options_.matched);
  options_.dictionaries = {"north=" + Written("north.toml", Numbers(1, 1) + Numbers(8, 8)),
                           "south=" + Written("south.toml", Numbers(2, 2) + Numbers(9, 9))};
  options_.bounds = {"x1,x2=0..10"};
  options_.method = "describe";
  options_.accept = "table of covariates";
  options_.min_rows = "40";
  const study::StudyFile file = methods::ParseStudyFile(Text(), "study.toml");
  EXPECT_EQ(file.parties[0].columns, std::vector<std::string>{"x1"});
  EXPECT_EQ(file.parties[1].columns, std::vector<std::string>{"x2"});
  EXPECT_EQ(file.dictionary.columns.size(), 2u);
  options_.bounds = {"x1,x9=0..10"};
  options_.said = {{"variables", "x1,x9"}};
  EXPECT_NE(methods::ParseStudyFile(Text(), "study.toml").dictionary.Find("x9"), nullptr);
}

// Of hidden rows whoever holds some may not get the result: somebody without data does.
TEST_F(NewStudyTest, TheReceiverOfHiddenRowsHoldsNone) {
  run::MatchedRows matched;
  matched.matching = "cohort";
  matched.file_text = MatchingText("x9", "x9");
  matched.party = "north";
  matched.partners = {"south"};
  matched.linker = "trust";
  matched.table_rows = 60;
  matched.level = match::Level::kHiddenExact;
  matched.counts = {40};
  for (uint32_t row = 0; row < 60; ++row) matched.rows.push_back(row);
  matched.rows.resize(120, match::kNoRow);
  options_.matched = folder_.path() + "/cohort.matched";
  run::SaveMatchedRows(matched, options_.matched);
  // The key of both lists has one name, and is no variable of the analysis.
  options_.dictionaries = {"north=" + Written("north.toml", Numbers(1, 1) + Numbers(9, 9)),
                           "south=" + Written("south.toml", Numbers(2, 2) + Numbers(9, 9))};
  options_.bounds = {"x1,x2=0..10"};
  options_.said = {{"model", "x1 ~ x2"}};
  options_.receiver = "analyst";
  const auto study = methods::PrepareStudy(methods::ParseStudyFile(Text(), "study.toml"));
  ASSERT_EQ(study->file.parties.size(), 4u);
  EXPECT_TRUE(study->file.parties[2].receiver);
  EXPECT_FALSE(study->file.parties[2].holder);
  EXPECT_EQ(study->file.parties[0].columns, std::vector<std::string>{"x1"});
  EXPECT_EQ(study->file.dictionary.Find("x9"), nullptr);
  options_.receiver = "helper";
  ExpectRefused("'helper' cannot deal randomness and get the result");
  options_.receiver = "analyst";
  options_.said = {{"model", "x1 ~ x2 + x9"}};
  options_.bounds = {"x1,x2,x9=0..10"};
  ExpectRefused("'x9' is in the dictionaries of two parties");
}

// Whoever answered would be refused at the end.
TEST_F(NewStudyTest, AsksForNoPromiseThatTheMethodDoesNotMake) {
  Dictionary(Numbers(1, 2));
  const auto questions = [&](const std::string& method) {
    std::string asked;
    Interview interview([&](const std::string& question) {
      asked += question + "\n";
      return std::optional<std::string>(
          question.find("holds data") != std::string::npos   ? "north south"
          : question.find("dictionary") != std::string::npos ? options_.dictionaries[0]
          : question.find("gets") != std::string::npos       ? "north"
          : question.find("deals") != std::string::npos      ? "helper"
          : question.find("Epsilon") != std::string::npos    ? ""
                                                             : "x1 ~ x2");
    });
    NewStudyOptions options;
    options.file = "s.toml";
    options.method = method;
    try {
      NewStudy(options, interview);
    } catch (const Error&) {
      // The answers make no study: the questions are what is looked at.
    }
    return asked;
  };
  EXPECT_THAT(questions("mle"), HasSubstr("Epsilon"));
  const std::string glm = questions("glm");
  EXPECT_THAT(glm, HasSubstr("formula"));
  EXPECT_THAT(glm, ::testing::Not(HasSubstr("Epsilon")));
}

TEST_F(NewStudyTest, KeepsTheVariablesThatTheAnalysisNames) {
  Dictionary(Numbers(1, 12) +
             "[[variable]]\nname = \"g\"\ntype = \"integer\"\n"
             "[[variable]]\nname = \"o\"\ntype = \"ordered\"\nlevels = [\"low\"]\n");
  options_.said = {{"model", "x1 ~ x12 + g.b"}};
  options_.levels = {"g=a,b"};
  options_.bounds = {"x1,x12=0..1"};
  const data::Schema schema = methods::ParseStudyFile(Text(), "s").dictionary;
  ASSERT_EQ(schema.columns.size(), 3u) << "x2 is part of the name x12 only";
  EXPECT_EQ(schema.columns[2].levels, (std::vector<std::string>{"a", "b"}));
  options_.said["model"] = "y ~ z";
  ExpectRefused("names no variable of the dictionary");
}

TEST_F(NewStudyTest, ErrorsOfClustersAndWeightsAreAskedOfTheDesign) {
  Dictionary(Numbers(1, 2) +
             "[[variable]]\nname = \"ward\"\ntype = \"integer\"\nlower = 1\nupper = 40\n"
             "[[variable]]\nname = \"w\"\ntype = \"numeric\"\nlower = 0\nupper = 9\n");
  options_.bounds = {"x1,x2=0..1"};
  options_.min_rows = "500";
  options_.cluster = "ward";
  options_.weights = "w";
  options_.weights_type = "sampling";
  options_.method = "glm";
  options_.said = {{"formula", "x1 ~ x2"}, {"family", "gaussian"}};
  study::StudyFile file = methods::ParseStudyFile(Text(), "s");
  EXPECT_EQ(file.design.cluster, "ward");
  EXPECT_EQ(file.design.weights, "w");
  EXPECT_EQ(file.design.weights_kind, study::WeightsKind::kSampling);
  EXPECT_EQ(file.dictionary.columns.size(), 4u);
  EXPECT_THAT(Text(), HasSubstr("errors = \"cluster\"\n"));
  // What somebody says of the errors stands.
  options_.said["errors"] = "robust";
  EXPECT_THAT(Text(), HasSubstr("errors = \"robust\"\n"));

  options_.weights = options_.weights_type = "";
  options_.method = "mle";
  options_.said = {{"model", "x1 ~ x2"}};
  EXPECT_EQ(methods::ParseStudyFile(Text(), "s").design.cluster, "ward");
  EXPECT_THAT(Text(), HasSubstr("robust = true\n"));

  options_.method = "describe";
  options_.said = {};
  ExpectRefused("--cluster is for errors of groups of rows");
}

TEST_F(NewStudyTest, ADescriptionOfAllLeavesDatesOut) {
  Dictionary(Numbers(1, 2) + "[[variable]]\nname = \"admitted\"\ntype = \"date\"\n");
  options_.bounds = {"x1,x2=0..1"};
  options_.min_rows = "500";
  options_.method = "describe";
  EXPECT_EQ(methods::ParseStudyFile(Text(), "s").dictionary.columns.size(), 2u);
  // Named it stays, and the method says why it is none for it.
  options_.said = {{"variables", "x1, admitted"}};
  ExpectRefused("missing: --bounds admitted=LOWER..UPPER");
}

TEST_F(NewStudyTest, WhatIsLeftOutNeedsNeitherLevelsNorBounds) {
  Dictionary(Numbers(1, 3) +
             "[[variable]]\nname = \"site\"\ntype = \"factor\"\nlevels = [\"a\"]\n");
  options_.bounds = {"x1,x2=0..1"};
  options_.min_rows = "500";
  options_.method = "describe";
  ExpectRefused("--levels site=A,B (or --without site)");
  options_.without = {"site", "x3"};
  const data::Schema schema = methods::ParseStudyFile(Text(), "s").dictionary;
  ASSERT_EQ(schema.columns.size(), 2u);
  EXPECT_EQ(schema.columns[1].name, "x2");
  options_.said = {{"variables", "x1, x3"}};
  ExpectRefused("--without leaves out 'x3', which the analysis names");
  options_.without = {"x4"};
  ExpectRefused("--without names 'x4', which the dictionary does not have");
}

TEST_F(NewStudyTest, KeysOfTheEngineMayBeSaid) {
  Dictionary(Numbers(1, 2));
  options_.bounds = {"x1,x2=0..1"};
  options_.said = {{"model", "x1 ~ x2"}};
  options_.engine_said = {{"stripes", "3"}, {"correlations", "live"}};
  EXPECT_THAT(Text(), HasSubstr("name = \"dealer\"\ncorrelations = \"live\"\nstripes = 3\n"));
}

TEST_F(NewStudyTest, ASurvivalTimeIsNamedByItsColumns) {
  Dictionary(Numbers(1, 2) +
             "[[variable]]\nname = \"death\"\ntype = \"survival\"\ntime = \"days\"\nevent = "
             "\"died\"\nlower = 0\nupper = 100\n"
             "[[variable]]\nname = \"arm\"\ntype = \"factor\"\nlevels = [\"a\", \"b\"]\n");
  options_.method = "survival";
  options_.min_rows = "500";
  options_.said = {{"formula", "Surv(days, died) ~ arm"}, {"report", "[10, 50]"}};
  const data::Schema schema = methods::ParseStudyFile(Text(), "s").dictionary;
  ASSERT_EQ(schema.columns.size(), 2u);
  EXPECT_EQ(schema.columns[0].name, "death");
}

// What `init` and `data describe` draft: the two columns are variables of their own.
TEST_F(NewStudyTest, ASurvivalTimeIsMadeOfTwoDraftedVariables) {
  Dictionary(
      "[[variable]]\nname = \"days\"\ntype = \"integer\"\n"
      "[[variable]]\nname = \"died\"\ntype = \"integer\"\nlower = 0\nupper = 1\n"
      "[[variable]]\nname = \"arm\"\ntype = \"factor\"\nlevels = [\"a\", \"b\"]\n");
  options_.method = "survival";
  options_.min_rows = "500";
  options_.said = {{"formula", "Surv( days , died ) ~ arm"}, {"report", "[10, 50]"}};
  ExpectRefused("missing: --bounds days_died=LOWER..UPPER");
  options_.bounds = {"days_died=0..100"};
  const std::string text = Text();
  options_.bounds = {"days=0..100", "died=0..1"};
  EXPECT_EQ(Text(), text) << "named as in the table";
  options_.bounds = {"days=0..100", "died=0..2"};
  ExpectRefused("--bounds names 'died'");
  options_.bounds = {"days_died=0..100"};
  const data::Schema schema = methods::ParseStudyFile(Text(), "s").dictionary;
  ASSERT_EQ(schema.columns.size(), 2u);
  EXPECT_EQ(schema.columns[0].name, "days_died");
  EXPECT_EQ(schema.columns[0].type, data::ColumnType::kSurvival);
  EXPECT_EQ(schema.columns[0].time_column, "days");
  EXPECT_EQ(schema.columns[0].event_column, "died");
  // A time of entry stays a variable of its own.
  Dictionary(
      "[[variable]]\nname = \"days\"\ntype = \"integer\"\n"
      "[[variable]]\nname = \"came\"\ntype = \"integer\"\nlower = 0\nupper = 100\n"
      "[[variable]]\nname = \"died\"\ntype = \"integer\"\nlower = 0\nupper = 1\n"
      "[[variable]]\nname = \"arm\"\ntype = \"factor\"\nlevels = [\"a\", \"b\"]\n");
  options_.said = {{"model", "cox"}, {"formula", "Surv(came, days, died) ~ arm"}};
  options_.accept = "table of covariates";
  const std::string with_entry = Text();
  EXPECT_THAT(with_entry, HasSubstr("[release]\naccept = \"table of covariates\"\n"));
  const data::Schema entered = methods::ParseStudyFile(with_entry, "s").dictionary;
  ASSERT_EQ(entered.columns.size(), 3u);
  EXPECT_EQ(entered.columns[0].time_column, "days");
  EXPECT_EQ(entered.columns[1].name, "came");
  options_.accept = "";
  options_.said = {{"report", "[10, 50]"}};
  options_.said["formula"] = "Surv(days, deceased) ~ arm";
  options_.bounds = {"days=0..100"};
  EXPECT_THROW(methods::ParseStudyFile(Text(), "s"), Error) << "deceased is no column";
}

TEST_F(NewStudyTest, ALevelWithACommaStandsBetweenQuotes) {
  Dictionary(Numbers(1, 1) +
             "[[variable]]\nname = \"stage\"\ntype = \"factor\"\nlevels = [\"I\", \"II, late\"]\n"
             "[[variable]]\nname = \"sex\"\ntype = \"factor\"\nlevels = [\"f\", \"m\"]\n");
  options_.method = "glm";
  options_.min_rows = "500";
  options_.bounds = {"x1=0..10"};
  options_.said = {{"family", "gaussian"}, {"formula", "x1 ~ stage + sex"}};
  const auto taken = [&] {
    Interview interview({});
    NewStudy(options_, interview);
    std::vector<std::string> of_levels;
    for (const auto& [option, value] : interview.taken()) {
      if (option.starts_with("--levels ")) of_levels.push_back(option + value);
    }
    return of_levels;
  };
  EXPECT_THAT(taken(), ::testing::ElementsAre("--levels stage=I,\"II, late\"", "--levels sex=f,m"));
  options_.levels = {"stage=I,\"II, late\", \"III, a, b\""};
  EXPECT_THAT(taken(), ::testing::ElementsAre("--levels sex=f,m")) << "stage was said";
  const data::Schema schema = methods::ParseStudyFile(Text(), "s").dictionary;
  EXPECT_THAT(schema.Find("stage")->levels, ::testing::ElementsAre("I", "II, late", "III, a, b"));
  options_.levels = {"stage=I,\"II, late"};
  ExpectRefused("a quote is missing in the levels");
}

TEST_F(NewStudyTest, NumbersOfAListNeedNoBrackets) {
  Dictionary(
      "[[variable]]\nname = \"life\"\ntype = \"survival\"\ntime = \"days\"\nevent = \"died\"\n"
      "lower = 0\nupper = 100\n");
  options_.method = "survival";
  options_.min_rows = "500";
  options_.said = {{"formula", "Surv(days, died) ~ 1"}, {"report", "[10, 50]"}};
  const nlohmann::json plan = PlanOf(Text());
  options_.said["report"] = "10, 50";
  EXPECT_EQ(PlanOf(Text()), plan);
}

TEST_F(NewStudyTest, AMetaAnalysisMayBeOfAFormula) {
  Dictionary(Numbers(1, 2) +
             "[[variable]]\nname = \"arm\"\ntype = \"factor\"\nlevels = [\"a\", \"b\"]\n");
  options_.method = "meta";
  options_.parties = {"north", "south", "west"};
  options_.bounds = {"x1=0..1", "x2=0..10"};
  options_.said = {{"formula", "x1 ~ arm + x2"}, {"term", "arm.b"}, {"family", "gaussian"}};
  ExpectRefused("missing: --largest VALUE");
  options_.said["largest"] = "8";
  ExpectRefused("missing: --min-rows COUNT");
  options_.min_rows = "100";
  const std::string text = Text();
  EXPECT_EQ(PlanOf(text)["method"], "meta");
  EXPECT_THAT(text, HasSubstr("term = \"arm.b\""));
  options_.said = {};
  ExpectRefused("missing: --estimate VALUE, --standard-error VALUE");
  // A site that brings an estimate has one row.
  options_.said = {{"estimate", "x1"}, {"standard_error", "x2"}};
  options_.min_rows = "";
  options_.bounds = {"x1=-8..8", "x2=0.05..5"};
  for (const study::RowBlock& block : methods::ParseStudyFile(Text(), "s").blocks)
    EXPECT_EQ(block.count, 1u);
}

TEST_F(NewStudyTest, AnOrdinalOutcomeNeedsTheNumbersOfRows) {
  Dictionary(Numbers(1, 1) +
             "[[variable]]\nname = \"pain\"\ntype = \"factor\"\n"
             "levels = [\"none\", \"some\", \"much\"]\n");
  options_.method = "glm";
  options_.min_rows = "500";
  options_.bounds = {"x1=0..10"};
  options_.said = {{"family", "ordinal"}, {"formula", "pain ~ x1"}};
  ExpectRefused("missing: --rows north=COUNT, --rows south=COUNT");
  options_.rows = {"north=300", "south=300"};
  EXPECT_EQ(methods::ParseStudyFile(Text(), "s").blocks.front().count, 300u);
}

TEST_F(NewStudyTest, EverythingThatIsMissingIsNamed) {
  NewStudyOptions nothing;
  nothing.file = "study.toml";
  nothing.method = "mle";
  Interview interview({});
  EXPECT_THROW(NewStudy(nothing, interview), Error);
  EXPECT_THAT(interview.missing(), ::testing::ElementsAre("--party NAME for each",
                                                          "--dictionary FILE", "--model VALUE"));
  Dictionary(Numbers(1, 2) + "[[variable]]\nname = \"s\"\ntype = \"factor\"\nlevels = [\"f\"]\n");
  options_.said = {{"model", "x1 ~ x2 + s.m"}, {"privacy.epsilon", "1"}};
  ExpectRefused("missing: --delta NUMBER");
  options_.said["privacy.delta"] = "1e-5";
  ExpectRefused(
      "missing: --bounds x1=LOWER..UPPER, --bounds x2=LOWER..UPPER, --levels s=A,B, --rows "
      "north=COUNT, --rows south=COUNT");
}

TEST_F(NewStudyTest, MistakesAreSaidInWordsOfTheCommandLine) {
  Dictionary(Numbers(1, 2));
  options_.said = {{"model", "x1 ~ x2"}};
  const NewStudyOptions fine = options_;
  const auto with = [&](auto change, const std::string& what) {
    options_ = fine;
    options_.bounds = {"x1,x2=0..1"};
    change();
    ExpectRefused(what);
  };
  with([&] { options_.bounds = {"x1"}; }, "--bounds 'x1' is not NAME=");
  with([&] { options_.bounds = {"x9=0..1"}; }, "--bounds names 'x9'");
  with([&] { options_.bounds = {"x1=0-1"}; }, "the bounds '0-1' of 'x1' are not LOWER..UPPER");
  with([&] { options_.bounds = {"x1=a..b"}; }, "are not LOWER..UPPER");
  with([&] { options_.levels = {"q=a,b"}; }, "--levels names 'q'");
  with([&] { options_.levels = {"x1=0,1"}; }, "'x1' is a factor, which has levels");
  with([&] { options_.rows = {"nroth=20"}; }, "--rows names 'nroth'");
  with([&] { options_.rows = {"north=many"}; }, "'many' is no number of rows");
  with([&] { options_.rows = {"north=0"}; }, "'0' is no number of rows");
  with([&] { options_.key = "id"; }, "--key is for parties");
  with([&] { options_.said["privacy.delta"] = "1e-5"; }, "--delta without --epsilon");
  with([&] { options_.weights = "x1"; }, "--weights without --weights-type");
  with([&] { options_.weights_type = "sampling"; }, "--weights-type without --weights");
  with([&] { options_.dictionaries.push_back(options_.dictionaries[0]); }, "one dictionary");
  with([&] { options_.dictionaries = {"west=" + fine.dictionaries[0]}; },
       "--dictionary is of 'west', who is no --party");
  with(
      [&] {
        options_.dictionaries = {"north=" + fine.dictionaries[0], "south=" + fine.dictionaries[0]};
      },
      "'x1' is in the dictionaries of two parties");
}

TEST_F(NewStudyTest, AnswersMakeTheSameStudyAsOptions) {
  Dictionary(Numbers(1, 2));
  options_.said = {{"model", "x1 ~ x2"}};
  options_.bounds = {"x1=0..1", "x2=0..2"};
  const std::string said = Text();
  // In the order of the questions; an empty one takes the default.
  const std::vector<std::string> answers = {"north south",
                                            "",
                                            "helper",
                                            options_.dictionaries[0],
                                            "",
                                            "",
                                            "x1 ~ x2",
                                            "",
                                            "",
                                            "0..1",
                                            "0..2",
                                            "",
                                            "refuse",
                                            ""};
  size_t next = 0;
  Interview interview([&](const std::string&) { return std::optional(answers.at(next++)); });
  NewStudyOptions nothing;
  nothing.file = options_.file;
  nothing.method = options_.method;
  EXPECT_EQ(study::ShortStudyText(NewStudy(nothing, interview)), said);
  EXPECT_EQ(next, answers.size());
}

}  // namespace
}  // namespace partita::cli::new_study_test
