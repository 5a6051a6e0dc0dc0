// [[analysis]] with method = "describe": what it means, and every mistake with its place and a
// remedy.
#include "methods/describe/section.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "study/approval/envelope.h"
#include "tests/methods/describe/describe_text.h"
#include "tests/study/mistake.h"
#include "tests/study/study_text.h"

namespace partita::methods::describe::section_test {
namespace {

using study::Edited;
using ::testing::ElementsAre;
using testing::kDescribeStudy;

study::StudyFile Parse(const std::string& text) {
  const std::vector<study::SectionReader> readers = {DescribeReader()};
  return study::ParseStudyFile(text, "d.toml", readers);
}

Spec Read(const std::string& text) { return SpecOf(Parse(text).analyses.front()); }

std::vector<std::string> NamesOf(const Spec& spec) {
  std::vector<std::string> names;
  for (const Variable& variable : spec.variables) names.push_back(variable.schema.name);
  return names;
}

TEST(DescribeSection, ReadsEveryKey) {
  const study::StudyFile file = Parse(Edited(
      kDescribeStudy, "release =", "subset = [{variable = \"age\", at_least = 30}]\nrelease ="));
  const study::AnalysisSpec& analysis = file.analyses.front();
  EXPECT_EQ(analysis.method, "describe");
  EXPECT_EQ(analysis.protocol, "shared-counts");
  EXPECT_EQ(analysis.subset.size(), 1u);
  ASSERT_EQ(analysis.releases.size(), 1u);
  EXPECT_EQ(analysis.releases.front().what, "table");
  EXPECT_EQ(analysis.releases.front().to, "");
  const Spec& spec = SpecOf(analysis);
  EXPECT_THAT(NamesOf(spec), ElementsAre("age", "score", "smoker", "stage"));
  EXPECT_EQ(spec.group->schema.name, "arm");
  EXPECT_THAT(spec.quantiles, ElementsAre(250, 500, 750));
  EXPECT_TRUE(spec.missing);
  EXPECT_FALSE(spec.told_to_all);
  const study::SectionUses uses = analysis.section->Uses();
  ASSERT_EQ(uses.variables.size(), 1u);
  EXPECT_EQ(uses.variables.front().name, "arm");
}

TEST(DescribeSection, ReadsWhatIsCompared) {
  const Compared none = Read(kDescribeStudy).compared;
  EXPECT_FALSE(none.Any());
  const Compared all = Read(Edited(kDescribeStudy, "release =",
                                   "compare = [\"differences\", \"welch\", \"anova\", "
                                   "\"ranks\", \"chi-square\", \"fisher\", "
                                   "\"ratios\"]\nrelease ="))
                           .compared;
  EXPECT_TRUE(all.differences && all.welch && all.anova && all.ranks && all.chi_square &&
              all.fisher && all.ratios);
  const Compared some =
      Read(Edited(kDescribeStudy, "release =", "compare = [\"fisher\"]\nrelease =")).compared;
  EXPECT_TRUE(some.fisher);
  EXPECT_FALSE(some.differences || some.welch || some.anova || some.ranks || some.chi_square ||
               some.ratios);
}

TEST(DescribeSection, TakesHoldersAsGroups) {
  const std::string text = Edited(kDescribeStudy, "group = \"arm\"", "group = \"site\"");
  const study::StudyFile file = Parse(text);
  const Spec& spec = SpecOf(file.analyses.front());
  EXPECT_TRUE(spec.by_site);
  EXPECT_EQ(spec.group->schema.levels, (std::vector<std::string>{"north", "south", "west"}));
  // A variable of that name is one.
  const std::string named = Edited(Edited(kDescribeStudy, "group = \"arm\"", "group = \"site\""),
                                   "name = \"arm\"", "name = \"site\"");
  const study::StudyFile other = Parse(named);
  EXPECT_FALSE(SpecOf(other.analyses.front()).by_site);
}

TEST(DescribeSection, HasDefaults) {
  std::string text =
      Edited(kDescribeStudy, "variables = [\"age\", \"score\", \"smoker\", \"stage\"]\n", "");
  text = Edited(text, "quantiles = [0.25, 0.5, 0.75]\n", "");
  const Spec spec = Read(Edited(text, "missing = \"complete\"", "missing = \"refuse\""));
  EXPECT_THAT(NamesOf(spec), ElementsAre("age", "score", "smoker", "stage"));
  EXPECT_THAT(spec.quantiles, ElementsAre(250, 500, 750));
  EXPECT_FALSE(spec.missing);
  EXPECT_THAT(NamesOf(Read(Edited(text, "group = \"arm\"\n", ""))),
              ElementsAre("age", "score", "smoker", "stage", "arm"));
}

TEST(DescribeSection, DescribesCutVariables) {
  const std::string variables = "variables = [\"age\", \"score\", \"smoker\", \"stage\"]";
  const Spec spec = Read(Edited(kDescribeStudy, variables, "variables = [\"decade\", \"stage\"]"));
  EXPECT_EQ(spec.variables.front().schema.levels.size(), 3u);
  EXPECT_EQ(spec.variables.front().source, "age");
  const std::string by_decade = Edited(kDescribeStudy, "group = \"arm\"", "group = \"decade\"");
  // By default all but what the group is made of.
  const Spec grouped = Read(Edited(by_decade, variables + "\n", ""));
  EXPECT_EQ(grouped.group->source, "age");
  EXPECT_THAT(NamesOf(grouped), ElementsAre("score", "smoker", "stage", "arm"));
}

// Cuts at 50 and at 51 would tell how many are 51, however large their counts.
TEST(DescribeSection, RefusesTwoViewsOfOneVariable) {
  const std::string variables = "variables = [\"age\", \"score\", \"smoker\", \"stage\"]";
  const std::string cuts =
      Edited(kDescribeStudy, "[disclosure]",
             "[[derived]]\nname = \"a50\"\nfrom = \"age\"\ntransform = \"cut\"\npoints = [50]\n"
             "labels = [\"low\", \"high\"]\n[disclosure]");
  const auto refuse = [&](const std::string& text, const std::string& what) {
    try {
      Parse(text);
      ADD_FAILURE() << "accepted";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kBadInput);
      EXPECT_THAT(error.message(), ::testing::HasSubstr(what));
      EXPECT_THAT(error.hint(), ::testing::HasSubstr("describe one of them"));
    }
  };
  refuse(Edited(cuts, variables, "variables = [\"decade\", \"a50\"]"),
         "'decade' and 'a50' are both made of 'age'");
  refuse(Edited(cuts, variables, "variables = [\"age\", \"a50\"]"),
         "'age' and 'a50' are both made of 'age'");
  refuse(Edited(Edited(cuts, variables, "variables = [\"a50\"]"), "group = \"arm\"",
                "group = \"decade\""),
         "'decade' and 'a50' are both made of 'age'");
}

TEST(DescribeSection, TellsTheTableToAll) {
  const std::string to_all =
      Edited(kDescribeStudy, "[\"table\"]", "[{what = \"table\", to = \"all\"}]");
  EXPECT_TRUE(Read(to_all).told_to_all);
  EXPECT_EQ(Parse(to_all).analyses.front().releases.front().to, "all");
  EXPECT_FALSE(Read(Edited(kDescribeStudy, "[\"table\"]", "[{what = \"table\", to = \"north\"}]"))
                   .told_to_all);
  EXPECT_TRUE(Read(Edited(kDescribeStudy, "[0.25, 0.5, 0.75]", "[]")).quantiles.empty());
  EXPECT_THAT(Read(Edited(kDescribeStudy, "[0.25, 0.5, 0.75]", "[0.025, 0.5]")).quantiles,
              ElementsAre(25, 500));
}

TEST(DescribeSection, EnvelopesAdmitIt) {
  study::Envelope envelope;
  envelope.methods = {"describe"};
  envelope.protocols = {"shared-counts"};
  envelope.engines = {"dealer"};
  envelope.receivers = {"north"};
  envelope.releases = {"table"};
  envelope.variables = {"age", "score", "smoker",     "stage",
                        "arm", "onset", "onset_time", "onset_event"};
  envelope.disclosure.min_rows = 200;
  const study::StudyFile file = Parse(kDescribeStudy);
  EXPECT_NO_THROW(study::RequireInside(file, envelope));
  const std::string to_all =
      Edited(kDescribeStudy, "[\"table\"]", "[{what = \"table\", to = \"all\"}]");
  EXPECT_THROW(study::RequireInside(Parse(to_all), envelope), Error);
  envelope.variables[4] = "another";
  EXPECT_THROW(study::RequireInside(file, envelope), Error);
  envelope.variables[4] = "arm";
  // Columns of holders have to be admitted by name.
  const study::StudyFile by_site =
      Parse(Edited(kDescribeStudy, "group = \"arm\"", "group = \"site\""));
  EXPECT_THROW(study::RequireInside(by_site, envelope), Error);
  envelope.releases = {"table", "site-table"};
  EXPECT_NO_THROW(study::RequireInside(by_site, envelope));
  envelope.releases = {"estimates"};
  EXPECT_THROW(study::RequireInside(file, envelope), Error);
}

TEST(DescribeSection, EveryMistakeHasItsPlaceAndARemedy) {
  const std::string variables = "variables = [\"age\", \"score\", \"smoker\", \"stage\"]";
  study::ExpectMistakes(
      [](const std::string& text) { Parse(text); }, "d.toml", kDescribeStudy,
      {{"quantiles =", "quantile =", "72:1", "unknown key 'quantile'", "did you mean 'quantiles'?"},
       {variables, "variables = [\"age\", \"scor\"]", "70:", "'scor'", "did you mean 'score'?"},
       {variables, "variables = [\"age\", \"age\"]", "70:", "'age'", ""},
       {variables, "variables = [\"age\", \"arm\"]", "70:", "'arm' is the group and a variable",
        "remove it"},
       {variables, "variables = [\"onset\"]", "70:", "of type survival", "numbers and factors"},
       {variables, "variables = []", "70:", "no variable to describe", "name one"},
       {"group = \"arm\"", "group = \"age\"", "71:", "the group 'age' is of type", "cut"},
       {"group = \"arm\"", "group = \"arms\"", "71:", "'arms'", "did you mean 'arm'?"},
       {"group = \"arm\"", "group = 3", "71:", "group", ""},
       {"[0.25, 0.5, 0.75]", "[0.25, 1]", "72:", "1 is no quantile", "quantiles = [0.25"},
       {"[0.25, 0.5, 0.75]", "[0.3333]", "72:", "whole thousandths", "quantiles = [0.25"},
       {"[0.25, 0.5, 0.75]", "[0.5, 0.25]", "72:", "quantiles increase", "sort them"},
       {"[0.25, 0.5, 0.75]", "[0.5, 0.5]", "72:", "quantiles increase", "name each once"},
       {"release =", "compare = [\"t\"]\nrelease =", "73:", "compare", "welch"},
       {"release =", "compare = [\"ranks\", \"ranks\"]\nrelease =", "73:", "'ranks'", ""},
       {"group = \"arm\"", "compare = [\"ranks\"]", "71:", "no groups to compare", "group ="},
       {"\"smoker\", \"stage\"]\ngroup = \"arm\"",
        "\"smoker\"]\ngroup = \"stage\"\ncompare = [\"ratios\"]",
        "72:", "ratios compare two groups, and 'stage' has 3 levels", "join levels"},
       {"\"smoker\", \"stage\"]\ngroup = \"arm\"",
        "\"smoker\"]\ngroup = \"stage\"\ncompare = [\"mantel-haenszel\"]",
        "72:", "two groups within every holder", "two levels"},
       {"group = \"arm\"", "group = \"site\"\ncompare = [\"mantel-haenszel\"]",
        "72:", "two groups within every holder", "two levels"},
       {"release = [\"table\"]", "", "68:", "needs the key 'release'", "to = \"all\""},
       {"[\"table\"]", "[\"moments\"]", "73:", "moments", "table"},
       {"[\"table\"]", "[]", "73:", "releases one table", "release = [\"table\"]"},
       {"[\"table\"]", "[{what = \"table\", to = \"south\"}]", "73:", "'south'", "all"},
       {"release = [\"table\"]",
        "release = [\"table\"]\n[analysis.privacy]\nepsilon = 1\ndelta = 1e-6\nadjacency = "
        "\"replace\"",
        "74:", "no promise of differential privacy", "remove [analysis.privacy]"}});
}

}  // namespace
}  // namespace partita::methods::describe::section_test
