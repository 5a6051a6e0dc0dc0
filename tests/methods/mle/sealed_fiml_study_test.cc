// Studies of incomplete rows by protocol `sealed`: the full-information fit of the pooled rows in
// plain code; what opens, what is checked, and what is refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "methods/mle/study/study.h"
#include "methods/prepare_study.h"
#include "run/party/build_plan.h"
#include "tests/methods/mle/sealed_fiml_cases.h"

namespace partita::methods::mle::sealed_fiml_study_test {
namespace {

using testing::Design;
using ::testing::HasSubstr;
using testing::kMissing;
using testing::MakeRows;
using ::testing::Not;
using testing::Row;
using testing::RunEnds;
using testing::RunSplit;
using testing::Splits;
using testing::sealed_fiml::All;
using testing::sealed_fiml::ExpectFit;
using testing::sealed_fiml::ExpectPooledFit;
using testing::sealed_fiml::IncompleteRows;
using testing::sealed_fiml::kChain;
using testing::sealed_fiml::kPatterns;
using testing::sealed_fiml::RowsWithARarePattern;
using testing::sealed_fiml::Sealed;

// Every split once, of engines those that are quick; all are in sealed_fiml_study_slow_test.cc.
TEST(SealedFimlStudyTest, EqualsThePooledFit) {
  const std::vector<Row> rows = RowsWithARarePattern();
  ExpectPooledFit(Splits()[0], "dealer", rows);
  ExpectPooledFit(Splits()[1], "replicated", rows);
  ExpectPooledFit(Splits()[2], "dealer", rows);
}

TEST(SealedFimlStudyTest, GroupsAndSubsets) {
  const std::vector<Row> rows = IncompleteRows(400, 32);
  Design design = Sealed(
      kPatterns, {"name = \"by-sex\"\n" + kChain + "group = \"sex\"\n",
                  "name = \"old\"\n" + kChain + "subset = [{variable = \"age\", at_least = 40}]\n",
                  "name = \"less\"\nmodel = \"x1 ~ x2\"\n"});
  const auto sex = [](int level) { return [=](const Row& row) { return row.sex == level; }; };
  const auto results = RunSplit(Splits()[1], design, "dealer", rows);
  ASSERT_EQ(results.size(), 3u);
  ExpectFit(results[0], rows, {sex(0), sex(1)});
  ExpectFit(results[1], rows, {[](const Row& row) { return row.age >= 40; }});
  ExpectFit(results[2], rows, {All});
}

// Estimates, their standard errors, n and one bit; no count and no moment of a pattern.
TEST(SealedFimlStudyTest, WhatOpensAndWhatThePlanSays) {
  const auto ends =
      RunEnds(Splits()[1], Sealed(kPatterns, {kChain}), "dealer", IncompleteRows(300, 33));
  for (const run::PartyEnd& end : ends) ASSERT_FALSE(end.error) << end.error->message();
  const run::PartyOutcome& outcome = *ends[0].outcome;
  std::set<std::string> opened;
  for (const mpc::CountingReleaseGate::Count& count : outcome.releases)
    opened.insert(count.release.id);
  EXPECT_EQ(opened,
            (std::set<std::string>{"disclosure", "group-sizes/main", "sealed-converged/main",
                                   "sealed-estimates/main", "sealed-standard-errors/main"}));
  // Two slopes, three variances and means each: eight parameters, and n; nine moments, and n.
  ASSERT_EQ(outcome.plan.exposures.size(), 1u);
  EXPECT_EQ(outcome.plan.exposures[0].opened, 8u + 8u + 1u);
  EXPECT_EQ(outcome.plan.exposures[0].statistics, 10u);
  EXPECT_EQ(outcome.plan.leakage_level, "sufficient-statistics");
  EXPECT_THAT(outcome.plan.exposures[0].exposes,
              ::testing::Contains(HasSubstr("how much information the incomplete rows hold")));
  EXPECT_THAT(outcome.plan.assumptions,
              ::testing::Contains(HasSubstr("how many rows have each is told to nobody")));
  for (const std::string& sentence : outcome.plan.assumptions)
    EXPECT_THAT(sentence, Not(HasSubstr("the receiver how many")));
  for (const study::PlanCheck& check : outcome.plan.checks)
    EXPECT_THAT(check.rule, Not(HasSubstr("without")));
}

// Without the release there are estimates, and no standard error is made up.
TEST(SealedFimlStudyTest, StandardErrorsOpenOnlyWhereListed) {
  Design design = Sealed(kPatterns, {kChain});
  design.release = "[\"estimates\"]";
  const auto results = RunSplit(Splits()[1], design, "dealer", IncompleteRows(200, 34));
  ASSERT_EQ(results.size(), 1u);
  EXPECT_TRUE(results[0].fit.converged);
  for (size_t i = 0; i < results[0].fit.estimates.size(); ++i) {
    if (results[0].table.rows[i].free == 0) continue;
    EXPECT_TRUE(std::isnan(results[0].fit.estimates[i].standard_error));
  }
}

// What the estimates say of two variables together is about the rows that have both.
TEST(SealedFimlStudyTest, FewRowsThatHaveTwoVariablesStopTheStudy) {
  std::vector<Row> rows = MakeRows(200, 35, false);
  for (size_t i = 0; i < rows.size(); ++i) {
    if (i >= 4) (i % 2 == 0 ? rows[i].y : rows[i].x1) = kMissing;
  }
  const Design design = Sealed("[[], [\"y\"], [\"x1\"]]", {"model = \"y ~ x1 + x2\"\n"});
  for (const run::PartyEnd& end : RunEnds(Splits()[1], design, "dealer", rows)) {
    ASSERT_TRUE(end.error) << end.party;
    if (end.party == "dealer") continue;
    EXPECT_THAT(end.error->message(), HasSubstr("nothing was released"));
    EXPECT_THAT(end.error->message(), HasSubstr("none or at least 5 rows that have y and x1"));
    EXPECT_THAT(end.error->message(), Not(HasSubstr("x2")));
  }
}

TEST(SealedFimlStudyTest, FewRowsThatHaveAVariableStopTheStudy) {
  std::vector<Row> rows = MakeRows(200, 36, false);
  for (size_t i = 3; i < rows.size(); ++i) rows[i].y = kMissing;
  const Design design = Sealed("[[], [\"y\"]]", {"model = \"y ~ x1 + x2\"\n"});
  for (const run::PartyEnd& end : RunEnds(Splits()[1], design, "dealer", rows)) {
    ASSERT_TRUE(end.error) << end.party;
    if (end.party == "dealer") continue;
    EXPECT_THAT(end.error->message(), HasSubstr("at least 5 rows that have y"));
  }
}

TEST(SealedFimlStudyTest, WhatItCannotDoIsRefusedByName) {
  const auto refusal = [](const Design& design) { return testing::RefusalOf(design, Splits()[1]); };
  Design design = Sealed(kPatterns, {kChain});
  EXPECT_EQ(refusal(design), "accepted");
  EXPECT_THAT(refusal(Sealed("[[\"y\"], [\"y\", \"x1\"]]", {kChain})),
              HasSubstr("every pattern lacks 'y'"));
  EXPECT_THAT(refusal(Sealed(kPatterns, {kChain + "information = \"expected\"\n"})),
              HasSubstr("expected information"));
  design.release = "[\"estimates\", \"fit\"]";
  EXPECT_THAT(refusal(design), HasSubstr("saturated model of incomplete rows"));
  design = Sealed(kPatterns, {kChain});
  design.design = "site = \"ignore\"\nmissing = \"mi\"\npatterns = " + kPatterns + "\n";
  EXPECT_THAT(refusal(design), HasSubstr("which protocol 'sealed' does not have"));
  design = Sealed(kPatterns, {kChain});
  design.protocol = "likelihood";
  design.release = "[\"likelihood\"]";
  EXPECT_THAT(refusal(design), HasSubstr("which protocol 'likelihood' does not have"));
}

}  // namespace
}  // namespace partita::methods::mle::sealed_fiml_study_test
