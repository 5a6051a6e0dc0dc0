// Rehearsals of method `glm`: every family beside the pooled rows, and one changed outcome.
#include <gtest/gtest.h>

#include "methods/glm/study.h"
#include "methods/prepare_study.h"
#include "tests/methods/glm/glm_text.h"
#include "tests/methods/rehearsals.h"
#include "tests/study/edited.h"

namespace partita::methods::glm::glm_rehearse_test {
namespace {

using study::Edited;

GlmStudy Prepared(const std::string& text) {
  return PrepareGlmStudy(ParseStudyFile(text, "study.toml"));
}

std::string OfFamily(const std::string& family, const std::string& outcome) {
  const std::string text =
      Edited(testing::kGlmStudy, "family = \"binomial\"", "family = \"" + family + "\"");
  return Edited(text, "\"event ~ age", "\"" + outcome + " ~ age");
}

TEST(GlmRehearseTest, EveryFamilyAgrees) {
  const std::string amounts =
      "[[variable]]\nname = \"amount\"\ntype = \"numeric\"\nlower = 1\nupper = 20\n"
      "[disclosure]\n";
  for (const std::string& text : {testing::kGlmStudy, OfFamily("poisson", "event"),
                                  Edited(OfFamily("gaussian", "amount"), "[disclosure]\n", amounts),
                                  Edited(OfFamily("gamma", "amount"), "[disclosure]\n", amounts)}) {
    SCOPED_TRACE(text.substr(text.find("family")));
    SilentProgress progress;
    const run::Rehearsal rehearsal = run::Rehearse(Prepared(text), {}, progress);
    rehearsals::ExpectPassed(rehearsal);
    EXPECT_TRUE(rehearsal.converged());
    EXPECT_GT(rehearsal.agreement.exact.size(), 5u * 4);
  }
}

// Families with more parameters, Firth's penalty, a smaller model and risk groups. Made-up counts vary less than
// Poisson's, so that negative binomial models of them have no theta.
TEST(GlmRehearseTest, WhatIsBesideAgrees) {
  const auto of_stage = [](const std::string& family) {
    const std::string text =
        Edited(OfFamily(family, "event"), "event ~ age + smoker + stage", "stage ~ age + smoker");
    return Edited(text, "name = \"n\"\n[[rows]]\nname = \"s\"\n[[rows]]\nname = \"w\"\n",
                  "name = \"n\"\ncount = 200\n[[rows]]\nname = \"s\"\ncount = 200\n"
                  "[[rows]]\nname = \"w\"\ncount = 200\n");
  };
  for (const std::string& text :
       {of_stage("ordinal"), of_stage("multinomial"),
        Edited(testing::kGlmStudy, "release =", "penalty = {firth = true}\nrelease ="),
        testing::kGlmStudy + "[analysis.nested]\ndrop = [\"stage\"]\n",
        testing::kGlmStudy + "[analysis.risk_groups]\ncuts = [0.3, 0.5]\n",
        Edited(Edited(testing::kGlmStudy, "release =",
                      "protocol = \"aggregates\"\npenalty = {lasso = [0.02, 0.01]}\nrelease ="),
               "[engine]", "[release]\naccept = \"table of covariates\"\n[engine]")}) {
    SCOPED_TRACE(text.substr(text.find("[[analysis]]")));
    SilentProgress progress;
    const run::Rehearsal rehearsal = run::Rehearse(Prepared(text), {}, progress);
    rehearsals::ExpectPassed(rehearsal);
    EXPECT_TRUE(rehearsal.converged());
  }
}

// Clusters and weights by the study's design.
TEST(GlmRehearseTest, OtherErrorsAndWeightsAgree) {
  const auto with = [](const std::string& design, const std::string& errors) {
    const std::string wards =
        "[[variable]]\nname = \"ward\"\ntype = \"integer\"\nlower = 1\nupper = 12\n[disclosure]\n";
    const std::string text = Edited(testing::kGlmStudy, "[disclosure]\n", wards);
    return Edited(Edited(text, "missing = \"complete\"\n", "missing = \"complete\"\n" + design),
                  "release =", errors + "release =");
  };
  for (const std::string& text :
       {with("", "errors = \"HC1\"\n"), with("cluster = \"ward\"\n", "errors = \"cluster\"\n"),
        with("weights = \"age\"\nweights_type = \"sampling\"\n", ""),
        Edited(with("", ""), "\"ignore\"", "\"fixed\""), with("", "penalty = {ridge = 0.02}\n"),
        Edited(with("", "penalty = {ridge = 0.02}\n"), "\"ignore\"", "\"fixed\""),
        Edited(with("", "penalty = {ridge = 0.02}\nprotocol = \"aggregates\"\n"), "[engine]",
               "[release]\naccept = \"table of covariates\"\n[engine]"),
        Edited(with("", "protocol = \"aggregates\"\n"), "[engine]",
               "[release]\naccept = \"table of covariates\"\n[engine]"),
        Edited(with("weights = \"ward\"\nweights_type = \"frequency\"\n", ""), "[engine]",
               "[release]\naccept = \"table of covariates\"\n[engine]")}) {
    SCOPED_TRACE(text.substr(text.find("[design]")));
    SilentProgress progress;
    const run::Rehearsal rehearsal = run::Rehearse(Prepared(text), {}, progress);
    rehearsals::ExpectPassed(rehearsal);
    EXPECT_TRUE(rehearsal.converged());
  }
}

TEST(GlmRehearseTest, OneChangedOutcomeIsNoticed) {
  const GlmStudy study = Prepared(testing::kGlmStudy);
  SilentProgress progress;
  run::RehearsedRun run = run::RunOnMockRows(study, {}, progress);
  run::Agreement right;
  study.Compare(run, right, progress);
  EXPECT_FALSE(rehearsals::ExactFails(right));
  for (data::Column& column : run.mock.pooled.columns) {
    if (column.schema.name == "event") column.numbers[3] = 1 - column.numbers[3];
  }
  run::Agreement changed;
  study.Compare(run, changed, progress);
  EXPECT_TRUE(rehearsals::ExactFails(changed));
}

}  // namespace
}  // namespace partita::methods::glm::glm_rehearse_test
