#include "methods/mle/report/statements.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "report/plan_statements.h"
#include "tests/report/sample_privacy.h"
#include "tests/report/sample_run.h"

namespace partita::methods::mle::statements_test {
namespace {

using report::PlanStatements;
using report::SampleFacts;
using report::SamplePlan;
using report::SmallResult;
using report::Statement;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

std::vector<std::string> Abouts(const std::vector<Statement>& statements) {
  std::vector<std::string> abouts;
  for (const Statement& statement : statements) abouts.push_back(statement.about);
  return abouts;
}

std::string TextAbout(const std::vector<Statement>& statements, const std::string& about) {
  for (const Statement& statement : statements) {
    if (statement.about == about) return statement.text;
  }
  return "missing";
}

std::string TextAbout(const std::string& about, const study::Plan& plan,
                      const report::RunFacts& facts) {
  return TextAbout(Statements(std::vector{SmallResult()}, plan, facts), about);
}

TEST(StatementsTest, AreThereWhateverIsKnown) {
  const auto abouts =
      ElementsAre("agreement", "differential-privacy", "adversary", "standard-errors", "not-done");
  EXPECT_THAT(Abouts(Statements(std::vector{SmallResult()}, SamplePlan(), SampleFacts())), abouts);
  EXPECT_THAT(Abouts(Statements(std::vector{SmallResult()}, {}, {})), abouts);
  for (const Statement& statement : Statements(std::vector{SmallResult()}, {}, {})) {
    EXPECT_THAT(statement.text, ::testing::EndsWith(".")) << statement.about;
  }
  EXPECT_THAT(Abouts(PlanStatements(SamplePlan())),
              ElementsAre("differential-privacy", "adversary"));
}

TEST(StatementsTest, SayToHowManyDigitsTheResultIsThePooledOne) {
  EXPECT_THAT(TextAbout("agreement", SamplePlan(), SampleFacts()), HasSubstr("was not measured"));
  report::RunFacts facts = SampleFacts();
  facts.digits_of_agreement = 9;
  EXPECT_THAT(TextAbout("agreement", SamplePlan(), facts),
              StartsWith("Equal to the pooled fit to 9 digits, "));
  facts.digits_of_agreement = 1;
  EXPECT_THAT(TextAbout("agreement", SamplePlan(), facts), HasSubstr("to 1 digit, "));
}

TEST(StatementsTest, SayThatExactReleasesAreNotPrivate) {
  EXPECT_THAT(TextAbout("differential-privacy", SamplePlan(), SampleFacts()),
              AllOf(StartsWith("NOT differentially private: "), HasSubstr("north (moments)")));
  study::Plan plan = SamplePlan();
  plan.releases.push_back({"noisy", "sums", "south", "discrete Gaussian", 1});
  EXPECT_THAT(TextAbout("differential-privacy", plan, SampleFacts()),
              AllOf(StartsWith("NOT differentially private: "), HasSubstr("north (moments)"),
                    Not(HasSubstr("noisy"))));
  // Bits of decisions are a promise only where the whole study makes one.
  plan.releases.push_back({"decisions", "which", "all", "exact bits of random decisions", 9});
  EXPECT_THAT(TextAbout("differential-privacy", plan, SampleFacts()),
              AllOf(StartsWith("NOT differentially private: "), HasSubstr("moments and decisions"),
                    Not(HasSubstr("noisy"))));
  plan.releases.erase(plan.releases.begin());
  EXPECT_THAT(
      TextAbout("differential-privacy", plan, SampleFacts()),
      AllOf(StartsWith("Differentially private "), HasSubstr("noisy"), HasSubstr("decisions")));
  plan.releases.clear();
  EXPECT_THAT(TextAbout("differential-privacy", plan, SampleFacts()),
              StartsWith("NOT differentially private: "));
}

TEST(StatementsTest, PrivateOnesSayEpsilonAndDelta) {
  study::Plan plan = report::FullPlan();
  plan.releases[0].mechanism = "discrete Gaussian";
  plan.privacy_statement = report::SampleStatement();
  const std::string who = " This holds under the conditions of the privacy statement.";
  EXPECT_THAT(
      TextAbout(PlanStatements(plan), "differential-privacy"),
      ::testing::EndsWith(
          "it covers moments. Of one person may be learned, by outside analyst and party "
          "south: epsilon at most 1.24 at delta = 1e-06 (replace); by party north: epsilon "
          "at most 2 at delta = 1e-06 (replace); by any 2 compute nodes together: no bound." +
          who));
  plan.privacy_statement.reset();
  plan.privacy = {{"outside", "replace", "eps <= 1 at delta = 1e-06"}, {"north", "", "no bound"}};
  EXPECT_THAT(
      TextAbout(PlanStatements(plan), "differential-privacy"),
      ::testing::EndsWith("may be learned, by outside: eps <= 1 at delta = 1e-06; by north: "
                          "no bound." +
                          who));
}

TEST(StatementsTest, NameWhoTogetherCouldLearnMore) {
  study::Plan plan = SamplePlan();
  EXPECT_THAT(TextAbout("adversary", plan, SampleFacts()),
              AllOf(StartsWith("Protects against parties that follow the protocol"),
                    HasSubstr("Together, the dealer helper and any one of north and south could "),
                    HasSubstr("north together with all other holders but one")));
  plan.engine = "replicated";
  plan.parties[2] = {"west", {"holder"}, "x3", {}};
  EXPECT_THAT(TextAbout("adversary", plan, SampleFacts()),
              HasSubstr("Any two of north, south and west together could "));
  plan.engine = "shamir";
  for (const char* name : {"d", "e", "f", "g"}) plan.parties.push_back({name, {"holder"}, "x", {}});
  EXPECT_THAT(TextAbout("adversary", plan, SampleFacts()),
              HasSubstr("Any 4 of north, south, west, d, e, f and g together could "));
  plan.threshold = 2;
  EXPECT_THAT(TextAbout("adversary", plan, SampleFacts()), HasSubstr("Any 3 of north, south, "));
  plan.engine = "another";
  EXPECT_THAT(TextAbout("adversary", plan, SampleFacts()), HasSubstr("threshold of the engine"));
}

TEST(StatementsTest, SayThatNormalityWasNotChecked) {
  EXPECT_THAT(TextAbout("standard-errors", SamplePlan(), SampleFacts()),
              HasSubstr("normality was not checked"));
  std::vector<MleResult> results = report::ThreeAnalyses();
  results[1].robust = report::RobustOf(results[1]);
  const std::string mixed =
      TextAbout(Statements(results, SamplePlan(), SampleFacts()), "standard-errors");
  EXPECT_THAT(mixed, AllOf(HasSubstr("of crude and by-school"), HasSubstr("was not checked"),
                           HasSubstr("Standard errors of adjusted are robust")));
  const std::string robust = TextAbout(
      Statements(std::span(results).subspan(1, 1), SamplePlan(), SampleFacts()), "standard-errors");
  EXPECT_THAT(robust, AllOf(HasSubstr("robust"), Not(HasSubstr("was not checked"))));
}

TEST(StatementsTest, BeginWithAFitThatDidNotConverge) {
  std::vector<MleResult> results = report::ThreeAnalyses();
  results[2].fit.converged = false;
  const std::vector<Statement> statements = Statements(results, SamplePlan(), SampleFacts());
  EXPECT_EQ(statements[0].about, "convergence");
  EXPECT_THAT(statements[0].text, StartsWith("Did NOT converge: by-school."));
}

TEST(MethodsParagraphTest, SaysWhatAPaperNeeds) {
  const std::string text =
      MethodsParagraph(std::vector{report::FactorResult("main")}, SamplePlan(), SampleFacts());
  EXPECT_THAT(text, HasSubstr("stayed with the 2 institutions"));
  EXPECT_THAT(text, HasSubstr("Partita 0.1.0 (protocol pooled-moments, engine dealer)"));
  EXPECT_THAT(text, HasSubstr("A structural equation model (7 observed variables, 2 latent "
                              "variables, 15 free parameters) was fitted by maximum likelihood to "
                              "n = 156 rows."));
  EXPECT_THAT(text, HasSubstr("converged after 7 iterations. Model fit: chi-square(19) = 41.250, "
                              "p = 0.002, CFI = 0.971, TLI = 0.958, RMSEA = 0.062 (90 % CI 0.036 "
                              "to 0.088), SRMR = 0.041."));
  EXPECT_THAT(text, HasSubstr("expected information matrix"));
  EXPECT_THAT(text, HasSubstr(std::string(64, 'b')));
}

TEST(MethodsParagraphTest, NamesGroupsConstraintsAndFailures) {
  MleResult result = SmallResult();
  std::string text = MethodsParagraph(std::vector{result}, SamplePlan(), SampleFacts());
  EXPECT_THAT(text, HasSubstr("1 equality constraint)"));
  EXPECT_THAT(text, HasSubstr("in 2 groups (Pasteur and Grant-White) to n = 301 rows"));
  EXPECT_THAT(text, HasSubstr("observed information matrix"));
  result.fit.converged = false;
  text = MethodsParagraph(std::vector{result}, SamplePlan(), SampleFacts());
  EXPECT_THAT(text, AllOf(HasSubstr("did not converge"), Not(HasSubstr("chi-square("))));
  result = SmallResult();
  result.fit.fit_measures["df"] = 0;
  text = MethodsParagraph(std::vector{result}, SamplePlan(), SampleFacts());
  EXPECT_THAT(text, AllOf(HasSubstr("saturated"), Not(HasSubstr("chi-square("))));
}

}  // namespace
}  // namespace partita::methods::mle::statements_test
