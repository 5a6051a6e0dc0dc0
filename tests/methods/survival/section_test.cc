// [[analysis]] with method = "survival": what it means, and every mistake with its place and a
// remedy.
#include "methods/survival/section.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "study/approval/envelope.h"
#include "tests/methods/survival/survival_text.h"
#include "tests/study/mistake.h"
#include "tests/study/study_text.h"

namespace partita::methods::survival::section_test {
namespace {

using study::Edited;
using ::testing::ElementsAre;
using testing::kSurvivalStudy;

study::StudyFile Parse(const std::string& text) {
  const std::vector<study::SectionReader> readers = {SurvivalReader()};
  return study::ParseStudyFile(text, "s.toml", readers);
}

Spec Read(const std::string& text) { return SpecOf(Parse(text).analyses.front()); }

TEST(SurvivalSection, ReadsEveryKey) {
  const study::StudyFile file =
      Parse(Edited(kSurvivalStudy, "release =",
                   "cell = 5\nconfidence = 0.9\nsubset = [{variable = \"age\", at_least = "
                   "30}]\nrelease ="));
  const study::AnalysisSpec& analysis = file.analyses.front();
  EXPECT_EQ(analysis.method, "survival");
  EXPECT_EQ(analysis.protocol, "shared-counts");
  EXPECT_EQ(analysis.subset.size(), 1u);
  ASSERT_EQ(analysis.releases.size(), 1u);
  EXPECT_EQ(analysis.releases.front().what, "curves");
  EXPECT_EQ(analysis.releases.front().to, "");
  const Spec& spec = SpecOf(analysis);
  EXPECT_EQ(spec.outcome.name, "death");
  EXPECT_EQ(spec.group->schema.name, "arm");
  EXPECT_EQ(spec.grid.cells, 21u);
  EXPECT_EQ(spec.grid.width, 5);
  EXPECT_THAT(spec.report, ElementsAre(4, 8, 12));
  EXPECT_EQ(spec.confidence, 0.9);
  EXPECT_FALSE(spec.told_to_all);
  const study::SectionUses uses = analysis.section->Uses();
  ASSERT_EQ(uses.variables.size(), 2u);
  EXPECT_EQ(uses.variables[0].name, "death");
  EXPECT_EQ(uses.variables[1].name, "arm");
}

TEST(SurvivalSection, HasDefaults) {
  const Spec spec = Read(kSurvivalStudy);
  EXPECT_EQ(spec.grid.cells, 101u);
  EXPECT_THAT(spec.report, ElementsAre(20, 40, 60));
  EXPECT_EQ(spec.confidence, 0.95);
  const Spec one = Read(Edited(kSurvivalStudy, "~ arm", "~ 1"));
  EXPECT_FALSE(one.group.has_value());
  EXPECT_EQ(one.num_groups(), 1u);
  const Spec cut = Read(Edited(kSurvivalStudy, "~ arm", "~ decade"));
  EXPECT_EQ(cut.group->factors.front().source, "age");
  EXPECT_EQ(cut.num_groups(), 3u);
  EXPECT_TRUE(Read(Edited(kSurvivalStudy, "[\"curves\"]", "[{what = \"curves\", to = \"all\"}]"))
                  .told_to_all);
}

TEST(SurvivalSection, EnvelopesAdmitIt) {
  study::Envelope envelope;
  envelope.methods = {"survival"};
  envelope.protocols = {"shared-counts"};
  envelope.engines = {"dealer"};
  envelope.receivers = {"north"};
  envelope.releases = {"curves"};
  envelope.variables = {"age", "arm", "death", "days", "died"};
  envelope.disclosure.min_rows = 200;
  const study::StudyFile file = Parse(kSurvivalStudy);
  EXPECT_NO_THROW(study::RequireInside(file, envelope));
  envelope.variables[1] = "another";
  EXPECT_THROW(study::RequireInside(file, envelope), Error);
  envelope.variables[1] = "arm";
  envelope.releases = {"table"};
  EXPECT_THROW(study::RequireInside(file, envelope), Error);
}

// A drafted dictionary has two integers.
TEST(SurvivalSection, SaysHowASurvivalTimeIsDeclared) {
  study::ExpectMistakes(
      [](const std::string& text) { Parse(text); }, "s.toml", kSurvivalStudy,
      {{"type = \"survival\"\ntime = \"days\"\nevent = \"died\"", "type = \"integer\"",
        "54:", "Surv(days, died) is no survival variable",
        "in the place of the variables 'days' and 'died': a [[variable]] with name, type = "
        "\"survival\", time = \"days\", event = \"died\", lower and upper"}});
}

TEST(SurvivalSection, EveryMistakeHasItsPlaceAndARemedy) {
  const std::string formula = "\"Surv(days, died) ~ arm\"", report = "[20, 40, 60]";
  study::ExpectMistakes(
      [](const std::string& text) { Parse(text); }, "s.toml", kSurvivalStudy,
      {{"report =", "reports =", "57:1", "unknown key 'reports'", "did you mean 'report'?"},
       {"formula =", "# formula =", "54:", "formula", "Surv(days, died) ~ arm"},
       {formula, "\"days ~ arm\"", "56:", "no survival time", "Surv(time, event)"},
       {formula, "\"Surv(days, dead) ~ arm\"", "56:", "Surv(days, dead) is no survival variable",
        "write Surv(days, died)"},
       {formula, "\"Surv(days, died) ~ armm\"", "56:", "'armm'", "did you mean 'arm'?"},
       {formula, "\"Surv(days, died) ~ age\"", "56:", "the group 'age' is of type", "cut"},
       {formula, "\"Surv(days, died) ~ arm:decade\"", "56:", "not of an expression", "a + b"},
       {formula, "\"Surv(days, died) ~ log(age)\"", "56:", "not of an expression", "cut"},
       {formula, "\"Surv(days, died) ~ strata(decade)\"", "56:", "have no strata", "cox"},
       {formula, "\"Surv(days, died) ~ arm + strata(site)\"", "56:", "have no strata", "groups"},
       {formula, "\"Surv(days, died) ~ arm - 1\"", "56:", "no intercept", "~ 1"},
       {"report = [20, 40, 60]\n", "", "54:", "needs the key 'report'", "report = [365"},
       {report, "[]", "57:", "needs the key 'report'", "report = [365"},
       {report, "[20.5]", "57:", "20.5 is not the end of a cell", "at 100"},
       {report, "[101]", "57:", "101 is not the end of a cell", "at 100"},
       {report, "[-1]", "57:", "-1 is not the end of a cell", "at 0, 1"},
       {report, "[40, 20]", "57:", "report times increase", "sort them"},
       {report, "[40, 40]", "57:", "report times increase", "name each once"},
       {report,
        "[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, "
        "23, 24, 25]",
        "57:", "25 report times", "at most 24"},
       {report, report + "\ncell = 0", "58:", "cells of time are 0 wide", "cell = 7"},
       {report, report + "\ncell = 0.001", "58:", "100001 cells of time", "wider cells"},
       {report, report + "\nconfidence = 95", "58:", "the confidence is 95", "confidence = 0.95"},
       {"release = [\"curves\"]\n", "", "54:", "needs the key 'release'", "to = \"all\""},
       {"[\"curves\"]", "[\"estimates\"]", "58:", "estimates", "curves"},
       {"release = [\"curves\"]",
        "release = [\"curves\"]\n[analysis.privacy]\nepsilon = 1\ndelta = 1e-6\nadjacency = "
        "\"replace\"",
        "59:", "no promise of differential privacy", "remove [analysis.privacy]"}});
}

}  // namespace
}  // namespace partita::methods::survival::section_test
