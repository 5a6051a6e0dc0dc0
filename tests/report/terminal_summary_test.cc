#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "methods/mle/report/sem_summary.h"
#include "report/run_summary.h"
#include "tests/report/sample_run.h"

namespace partita::report::terminal_summary_test {
namespace {

using methods::mle::TerminalSummary;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(RunSummaryTest, SaysWhoLearnedWhatAndWhatItCost) {
  EXPECT_EQ(RunSummary(SamplePlan(), SampleFacts()), R"(
Released:
  moments: n, sums and cross products of x1, x2; to north, exact, opened 1 of 1 times

Who learned what (leakage level: sufficient-statistics):
  north (holder and receiver) learns: n; the moments.
  south (holder) learns: nothing beyond this plan.
  helper (dealer) learns: nothing beyond this plan.
  The dealer sees no data and colludes with nobody.

Cost at north:
  phase    rounds    sent  received      time
  set-up        1   700 B    1.0 kB  250.0 ms
  moments       2  2.5 kB    1.2 MB  500.0 ms
  total         3  3.2 kB    1.2 MB    1.50 s

Run:
  protocol pooled-moments, engine dealer, vertical partition, Partita 0.1.0, 2024-05-01T12:00:00Z
  agreement and tables bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb
  plan                 cccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccc
  run                  dddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddd
)");
}

// A dealer opens nothing, whatever the others open.
TEST(RunSummaryTest, SaysWhatThisPartyDidNotOpen) {
  RunFacts facts = SampleFacts();
  facts.releases[0].opened = 0;
  EXPECT_THAT(RunSummary(SamplePlan(), facts), HasSubstr("exact, not opened by this party\n"));
}

TEST(RunSummaryTest, LeavesOutWhatIsNotThere) {
  RunFacts facts;
  facts.party = "south";
  const std::string text = RunSummary(SamplePlan(), facts);
  EXPECT_THAT(text, Not(HasSubstr("Released")));
  EXPECT_THAT(text, Not(HasSubstr("Cost")));
  EXPECT_THAT(text, Not(HasSubstr("  study ")));
  EXPECT_THAT(text, HasSubstr("Who learned what"));
}

TEST(RunSummaryTest, NamesWhoseSharesWereCorrected) {
  RunFacts facts = SampleFacts();
  EXPECT_THAT(RunSummary(SamplePlan(), facts), Not(HasSubstr("Corrected")));
  facts.corrected = {"south"};
  EXPECT_THAT(
      RunSummary(SamplePlan(), facts),
      HasSubstr("\nCorrected:\n  south sent wrong shares in openings, which were corrected"));
}

TEST(TerminalSummaryTest, PutsTheStatisticsFirst) {
  const std::string text = TerminalSummary(std::vector{SmallResult()}, SamplePlan(), SampleFacts());
  EXPECT_EQ(text.find("Study three-factor: Three ability factors\n\nPartita ended normally"), 0U);
  EXPECT_LT(text.find("Parameter Estimates"), text.find("Who learned what"));
}

TEST(TerminalSummaryTest, KeepsToTheWidthOfATerminal) {
  study::Plan plan = SamplePlan();
  plan.parties[0].learns.assign(20, "something that is said again and again");
  plan.title = std::string(60, 'x') + " " + std::string(60, 'y');
  std::istringstream stream(TerminalSummary(std::vector{SmallResult()}, plan, SampleFacts()));
  for (std::string line; std::getline(stream, line);) EXPECT_LE(line.size(), 100U) << line;
}

TEST(TerminalSummaryTest, PrintsTheAnalysesOneAfterTheOther) {
  std::vector<methods::mle::MleResult> results = {SmallResult(), SmallResult()};
  results[0].name = "crude";
  results[1].name = "adjusted";
  const std::string text = TerminalSummary(results, SamplePlan(), SampleFacts());
  const size_t crude = text.find("\nAnalysis crude\n==============\n\nPartita ended normally");
  const size_t adjusted = text.find("\nAnalysis adjusted\n=================\n\nPartita");
  ASSERT_NE(crude, std::string::npos) << text;
  ASSERT_NE(adjusted, std::string::npos) << text;
  EXPECT_LT(crude, adjusted);
  EXPECT_LT(adjusted, text.find("\nReleased:\n"));
  const std::string one = TerminalSummary(std::vector{SmallResult()}, SamplePlan(), SampleFacts());
  EXPECT_EQ(one.find("Analysis"), std::string::npos);
}

}  // namespace
}  // namespace partita::report::terminal_summary_test
