// [regression]: what it means, and every mistake with its place and a remedy.
#include "sums/file/regression_section.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "study/file/sections.h"
#include "sums/file/regression_contract.h"
#include "sums/protocol/calibrate.h"
#include "sums/protocol/sum_statement.h"
#include "tests/study/mistake.h"

namespace partita::sums::regression_section_test {
namespace {

using regression::Collects;
using regression::Estimator;
using regression::Spec;
using study::Edited;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Line numbers matter: tests quote them.
const std::string kSection = R"([regression]
outcome = "pressure"
predictors = ["age", "sex"]
intercept = true
noise = "gaussian"
estimator = "noise-aware"
level = 0.9
row_norm = 1.5
[regression.clip]
age = [30, 70]
[regression.prior]
slope_sd = 0.5
noise_sd = [0.02, 0.8]
[[variable]]
name = "age"
type = "integer"
lower = 18
upper = 99
[[variable]]
name = "sex"
type = "factor"
levels = ["female", "male"]
[[variable]]
name = "pressure"
type = "numeric"
lower = 60
upper = 220
)";

std::optional<Spec> Parse(const std::string& text) {
  const toml::table tree = study::ParseToml(text, "c.toml");
  return ReadRegression(study::TableReader("c.toml", tree, "the collection file",
                                           {"collection", "regression", "variable"}));
}

TEST(RegressionSectionTest, ReadsEveryKey) {
  const Spec spec = *Parse(kSection);
  EXPECT_THAT(study::Names(spec.variables), ElementsAre("age", "sex", "pressure"));
  EXPECT_EQ(spec.outcome().name, "pressure");
  EXPECT_TRUE(spec.intercept);
  EXPECT_FALSE(spec.laplace);
  EXPECT_EQ(spec.collects, Collects::kStatistics);
  EXPECT_EQ(spec.estimator, Estimator::kNoiseAware);
  EXPECT_EQ(spec.level, 0.9);
  EXPECT_EQ(spec.row_norm, 1.5);
  EXPECT_EQ(spec.clip.at("age").upper, 70);
  EXPECT_EQ(spec.prior.slope_variance.low, 0.25);
  EXPECT_EQ(spec.prior.slope_variance.high, 0.25);
  EXPECT_DOUBLE_EQ(spec.prior.noise_variance.high, 0.64);
  const stats::blr::Design design = DesignOf(spec);
  EXPECT_EQ(design.features[0].centre, 50);
  EXPECT_EQ(design.features[1].name, "sex.male");
}

TEST(RegressionSectionTest, HasDefaults) {
  const Spec spec = *Parse(Edited(Edited(kSection, "row_norm = 1.5\n", ""),
                                  "[regression.clip]\nage = [30, 70]\n[regression.prior]\n"
                                  "slope_sd = 0.5\nnoise_sd = [0.02, 0.8]\n",
                                  ""));
  EXPECT_EQ(spec.row_norm, 0);
  EXPECT_TRUE(spec.clip.empty());
  EXPECT_EQ(spec.prior.slope_variance.high, 1);
  EXPECT_FALSE(Parse("collection = 1\n").has_value());
}

TEST(RegressionSectionTest, EveryMistakeHasItsPlaceAndARemedy) {
  const std::vector<study::Mistake> mistakes = {
      {"outcome = \"pressure\"", "outcom = \"pressure\"", "2:1", "unknown key 'outcom'", "outcome"},
      {"outcome = \"pressure\"\n", "", "1:1", "outcome", "outcome = "},
      {"outcome = \"pressure\"", "outcome = \"presure\"", "2:11", "presure",
       "did you mean 'pressure'"},
      {"outcome = \"pressure\"", "outcome = \"sex\"", "3:22",
       "'sex' is the outcome and a predictor", "remove it"},
      {"predictors = [\"age\", \"sex\"]", "predictors = [\"age\", \"pressure\"]", "3:22",
       "is the outcome and a predictor", "remove it"},
      {"predictors = [\"age\", \"sex\"]", "predictors = [\"age\", \"age\"]", "3:", "twice", ""},
      {"predictors = [\"age\", \"sex\"]", "predictors = \"age\"", "3:14", "list", ""},
      {"predictors = [\"age\", \"sex\"]\nintercept = true", "predictors = []\nintercept = false",
       "3:14", "without predictors or intercept", "name a predictor"},
      {"intercept = true", "intercept = \"yes\"", "4:13", "true or false", ""},
      {"noise = \"gaussian\"", "noise = \"normal\"", "5:9", "normal", "gaussian"},
      {"noise = \"gaussian\"", "noise = \"laplace\"", "8:12", "does not reduce Laplace noise",
       "remove it"},
      {"estimator = \"noise-aware\"", "estimator = \"naive\"", "6:13", "naive", "plain"},
      {"estimator = \"noise-aware\"", "estimator = \"plain\"", "13:12", "takes no prior",
       "noise-aware"},
      {"level = 0.9", "level = 95", "7:9", "from 0.5 to 0.999", "0.95"},
      {"row_norm = 1.5", "row_norm = 0", "8:12", "from 0.01 to 100", "shortened"},
      {"age = [30, 70]", "age = [10, 70]", "10:7", "within its bounds", "more tightly"},
      {"age = [30, 70]", "age = [70, 30]", "10:7", "ascending", "smaller first"},
      {"age = [30, 70]", "age = [30]", "10:7", "two ascending", ""},
      {"age = [30, 70]", "sex = [0, 1]", "10:7", "is a factor", "remove it"},
      {"age = [30, 70]", "weight = [0, 1]", "10:1", "weight", "age"},
      {"slope_sd = 0.5", "slope_sd = 0", "12:12", "must be positive", "standard deviation"},
      {"slope_sd = 0.5", "slope_sd = [0, 1]", "12:12", "two ascending", ""},
      {"levels = [\"female\", \"male\"]", "levels = [\"female\"]", "22:", "level", ""},
  };
  study::ExpectMistakes([](const std::string& text) { Parse(text); }, "c.toml", kSection, mistakes);
  try {
    Parse("[[variable]]\nname = \"age\"\n");
    ADD_FAILURE() << "accepted";
  } catch (const Error& error) {
    EXPECT_THAT(error.message(), HasSubstr("belongs to a regression"));
  }
  // A factor cannot be an outcome.
  try {
    Parse(Edited(Edited(kSection, "outcome = \"pressure\"", "outcome = \"sex\""),
                 "predictors = [\"age\", \"sex\"]", "predictors = [\"age\"]"));
    ADD_FAILURE() << "accepted";
  } catch (const Error& error) {
    EXPECT_THAT(error.message(), HasSubstr("'sex' is of type factor"));
  }
}

TEST(RegressionSectionTest, WhatDecidesTheVectorIsCanonical) {
  const std::string base = CanonicalRegression(*Parse(kSection));
  for (const auto& [from, to] : std::vector<std::pair<std::string, std::string>>{
           {"age = [30, 70]", "age = [30, 71]"},
           {"row_norm = 1.5", "row_norm = 1.6"},
           {"intercept = true", "intercept = false"},
           {"upper = 220", "upper = 221"},
           {"[\"age\", \"sex\"]", "[\"sex\", \"age\"]"},
           {"level = 0.9", "collects = \"spread\""}})
    EXPECT_NE(CanonicalRegression(*Parse(Edited(kSection, from, to))), base) << to;
  // Chosen after the sum is open.
  EXPECT_EQ(CanonicalRegression(*Parse(Edited(kSection, "level = 0.9", "level = 0.8"))), base);
}

// The charge for the fewest clients is the budget, with the proved sensitivity and not with 2 C.
TEST(RegressionContractTest, SensitivityIsThatOfTheMoments) {
  for (const char* noise : {"gaussian", "laplace"}) {
    const Spec spec = *Parse(Edited(Edited(kSection, "row_norm = 1.5\n", ""), "gaussian", noise));
    Contract contract;
    contract.nodes = 3;
    contract.clients = 1000;
    contract.max_drop = 100;
    contract.max_collude = 20;
    ShapeContract(spec, contract);
    // Ones, age, sex, pressure: 10 products without that of the ones.
    EXPECT_EQ(contract.dimension, 9U);
    EXPECT_NEAR(contract.sensitivity, spec.laplace ? 9.5 : 4, 1e-9);
    EXPECT_LE(contract.sensitivity, 2 * contract.clip.bound);
    CalibrateNoise(contract, privacy::Epsilon(1), privacy::Delta(1e-6));
    CheckContract(contract);
    const double charged = ChargedLoss(contract, 900, privacy::Delta(1e-6)).epsilon_upper;
    EXPECT_LE(charged, 1 + 1e-9);
    EXPECT_GT(charged, 0.9999);
  }
}

}  // namespace
}  // namespace partita::sums::regression_section_test
