// What a real study declares: population, design, derived variables, releases and several analyses.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <map>

#include "base/date.h"
#include "base/error.h"
#include "data/design.h"
#include "methods/mle/section.h"
#include "study/file/study_file.h"
#include "tests/paths.h"
#include "tests/study/all_methods.h"
#include "tests/study/study_text.h"

namespace partita::study::vocabulary_test {
namespace {

using data::ColumnType;
using data::Condition;
using data::Contrasts;
using data::TransformKind;
using methods::mle::MleOf;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

StudyFile Parse(const std::string& text) { return ParseStudyFile(text, "study.toml"); }

std::string WithDesign(const std::string& lines) {
  return Edited(kSmallStudy, "[design]\nsite = \"ignore\"\nmissing = \"refuse\"\n", lines);
}

// kSmallStudy with one more variable, held by south.
std::string WithVariable(const std::string& name, const std::string& lines) {
  const std::string text =
      Edited(kSmallStudy, "[\"x3\", \"school\"]", "[\"x3\", \"school\", \"" + name + "\"]");
  return text + "[[variable]]\nname = \"" + name + "\"\n" + lines;
}

TEST(VocabularyTest, DefaultsOfWhatMayBeLeftOut) {
  const StudyFile study = Parse(kSmallStudy);
  EXPECT_EQ(study.population.unit, "person");
  EXPECT_EQ(study.population.max_rows_per_person, 1);
  EXPECT_THAT(study.population.subset, IsEmpty());
  EXPECT_THAT(study.derived, IsEmpty());
  EXPECT_EQ(study.design.weights_kind, WeightsKind::kNone);
  EXPECT_EQ(study.design.weights, "");
  EXPECT_EQ(study.design.cluster, "");
  EXPECT_EQ(study.disclosure.min_cell, 5u);
  EXPECT_EQ(study.disclosure.min_rows, 20u);
  EXPECT_FALSE(study.disclosure.refuse_small_samples);
  ASSERT_EQ(study.analyses.size(), 1u);
  EXPECT_EQ(study.analyses[0].name, "main");
  EXPECT_FALSE(MleOf(study.analyses[0]).robust);
  EXPECT_THAT(study.analyses[0].subset, IsEmpty());
  EXPECT_EQ(study.design.position.line, 61u);
  EXPECT_EQ(study.analyses[0].position.line, 47u);
}

TEST(VocabularyTest, PopulationAndItsSubset) {
  const StudyFile study =
      Parse(WithVariable("visit", "type = \"date\"\nlower = 2019-01-01\nupper = \"2025-12-31\"\n") +
            "[[variable]]\nname = \"stage\"\ntype = \"ordered\"\nlevels = [\"I\", \"II\"]\n"
            "[population]\nunit = \"pupil\"\nmax_rows_per_person = 4\n"
            "subset = [{variable = \"x1\", at_least = 2}, {variable = \"x2\", below = 0.5},\n"
            "  {variable = \"school\", is = \"Pasteur\"}, {variable = \"school\", is_not = "
            "[\"Pasteur\"]},\n"
            "  {variable = \"visit\", at_most = 2020-01-31}, {variable = \"visit\", above = "
            "\"2020-01-31\"},\n"
            "  {variable = \"stage\", at_least = \"II\"}, {variable = \"x3\", present = true}]\n");
  EXPECT_EQ(study.population.unit, "pupil");
  EXPECT_EQ(study.population.max_rows_per_person, 4);
  EXPECT_EQ(study.dictionary.max_rows_per_person, 4);
  std::vector<std::string> texts;
  for (const Condition& condition : study.population.subset) {
    texts.push_back(data::ConditionText(condition));
  }
  EXPECT_THAT(texts, ElementsAre("x1 >= 2", "x2 < 0.5", "school is Pasteur",
                                 "school is not Pasteur", "visit <= 2020-01-31",
                                 "visit > 2020-01-31", "stage >= II", "x3 is present"));
}

TEST(VocabularyTest, EveryTypeOfVariable) {
  const StudyFile study = Parse(
      kSmallStudy +
      "[[variable]]\nname = \"stage\"\ntype = \"ordered\"\nlevels = [\"I\", \"II\", \"III\"]\n"
      "[[variable]]\nname = \"pain\"\ntype = \"ordered\"\nlevels = [\"no\", \"yes\"]\ncontrasts = "
      "\"scores\"\n"
      "[[variable]]\nname = \"diet\"\ntype = \"factor\"\nlevels = [\"a\", \"b\"]\ncontrasts = "
      "\"sum\"\n"
      "[[variable]]\nname = \"dose\"\ntype = \"ordered\"\nlevels = [\"low\", \"high\"]\ncontrasts "
      "= "
      "\"treatment\"\nreference = \"high\"\n"
      "[[variable]]\nname = \"visit\"\ntype = \"date\"\nlower = 2019-01-01\nupper = "
      "\"2025-12-31\"\n"
      "[[variable]]\nname = \"os\"\ntype = \"survival\"\ntime = \"months\"\nevent = "
      "\"died\"\nlower "
      "= 0\nupper = 60\nunit = \"months\"\nmissing_codes = [\"NA\"]\n");
  const auto& columns = study.dictionary.columns;
  ASSERT_EQ(columns.size(), 10u);
  EXPECT_EQ(columns[3].contrasts, Contrasts::kTreatment);
  EXPECT_EQ(columns[4].type, ColumnType::kOrdered);
  EXPECT_EQ(columns[4].contrasts, Contrasts::kPolynomial);
  EXPECT_EQ(columns[4].reference, "");
  EXPECT_EQ(columns[5].contrasts, Contrasts::kScores);
  EXPECT_EQ(columns[6].contrasts, Contrasts::kSum);
  EXPECT_EQ(columns[7].contrasts, Contrasts::kTreatment);
  EXPECT_EQ(columns[7].reference, "high");
  EXPECT_EQ(columns[8].type, ColumnType::kDate);
  EXPECT_EQ(columns[8].lower, ParseDate("2019-01-01"));
  EXPECT_EQ(columns[8].upper, ParseDate("2025-12-31"));
  EXPECT_EQ(columns[9].type, ColumnType::kSurvival);
  EXPECT_EQ(columns[9].time_column, "months");
  EXPECT_EQ(columns[9].event_column, "died");
  EXPECT_EQ(columns[9].unit, "months");
  EXPECT_THAT(columns[9].missing_codes, ElementsAre("NA"));
  EXPECT_NO_THROW(data::ValidateSchema(study.dictionary));
}

TEST(VocabularyTest, EveryTransform) {
  const StudyFile study = Parse(
      WithVariable("visit", "type = \"date\"\nlower = 2020-01-01\nupper = 2020-12-31\n") +
      "[[derived]]\nname = \"root\"\nfrom = \"x2\"\ntransform = \"sqrt\"\n"
      "[[derived]]\nname = \"l\"\nfrom = \"x2\"\ntransform = \"log1p\"\n"
      "[[derived]]\nname = \"z\"\nfrom = \"x1\"\ntransform = \"scale\"\ncentre = 2\nscale = 0.5\n"
      "[[derived]]\nname = \"c\"\nfrom = \"x3\"\ntransform = \"cut\"\npoints = [2, 4.5]\nlabels = "
      "[\"low\", \"mid\", \"high\"]\nreference = \"mid\"\n"
      "[[derived]]\nname = \"p\"\nfrom = \"x1\"\ntransform = \"poly\"\ndegree = 3\n"
      "[[derived]]\nname = \"q\"\nfrom = \"x1\"\ntransform = \"poly\"\ndegree = 2\ncentre = "
      "0\nscale = 10\n"
      "[[derived]]\nname = \"s\"\nfrom = \"x1\"\ntransform = \"ns\"\nknots = [0, 5]\nboundary = "
      "[-5, 15]\n"
      "[[derived]]\nname = \"wave\"\nfrom = \"visit\"\ntransform = \"cut\"\npoints = "
      "[2020-06-30]\nlabels = [\"first\", \"second\"]\n"
      "[[derived]]\nname = \"years\"\nfrom = \"visit\"\ntransform = \"scale\"\ncentre = "
      "\"2020-01-01\"\nscale = 365.25\n");
  const auto& derived = study.derived;
  ASSERT_EQ(derived.size(), 9u);
  EXPECT_EQ(derived[0].kind, TransformKind::kSqrt);
  EXPECT_EQ(derived[0].from, "x2");
  EXPECT_EQ(derived[1].kind, TransformKind::kLog1p);
  EXPECT_EQ(derived[2].centre, 2);
  EXPECT_EQ(derived[2].scale, 0.5);
  EXPECT_THAT(derived[3].points, ElementsAre(2, 4.5));
  EXPECT_THAT(derived[3].labels, ElementsAre("low", "mid", "high"));
  EXPECT_EQ(derived[3].reference, "mid");
  // The constants of a polynomial come from the bounds [-10, 20.5] unless they are given.
  EXPECT_EQ(derived[4].degree, 3);
  EXPECT_EQ(derived[4].centre, 5.25);
  EXPECT_EQ(derived[4].scale, 15.25);
  EXPECT_EQ(derived[5].centre, 0);
  EXPECT_EQ(derived[5].scale, 10);
  EXPECT_THAT(derived[6].knots, ElementsAre(0, 5));
  EXPECT_EQ(derived[6].boundary_lower, -5);
  EXPECT_EQ(derived[6].boundary_upper, 15);
  EXPECT_THAT(derived[7].points, ElementsAre(ParseDate("2020-06-30")));
  EXPECT_EQ(derived[8].centre, ParseDate("2020-01-01"));
  EXPECT_EQ(data::DesignColumns(study.dictionary, derived).size(), 3u + 1 + 1 + 15);
}

TEST(VocabularyTest, Design) {
  const std::vector<std::pair<std::string, SiteEffect>> sites = {{"ignore", SiteEffect::kIgnore},
                                                                 {"fixed", SiteEffect::kFixed},
                                                                 {"strata", SiteEffect::kStrata},
                                                                 {"random", SiteEffect::kRandom}};
  for (const auto& [name, site] : sites) {
    EXPECT_EQ(Parse(Edited(kSmallStudy, "\"ignore\"", "\"" + name + "\"")).design.site, site);
  }
  const std::vector<std::pair<std::string, MissingPolicy>> policies = {
      {"refuse", MissingPolicy::kRefuse},
      {"complete", MissingPolicy::kComplete},
      {"fiml", MissingPolicy::kFiml},
      {"mi", MissingPolicy::kMultipleImputation}};
  for (const auto& [name, policy] : policies) {
    EXPECT_EQ(Parse(Edited(kSmallStudy, "missing = \"refuse\"", "missing = \"" + name + "\""))
                  .design.missing,
              policy);
  }
  const DesignSpec fiml =
      Parse(WithDesign("[design]\nsite = \"ignore\"\nmissing = \"fiml\"\npatterns = [[], [\"x2\"], "
                       "[\"x2\", \"x1\"]]\n"))
          .design;
  EXPECT_THAT(fiml.patterns,
              ElementsAre(MissingPattern{}, MissingPattern{"x2"}, MissingPattern{"x1", "x2"}));
  EXPECT_FALSE(fiml.leave_out_other_patterns);
  EXPECT_TRUE(Parse(WithDesign("[design]\nsite = \"ignore\"\nmissing = \"fiml\"\npatterns = [[]]\n"
                               "other_patterns = \"leave-out\"\n"))
                  .design.leave_out_other_patterns);
  const std::vector<std::pair<std::string, WeightsKind>> kinds = {
      {"frequency", WeightsKind::kFrequency},
      {"sampling", WeightsKind::kSampling},
      {"precision", WeightsKind::kPrecision}};
  for (const auto& [name, kind] : kinds) {
    const std::string text = WithDesign(
        "[design]\nsite = \"ignore\"\nmissing = \"refuse\"\nweights "
        "= \"w\"\nweights_type = \"" +
        name + "\"\ncluster = \"school\"\n");
    const DesignSpec spec =
        Parse(text + "[[variable]]\nname = \"w\"\ntype = \"integer\"\nlower = 1\nupper = 9\n")
            .design;
    EXPECT_EQ(spec.weights, "w");
    EXPECT_EQ(spec.weights_kind, kind);
    EXPECT_EQ(spec.cluster, "school");
  }
}

TEST(VocabularyTest, Disclosure) {
  const DisclosureSpec disclosure =
      Parse(kSmallStudy +
            "[disclosure]\nmin_cell = 10\nmin_rows = 100\nsmall_samples = \"refuse\"\n")
          .disclosure;
  EXPECT_EQ(disclosure.min_cell, 10u);
  EXPECT_EQ(disclosure.min_rows, 100u);
  EXPECT_TRUE(disclosure.refuse_small_samples);
}

TEST(VocabularyTest, GridsOfReleases) {
  EXPECT_EQ(Parse(kSmallStudy).release.grid_bits, 6);
  EXPECT_EQ(Parse(kSmallStudy).release.accept, AcceptedRelease::kNone);
  EXPECT_EQ(Parse(kSmallStudy + "[release]\naccept = \"checked cells\"\n").release.accept,
            AcceptedRelease::kCheckedCells);
  for (const auto& [grid, bits] : std::map<std::string, int>{
           {"2^-4", 4}, {"2^-5", 5}, {"2^-6", 6}, {"2^-10", 10}, {"full", 0}}) {
    const ReleaseRuleSpec rule = Parse(kSmallStudy + "[release]\ngrid = \"" + grid +
                                       "\"\naccept = \"table of covariates\"\n")
                                     .release;
    EXPECT_EQ(rule.grid_bits, bits) << grid;
    EXPECT_EQ(rule.accept, AcceptedRelease::kTableOfCovariates);
  }
  for (const std::string line : {"grid = \"2^-3\"", "grid = 6", "accept = \"rows\"", "bits = 6"})
    EXPECT_THROW(Parse(kSmallStudy + "[release]\n" + line + "\n"), Error) << line;
}

TEST(VocabularyTest, ReleasesNameTheirAddressees) {
  const auto releases = [](const std::string& list) {
    std::vector<std::string> texts;
    const std::string text = Edited(kSmallStudy, "release = [\"moments\"]", "release = " + list);
    const StudyFile study = Parse(text);
    for (const ReleaseSpec& release : study.analyses[0].releases) {
      texts.push_back(release.what + ">" + release.to);
    }
    return texts;
  };
  EXPECT_THAT(releases("[\"moments\", \"estimates\"]"), ElementsAre("moments>", "estimates>"));
  EXPECT_THAT(
      releases("[\"likelihood\", {what = \"estimates\", to = \"all\"}, {what = \"robust\"}]"),
      ElementsAre("likelihood>", "estimates>all", "robust>"));
  // Naming the receiver says what leaving the addressee out says.
  EXPECT_THAT(releases("[{what = \"moments\", to = \"north\"}, {what = \"moments\", to = "
                       "\"south\"}]"),
              ElementsAre("moments>", "moments>south"));
}

TEST(VocabularyTest, SeveralAnalysesKeepTheirOrder) {
  const std::string second =
      "[[analysis]]\nname = \"girls-only\"\nmethod = \"mle\"\nprotocol = \"likelihood\"\nrelease = "
      "[\"likelihood\"]\nfunction = \"sem\"\nrobust = true\nsubset = [{variable = \"x1\", above = "
      "0}]\nmodel = \"x1 ~ x2\"\n";
  const StudyFile study =
      Parse(Edited(kSmallStudy, "[[analysis]]", "[[analysis]]\nname = \"all\"") + second);
  ASSERT_EQ(study.analyses.size(), 2u);
  EXPECT_EQ(study.analyses[0].name, "all");
  const AnalysisSpec& girls = study.analyses[1];
  EXPECT_EQ(girls.name, "girls-only");
  EXPECT_EQ(girls.protocol, "likelihood");
  EXPECT_TRUE(MleOf(girls).robust);
  EXPECT_EQ(girls.position.line, 65u);
  ASSERT_EQ(girls.subset.size(), 1u);
  EXPECT_EQ(data::ConditionText(girls.subset[0]), "x1 > 0");
  EXPECT_EQ(MleOf(girls).model_position.line, 73u);
  EXPECT_EQ(MleOf(girls).model_position.column, 10u);
}

TEST(VocabularyTest, GroupsMayBeMadeByACut) {
  const StudyFile study = Parse(Edited(kSmallStudy, "group = \"school\"", "group = \"x3_class\"") +
                                "[[derived]]\nname = \"x3_class\"\nfrom = \"x3\"\ntransform = "
                                "\"cut\"\npoints = [3]\nlabels = "
                                "[\"low\", \"high\"]\n");
  EXPECT_EQ(MleOf(study.analyses[0]).group, "x3_class");
}

TEST(VocabularyTest, TablesNeedNoSectionOfTheirOwn) {
  std::string text = Edited(kSmallStudy, "name = \"all\"\ncount = 156\n",
                            "name = \"a\"\n[[rows]]\nname = \"b\"\n");
  text = Edited(text, "[table]\nkey = \"id\"\ndecimal = \".\"\n", "");
  text = Edited(text, "columns = [\"x1\", \"x2\"]", "rows = [\"a\"]");
  text = Edited(text, "columns = [\"x3\", \"school\"]", "rows = [\"b\"]");
  const StudyFile study = Parse(text);
  EXPECT_EQ(study.table.separator, ',');
  EXPECT_EQ(study.table.decimal, '.');
  EXPECT_EQ(study.table.key, "");
}

// The worked example of docs/study-file.md is a study that Partita accepts.
TEST(VocabularyTest, TheDocumentedExampleIsRight) {
  std::ifstream file(SourcePath("docs/study-file.md"));
  const std::string page{std::istreambuf_iterator<char>(file), {}};
  const std::string fence = "```toml\npartita = 1\n";
  const size_t begin = page.find(fence);
  ASSERT_NE(begin, std::string::npos);
  const size_t end = page.find("\n```\n", begin);
  ASSERT_NE(end, std::string::npos);
  const size_t content = begin + std::string("```toml\n").size();
  const StudyFile study = Parse(page.substr(content, end + 1 - content));
  EXPECT_EQ(StudyPartition(study, study.parties).kind, data::PartitionKind::kHorizontal);
  EXPECT_EQ(study.parties.size(), 4u);
  EXPECT_EQ(study.population.subset.size(), 2u);
  EXPECT_EQ(study.derived.size(), 3u);
  EXPECT_EQ(study.design.weights_kind, WeightsKind::kFrequency);
  ASSERT_EQ(study.analyses.size(), 3u);
  std::vector<std::string> names;
  for (const data::DesignColumn& column : data::DesignColumns(study.dictionary, study.derived)) {
    names.push_back(column.schema.name);
  }
  // Every name on the right-hand sides of the models is a column.
  for (const char* name :
       {"sbp", "log_alcohol", "age_curve.1", "age_curve.4", "bmi_class.under", "bmi_class.obese",
        "sex.male", "smoking.current", "education.L", "education.Q"}) {
    EXPECT_THAT(names, ::testing::Contains(name));
  }
}

}  // namespace
}  // namespace partita::study::vocabulary_test
