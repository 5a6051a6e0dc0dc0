// [[analysis]] with method = "classify": what it means, and every mistake with its place and a
// remedy.
#include "methods/classify/section.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "tests/methods/classify/classify_text.h"
#include "tests/study/all_methods.h"
#include "tests/study/mistake.h"
#include "tests/study/study_text.h"

namespace partita::methods::classify::classify_section_test {
namespace {

using study::Edited;
using ::testing::HasSubstr;
using ::testing::StartsWith;

study::StudyFile Parse(const std::string& text) { return study::ParseStudyFile(text, "c.toml"); }

// Without the keys from row_norm to level.
std::string Bare(std::string text) {
  const size_t from = text.find("row_norm = "), to = text.find("[analysis.privacy]");
  return text.erase(from, to - from);
}

std::string Quoted(const std::string& text) { return "\"" + text + "\""; }

// With that release listed; as it is if there is none.
std::string With(const std::string& text, const std::string& release) {
  if (release.empty()) return text;
  return Edited(text, "intercept = true", "intercept = true\nrelease = [" + Quoted(release) + "]");
}

std::string Complaint(const std::string& text) {
  try {
    Parse(text);
  } catch (const Error& error) {
    EXPECT_FALSE(error.hint().empty());
    return error.message();
  }
  return "accepted";
}

Spec SpecOf(const std::string& text) { return ClassifyOf(Parse(text).analyses.front()).spec; }

TEST(ClassifySectionTest, ReadsEveryKey) {
  const study::StudyFile study = Parse(kClassifyStudy);
  ASSERT_EQ(study.analyses.size(), 1u);
  const study::AnalysisSpec& analysis = study.analyses.front();
  EXPECT_EQ(analysis.method, "classify");
  EXPECT_EQ(analysis.protocol, "dp-sgd");
  const ClassifySection& section = ClassifyOf(analysis);
  ASSERT_TRUE(section.privacy);
  EXPECT_EQ(section.privacy->epsilon, 4);
  const Spec& spec = section.spec;
  EXPECT_EQ(spec.outcome, "relapse");
  EXPECT_EQ(spec.positive, 1u);
  ASSERT_EQ(spec.columns.size(), 3u);
  EXPECT_EQ(spec.columns[2].schema.name, "sex.male");
  EXPECT_EQ(spec.columns[2].source, "sex");
  EXPECT_EQ(spec.columns[0].schema.upper, 80);
  EXPECT_EQ(spec.dimension(), 4u);
  EXPECT_EQ(spec.row_norm, 1.5);
  EXPECT_EQ(spec.huber_width, 0);
  EXPECT_EQ(spec.lambda, 0.001);
  EXPECT_EQ(spec.iterations, 60u);
  EXPECT_EQ(spec.step, 4);
  EXPECT_EQ(spec.sampling_rate, 0.5);
  EXPECT_EQ(spec.clip_norm, 0.8);
  EXPECT_FALSE(spec.adam);
  EXPECT_EQ(spec.evaluation, Evaluation::kPrivate);
  EXPECT_EQ(spec.test_share, 0.25);
  EXPECT_EQ(spec.score_bins, 8u);
  EXPECT_EQ(spec.interval_share, 0.4);
  EXPECT_EQ(spec.level, 0.9);
}

TEST(ClassifySectionTest, HasDefaults) {
  std::string text = kClassifyStudy;
  const size_t from = text.find("intercept = true"), to = text.find("[analysis.privacy]");
  text.erase(from, to - from);
  const Spec spec = SpecOf(text);
  EXPECT_DOUBLE_EQ(spec.row_norm, 2.0 / 3);  // four columns with the intercept
  EXPECT_EQ(spec.lambda, methods::classify::kDescentLambda);
  EXPECT_EQ(spec.step, methods::classify::kDescentStep);
  EXPECT_EQ(spec.evaluation, Evaluation::kNone);
  EXPECT_EQ(spec.test_share, 0);
  EXPECT_EQ(spec.interval_share, 0);
  const Spec stage =
      SpecOf(Edited(text, "outcome = \"relapse\"\npositive = \"yes\"", "outcome = \"stage\""));
  EXPECT_EQ(stage.levels.size(), 3u);
  EXPECT_FALSE(stage.binary());
  for (const Protocol protocol : {Protocol::kAggregation, Protocol::kPsgd, Protocol::kMinimum}) {
    const std::string name(ProtocolName(protocol));
    EXPECT_EQ(SpecOf(Edited(text, "dp-sgd", name)).protocol, protocol);
    EXPECT_EQ(SpecOf(Edited(text, "dp-sgd", name)).lambda, methods::classify::kObjectiveLambda);
  }
  EXPECT_EQ(SpecOf(Edited(text, "outcome =", "loss = \"huber\"\noutcome =")).huber_width, 0.5);
}

// What is not private names what it opens; what draws no noise promises nothing.
TEST(ClassifySectionTest, ProtocolsForComparisonNameWhatTheyOpen) {
  const std::string bare = Bare(kClassifyStudy);
  const std::string promise =
      "[analysis.privacy]\nepsilon = 4\ndelta = 1e-4\nadjacency = \"replace\"\n";
  for (const Protocol protocol :
       {Protocol::kObjective, Protocol::kAverage, Protocol::kFederated, Protocol::kOwn}) {
    const std::string name(ProtocolName(protocol));
    SCOPED_TRACE(name);
    EXPECT_FALSE(IsPrivate(protocol));
    const std::string uncovered(UncoveredRelease(protocol));
    std::string text = Edited(bare, "\"dp-sgd\"", Quoted(name));
    if (!DrawsNoise(protocol)) {
      EXPECT_THAT(Complaint(With(text, uncovered)), HasSubstr("draws no noise"));
      text = Edited(text, promise, "");
    }
    const study::AnalysisSpec analysis = Parse(With(text, uncovered)).analyses.front();
    EXPECT_EQ(ClassifyOf(analysis).spec.protocol, protocol);
    EXPECT_EQ(ClassifyOf(analysis).privacy.has_value(), protocol == Protocol::kObjective);
    EXPECT_EQ(analysis.releases.size(), uncovered.empty() ? 0u : 1u);
    if (uncovered.empty()) {
      EXPECT_THAT(Complaint(With(text, "exact-average")), HasSubstr("nothing to list"));
    } else {
      EXPECT_THAT(Complaint(text), HasSubstr("NOT private"));
      EXPECT_THAT(Complaint(With(text, "coefficients")), HasSubstr("nothing else"));
    }
    const std::string tested = Edited(With(text, uncovered), "intercept = true",
                                      "intercept = true\nevaluation = \"private\"");
    EXPECT_THAT(Complaint(tested), HasSubstr("is not private"));
    EXPECT_THAT(Complaint(Edited(With(text, uncovered), "intercept = true",
                                 "intercept = true\ninterval_share = 0.4")),
                HasSubstr("bought with privacy"));
  }
  EXPECT_THAT(Complaint(With(bare, "exact-average")), HasSubstr("nothing to list"));
}

TEST(ClassifySectionTest, EveryMistakeHasItsPlaceAndARemedy) {
  const std::string kSteps =
      "iterations = 60\nstep = 4\nsampling_rate = 0.5\nclip_norm = 0.8\noptimiser = \"sgd\"\n";
  const std::vector<study::Mistake> mistakes = {
      {"protocol = \"dp-sgd\"", "protocol = \"sgd\"", "63:12", "'sgd'", "dp-sgd"},
      {"protocol = \"dp-sgd\"\n", "", "61:1", "protocol", "dp-sgd"},
      {"outcome = \"relapse\"", "outcom = \"relapse\"", "64:1", "unknown key 'outcom'", "outcome"},
      {"outcome = \"relapse\"", "outcome = \"relaps\"", "64:11", "relaps",
       "did you mean 'relapse'"},
      {"outcome = \"relapse\"", "outcome = \"age\"", "64:11", "has no levels", "cut"},
      {"positive = \"yes\"", "positive = \"maybe\"", "65:12", "maybe", "yes"},
      {"positive = \"yes\"\n", "", "61:1", "needs the key 'positive'", "positive = \"yes\""},
      {"outcome = \"relapse\"", "outcome = \"stage\"", "65:12", "two levels", "remove it"},
      {"predictors = [\"age\", \"dose\", \"sex\"]", "predictors = [\"age\", \"relapse\"]", "66:22",
       "is the outcome and a predictor", "remove it"},
      {"predictors = [\"age\", \"dose\", \"sex\"]", "predictors = [\"age\", \"age\"]", "66:22",
       "twice", "remove"},
      {"predictors = [\"age\", \"dose\", \"sex\"]", "predictors = [\"agee\"]", "66:15", "agee",
       "did you mean 'age'"},
      {"predictors = [\"age\", \"dose\", \"sex\"]", "predictors = [\"onset\"]", "66:15",
       "cannot be a predictor", "numbers"},
      {"predictors = [\"age\", \"dose\", \"sex\"]", "predictors = []", "66:14",
       "without predictors", "name a variable"},
      {"row_norm = 1.5", "row_norm = 3", "68:12", "from 0.01 to 2", "shortened"},
      {"lambda = 0.001", "lambda = 0", "69:10", "from 1e-06 to 100", "penalty"},
      {"lambda = 0.001", "loss = \"hinge\"", "69:8", "hinge", "huber"},
      {"lambda = 0.001", "huber_width = 0.5", "69:15", "without loss", "remove it"},
      {"lambda = 0.001", "loss = \"huber\"", "78:18", "logistic loss", "interval_share"},
      {"iterations = 60", "iterations = 0", "70:14", "from 1 to 1000000", "30 to 1000"},
      {"step = 4", "step = -1", "71:8", "'step'", "usual"},
      {"sampling_rate = 0.5", "sampling_rate = 2", "72:17", "'sampling_rate'", "all rows"},
      {"clip_norm = 0.8", "clip_norm = 1.1", "73:13", "'clip_norm'", "longer than 1"},
      {"optimiser = \"sgd\"", "optimiser = \"adagrad\"", "74:13", "adagrad", "adam"},
      {"protocol = \"dp-sgd\"", "protocol = \"psgd\"", "71:8", "does not use 'step'", "remove it"},
      {"protocol = \"dp-sgd\"", "protocol = \"local-aggregation\"", "70:14",
       "does not use 'iterations'", "remove it"},
      {"evaluation = \"private\"", "evaluation = \"public\"", "75:14", "public", "local"},
      {"evaluation = \"private\"\n", "", "75:14", "'test_share' without", "local"},
      {"evaluation = \"private\"", "evaluation = \"local\"", "77:14", "'score_bins' is for",
       "remove it"},
      {"test_share = 0.25", "test_share = 1", "76:14", "'test_share'", "held aside"},
      {"score_bins = 8", "score_bins = 7", "77:14", "even number", "10 is usual"},
      {"interval_share = 0.4", "interval_share = 1", "78:18", "'interval_share'", "intervals"},
      {"interval_share = 0.4\n", "", "78:9", "'level' without", "interval_share = 0.4"},
      {"level = 0.9\n", "level = 95\n", "79:9", "'level'", "0.95"},
      {"adjacency = \"replace\"", "adjacency = \"add-remove\"", "83:13", "public", "replace"},
      {"adjacency = \"replace\"", "adjacency = \"replace\"\nnorm = 2", "84:8",
       "does not use 'norm'", "row_norm"},
      {"delta = 1e-4", "delta = 1e-3", "82:9", "above one over the 1200 rows", "below 1/n"},
      {"[analysis.privacy]\nepsilon = 4\ndelta = 1e-4\nadjacency = \"replace\"\n", "", "61:1",
       "needs [analysis.privacy]", "epsilon"},
  };
  study::ExpectMistakes([](const std::string& text) { Parse(text); }, "c.toml", kClassifyStudy,
                        mistakes);
  // Levels and protocols; intervals of several levels; a second analysis.
  const std::string several =
      Edited(kClassifyStudy, "outcome = \"relapse\"\npositive = \"yes\"", "outcome = \"stage\"");
  EXPECT_THROW(Parse(several), Error);  // private evaluation
  EXPECT_THROW(Parse(Edited(Edited(several, "dp-sgd", "approximate-minima"), kSteps, "")), Error);
  EXPECT_THROW(Parse(kClassifyStudy + kClassifyStudy.substr(kClassifyStudy.find("[[analysis]]"))),
               Error);
}

}  // namespace
}  // namespace partita::methods::classify::classify_section_test
