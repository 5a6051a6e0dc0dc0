// Studies of incomplete rows by protocol `sealed`: the full-information fit of the pooled rows in
// plain code; what opens, what is checked, and what is refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <set>

#include "runtime/build_plan.h"
#include "stats/sem/fiml.h"
#include "tests/runtime/design_study.h"

namespace partita::sealed_fiml_study_test {
namespace {

using testing::Design;
using ::testing::HasSubstr;
using testing::kMissing;
using testing::MakeRows;
using ::testing::Not;
using testing::Row;
using testing::RunEnds;
using testing::RunSplit;
using testing::Split;
using testing::Splits;

using Keep = std::function<bool(const Row&)>;

bool All(const Row&) { return true; }

Eigen::MatrixXd ValuesOf(const std::vector<Row>& rows, const std::vector<std::string>& names,
                         const Keep& keep) {
  std::vector<const Row*> kept;
  for (const Row& row : rows) {
    if (keep(row)) kept.push_back(&row);
  }
  Eigen::MatrixXd values(kept.size(), names.size());
  for (size_t r = 0; r < kept.size(); ++r) {
    for (size_t v = 0; v < names.size(); ++v) {
      const Row& row = *kept[r];
      values(static_cast<Eigen::Index>(r), static_cast<Eigen::Index>(v)) = names[v] == "y" ? row.y
                                                                           : names[v] == "x1"
                                                                               ? row.x1
                                                                               : row.x2;
    }
  }
  return values;
}

// Estimates within 1e-4 standard errors, standard errors within 1e-4 of themselves.
void ExpectFit(const methods::mle::MleResult& result, const std::vector<Row>& rows,
               const std::vector<Keep>& groups) {
  std::vector<stats::PatternMoments> patterns;
  for (size_t g = 0; g < groups.size(); ++g) {
    double n = 0;
    for (auto& pattern : stats::PatternsOf(ValuesOf(rows, result.table.observed, groups[g]), g)) {
      n += pattern.moments.n;
      patterns.push_back(std::move(pattern));
    }
    EXPECT_EQ(result.group_n.at(g), n);
  }
  stats::SemFitOptions options;
  options.information = stats::Information::kObserved;
  SilentProgress progress;
  const stats::SemFit fit = stats::FitFiml(result.table, patterns, options, progress);
  ASSERT_TRUE(fit.converged);
  EXPECT_TRUE(result.fit.converged);
  ASSERT_EQ(fit.estimates.size(), result.fit.estimates.size());
  size_t compared = 0;
  for (size_t i = 0; i < fit.estimates.size(); ++i) {
    const double se = fit.estimates[i].standard_error;
    if (!(se > 0)) continue;
    ++compared;
    EXPECT_NEAR(result.fit.estimates[i].estimate, fit.estimates[i].estimate, 1e-4 * se)
        << result.table.rows[i].lhs << result.table.rows[i].op << result.table.rows[i].rhs;
    EXPECT_NEAR(result.fit.estimates[i].standard_error, se, 1e-4 * se);
  }
  EXPECT_GT(compared, 0u);
  EXPECT_FALSE(result.fit_measures_available);
}

const std::string kChain = "model = \"y ~ x1\\nx1 ~ x2\"\n";
const std::string kPatterns = "[[], [\"y\"], [\"x1\"], [\"y\", \"x1\"]]";

Design Sealed(const std::string& patterns, std::vector<std::string> analyses) {
  Design design;
  design.design = "site = \"ignore\"\nmissing = \"fiml\"\npatterns = " + patterns + "\n";
  design.protocol = "sealed";
  design.release = "[\"estimates\", \"standard-errors\"]";
  design.analyses = std::move(analyses);
  return design;
}

// Rows where only y or x1 is missing.
std::vector<Row> IncompleteRows(size_t n, uint64_t seed) {
  std::vector<Row> rows = MakeRows(n, seed, true);
  for (Row& row : rows) {
    if (std::isnan(row.age)) row.age = 50;
  }
  return rows;
}

// Both are missing in three rows, fewer than min_cell: no moments of theirs open.
TEST(SealedFimlStudyTest, EqualsThePooledFitOnEveryEngine) {
  std::vector<Row> rows = IncompleteRows(300, 31);
  size_t both = 0;
  for (Row& row : rows) {
    if (!std::isnan(row.y) || !std::isnan(row.x1)) continue;
    if (++both > 3) row.y = 0;
  }
  ASSERT_GE(both, 3u);
  const Design design = Sealed(kPatterns, {kChain});
  for (const Split& split : Splits()) {
    for (const std::string engine : {"dealer", "replicated", "ot", "shamir"}) {
      const bool three = split.columns.size() == 3;
      if ((engine == "ot") == three || (engine != "dealer" && engine != "ot" && !three)) continue;
      if (engine != "dealer" && split.name == "complex") continue;
      SCOPED_TRACE(split.name + " " + engine);
      const auto results = RunSplit(split, design, engine, rows);
      ASSERT_EQ(results.size(), 1u);
      ExpectFit(results[0], rows, {All});
    }
  }
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
  for (const runtime::PartyEnd& end : ends) ASSERT_FALSE(end.error) << end.error->message();
  const runtime::PartyOutcome& outcome = *ends[0].outcome;
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
  for (const runtime::PartyEnd& end : RunEnds(Splits()[1], design, "dealer", rows)) {
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
  for (const runtime::PartyEnd& end : RunEnds(Splits()[1], design, "dealer", rows)) {
    ASSERT_TRUE(end.error) << end.party;
    if (end.party == "dealer") continue;
    EXPECT_THAT(end.error->message(), HasSubstr("at least 5 rows that have y"));
  }
}

TEST(SealedFimlStudyTest, WhatItCannotDoIsRefusedByName) {
  const auto refusal = [](const Design& design) {
    const std::string folder = testing::MakeTemporaryFolder("sealed-fiml");
    std::ofstream(folder + "/study.toml")
        << testing::StudyText(Splits()[1], design, "dealer", MakeRows(100, 1, false));
    std::string message = "accepted";
    try {
      runtime::PrepareMleStudy(study::LoadStudyFile(folder + "/study.toml"));
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kBadInput);
      EXPECT_FALSE(error.hint().empty());
      message = error.message();
    }
    std::filesystem::remove_all(folder);
    return message;
  };
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
}  // namespace partita::sealed_fiml_study_test
