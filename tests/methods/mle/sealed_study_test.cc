// Protocol `sealed` in study files: results, costs, what opens, what the plan says of it, and what
// is refused.
#include "tests/methods/mle/sealed_study.h"

#include <gmock/gmock.h>

#include "methods/mle/study/study.h"
#include "methods/prepare_study.h"
#include "privacy/release_rule.h"
#include "run/party/build_plan.h"
#include "run/party/predict.h"
#include "tests/methods/mle/design_study.h"
#include "tests/run/results.h"

namespace partita::methods::mle::sealed_study_test {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

class SealedStudy : public ::testing::Test {};

nlohmann::json Vertical(const json& reference) {
  for (const json& partition : reference["partitions"]) {
    if (partition["type"] == "vertical") return partition;
  }
  throw Error(ErrorCode::kInternal, "the reference has no vertical partition");
}

// The vertical partition with all digits; run once for all tests of this program.
const std::vector<run::PartyEnd>& ExactEnds(const std::string& name, const std::string& engine) {
  static std::map<std::string, std::vector<run::PartyEnd>> ends;
  auto found = ends.find(name + " " + engine);
  if (found == ends.end()) {
    const json reference = partita::testing::LoadReference(name);
    found = ends.emplace(name + " " + engine,
                         testing::RunReference(reference, Vertical(reference),
                                               testing::SealedOptions(reference, engine)))
                .first;
  }
  return found->second;
}

TEST_F(SealedStudy, FitsARegressionOfTwoParties) {
  const json reference = partita::testing::LoadReference("reg_simple");
  for (const char* engine : {"dealer", "ot"})
    testing::ExpectSealedStudy(reference, Vertical(reference), engine);
}

// Covariates' moments stay sealed, standard errors are computed on shares. As all partitions of all
// models, on engine `shamir` in sealed_study_references_test.cc.
TEST_F(SealedStudy, FitsCovariatesOfThreeParties) {
  const json reference = partita::testing::LoadReference("reg_multiple_fixedx");
  ASSERT_TRUE(testing::HasSealedCovariates(reference));
  const auto& ends = ExactEnds("reg_multiple_fixedx", "replicated");
  ASSERT_FALSE(HasFailure());
  testing::ExpectSealedEnds(reference, ends);
}

TEST_F(SealedStudy, FitsFactorsOfThreeParties) {
  const auto& ends = ExactEnds("hs_cfa3", "dealer");
  ASSERT_FALSE(HasFailure());
  testing::ExpectSealedEnds(partita::testing::LoadReference("hs_cfa3"), ends);
}

// As the product opens them: in multiples of a power of two of at most 2^-6 standard errors,
// rounded on shares. Against the same study with all digits.
TEST_F(SealedStudy, OpensOnTheGridOfTheStandardErrors) {
  for (const auto& [name, engine] : std::map<std::string, std::string>{
           {"reg_multiple_fixedx", "replicated"}, {"hs_cfa3", "dealer"}}) {
    SCOPED_TRACE(name);
    const json reference = partita::testing::LoadReference(name);
    const bool covariates = testing::HasSealedCovariates(reference);
    const auto& exact_ends = ExactEnds(name, engine);
    partita::testing::ReferenceStudyOptions options = testing::SealedOptions(reference, engine);
    options.on_grid = true;
    const auto ends = testing::RunReference(reference, Vertical(reference), options);
    ASSERT_FALSE(::testing::Test::HasFailure());
    testing::ComparePlanWithTraffic(ends);
    const run::PartyOutcome& outcome = testing::Receiver(ends);
    std::set<std::string> opened;
    for (const auto& count : outcome.releases) opened.insert(count.release.id);
    EXPECT_EQ(opened.count("sealed-grids/main"), 1u);
    const MleResult& result = partita::testing::MleResultsOf(outcome).front();
    const MleResult& exact = partita::testing::MleResultsOf(testing::Receiver(exact_ends)).front();
    EXPECT_TRUE(result.fit.converged);
    // Half a step of at most g SE, the bits that guard the rounding, and the 2^-10 that the
    // variance on shares is off by.
    const double g = std::ldexp(1.0, -privacy::kDefaultGridBits);
    const double half = g * (0.5 + 0x1p-9) * (1 + 0x1p-10);
    size_t moved = 0;
    for (size_t r = 0; r < exact.table.rows.size(); ++r) {
      const stats::ParameterEstimate &e = result.fit.estimates[r], &truth = exact.fit.estimates[r];
      if (exact.table.rows[r].free == 0 || !(truth.standard_error > 0)) continue;
      EXPECT_LE(std::abs(e.estimate - truth.estimate), half * truth.standard_error);
      moved += e.estimate != truth.estimate ? 1 : 0;
      if (covariates) {
        EXPECT_LE(std::abs(e.standard_error - truth.standard_error), half * truth.standard_error);
      }
      EXPECT_DOUBLE_EQ(e.z, e.estimate / e.standard_error);
    }
    EXPECT_GT(moved, 0u);
    const auto& measures = result.fit.fit_measures;
    // Sums over all rows of what is within 2^-30 a row.
    const double total = g * (0.5 + 0x1p-9) + 0x1p-28 * measures.at("ntotal");
    for (const char* measure : {"chisq", "baseline.chisq"}) {
      const double steps = measures.at(measure) / g;
      EXPECT_NEAR(steps, std::round(steps), 1e-6) << measure;
      EXPECT_NEAR(measures.at(measure), exact.fit.fit_measures.at(measure), total) << measure;
    }
  }
}

// As growth models have: variances and means that are equal, of variables with bounds of their own.
TEST_F(SealedStudy, EqualParametersGetCommonBounds) {
  testing::Design design;
  design.protocol = "sealed";
  design.release = "[\"estimates\"]";
  design.upper = {{"x2", 28}};
  design.analyses = {
      "name = \"one\"\nmodel = \"x1 ~~ v*x1 + x2; x2 ~~ v*x2; x1 ~ m*1; x2 ~ m*1\"\n",
      "name = \"two\"\nmodel = \"y ~~ y + x2; x2 ~~ x2\"\n"};
  const auto rows = testing::MakeRows(200, 33, false);
  for (const size_t split : {size_t{0}, size_t{1}}) {
    SCOPED_TRACE(testing::Splits()[split].name);
    const auto sealed = testing::RunSplit(testing::Splits()[split], design, "dealer", rows);
    testing::Design pooled = design;
    pooled.protocol = "pooled-moments";
    pooled.release = "[\"moments\"]";
    const auto exact = testing::RunSplit(testing::Splits()[split], pooled, "dealer", rows);
    ASSERT_EQ(sealed.size(), 2u);
    ASSERT_EQ(exact.size(), 2u);
    for (size_t a = 0; a < sealed.size(); ++a) {
      EXPECT_TRUE(sealed[a].fit.converged);
      ASSERT_EQ(sealed[a].fit.estimates.size(), exact[a].fit.estimates.size());
      for (size_t r = 0; r < exact[a].fit.estimates.size(); ++r) {
        const stats::ParameterEstimate& expected = exact[a].fit.estimates[r];
        EXPECT_NEAR(sealed[a].fit.estimates[r].estimate, expected.estimate,
                    1e-4 * expected.standard_error);
      }
    }
  }
  const study::Plan plan = run::BuildPlan(methods::mle::PrepareMleStudy(methods::ParseStudyFile(
      testing::StudyText(testing::Splits()[1], design, "dealer", rows), "study.toml")));
  EXPECT_THAT(plan.notes, ::testing::Contains(HasSubstr(
                              "Parameters of x1, x2 are equal, so protocol 'sealed' scales them by "
                              "common bounds, -20 to 28")));
}

// What is counted by its bounds keeps them.
TEST_F(SealedStudy, ZeroOneVariablesHaveNoBoundsInCommonWithOthers) {
  testing::Design design;
  design.protocol = "sealed";
  design.release = "[\"estimates\"]";
  design.analyses = {"model = \"x1 ~~ v*x1; sex.m ~~ v*sex.m\"\n"};
  const std::string text =
      testing::StudyText(testing::Splits()[0], design, "dealer", testing::MakeRows(100, 34, false));
  try {
    methods::mle::PrepareMleStudy(methods::ParseStudyFile(text, "study.toml"));
    ADD_FAILURE() << "accepted";
  } catch (const Error& error) {
    EXPECT_THAT(error.message(), HasSubstr("variables of different ranges"));
  }
}

// The plan of a reference, or the message that refuses it.
struct Planned {
  study::Plan plan;
  std::string refused;
};
Planned PlanOf(const std::string& name, const std::string& release, const std::string& more = "") {
  partita::testing::ReferenceStudyOptions options;
  options.protocol = "sealed";
  options.release = release + "\n" + more;
  const std::string folder = partita::testing::MakeTemporaryFolder("sealed");
  const json reference = partita::testing::LoadReference(name);
  const std::string file =
      partita::testing::WriteReferenceStudy(reference, reference["partitions"][0], folder, options);
  Planned planned;
  try {
    planned.plan = run::BuildPlan(PrepareMleStudy(LoadStudyFile(file)));
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kBadInput);
    EXPECT_FALSE(error.hint().empty());
    planned.refused = error.message();
  }
  std::filesystem::remove_all(folder);
  return planned;
}

// 21 parameters and n against 45 covariances and n: three scalars more with the fit.
TEST_F(SealedStudy, PlanCountsWhatOpens) {
  const study::Plan plain = PlanOf("hs_cfa3", "[\"estimates\"]").plan;
  ASSERT_EQ(plain.exposures.size(), 1u);
  EXPECT_EQ(plain.exposures[0].opened, 22u);
  EXPECT_EQ(plain.exposures[0].statistics, 46u);
  EXPECT_EQ(plain.leakage_level, "parameters");
  // Nobody can subtract its own rows from moments that are not there.
  for (const study::PlanParty& party : plain.parties) {
    for (const std::string& sentence : party.learns)
      EXPECT_EQ(sentence.find("subtract"), std::string::npos) << sentence;
  }
  for (const std::string& assumption : plain.assumptions)
    EXPECT_EQ(assumption.find("released moments"), std::string::npos) << assumption;
  const study::Plan fit = PlanOf("hs_cfa3", "[\"estimates\", \"fit\"]").plan;
  EXPECT_EQ(fit.exposures[0].opened, 25u);
}

// Thousands of messages have a price beside their way, whatever the network: a third of it
// in a run that was measured.
TEST_F(SealedStudy, PredictionCountsWhatMessagesCost) {
  partita::testing::ReferenceStudyOptions options;
  options.protocol = "sealed";
  const std::string folder = partita::testing::MakeTemporaryFolder("sealed");
  const json reference = partita::testing::LoadReference("hs_cfa3");
  const MleStudy study =
      PrepareMleStudy(methods::LoadStudyFile(partita::testing::WriteReferenceStudy(
          reference, reference["partitions"][0], folder, options)));
  std::filesystem::remove_all(folder);
  const study::Plan plan = run::BuildPlan(study);
  uint64_t messages = 0;
  for (const study::PlanPhase& phase : plan.phases) {
    for (const study::PlanLink& link : phase.links) messages += link.messages;
  }
  ASSERT_GT(messages, 9000u);
  const double seconds = run::PredictSeconds(study, plan, {"a network without delay", 0, 1e18, 0});
  const double each = static_cast<double>(messages) / static_cast<double>(plan.parties.size());
  EXPECT_GT(seconds, 20e-6 * each);
  EXPECT_THAT(plan.notes, ::testing::Contains(HasSubstr("each of which waits for every party")));
}

// A saturated model, as a regression is, gives all moments away, whatever the protocol.
TEST_F(SealedStudy, PlanSaysWhenTheEstimatesAreTheMoments) {
  const study::Plan plan = PlanOf("reg_simple", "[\"estimates\"]").plan;
  EXPECT_EQ(plan.leakage_level, "sufficient-statistics");
}

TEST_F(SealedStudy, RefusesWhatItDoesNotTake) {
  const std::string estimates = "[\"estimates\"]";
  EXPECT_EQ(PlanOf("hs_cfa3", estimates).refused, "");
  EXPECT_THAT(PlanOf("hs_cfa3", "[\"moments\"]").refused,
              HasSubstr("protocol 'sealed' opens the estimates"));
  EXPECT_THAT(PlanOf("hs_cfa3", "[\"estimates\", \"moments\"]").refused,
              HasSubstr("protocol 'sealed' does not open 'moments'"));
  EXPECT_THAT(PlanOf("hs_cfa3", "[\"estimates\", \"standard-errors\"]").refused,
              HasSubstr("standard errors follow from the estimates"));
  EXPECT_EQ(PlanOf("reg_multiple_fixedx", "[\"estimates\", \"standard-errors\"]").refused, "");
  EXPECT_THAT(PlanOf("hs_cfa3", estimates, "information = \"observed\"\n").refused,
              HasSubstr("observed information"));
  EXPECT_THAT(PlanOf("hs_cfa3", estimates, "robust = true\n").refused, HasSubstr("robust"));
}

}  // namespace
}  // namespace partita::methods::mle::sealed_study_test
