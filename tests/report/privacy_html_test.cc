#include "report/privacy_html.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "methods/mle/report/report_html.h"
#include "report/plan_html.h"
#include "study/plan/hashes.h"
#include "tests/report/sample_privacy.h"
#include "tests/report/sample_run.h"

namespace partita::report::privacy_html_test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

size_t Count(const std::string& text, const std::string& part) {
  size_t count = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

TEST(PrivacyHtmlTest, SaysWhoLearnsWhat) {
  const std::string html = StatementHtml(SampleStatement());
  for (const std::string text :
       {"Noise of scale 3.", "outside analyst", "party north", "unlimited", "1.235", "1e-06",
        "they hold all shares", "Only if it rains.", "with 5 % false alarms",
        "What can be found out by: outside analyst; party south", "0.05", "100.0\u00A0%"}) {
    EXPECT_THAT(html, HasSubstr(text));
  }
}

// Rows with one loss share a plot; an infinite loss has none.
TEST(PrivacyHtmlTest, DrawsEveryLossOnce) {
  const std::string html = TradeOffsHtml(SampleStatement());
  EXPECT_EQ(Count(html, "<figure"), 2U);
  EXPECT_THAT(html, HasSubstr("data-row=\"0\""));
  EXPECT_THAT(html, HasSubstr("data-row=\"1\""));
  EXPECT_THAT(html, Not(HasSubstr("data-row=\"2\"")));
  const auto rows = nlohmann::json::parse(StatementPlots(SampleStatement()));
  ASSERT_EQ(rows.size(), 4U);
  EXPECT_EQ(rows[0]["points"][1]["alpha"], 0.05);
  EXPECT_EQ(rows[0]["points"][1]["lower"], 0.8);
  EXPECT_EQ(rows[0]["points"][1]["upper"], 0.8 + 0.05);
  EXPECT_TRUE(rows[3]["points"].empty());
}

TEST(PrivacyHtmlTest, PageIsOneFile) {
  PrivacyPage page{"<b>Risk</b>", "replace", SampleStatement(), {{0, 0.1, 0.2}, {1, 0, 1e-9}}};
  const std::string html = RenderPrivacyHtml(page);
  EXPECT_THAT(html, HasSubstr("&lt;b&gt;Risk&lt;/b&gt;"));
  EXPECT_THAT(html, HasSubstr("Content-Security-Policy"));
  EXPECT_THAT(html, HasSubstr("data-plot=\"profile\""));
  EXPECT_THAT(html, HasSubstr("\"profile\":[{\"epsilon\":0"));
  EXPECT_THAT(html, Not(HasSubstr("src=")));
  EXPECT_LT(html.size(), 1'000'000U);
}

TEST(PrivacyHtmlTest, EscapesEveryText) {
  const std::string evil = "</script><img src=x onerror=alert(1)>";
  privacy::Statement statement = SampleStatement();
  statement.mechanism = evil;
  statement.caveats = {evil};
  statement.rows[1].adversary.party = evil;
  statement.rows[1].reason = evil;
  const std::string html = RenderPrivacyHtml({evil, evil, statement, {{0, 0.1, 0.2}}});
  EXPECT_THAT(html, Not(HasSubstr("<img")));
  EXPECT_THAT(html, HasSubstr("&lt;img src=x onerror=alert(1)&gt;"));
}

TEST(PrivacyHtmlTest, PlanAndReportShowTheStatementOfTheStudy) {
  study::Plan plan = FullPlan();
  const std::string without = RenderPlanHtml(plan, {});
  EXPECT_THAT(without, Not(HasSubstr("data-plot=\"trade-off\"")));
  EXPECT_THAT(without, Not(HasSubstr("<script")));
  plan.privacy_statement = SampleStatement();
  const std::string page = RenderPlanHtml(plan, {});
  EXPECT_EQ(Count(page, "data-plot=\"trade-off\""), 2U);
  EXPECT_THAT(page, HasSubstr("\"privacy\":["));
  RunFacts facts = FullFacts();
  facts.privacy = {"outside analyst (replace): eps at most 1.235."};
  const std::string report =
      methods::mle::RenderReportHtml(std::vector{SmallResult()}, plan, facts);
  EXPECT_EQ(Count(report, "data-plot=\"trade-off\""), 2U);
  EXPECT_THAT(report, HasSubstr("\"privacy\":["));
  EXPECT_THAT(report, HasSubstr("\"analyses\":["));
}

// The plan carries it through JSON, and what the parties compare does not depend on it.
TEST(PrivacyHtmlTest, ThePlanKeepsTheStatement) {
  study::Plan plan = FullPlan();
  const study::Digest before = study::PlanHash(plan);
  plan.privacy_statement = SampleStatement();
  EXPECT_EQ(study::PlanHash(plan), before);
  const study::Plan read = study::ParsePlanJson(study::RenderPlanJson(plan, {}));
  ASSERT_TRUE(read.privacy_statement.has_value());
  EXPECT_EQ(privacy::StatementJson(*read.privacy_statement),
            privacy::StatementJson(*plan.privacy_statement));
  EXPECT_FALSE(
      study::ParsePlanJson(study::RenderPlanJson(FullPlan(), {})).privacy_statement.has_value());
}

}  // namespace
}  // namespace partita::report::privacy_html_test
