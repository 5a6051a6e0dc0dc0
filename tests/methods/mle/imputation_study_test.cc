// Studies of incomplete rows by multiple imputation: however rows and columns are split, Rubin's
// rules over imputations of the pooled rows in the clear; what is opened, to whom; refusals.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "methods/mle/study/study.h"
#include "methods/prepare_study.h"
#include "run/party/build_plan.h"
#include "tests/methods/mle/imputation_cases.h"
#include "tests/run/results.h"

namespace partita::methods::mle::imputation_study_test {
namespace {

using testing::Design;
using ::testing::HasSubstr;
using testing::MakeRows;
using ::testing::Not;
using testing::Row;
using testing::RunEnds;
using testing::Splits;
using testing::imputed::ExpectRubin;
using testing::imputed::ExpectRubinOf;
using testing::imputed::Imputed;
using testing::imputed::IncompleteRows;
using testing::imputed::kImputations;
using testing::imputed::kModel;
using testing::imputed::Plain;
using testing::imputed::PlainFits;

// Columns split, and both; rows split is the next test. Every engine imputes in
// shared_imputation_test.cc, and all of this in imputation_study_slow_test.cc.
TEST(ImputationStudyTest, RubinsRulesOverImputationsOfThePooledRows) {
  const std::vector<Row> rows = IncompleteRows(500, 41);
  std::vector<PlainFits> plain;
  ExpectRubinOf(Splits()[1], "dealer", rows, plain);
  ExpectRubinOf(Splits()[2], "replicated", rows, plain);
}

TEST(ImputationStudyTest, ImputedValuesVaryAsTheyShould) {
  const std::vector<Row> rows = IncompleteRows(500, 46);
  Design design = Imputed({kModel});
  design.design += "imputations = 100\n";
  const auto results = testing::RunSplit(Splits()[0], design, "dealer", rows);
  ASSERT_EQ(results.size(), 1u);
  EXPECT_TRUE(ExpectRubin(
      results[0], Plain(results[0].table, rows, {[](const Row&) { return true; }}, 1000), 100));
}

TEST(ImputationStudyTest, GroupsAndSeveralAnalyses) {
  const std::vector<Row> rows = IncompleteRows(700, 42);
  const auto results = testing::RunSplit(
      Splits()[2],
      Imputed({"name = \"all\"\n" + kModel, "name = \"by-sex\"\n" + kModel + "group = \"sex\"\n",
               "name = \"chain\"\nmodel = \"y ~ x1\\nx1 ~ x2\"\nfixed_x = false\n"}),
      "dealer", rows);
  ASSERT_EQ(results.size(), 3u);
  const auto all = [](const Row&) { return true; };
  const auto sex = [](int level) { return [=](const Row& row) { return row.sex == level; }; };
  ExpectRubin(results[0], Plain(results[0].table, rows, {all}, 1000));
  ExpectRubin(results[1], Plain(results[1].table, rows, {sex(0), sex(1)}, 1000));
  ExpectRubin(results[2], Plain(results[2].table, rows, {all}, 1000));
}

TEST(ImputationStudyTest, WhatIsOpenedAndReported) {
  const std::vector<Row> rows = IncompleteRows(400, 43);
  const auto ends = RunEnds(Splits()[1], Imputed({kModel}), "dealer", rows);
  for (const run::PartyEnd& end : ends) ASSERT_FALSE(end.error) << end.error->message();
  const run::PartyOutcome& outcome = *ends[0].outcome;
  ASSERT_EQ(outcome.plan.exposures.size(), 1u);
  const uint64_t moments = kImputations * (3 + 6);
  EXPECT_EQ(outcome.plan.exposures[0].opened, moments + 4);
  // n, sums and products of three, two, two and one variables.
  EXPECT_EQ(outcome.plan.exposures[0].statistics, 10u + 2 * 6 + 3);
  EXPECT_EQ(outcome.plan.leakage_level, "sufficient-statistics");
  EXPECT_THAT(outcome.plan.exposures[0].exposes, ::testing::Contains(HasSubstr("at least of x2")));
  std::map<std::string, std::pair<std::string, uint64_t>> opened;
  for (const mpc::CountingReleaseGate::Count& count : outcome.releases)
    opened[count.release.id] = {count.release.to, count.release.num_values.value_or(0)};
  EXPECT_EQ(opened.at("pattern-counts"), (std::pair<std::string, uint64_t>{"all", 4}));
  EXPECT_EQ(opened.at("imputed"), (std::pair<std::string, uint64_t>{"all", 1}));
  EXPECT_EQ(opened.at("imputed-moments"), (std::pair<std::string, uint64_t>{"p", moments}));
  EXPECT_EQ(opened.count("moments"), 0u);
  const MleResult& result = partita::testing::MleResultsOf(outcome).at(0);
  ASSERT_GE(result.tables.size(), 2u);
  EXPECT_EQ(result.tables[0].title, "Multiple imputation");
  for (const auto& row : result.tables[0].rows) {
    EXPECT_GT(std::get<double>(row[1]), 1);
    EXPECT_LT(std::get<double>(row[1]), 400);
    EXPECT_GE(std::get<double>(row[2]), 0);
    EXPECT_LT(std::get<double>(row[2]), 1);
  }
  const auto with_y = static_cast<double>(
      std::count_if(rows.begin(), rows.end(), [](const Row& row) { return !std::isnan(row.y); }));
  EXPECT_EQ(std::get<std::string>(result.tables[1].rows[0][0]), "y");
  EXPECT_EQ(std::get<double>(result.tables[1].rows[0][1]), with_y);
  EXPECT_FALSE(result.fit_measures_available);
  for (const CellTable& table : result.tables)
    EXPECT_THAT(table.title, Not(HasSubstr("Test of the model")));  // no degrees of freedom
}

// Everybody sees the counts, so everybody is told; nothing else has opened.
TEST(ImputationStudyTest, TooFewRowsAreNamed) {
  std::vector<Row> rows = MakeRows(200, 44, false);
  rows[3].y = testing::kMissing;
  rows[7].y = testing::kMissing;
  bool advised = false;
  for (const run::PartyEnd& end : RunEnds(Splits()[0], Imputed({kModel}), "dealer", rows)) {
    ASSERT_TRUE(end.error) << end.party;
    if (end.party == "dealer") continue;
    EXPECT_THAT(end.error->message(), HasSubstr("only 2 rows lack y"));
    // A party may hear of it from its peer first, with another advice.
    advised |= end.error->code() == ErrorCode::kRefused &&
               end.error->hint().find("leave-out") != std::string::npos;
  }
  EXPECT_TRUE(advised);
  for (Row& row : rows) row.y = testing::kMissing;
  for (const run::PartyEnd& end : RunEnds(Splits()[0], Imputed({kModel}), "dealer", rows)) {
    ASSERT_TRUE(end.error) << end.party;
    if (end.party == "dealer") continue;
    EXPECT_THAT(end.error->message(), HasSubstr("no row has a value of y"));
  }
}

TEST(ImputationStudyTest, SingularCovariancesOpenNothing) {
  std::vector<Row> rows = IncompleteRows(300, 45);
  for (Row& row : rows) {
    if (!std::isnan(row.x1)) row.x1 = row.x2;
  }
  Design design = Imputed({kModel});
  // Imputed values begin independent of the others and end as determined by them: of the residual
  // variance a step leaves the part that is missing, a third, and 2^-14 is where pivots end.
  design.design = "site = \"ignore\"\nmissing = \"mi\"\nimputation_iterations = 12\n" +
                  design.design.substr(design.design.find("patterns"));
  for (const run::PartyEnd& end : RunEnds(Splits()[1], design, "dealer", rows)) {
    ASSERT_TRUE(end.error) << end.party;
    if (end.party == "dealer") continue;
    EXPECT_THAT(end.error->message(), HasSubstr("the rows could not be imputed"));
  }
}

TEST(ImputationStudyTest, WhatItCannotDoIsRefusedByName) {
  const auto refusal = [](const Design& design) { return testing::RefusalOf(design, Splits()[1]); };
  EXPECT_EQ(refusal(Imputed({kModel})), "accepted");
  for (const auto& [line, reason] : std::vector<std::pair<std::string, std::string>>{
           {"robust = true\n", "of complete rows"},
           {"bootstrap = 100\n", "of complete rows"},
           {"modification_indices = true\n", "of complete rows"}}) {
    EXPECT_THAT(refusal(Imputed({kModel + line})), HasSubstr(reason)) << line;
  }
  const auto with = [](const std::string& lines) {
    Design design = Imputed({kModel});
    design.design = "site = \"ignore\"\n" + lines;
    return design;
  };
  EXPECT_THAT(refusal(with("missing = \"mi\"\n")), HasSubstr("needs 'patterns'"));
  EXPECT_THAT(refusal(with("missing = \"mi\"\npatterns = [[\"y\"], [\"y\", \"x1\"]]\n")),
              HasSubstr("every pattern lacks y"));
  EXPECT_THAT(refusal(with("missing = \"mi\"\npatterns = [[]]\nimputations = 19\n")),
              HasSubstr("'imputations' must be between 20 and 200"));
  EXPECT_THAT(refusal(with("missing = \"mi\"\npatterns = [[]]\nimputation_iterations = 4\n")),
              HasSubstr("'imputation_iterations' must be between 5 and 1000"));
  EXPECT_THAT(refusal(with("missing = \"fiml\"\npatterns = [[]]\nimputations = 20\n")),
              HasSubstr("'imputations' is for missing = \"mi\""));
  EXPECT_THAT(refusal(Imputed({"name = \"wide\"\n" + kModel,
                               "name = \"narrow\"\nnested_in = \"wide\"\nmodel = \"y ~ x1\\nx1 ~ "
                               "x2\"\nfixed_x = false\n"})),
              HasSubstr("imputed tables have many"));
}

}  // namespace
}  // namespace partita::methods::mle::imputation_study_test
