// Whoever is told a result is told how its fit ended, too, and why numbers are missing.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "methods/mle/fit/told_warnings.h"
#include "methods/mle/report/sem_summary.h"
#include "methods/mle/study/protocol.h"
#include "tests/methods/mle/design_study.h"

namespace partita::methods::mle::told_result_test {
namespace {

using ::testing::Contains;
using testing::Design;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::MakeRows;
using testing::RunEnds;
using testing::Splits;

// What the receiver has of the analyses, and what each other party was told.
struct Results {
  std::vector<MleResult> own;
  std::vector<std::vector<MleResult>> told;
};

Results RunAnalyses(const std::vector<std::string>& analyses, const std::string& rule) {
  Design design;
  design.release = "[\"moments\", {what = \"estimates\", to = \"all\"}]";
  design.rule = rule;
  design.analyses = analyses;
  const auto ends = RunEnds(Splits()[1], design, "dealer", MakeRows(200, 8, false));
  Results all;
  for (const run::PartyEnd& end : ends) {
    EXPECT_FALSE(end.error) << end.error->message();
    if (!end.outcome || end.party == "dealer") continue;
    const auto& results = partita::testing::MleResultsOf(*end.outcome);
    if (all.own.empty()) {
      all.own = results;
    } else {
      all.told.push_back(results);
    }
  }
  testing::ExpectPlanned(ends);
  return all;
}

const std::vector<std::string> kAnalyses = {
    "name = \"good\"\nmodel = \"y ~ x1 + x2\"\n",
    "name = \"contradictory\"\nmodel = \"y ~ a*x1 + x2; a == 0.5; a == 0.7\"\n",
    "name = \"open\"\nmodel = \"f =~ y + x1\"\n",
    "name = \"negative\"\nmodel = \"f =~ 1*x1; f ~~ -0.1*f; x1 ~~ x1\"\n"};

TEST(ToldResult, EverybodyIsToldHowAFitEnded) {
  for (const std::string rule : {"", "grid = \"full\"\naccept = \"table of covariates\"\n"}) {
    SCOPED_TRACE(rule);
    const Results all = RunAnalyses(kAnalyses, rule);
    ASSERT_EQ(all.own.size(), kAnalyses.size());
    ASSERT_EQ(all.told.size(), 2u);
    for (const std::vector<MleResult>& results : all.told) {
      ASSERT_EQ(results.size(), kAnalyses.size());
      for (size_t a = 0; a < results.size(); ++a) {
        SCOPED_TRACE(results[a].name);
        EXPECT_EQ(results[a].fit.converged, all.own[a].fit.converged);
        EXPECT_EQ(results[a].fit.stop, all.own[a].fit.stop);
        EXPECT_EQ(results[a].fit.iterations, all.own[a].fit.iterations);
        EXPECT_EQ(results[a].fit.optimizer, all.own[a].fit.optimizer);
        EXPECT_EQ(results[a].fit.warnings.empty(), all.own[a].fit.warnings.empty());
        EXPECT_THAT(results[a].notes, Contains(kNormalityNotChecked));
        EXPECT_THAT(results[a].notes, Contains(kTold));
      }
      EXPECT_FALSE(results[1].fit.converged);
      EXPECT_THAT(results[1].fit.warnings,
                  Contains(HasSubstr("constraints could not be satisfied together")));
      EXPECT_THAT(SemSummary(results[1]), HasSubstr("did NOT converge"));
      EXPECT_THAT(results[2].fit.warnings, Contains(HasSubstr("no standard errors of f =~ x1")));
      EXPECT_THAT(results[2].fit.warnings,
                  Contains(HasSubstr("1 more parameters than the data have moments")));
      EXPECT_THAT(results[3].fit.warnings,
                  Contains(HasSubstr("Heywood case: the variance f ~~ f")));
    }
  }
}

// One reason for every way to stop, and the parameter that ran away by name.
TEST(ToldResult, ReasonsAreOfAFixedList) {
  const MleResult own = RunAnalyses({kAnalyses[0]}, "").own.at(0);
  MleAnalysis analysis;
  analysis.table = own.table;
  data::ColumnSchema column;
  column.type = data::ColumnType::kNumeric;
  column.lower = -20;
  column.upper = 20;
  analysis.variables.assign(3, {column, "", "", ""});
  for (int reason = 1; reason < stats::kNumStopReasons; ++reason) {
    MleResult result = own;
    result.fit.warnings.clear();
    result.fit.converged = false;
    result.fit.stop = static_cast<stats::StopReason>(reason);
    result.fit.estimates[0].estimate = 1e3;
    AddToldWarnings(analysis, result);
    EXPECT_THAT(result.fit.warnings, Contains(HasSubstr(stats::StopReasonText(result.fit.stop))));
    const auto named = HasSubstr("y ~ x1 ran away to 1000");
    if (result.fit.stop == stats::StopReason::kRanAway) {
      EXPECT_THAT(result.fit.warnings, Contains(named));
    } else {
      EXPECT_THAT(result.fit.warnings, ::testing::Not(Contains(named)));
    }
  }
  MleResult good = own;
  AddToldWarnings(analysis, good);
  EXPECT_THAT(good.fit.warnings, IsEmpty());
}

}  // namespace
}  // namespace partita::methods::mle::told_result_test
