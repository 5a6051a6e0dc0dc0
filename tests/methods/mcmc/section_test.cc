// [[analysis]] method = "mcmc": what it means, and every mistake with its place and a remedy.
#include "methods/mcmc/section.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "methods/mcmc/spec.h"
#include "tests/study/all_methods.h"
#include "tests/study/mistake.h"
#include "tests/study/study_text.h"

namespace partita::methods::mcmc::mcmc_section_test {
namespace {

using stats::mcmc::Acceptance;
using study::Edited;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

// Line numbers matter: tests quote them.
const std::string kStudy = study::RowsSplit("chains", {"north", "south"}) +
                           R"x([design]
site = "ignore"
missing = "complete"
[engine]
name = "dealer"
[[variable]]
name = "low"
type = "integer"
lower = 0
upper = 1
[[variable]]
name = "age"
type = "numeric"
lower = 0
upper = 100
[[variable]]
name = "smoke"
type = "factor"
levels = ["no", "yes"]
[[variable]]
name = "survival"
type = "survival"
time = "days"
event = "dead"
lower = 0.5
upper = 4000
[[analysis]]
method = "mcmc"
protocol = "decisions"
rule = "barker"
model = "logistic"
outcome = "low"
predictors = ["age", "smoke.yes"]
release = ["decisions"]
chains = 6
warmup = 400
draws = 500
thin = 2
speculation = 4
step = 0.2
subset = [{variable = "age", at_least = 18}]
[analysis.priors]
coefficients = "normal(0, 1)"
intercept = "student_t(3, 0, 2.5)"
[analysis.start]
intercept = -0.5
[analysis.privacy]
epsilon = 2
delta = 1e-6
adjacency = "replace"
clip = 0.005
)x";

const ChainSpec& Parse(const std::string& text) {
  static std::vector<study::StudyFile> kept;
  kept.push_back(study::ParseStudyFile(text, "s.toml"));
  return ChainOf(kept.back().analyses.front());
}

TEST(McmcSectionTest, ReadsEveryKey) {
  const ChainSpec& spec = Parse(kStudy);
  EXPECT_EQ(spec.model, ChainModel::kLogistic);
  EXPECT_EQ(spec.rule, Rule::kBit);
  EXPECT_EQ(spec.options.acceptance, Acceptance::kBarker);
  EXPECT_EQ(spec.outcome, "low");
  EXPECT_THAT(ParameterNames(spec), ElementsAre("intercept", "age", "smoke.yes"));
  EXPECT_EQ(spec.options.chains, 6u);
  EXPECT_EQ(spec.options.warmup, 400u);
  EXPECT_EQ(spec.options.draws, 500u);
  EXPECT_EQ(spec.options.thin, 2u);
  EXPECT_EQ(spec.options.speculation, 4u);
  EXPECT_EQ(spec.options.initial_scale, 0.2);
  const auto plan = PlanOf(spec);
  EXPECT_EQ(PriorText(plan.priors[0]), "student_t(3, 0, 2.5)");
  EXPECT_EQ(PriorText(plan.priors[2]), "normal(0, 1)");
  EXPECT_EQ(plan.start(0, 5), -0.5);
  EXPECT_EQ(plan.start(1, 5), 0);
  ASSERT_TRUE(spec.privacy.has_value());
  EXPECT_EQ(spec.privacy->epsilon, 2);
  EXPECT_EQ(spec.privacy->clip, 0.005);
  const study::StudyFile file = study::ParseStudyFile(kStudy, "s.toml");
  EXPECT_EQ(file.analyses.front().subset.size(), 1u);
  EXPECT_EQ(file.analyses.front().protocol, "decisions");
}

// Everything optional left out.
TEST(McmcSectionTest, HasDefaults) {
  std::string text = kStudy.substr(0, kStudy.find("chains = 6"));
  text = Edited(text, "rule = \"barker\"\n", "");
  const ChainSpec& spec = Parse(text);
  EXPECT_EQ(spec.options.acceptance, Acceptance::kBarker);
  EXPECT_EQ(spec.options.chains, 4u);
  EXPECT_EQ(spec.options.speculation, 1u);
  EXPECT_FALSE(spec.privacy);
  EXPECT_EQ(PriorText(PlanOf(spec).priors[1]), "normal(0, 2.5)");
  const std::string cox = Edited(Edited(text, "model = \"logistic\"", "model = \"cox\""),
                                 "outcome = \"low\"", "outcome = \"survival\"");
  EXPECT_FALSE(Parse(cox).intercept);
  const std::string weibull = Edited(cox, "model = \"cox\"", "model = \"weibull\"");
  EXPECT_EQ(ParameterNames(Parse(weibull)).back(), "log_sigma");
  const std::string sums = Edited(Edited(text, "\"decisions\"", "\"noisy-sums\""),
                                  "[\"decisions\"]", "[\"noisy-sums\"]");
  EXPECT_EQ(Parse(sums).options.acceptance, Acceptance::kMetropolis);
}

// Chains of a superchain begin at one point, superchains at points around `start`.
TEST(McmcSectionTest, SuperchainsBeginApart) {
  const std::string text = Edited(kStudy, "chains = 6", "chains = 12\nsuperchains = 4");
  const ChainSpec& spec = Parse(text);
  EXPECT_EQ(spec.options.superchains, 4u);
  EXPECT_EQ(spec.spread, 1);
  const Eigen::MatrixXd one = PlanOf(spec).start;
  for (Eigen::Index c = 0; c < 12; ++c) {
    EXPECT_EQ(one.col(c), one.col(c / 3 * 3));
    const bool first = c % 3 == 0;
    EXPECT_EQ(one.col(c) == one.col(std::max<Eigen::Index>(c, 1) - 1), !first || c == 0);
  }
  const ChainSpec& wider = Parse(Edited(text, "superchains = 4", "superchains = 4\nspread = 2"));
  const Eigen::Vector3d centre(-0.5, 0, 0);
  EXPECT_EQ((PlanOf(wider).start.colwise() - centre), 2 * (one.colwise() - centre));
}

// Bounded steps bound where chains can be.
TEST(McmcSectionTest, SuperchainsBeginWithinTheBoundsOfSteps) {
  const std::string steps =
      Edited(Edited(kStudy, "clip = 0.005", "lipschitz = 0.05"), "chains = 6", "chains = 8");
  EXPECT_FALSE(BeginsTooFar(Parse(Edited(steps, "chains = 8", "chains = 8\nsuperchains = 4"))));
  EXPECT_THROW(Parse(Edited(steps, "chains = 8", "chains = 8\nsuperchains = 4\nspread = 50")),
               Error);
}

TEST(McmcSectionTest, PenaltyTakesItsNoiseInRows) {
  std::string text =
      Edited(kStudy, "protocol = \"decisions\"\nrule = \"barker\"", "protocol = \"penalty\"");
  text = Edited(text, "release = [\"decisions\"]", "release = [\"noisy-log-ratios\"]");
  text = Edited(text, "speculation = 4\n", "");
  text = Edited(text, "clip = 0.005", "clip = 0.005\nnoise = 30");
  const auto plan = PlanOf(Parse(text));
  // In multiples of what one row contributes, 0.01 at most.
  EXPECT_EQ(plan.penalty.tau, 30);
  EXPECT_EQ(plan.penalty.constant, 0.01);
}

TEST(McmcSectionTest, EveryMistakeHasItsPlaceAndARemedy) {
  const std::vector<study::Mistake> mistakes = {
      {"protocol = \"decisions\"\n", "", "44:1", "protocol", "protocol = "},
      {"protocol = \"decisions\"", "protocol = \"decision\"", "46:12", "decision", "decisions"},
      {"protocol = \"decisions\"", "protocol = \"noisy-sums\"", "47:8", "Metropolis's rule only",
       "remove 'rule'"},
      {"rule = \"barker\"", "rule = \"gibbs\"", "47:8", "gibbs", "barker"},
      {"rule = \"barker\"", "rule = \"metropolis\"", "64:1", "promise no privacy",
       "rule = \"barker\""},
      {"model = \"logistic\"", "model = \"probit\"", "48:9", "probit", "logistic"},
      {"outcome = \"low\"", "outcome = \"lov\"", "49:11", "lov", "low"},
      {"outcome = \"low\"", "outcome = \"age\"", "49:11", "'age' is not 0 or 1", "integer"},
      {"outcome = \"low\"", "outcome = \"survival\"", "49:11", "survival", "low"},
      {"model = \"logistic\"\noutcome = \"low\"", "model = \"poisson\"\noutcome = \"age\"", "49:11",
       "'age' is not a count", "integer"},
      {"model = \"logistic\"", "model = \"weibull\"", "49:11", "'low' is not a survival variable",
       "survival"},
      {"predictors = [\"age\", \"smoke.yes\"]", "predictors = [\"age\", \"smoke\"]", "50:22",
       "smoke", "smoke.yes"},
      {"predictors = [\"age\", \"smoke.yes\"]", "predictors = [\"age\", \"age\"]", "50:", "twice",
       ""},
      {"predictors = [\"age\", \"smoke.yes\"]", "predictors = [\"low\"]", "50:15",
       "is the outcome and a predictor", "remove it"},
      {"predictors = [\"age\", \"smoke.yes\"]", "predictors = []\nintercept = false", "50:14",
       "without predictors or intercept", "name a predictor"},
      {"release = [\"decisions\"]\n", "", "44:1", "release", "release = "},
      {"release = [\"decisions\"]", "release = []", "51:11", "does not list",
       "release = [\"decisions\"]"},
      {"release = [\"decisions\"]", "release = [\"moments\"]", "51:12", "does not open 'moments'",
       "release = [\"decisions\"]"},
      {"chains = 6", "chains = 0", "52:10", "from 1 to 1000", "chains = 4"},
      {"chains = 6", "chains = 6\nsuperchains = 4", "53:15", "must divide the 6 chains",
       "chains = 8"},
      {"chains = 6", "chains = 6\nsuperchains = 3", "53:15", "from 4 to", "superchains = 8"},
      {"chains = 6", "chains = 6\nspread = 1", "53:10", "there are none", "superchains = 8"},
      {"chains = 6", "chains = 6\nsuperchains = 6\nspread = 0", "54:10", "must be positive",
       "spread = 1"},
      {"warmup = 400", "warmup = 400\nmost_decisions = 7", "54:18",
       "'most_decisions' must be at least", "most_decisions = 70000"},
      {"warmup = 400", "warmup = -1", "53:10", "from 0 to", "warmup"},
      {"draws = 500", "draws = 3", "54:9", "from 4 to", "draws"},
      {"thin = 2", "thin = 0", "55:8", "from 1 to", "thin"},
      {"chains = 6\nwarmup = 400\ndraws = 500\nthin = 2",
       "chains = 1000\nwarmup = 400\ndraws = 1000000\nthin = 100", "54:9", "more than 1e9",
       "fewer"},
      {"speculation = 4", "speculation = 3", "56:15", "must divide the 1400 decisions",
       "change one"},
      {"speculation = 4", "speculation = 9", "56:15", "from 1 to 8", ""},
      {"step = 0.2", "step = 0", "57:8", "must be positive", "step = 0.1"},
      {"coefficients = \"normal(0, 1)\"", "coefficients = \"normal(0)\"", "60:16", "is not a prior",
       "normal(mean, sd)"},
      {"intercept = \"student_t(3, 0, 2.5)\"", "sigma = \"normal(0, 1)\"", "61:1", "sigma",
       "intercept"},
      {"intercept = -0.5", "intercept = inf", "63:13", "cannot begin there", "finite"},
      {"intercept = -0.5", "log_sigma = 1", "63:1", "log_sigma", "intercept"},
      {"epsilon = 2", "epsilon = 0", "65:11", "above 0", "epsilon = 1.0"},
      {"delta = 1e-6", "delta = 0.5", "66:9", "at most 0.01", "delta = 1e-6"},
      {"delta = 1e-6\n", "", "64:1", "delta", "delta = 1e-6"},
      {"adjacency = \"replace\"", "adjacency = \"swap\"", "67:13", "swap", "add-remove"},
      {"clip = 0.005", "clip = -1", "68:8", "above 0", "clip"},
      {"clip = 0.005", "clip = 0.005\nnoise = 3", "69:9", "belongs to protocol 'penalty'",
       "remove it"},
      {"method = \"mcmc\"", "method = \"mcmc\"\nfunction = \"cfa\"", "46:1", "function", ""},
      {"[[analysis]]\nmethod", "[[analysis]]\nname = \"a\"\nmethod = \"mle\"\n[[analysis]]\nmethod",
       "44:1", "needs the key 'protocol'", ""},
  };
  study::ExpectMistakes([](const std::string& text) { Parse(text); }, "s.toml", kStudy, mistakes);
}

TEST(McmcSectionTest, PrivacyIsRefusedWhereThereIsNone) {
  const auto message = [](const std::string& text) {
    try {
      Parse(text);
    } catch (const Error& error) {
      return error.message();
    }
    return std::string("accepted");
  };
  const std::string survival = Edited(kStudy, "outcome = \"low\"", "outcome = \"survival\"");
  const std::string cox = Edited(Edited(survival, "model = \"logistic\"", "model = \"cox\""),
                                 "[analysis.start]\nintercept = -0.5\n", "");
  EXPECT_THAT(message(Edited(cox, "intercept = \"student_t(3, 0, 2.5)\"\n", "")),
              HasSubstr("no sum over rows"));
  std::string penalty =
      Edited(kStudy, "protocol = \"decisions\"\nrule = \"barker\"", "protocol = \"penalty\"");
  penalty = Edited(penalty, "release = [\"decisions\"]", "release = [\"noisy-log-ratios\"]");
  EXPECT_THAT(message(penalty), HasSubstr("only protocol 'decisions' takes several"));
  penalty = Edited(penalty, "speculation = 4\n", "");
  EXPECT_THAT(message(penalty), HasSubstr("noise"));
  EXPECT_THAT(message(penalty.substr(0, penalty.find("[analysis.privacy]"))),
              HasSubstr("needs [analysis.privacy]"));
}

}  // namespace
}  // namespace partita::methods::mcmc::mcmc_section_test
