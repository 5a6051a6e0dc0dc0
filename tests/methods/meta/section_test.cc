// [[analysis]] with method = "meta": what it means, and every mistake with its place and a remedy.
#include "methods/meta/section.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "tests/methods/meta/meta_text.h"
#include "tests/study/mistake.h"
#include "tests/study/study_text.h"

namespace partita::methods::meta::section_test {
namespace {

using stats::meta::Estimator;
using study::Edited;

study::StudyFile Parse(const std::string& text) {
  const std::vector<study::SectionReader> readers = {MetaReader()};
  return study::ParseStudyFile(text, "s.toml", readers);
}

Spec Read(const std::string& keys) {
  return SpecOf(Parse(testing::MetaText(3, "dealer", keys)).analyses.front());
}

TEST(MetaSection, HasDefaults) {
  const study::StudyFile file = Parse(testing::MetaText(3, "dealer"));
  EXPECT_EQ(file.analyses.front().protocol, "pooled");
  EXPECT_EQ(file.analyses.front().releases.front().what, "pooled");
  const Spec& spec = SpecOf(file.analyses.front());
  EXPECT_EQ(spec.estimate.name, "b");
  EXPECT_EQ(spec.standard_error.name, "se");
  EXPECT_EQ(spec.unit(), 4);
  EXPECT_EQ(spec.estimator, Estimator::kReml);
  EXPECT_TRUE(spec.hartung_knapp);
  EXPECT_FALSE(spec.ratios || spec.site_estimates || spec.told_to_all || spec.min_sites);
  EXPECT_EQ(spec.confidence, 0.95);
  const study::SectionUses uses = file.analyses.front().section->Uses();
  ASSERT_EQ(uses.variables.size(), 2u);
  EXPECT_EQ(uses.variables[1].name, "se");
}

TEST(MetaSection, ReadsEveryKey) {
  const Spec spec = Read(
      "protocol = \"site-estimates\"\nestimator = \"dersimonian-laird\"\ninterval = \"normal\"\n"
      "min_sites = 3\nratios = true\nconfidence = 0.9\n");
  EXPECT_TRUE(spec.site_estimates && spec.ratios);
  EXPECT_EQ(spec.estimator, Estimator::kDerSimonianLaird);
  EXPECT_FALSE(spec.hartung_knapp);
  EXPECT_EQ(spec.min_sites, 3u);
  EXPECT_EQ(spec.confidence, 0.9);
  EXPECT_FALSE(Read("estimator = \"fixed\"\n").hartung_knapp);
  EXPECT_TRUE(SpecOf(Parse(Edited(testing::MetaText(3, "dealer"), "[\"pooled\"]",
                                  "[{what = \"pooled\", to = \"all\"}]"))
                         .analyses.front())
                  .told_to_all);
}

TEST(MetaSection, ReadsAFormula) {
  const study::StudyFile file = Parse(testing::FormulaText(3, "dealer"));
  const Spec& spec = SpecOf(file.analyses.front());
  ASSERT_TRUE(spec.model.has_value());
  EXPECT_EQ(spec.pooled_name(), "arm.new");
  EXPECT_EQ(spec.unit(), 8);
  EXPECT_EQ(spec.least_error(), kLeastError);
  EXPECT_TRUE(spec.ratios);
  EXPECT_EQ(file.analyses.front().section->Uses().variables.size(), 3u);
  const std::string text = testing::FormulaText(3, "dealer", "largest = 4\n");
  EXPECT_EQ(SpecOf(Parse(text).analyses.front()).unit(), 4);
  study::ExpectMistakes(
      [](const std::string& edited) { Parse(edited); }, "s.toml", text,
      {{"term = \"arm.new\"", "term = \"arm.ne\"", "46:", "no column 'arm.ne'", "arm.new, age"},
       {"relapse ~ arm", "relaps ~ arm", "46:", "'relaps'", "relapse"},
       {"relapse ~ arm + age", "age ~ arm", "46:", "neither an integer from 0 to 1",
        "second level"},
       {"family = \"binomial\"", "family = \"gamma\"", "47:", "gamma", "poisson"},
       {"family = \"binomial\"\n", "", "44:", "family", "binomial"},
       {"largest = 4", "largest = 0", "49:", "largest is 0", "largest = 8"},
       {"largest = 4", "estimate = \"age\"", "49:", "beside a formula", "either"}});
  EXPECT_THROW(Parse(Edited(testing::MetaText(3, "dealer"),
                            "estimate =", "family = \"binomial\"\nestimate =")),
               Error);
}

TEST(MetaSection, EveryMistakeHasItsPlaceAndARemedy) {
  const std::string text = testing::MetaText(3, "dealer", "confidence = 0.95\n");
  const std::string line = "confidence = 0.95";
  study::ExpectMistakes(
      [](const std::string& edited) { Parse(edited); }, "s.toml", text,
      {{"estimate = \"b\"\n", "", "46:", "estimate", "log_odds_ratio"},
       {"estimate = \"b\"", "estimate = \"bb\"", "48:", "'bb'", "b"},
       {"estimate = \"b\"", "estimate = \"centre\"", "48:", "'centre' is not numeric", "numeric"},
       {"standard_error = \"se\"", "standard_error = \"b\"", "49:", "one variable", "name two"},
       {"lower = 0.01", "lower = 0", "49:", "as small as 0", "at least 0.00390625"},
       {"lower = 0.01", "lower = 0.001", "49:", "as small as 0.001", "at least 0.00390625"},
       {line, "estimator = \"remi\"", "50:", "remi", "reml"},
       {line, "estimator = \"fixed\"\ninterval = \"hartung-knapp\"", "51:", "no interval of",
        "leave `interval` out"},
       {line, "min_sites = 2", "50:", "2 sites are too few", "at least"},
       {line, "protocol = \"sites\"", "50:", "sites", "site-estimates"},
       {line, "confidence = 95", "50:", "the confidence is 95", "confidence = 0.95"},
       {"release = [\"pooled\"]\n", "", "46:", "needs the key 'release'", "to = \"all\""},
       {line, "subset = []", "50:", "'subset' is without a formula", "formula ="},
       {"release = [\"pooled\"]",
        "release = [\"pooled\"]\n[analysis.privacy]\nepsilon = 1\ndelta = 1e-6\nadjacency = "
        "\"replace\"",
        "52:", "no promise of differential privacy", "remove [analysis.privacy]"}});
}

}  // namespace
}  // namespace partita::methods::meta::section_test
