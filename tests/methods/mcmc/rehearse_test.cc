// Rehearsals of method `mcmc`: the decisions of every version, model and rule beside the chances
// that all rows in the clear give them, and faulty ones.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "methods/mcmc/study.h"
#include "methods/prepare_study.h"
#include "tests/methods/rehearsals.h"
#include "tests/study/study_text.h"

namespace partita::methods::mcmc::mcmc_rehearse_test {
namespace {

const std::string kVariables = R"([[variable]]
name = "low"
type = "integer"
lower = 0
upper = 1
[[variable]]
name = "visits"
type = "integer"
lower = 0
upper = 12
[[variable]]
name = "age"
type = "numeric"
lower = -2
upper = 2
[[variable]]
name = "sex"
type = "factor"
levels = ["f", "m"]
[[variable]]
name = "survival"
type = "survival"
time = "days"
event = "dead"
lower = 0.5
upper = 20
)";

McmcStudy Study(const std::string& analysis, const std::string& site = "ignore") {
  return PrepareMcmcStudy(ParseStudyFile(
      study::RowsSplit("chains", {"north", "south", "west"}) + kVariables + "[design]\nsite = \"" +
          site +
          "\"\nmissing = \"complete\"\n[engine]\nname = \"dealer\"\n[[analysis]]\nmethod = "
          "\"mcmc\"\npredictors = [\"age\", \"sex.m\"]\nchains = 4\nwarmup = 40\ndraws = 60\n" +
          analysis,
      "study.toml"));
}

std::string Model(const std::string& model, const std::string& outcome) {
  return fmt::format("model = \"{}\"\noutcome = \"{}\"\n", model, outcome);
}
const std::string kBits = "protocol = \"decisions\"\nrelease = [\"decisions\"]\n";
const std::string kLogistic = Model("logistic", "low");
const std::string kPriors = "[analysis.priors]\ncoefficients = \"normal(0, 1)\"\n";
const std::string kPromise =
    "[analysis.privacy]\nepsilon = 50\ndelta = 1e-5\nadjacency = \"replace\"\n";

const run::RehearsalOptions kOptions = {.rows_per_block = 80, .seed = 5};

run::Rehearsal RehearseIt(const McmcStudy& study) {
  SilentProgress progress;
  return run::Rehearse(study, kOptions, progress);
}

void ExpectDecisions(const run::Rehearsal& rehearsal, uint64_t coins) {
  rehearsals::ExpectPassed(rehearsal);
  ASSERT_EQ(rehearsal.agreement.random.size(), 1u);
  EXPECT_EQ(rehearsal.agreement.random[0].count, coins);
}

TEST(McmcRehearseTest, EveryVersionAgrees) {
  const std::string barker = kBits + kLogistic, rest = kPriors;
  ExpectDecisions(RehearseIt(Study(barker + rest)), 400);
  ExpectDecisions(RehearseIt(Study(barker + "rule = \"metropolis\"\n" + rest)), 400);
  ExpectDecisions(RehearseIt(Study(barker + "speculation = 4\nthin = 1\n" + rest)), 400);
  ExpectDecisions(RehearseIt(Study(barker + "first_stage = 0.3\n" + rest)), 400);
  for (const std::string protocol : {"noisy-sums", "noisy-products"}) {
    ExpectDecisions(RehearseIt(Study("protocol = \"" + protocol +
                                     "\"\nrelease = [\"noisy-sums\"]\n" + kLogistic + rest)),
                    400);
  }
}

TEST(McmcRehearseTest, PromisesAgree) {
  ExpectDecisions(RehearseIt(Study(kBits + kLogistic + kPriors + kPromise + "clip = 0.005\n")),
                  400);
  ExpectDecisions(RehearseIt(Study(kBits + kLogistic + kPriors + kPromise + "lipschitz = 0.05\n")),
                  400);
  ExpectDecisions(RehearseIt(Study("protocol = \"penalty\"\nrelease = [\"noisy-log-ratios\"]\n" +
                                   kLogistic + kPriors + kPromise + "clip = 0.05\nnoise = 60\n")),
                  400);
}

TEST(McmcRehearseTest, EveryModelAgrees) {
  for (const std::string& model :
       {Model("linear", "age"), Model("poisson", "visits"), Model("negative-binomial", "visits"),
        Model("weibull", "survival")}) {
    SCOPED_TRACE(model);
    std::string analysis = kBits + model;
    McmcStudy study =
        model.find("linear") == std::string::npos
            ? Study(analysis + kPriors)
            : Study(study::Edited(analysis, "outcome = \"age\"", "outcome = \"visits\"") + kPriors);
    ExpectDecisions(RehearseIt(study), 400);
  }
  ExpectDecisions(RehearseIt(Study(kBits + Model("cox", "survival") + kPriors, "strata")), 400);
}

TEST(McmcRehearseTest, LongChainsAreShortened) {
  const McmcStudy study =
      Study(study::Edited(kBits + kLogistic, "protocol", "speculation = 4\nprotocol") + kPriors);
  SilentProgress progress;
  run::RehearsalOptions options = kOptions;
  options.max_steps = 30;
  const run::Rehearsal rehearsal = run::Rehearse(study, options, progress);
  ExpectDecisions(rehearsal, 28u * 4);
  ASSERT_EQ(rehearsal.shortened.size(), 1u);
  EXPECT_EQ(rehearsal.shortened[0],
            "28 of the 100 steps of each chain are rehearsed, 7 of them before the draws; so few "
            "say nothing of convergence.");
}

// Decisions by another rule, by rows that count less, or by a prior that the study does not state.
TEST(McmcRehearseTest, FaultyRunsFail) {
  const McmcStudy study = Study(kBits + kLogistic + kPriors);
  EXPECT_FALSE(rehearsals::RandomFails(rehearsals::CompareRunOf(study, study, kOptions)));
  const McmcStudy metropolis = Study(kBits + kLogistic + "rule = \"metropolis\"\n" + kPriors);
  EXPECT_TRUE(rehearsals::RandomFails(rehearsals::CompareRunOf(metropolis, study, kOptions)));
  const McmcStudy clipped = Study(kBits + kLogistic + kPriors + kPromise + "clip = 0.002\n");
  EXPECT_TRUE(rehearsals::RandomFails(rehearsals::CompareRunOf(clipped, study, kOptions)));
  const McmcStudy tight =
      Study(kBits + kLogistic + "[analysis.priors]\ncoefficients = \"normal(0, 0.1)\"\n");
  // 400 decisions show this one about 29 times of 30.
  bool noticed = false;
  for (int run = 0; run < 4 && !noticed; ++run)
    noticed = rehearsals::RandomFails(rehearsals::CompareRunOf(tight, study, kOptions));
  EXPECT_TRUE(noticed);
}

}  // namespace
}  // namespace partita::methods::mcmc::mcmc_rehearse_test
