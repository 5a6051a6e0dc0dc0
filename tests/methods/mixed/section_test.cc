// [[analysis]] with method = "mixed": what it means, and every mistake with its place and a remedy.
#include "methods/mixed/section.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "methods/mixed/random_term.h"
#include "tests/methods/mixed/mixed_text.h"
#include "tests/study/mistake.h"
#include "tests/study/study_text.h"

namespace partita::methods::mixed::section_test {
namespace {

using stats::mixed::Criterion;
using study::Edited;
using testing::kMixedStudy;

study::StudyFile Parse(const std::string& text) {
  const std::vector<study::SectionReader> readers = {MixedReader()};
  return study::ParseStudyFile(text, "s.toml", readers);
}

Spec Read(const std::string& from, const std::string& to) {
  return SpecOf(Parse(Edited(kMixedStudy, from, to)).analyses.front());
}

TEST(MixedSection, HasDefaults) {
  const study::StudyFile file = Parse(kMixedStudy);
  EXPECT_EQ(file.analyses.front().protocol, "sealed");
  EXPECT_EQ(file.analyses.front().releases.front().what, "estimates");
  const Spec& spec = SpecOf(file.analyses.front());
  EXPECT_EQ(spec.group, "ward");
  EXPECT_EQ(spec.criterion, Criterion::kReml);
  EXPECT_EQ(spec.confidence, 0.95);
  EXPECT_FALSE(spec.told_to_all || spec.by_site());
  ASSERT_EQ(spec.columns.size(), 3u);
  EXPECT_EQ(spec.columns[2].name, "arm.new");
  EXPECT_EQ(spec.outcome, "score");
  EXPECT_EQ(spec.centre, 50);
  EXPECT_EQ(spec.scale, 50);
  EXPECT_EQ(spec.variables, (std::vector<std::string>{"age", "arm", "score", "ward"}));
}

TEST(MixedSection, ReadsEveryKey) {
  const std::string release = "release = [\"estimates\"]";
  const Spec spec = Read(release,
                         "release = [{what = \"estimates\", to = \"all\"}]\ncriterion = \"ML\"\n"
                         "protocol = \"sealed\"\nconfidence = 0.9");
  EXPECT_EQ(spec.criterion, Criterion::kMl);
  EXPECT_TRUE(spec.told_to_all);
  EXPECT_EQ(spec.confidence, 0.9);
  EXPECT_TRUE(Read("(1 | ward)", "(1 | site)").by_site());
  // An offset of the outcome's bounds where there is no intercept.
  EXPECT_EQ(Read("score ~ age + arm +", "score ~ age - 1 +").centre, 0);
}

const std::string kBoth = "formula = \"score ~ age + arm + (1 | ward)\"\nrelease = [\"estimates\"]",
                  kLogistic =
                      "formula = \"arm ~ age + (1 | ward)\"\nrelease = [\"estimates\"]\n"
                      "family = \"binomial\"";

const std::string kSloped =
    "formula = \"score ~ arm + age + (1 + age | ward)\"\nrelease = [\"estimates\"]";

TEST(MixedSection, ReadsSlopes) {
  for (const char* term : {"(1 + age | ward)", "(age | ward)", "(age+1|ward)"}) {
    SCOPED_TRACE(term);
    const study::StudyFile file =
        Parse(Edited(kMixedStudy, kBoth, Edited(kSloped, "(1 + age | ward)", term)));
    const Spec& spec = SpecOf(file.analyses.front());
    EXPECT_EQ(spec.slope, std::optional<size_t>(2));
    EXPECT_TRUE(spec.linear() && spec.by_path() && spec.reml());
    EXPECT_EQ(spec.steps, 6);
    EXPECT_EQ(file.analyses.front().protocol, "iterates");
  }
  const Spec spec = Read(kBoth, kSloped + "\nsteps = 12\ncriterion = \"ML\"");
  EXPECT_EQ(spec.steps, 12);
  EXPECT_FALSE(spec.reml());
  EXPECT_FALSE(Read("age + arm", "age + arm").by_path());
}

TEST(MixedSection, ReadsFamilies) {
  EXPECT_TRUE(Read("age + arm", "age + arm").linear());
  const Spec logistic = Read(kBoth, kLogistic + "\nsteps = 9");
  EXPECT_TRUE(logistic.binary());
  EXPECT_EQ(logistic.outcome, "arm");
  EXPECT_TRUE(logistic.outcome_levels);
  EXPECT_EQ(logistic.steps, 9);
  EXPECT_EQ(logistic.variables, (std::vector<std::string>{"age", "arm", "ward"}));
  EXPECT_EQ(logistic.level(), std::string("iterates"));
  const study::StudyFile file = Parse(Edited(kMixedStudy, kBoth, kLogistic));
  EXPECT_EQ(file.analyses.front().protocol, "iterates");
  const Spec counts =
      Read(kBoth, Edited(Edited(kLogistic, "binomial", "poisson"), "arm ~ age", "age ~ arm"));
  EXPECT_EQ(counts.outcome, "age");
  EXPECT_EQ(counts.scale, 1);
  EXPECT_EQ(counts.upper, 90);
  EXPECT_EQ(counts.steps, 6);
}

TEST(MixedSection, TakesTheRandomTermOut) {
  const auto split = [](const std::string& formula) {
    const SplitFormula parts = SplitRandomTerm(formula);
    return parts.fixed + "; " + parts.group;
  };
  EXPECT_EQ(split("y ~ x + (1 | g)"), "y ~ x ; g");
  EXPECT_EQ(split("y ~ (1|g) + x"), "y ~  x; g");
  EXPECT_EQ(split("y ~ (1|g)"), "y ~ 1; g");
  EXPECT_EQ(split("log(y) ~ I(a^2) + ( 1 |g ) + b"), "log(y) ~ I(a^2)  + b; g");
}

TEST(MixedSection, EveryMistakeHasItsPlaceAndARemedy) {
  const std::string term = "(1 | ward)", release = "release = [\"estimates\"]";
  study::ExpectMistakes(
      [](const std::string& text) { Parse(text); }, "s.toml", kMixedStudy,
      {{" + (1 | ward)", "", "56:", "no random term", "method = \"glm\""},
       {term, "(0 + age | ward)", "56:", "random slope without an intercept", "(1 + x | ward)"},
       {term, "(age - 1 | ward)", "56:", "random slope without an intercept", "(1 | ward)"},
       {term, "(1 + age + arm | ward)", "56:", "has 2 random slopes", "keep one"},
       {term, "(1 + age || ward)", "56:", "that are not correlated", "(1 + x | ward)"},
       {term, "(1 + arm | ward)", "56:", "arm is no column of the model", "fixed effect, too"},
       {term, "(1 + height | ward)", "56:", "height is no column", "age"},
       {term, "(1 + age | site)", "56:", "no random slopes", "interaction"},
       {kBoth, Edited(kLogistic, "(1 | ward)", "(1 + age | ward)"), "56:", "linear models alone",
        "(1 | ward)"},
       {kBoth, kSloped + "\nsteps = 21", "58:", "there are 21 steps", "4 to 20"},
       {kBoth, kSloped + "\nprotocol = \"sealed\"", "58:", "sealed", "iterates"},
       {term, "(1 | ward) + (1 | arm)", "56:", "2 random terms", "keep one"},
       {term, "(1 | ward/age)", "56:", "groups within groups", "one variable"},
       {term, "1 | ward", "56:", "stands in parentheses", "(1 | ward)"},
       {"+ (1 | ward)", "- (1 | ward)", "56:", "is added", "(1 | ward)"},
       {term, "(1 | ward):arm", "56:", "after the random term comes ':arm'", "with + or -"},
       {term, "((1 | ward))", "56:", "after the random term comes ')'", "one pair of parentheses"},
       {term, "( | ward)", "56:", "one side of it is empty", "(1 | ward)"},
       {term, "(1 | wards)", "56:", "'wards' is no [[variable]]", "ward"},
       {term, "(1 | score)", "56:", "neither an integer nor a factor", "type = \"integer\""},
       {"score ~ age", "arm ~ age", "56:", "arm is not one number", "number as its outcome"},
       {"age + arm", "offset(age) + arm", "56:", "offsets", "subtract"},
       {"age + arm", "ages + arm", "56:", "'ages'", "age"},
       {release, release + "\ncriterion = \"reml\"", "58:", "reml", "REML"},
       {release, release + "\nprotocol = \"iterates\"", "58:", "iterates", "sealed"},
       {release, release + "\nconfidence = 95", "58:", "the confidence is 95", "0.95"},
       {release, release + "\nfamily = \"gamma\"", "58:", "gamma", "poisson"},
       {release, release + "\nfamily = \"binomial\"", "56:", "neither an integer from 0 to 1",
        "second level"},
       {release, release + "\nfamily = \"poisson\"", "56:", "is no count", "integer"},
       {release, release + "\nsteps = 6", "58:", "takes no steps", "leave steps out"},
       {kBoth, kLogistic + "\nsteps = 3", "59:", "there are 3 steps", "4 to 20"},
       {kBoth, kLogistic + "\ncriterion = \"ML\"", "59:", "no other criterion", "leave"},
       {kBoth, kLogistic + "\nprotocol = \"sealed\"", "59:", "sealed", "iterates"},
       {kBoth, Edited(kLogistic, "(1 | ward)", "(1 | site)"), "56:", "linear models alone",
        "name a variable"},
       {kBoth, Edited(kLogistic, "arm ~ age", "arm ~ offset(age)"), "56:", "offsets", "glm"},
       {release, "", "54:", "needs the key 'release'", "to = \"all\""},
       {release,
        release + "\n[analysis.privacy]\nepsilon = 1\ndelta = 1e-6\nadjacency = \"replace\"",
        "58:", "no promise of differential privacy", "mcmc"}});
}

}  // namespace
}  // namespace partita::methods::mixed::section_test
