// [[analysis]] with method = "glm": what it means, and every mistake with its place and a remedy.
#include "methods/glm/section.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "study/approval/envelope.h"
#include "tests/methods/glm/glm_text.h"
#include "tests/study/mistake.h"

namespace partita::methods::glm::section_test {
namespace {

using study::Edited;
using testing::kGlmStudy;

study::StudyFile Parse(const std::string& text) {
  const std::vector<study::SectionReader> readers = {GlmReader()};
  return study::ParseStudyFile(text, "g.toml", readers);
}

Spec Read(const std::string& text) { return SpecOf(Parse(text).analyses.front()); }

TEST(GlmSection, ReadsEveryKey) {
  const study::StudyFile file = Parse(
      Edited(kGlmStudy, "release =",
             "steps = 5\nconfidence = 0.9\nprotocol = \"iterates\"\nsubset = [{variable = \"age\", "
             "at_least = 30}]\nrelease ="));
  const study::AnalysisSpec& analysis = file.analyses.front();
  EXPECT_EQ(analysis.method, "glm");
  EXPECT_EQ(analysis.protocol, "iterates");
  EXPECT_EQ(analysis.subset.size(), 1u);
  ASSERT_EQ(analysis.releases.size(), 1u);
  EXPECT_EQ(analysis.releases.front().what, "estimates");
  const Spec& spec = SpecOf(analysis);
  EXPECT_EQ(spec.law.family, stats::glm::Family::kBinomial);
  EXPECT_EQ(spec.formula, "event ~ age + smoker + stage");
  EXPECT_EQ(spec.columns.size(), 5u);
  EXPECT_EQ(spec.steps, 5);
  EXPECT_EQ(spec.confidence, 0.9);
  EXPECT_FALSE(spec.told_to_all);
}

TEST(GlmSection, HasDefaults) {
  const Spec spec = Read(kGlmStudy);
  EXPECT_EQ(spec.steps, 3);
  EXPECT_EQ(spec.confidence, 0.95);
  EXPECT_TRUE(Read(Edited(kGlmStudy, "[\"estimates\"]", "[{what = \"estimates\", to = \"all\"}]"))
                  .told_to_all);
  EXPECT_FALSE(
      Read(Edited(kGlmStudy, "[\"estimates\"]", "[{what = \"estimates\", to = \"north\"}]"))
          .told_to_all);
}

std::string WithDesign(const std::string& lines) {
  return Edited(kGlmStudy, "missing = \"complete\"\n", "missing = \"complete\"\n" + lines);
}

std::string WithErrors(const std::string& text, const std::string& errors) {
  return Edited(text, "release = [", "errors = \"" + errors + "\"\nrelease = [");
}

TEST(GlmSection, ErrorsLinksAndWeights) {
  using study::WeightsKind;
  EXPECT_EQ(Read(kGlmStudy).errors, Errors::kModel);
  EXPECT_EQ(Read(WithErrors(kGlmStudy, "robust")).errors, Errors::kRobust);
  EXPECT_EQ(Read(WithErrors(kGlmStudy, "HC1")).errors, Errors::kRobustAdjusted);
  const Spec clustered = Read(WithErrors(WithDesign("cluster = \"stage\"\n"), "cluster"));
  EXPECT_EQ(clustered.errors, Errors::kCluster);
  EXPECT_EQ(clustered.cluster, "stage");
  const Spec sampled = Read(WithDesign("weights = \"age\"\nweights_type = \"sampling\"\n"));
  EXPECT_EQ(sampled.errors, Errors::kRobust);
  EXPECT_EQ(sampled.weights_kind, WeightsKind::kSampling);
  EXPECT_EQ(sampled.most_weight, 90);
  EXPECT_EQ(sampled.weight_unit(), 90);
  const Spec copies = Read(WithDesign("weights = \"smoker\"\nweights_type = \"frequency\"\n"));
  EXPECT_EQ(copies.errors, Errors::kModel);
  EXPECT_EQ(copies.weight_unit(), 1);
  const Spec risks = Read(Edited(kGlmStudy, "\"binomial\"", "\"modified-poisson\""));
  EXPECT_EQ(risks.errors, Errors::kRobust);
  EXPECT_TRUE(risks.law.binary);
  const Spec probit = Read(Edited(kGlmStudy, "\"binomial\"", "\"binomial\"\nlink = \"probit\""));
  EXPECT_EQ(probit.law.link, stats::glm::Link::kProbit);
}

TEST(GlmSection, ErrorsThatDoNotGoTogether) {
  const std::string sampled = WithDesign("weights = \"age\"\nweights_type = \"sampling\"\n");
  const std::string precise = WithDesign("weights = \"age\"\nweights_type = \"precision\"\n");
  const std::string clustered = WithDesign("cluster = \"stage\"\n");
  const std::string release = "release = [\"estimates\"]";
  const auto expect = [&](const std::string& text, const std::vector<study::Mistake>& mistakes) {
    study::ExpectMistakes([](const std::string& edited) { Parse(edited); }, "g.toml", text,
                          mistakes);
  };
  expect(kGlmStudy,
         {{release, "errors = \"HC3\"\n" + release, "55:10", "HC3", "HC1"},
          {release, "errors = \"cluster\"\n" + release, "55:10", "without clusters", "[design]"},
          {"\"binomial\"", "\"poisson\"\nlink = \"logit\"", "54:8", "logit", "log"},
          {"\"binomial\"", "\"quasi-binomial\"\nlink = \"probit\"", "54:8", "probit", "logit"},
          {"event ~ age + smoker + stage\"", "event ~ age - 1\"\nlink = \"log\"", "54:11",
           "no intercept", "keep the intercept"}});
  expect(sampled, {{release, "errors = \"model\"\n" + release, "57:10", "say nothing", "robust"},
                   {release, "errors = \"HC1\"\n" + release, "57:10", "survey", "robust"},
                   {release, "penalty = {ridge = 1}\n" + release, "57:20",
                    "a ridge with sampling weights", "leave one of the two out"}});
  expect(precise, {{"\"ignore\"", "\"ignore\"", "48:1", "does not have", "gaussian"}});
  expect(clustered, {{release, "errors = \"robust\"\n" + release, "56:10", "ignore it",
                      "errors = \"cluster\""}});
}

TEST(GlmSection, EnvelopesAdmitIt) {
  study::Envelope envelope;
  envelope.methods = {"glm"};
  envelope.protocols = {"iterates"};
  envelope.engines = {"dealer"};
  envelope.functions = {"binomial"};
  envelope.receivers = {"north", "all"};
  envelope.releases = {"estimates", "iterates"};
  envelope.variables = {"age", "smoker", "stage", "event"};
  envelope.disclosure.min_rows = 300;
  const study::StudyFile file = Parse(kGlmStudy);
  EXPECT_NO_THROW(study::RequireInside(file, envelope));
  study::Envelope other = envelope;
  other.functions = {"poisson"};
  EXPECT_THROW(study::RequireInside(file, other), Error);
  other = envelope;
  other.receivers = {"north"};
  EXPECT_THROW(study::RequireInside(file, other), Error);
  other = envelope;
  other.releases = {"estimates"};
  EXPECT_THROW(study::RequireInside(file, other), Error);
}

TEST(GlmSection, EveryMistakeHasItsPlaceAndARemedy) {
  const std::string release = "release = [\"estimates\"]";
  const std::string formula = "\"event ~ age + smoker + stage\"";
  study::ExpectMistakes(
      [](const std::string& text) { Parse(text); }, "g.toml", kGlmStudy,
      {{release + "\n", "", "51:1", "needs the key 'release'", "release = [\"estimates\"]"},
       {release, "release = [\"estimates\", \"estimates\"]", "55:", "releases its estimates",
        "release = [\"estimates\"]"},
       {release, "release = [\"table\"]", "55:12", "table", "estimates"},
       {release, "release = [{what = \"estimates\", to = \"west\"}]", "55:", "west", "all"},
       {"\"binomial\"", "\"logistic\"", "53:10", "logistic", "binomial"},
       {"family = \"binomial\"\n", "", "51:1", "family", "family = \"binomial\""},
       {"formula = " + formula + "\n", "", "51:1", "formula", "formula = "},
       {formula, "\"event ~ ns(age)\"", "54:11", "the function 'ns' is not here",
        "transform = \"ns\""},
       {formula, "\"event ~ aeg\"", "54:11", "no variable 'aeg'", "age"},
       {formula, "\"age ~ smoker\"", "54:11", "two levels", "second level"},
       {release, "steps = 1\n" + release, "55:9", "there are 1 steps", "2 to 25"},
       {release, "steps = 26\n" + release, "55:9", "there are 26 steps", "2 to 25"},
       {release, "confidence = 1\n" + release, "55:14", "the confidence is 1", "0.95"},
       {release, "protocol = \"seled\"\n" + release, "55:12", "seled", "sealed"},
       {release, "penalty = {ridge = 0}\n" + release, "55:20", "the ridge is 0",
        "take 1e-06 to 10"},
       {release, "penalty = {ridge = 11}\n" + release, "55:20", "the ridge is 11", "for each row"},
       {release, "penalty = {lasso = [1]}\n" + release, "55:20", "level iterates has no lasso",
        "aggregates"},
       {release, "protocol = \"aggregates\"\npenalty = {lasso = [1, 2]}\n" + release,
        "56:", "do not fall", "lasso = [0.1"},
       {release, "protocol = \"aggregates\"\nsteps = 25\npenalty = {lasso = [3, 2, 1]}\n" + release,
        "56:9", "open the sums of 76 points", "50 at most"},
       {release, "protocol = \"aggregates\"\npenalty = {lasso = [0]}\n" + release,
        "56:", "the lasso is 0", "take 1e-08"},
       {release, "protocol = \"aggregates\"\npenalty = {lasso = []}\n" + release,
        "56:", "0 penalties", "1 to 10"},
       {release, "protocol = \"aggregates\"\npenalty = {lasso = [1], ridge = 1}\n" + release,
        "56:", "one of the three", "lasso = [0.1"},
       {release,
        "protocol = \"aggregates\"\nerrors = \"robust\"\npenalty = {lasso = [1]}\n" + release,
        "57:", "without other errors", "penalty"},
       {release, "penalty = {firth = false}\n" + release, "55:20", "one of the two", "ridge"},
       {release, "penalty = {firth = true, ridge = 1}\n" + release, "55:20", "one of the two",
        "ridge"},
       {release, "protocol = \"aggregates\"\npenalty = {firth = true}\n" + release, "56:20",
        "level aggregates has no Firth", "third moments"},
       {release, "errors = \"robust\"\npenalty = {firth = true}\n" + release, "56:20",
        "errors of the model", "penalty"},
       {release, "link = \"probit\"\npenalty = {firth = true}\n" + release, "56:20",
        "logistic models", "logit"},
       {"\"binomial\"", "\"multinomial\"", "54:11", "no factor with 3 levels", "binomial"},
       {"\"binomial\"", "\"ordinal\"", "54:11", "no factor with 3 levels", "binomial"},
       {release,
        release + "\n[analysis.privacy]\nepsilon = 1\ndelta = 1e-6\nadjacency = "
                  "\"replace\"",
        "56:", "no promise of differential privacy", "classify"}});
}

std::string OfFamily(const std::string& family, const std::string& formula) {
  return Edited(Edited(kGlmStudy, "\"binomial\"", '"' + family + '"'),
                "event ~ age + smoker + stage", formula);
}

// Scoring of gamma models does not double its digits with each step.
TEST(GlmSection, StepsWhereNoneAreSaid) {
  EXPECT_EQ(Read(OfFamily("binomial", "event ~ age")).steps, 3);
  EXPECT_EQ(Read(OfFamily("gamma", "age ~ smoker")).steps, 6);
  const auto steps_of = [](const std::string& family, const std::string& formula) {
    return Read(Edited(OfFamily(family, formula), "method = \"glm\"",
                       "method = \"glm\"\nprotocol = \"aggregates\""))
        .steps;
  };
  EXPECT_EQ(steps_of("binomial", "event ~ age"), 8);
  EXPECT_EQ(steps_of("gamma", "age ~ smoker"), 12);
  EXPECT_EQ(steps_of("ordinal", "stage ~ age"), 12);
}

TEST(GlmSection, FamiliesWithMoreParameters) {
  const Spec counts = Read(OfFamily("negative-binomial", "smoker ~ age"));
  EXPECT_EQ(counts.parameters.size(), 3u);
  EXPECT_EQ(counts.parameters.back().name, "log(theta)");
  EXPECT_EQ(counts.steps, 4);
  const Spec odds = Read(OfFamily("ordinal", "stage ~ age + smoker"));
  ASSERT_EQ(odds.parameters.size(), 4u);
  EXPECT_EQ(odds.columns.size(), 2u);
  EXPECT_EQ(odds.parameters[2].name, "one|two");
  EXPECT_EQ(odds.parameters[3].name, "two|three");
  EXPECT_FALSE(odds.parameters[3].effect);
  EXPECT_TRUE(odds.terms.empty());
  const Spec levels = Read(OfFamily("multinomial", "stage ~ age + smoker"));
  ASSERT_EQ(levels.parameters.size(), 6u);
  EXPECT_EQ(levels.parameters[3].name, "three: (Intercept)");
  EXPECT_EQ(levels.parameters[4].name, "three: age");
  ASSERT_EQ(levels.terms.size(), 2u);
  EXPECT_EQ(levels.terms[1].name, "smoker");
  EXPECT_EQ(levels.terms[1].columns, (std::vector<size_t>{2, 5}));
}

TEST(GlmSection, FamiliesWithMoreParametersAreFitPlainly) {
  const std::string text = OfFamily("ordinal", "stage ~ age + smoker");
  const std::string release = "release = [\"estimates\"]";
  study::ExpectMistakes(
      [](const std::string& edited) { Parse(edited); }, "g.toml", text,
      {{release, "errors = \"HC1\"\n" + release, "51:1", "HC1 of family ordinal", "robust"},
       {release, "protocol = \"sealed\"\n" + release, "51:1", "level sealed has no family ordinal",
        "iterates"},
       {release, "penalty = {ridge = 1}\n" + release, "55:20", "ordinal has no ridge", "leave"},
       {release, "link = \"probit\"\n" + release, "55:8", "probit", "logit"},
       {"stage ~ age + smoker", "stage ~ age - 1", "54:11", "without a term", "cut points"},
       {"stage ~ age + smoker", "stage ~ 1", "54:11", "no column", "write a term"},
       {"site = \"ignore\"", "site = \"fixed\"", "48:1", "effects of sites", "ignore"}});
}

}  // namespace
}  // namespace partita::methods::glm::section_test
