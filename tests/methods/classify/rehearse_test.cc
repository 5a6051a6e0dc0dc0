// Rehearsals of method `classify`: every protocol beside the same in the clear, and faulty ones.
#include <gtest/gtest.h>

#include "methods/classify/study.h"
#include "methods/prepare_study.h"
#include "tests/methods/classify/classify_text.h"
#include "tests/methods/rehearsals.h"

namespace partita::methods::classify::classify_rehearse_test {
namespace {

using study::Edited;

ClassifyStudy Prepared(const std::string& text) {
  return PrepareClassifyStudy(ParseStudyFile(text, "study.toml"));
}

// Of the text: the keys of the fit replaced by those of another protocol.
std::string WithProtocol(const std::string& protocol, const std::string& keys) {
  const std::string& text = kClassifyStudy;
  const size_t from = text.find("protocol = "), to = text.find("[analysis.privacy]");
  return text.substr(0, from) + "protocol = \"" + protocol +
         "\"\noutcome = \"relapse\"\npositive = \"yes\"\npredictors = [\"age\", \"dose\", "
         "\"sex\"]\nrow_norm = 1.5\n" +
         keys + text.substr(to);
}
std::string WithoutPrivacy(const std::string& text) {
  return text.substr(0, text.find("[analysis.privacy]"));
}

run::Rehearsal RehearseIt(const std::string& text) {
  const ClassifyStudy study = Prepared(text);
  SilentProgress progress;
  return run::Rehearse(study, {}, progress);
}

// Gradients, curvature and counts of test rows.
TEST(ClassifyRehearseTest, DescentAgrees) {
  const run::Rehearsal rehearsal = RehearseIt(kClassifyStudy);
  rehearsals::ExpectPassed(rehearsal);
  ASSERT_EQ(rehearsal.agreement.random.size(), 3u);
  EXPECT_EQ(rehearsal.agreement.random[0].count, 60u * 4);
  EXPECT_EQ(rehearsal.agreement.random[1].count, 4u + 10);
  EXPECT_EQ(rehearsal.agreement.random[2].count, 16u);
  std::string levels =
      Edited(kClassifyStudy, "outcome = \"relapse\"\npositive = \"yes\"", "outcome = \"stage\"");
  levels = Edited(levels, "interval_share = 0.4\nlevel = 0.9\n", "");
  levels = Edited(levels, "evaluation = \"private\"", "evaluation = \"local\"");
  levels = Edited(levels, "score_bins = 8\n", "");
  const run::Rehearsal of_levels = RehearseIt(levels);
  rehearsals::ExpectPassed(of_levels);
  EXPECT_EQ(of_levels.agreement.random[0].count, 3u * 60 * 4);
}

TEST(ClassifyRehearseTest, OtherProtocolsAgree) {
  for (const auto& [protocol, keys] : std::vector<std::pair<std::string, std::string>>{
           {"local-aggregation", "lambda = 0.05\n"},
           {"psgd", "lambda = 0.05\niterations = 50\n"},
           {"approximate-minima", "lambda = 0.05\n"}}) {
    SCOPED_TRACE(protocol);
    const run::Rehearsal rehearsal =
        RehearseIt(WithProtocol(protocol, keys + "evaluation = \"local\"\ntest_share = 0.25\n"));
    rehearsals::ExpectPassed(rehearsal);
    EXPECT_EQ(rehearsal.agreement.random.size(), 1u);
  }
}

TEST(ClassifyRehearseTest, WhatIsNotPrivateAgrees) {
  rehearsals::ExpectPassed(RehearseIt(WithProtocol(
      "objective-perturbation", "lambda = 0.05\nrelease = [\"perturbed-minimum\"]\n")));
  rehearsals::ExpectPassed(RehearseIt(WithoutPrivacy(
      WithProtocol("model-average", "lambda = 0.05\nrelease = [\"exact-average\"]\n"))));
  rehearsals::ExpectPassed(RehearseIt(WithoutPrivacy(WithProtocol(
      "federated", "lambda = 0.05\niterations = 30\nrelease = [\"exact-gradients\"]\n"))));
  const run::Rehearsal own = RehearseIt(WithoutPrivacy(
      WithProtocol("single-party", "lambda = 0.05\nevaluation = \"local\"\ntest_share = 0.25\n")));
  EXPECT_TRUE(own.passed(6));
  EXPECT_TRUE(own.agreement.random.empty());
}

// Parties that draw a tenth of the noise, or drop the penalty.
TEST(ClassifyRehearseTest, FaultyRunsFail) {
  const ClassifyStudy study = Prepared(kClassifyStudy);
  EXPECT_FALSE(rehearsals::RandomFails(rehearsals::CompareRunOf(study, study)));
  ClassifyStudy quiet = study;
  privacy::GridVariance& variance = quiet.design.fit.sum.noise.share_variance;
  variance = privacy::Divide(variance, 100);
  EXPECT_TRUE(rehearsals::RandomFails(rehearsals::CompareRunOf(quiet, study)));
  ClassifyStudy free = study;
  free.design.fit.descent->options.lambda = 0;
  EXPECT_TRUE(rehearsals::ExactFails(rehearsals::CompareRunOf(free, study)));
  const ClassifyStudy average = Prepared(WithoutPrivacy(
      WithProtocol("model-average", "lambda = 0.05\nrelease = [\"exact-average\"]\n")));
  ClassifyStudy other = average;
  other.design.fit.baseline->lambda = 0.051;
  EXPECT_TRUE(rehearsals::ExactFails(rehearsals::CompareRunOf(other, average)));
}

}  // namespace
}  // namespace partita::methods::classify::classify_rehearse_test
