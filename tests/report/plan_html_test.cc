#include "report/plan_html.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/report/sample_run.h"

namespace partita::report::plan_html_test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(PlanHtmlTest, SaysEverythingThatIsAgreed) {
  const study::Plan plan = SamplePlan();
  const std::string html = RenderPlanHtml(plan, study::DefaultNetworks(), std::string(64, 'c'));
  EXPECT_LT(html.size(), 100000U);
  for (const std::string text :
       {"Three ability factors", "pooled-moments", "dealer", "vertical", "x1 of 156 rows",
        "nothing beyond the plan", "n, sums and cross products of x1, x2", "once",
        "sufficient-statistics", "The dealer sees no data and colludes with nobody.",
        "matrix triple 1 x 156 x 1", "A note.", "1,234,567", "local network", "1,238,115",
        "NOT differentially private", "Protects against parties that follow the protocol"}) {
    EXPECT_THAT(html, HasSubstr(text));
  }
  EXPECT_THAT(html, HasSubstr(std::string(64, 'a')));
  EXPECT_THAT(html, HasSubstr(std::string(64, 'c')));
  EXPECT_THAT(html, Not(HasSubstr("<script")));
  EXPECT_THAT(html, HasSubstr("Content-Security-Policy"));
}

TEST(PlanHtmlTest, SaysWhatIsCheckedAndWhatIsGivenAway) {
  const std::string html = RenderPlanHtml(FullPlan(), {});
  for (const std::string text :
       {"sem of x1, x2, 3 free parameters", "at least min_rows = 20 rows", "a warning",
        "nothing is released", "n and the exact means of x1, x2", "all 3 of their covariances",
        "no bound: the releases are exact", "eps &lt;= 1 at delta = 1e-06", "x1~x2", "0.42",
        "this machine", "1,300,000"}) {
    EXPECT_THAT(html, HasSubstr(text));
  }
}

TEST(PlanHtmlTest, ParametersAreThoseOfModelsThatHaveThem) {
  study::Plan plan = FullPlan();
  EXPECT_THAT(RenderPlanHtml(plan, {}), HasSubstr("Free parameters"));
  plan.analyses[0].free_parameters = 0;
  EXPECT_THAT(RenderPlanHtml(plan, {}), Not(HasSubstr("Free parameters")));
}

TEST(PlanHtmlTest, EscapesEveryText) {
  study::Plan plan = SamplePlan();
  const std::string evil = "<img src=x onerror=alert(1)>";
  plan.title = plan.study = plan.engine = plan.protocol = plan.partition = plan.method = evil;
  plan.leakage_level = plan.study_file_hash = evil;
  plan.assumptions = plan.notes = {evil};
  plan.parties[0] = {evil, {evil}, evil, {evil}};
  plan.phases[0] = {evil, 1, {{evil, evil, 1, 1}}};
  plan.correlations = {{evil, 1}};
  plan.releases = {{evil, evil, evil, evil, 2}};
  plan.analyses = {{evil, evil, evil, evil, 3}};
  plan.checks = {{evil, evil, evil, 20, false}};
  plan.exposures = {{evil, evil, 6, 6, evil, {evil}}};
  plan.privacy = {{evil, evil, evil}};
  plan.utility = {{evil, evil, 1, 1, 1, 1}};
  plan.predictions = {{evil, 1, 1}};
  const std::vector<study::NetworkModel> networks = {{evil, 1, 1}};
  const std::string html = RenderPlanHtml(plan, networks, evil);
  EXPECT_THAT(html, Not(HasSubstr("<img")));
  EXPECT_THAT(html, HasSubstr("&lt;img src=x onerror=alert(1)&gt;"));
  EXPECT_THAT(html, HasSubstr("2 times"));
}

TEST(PlanHtmlTest, SumsThePhasesOfManyParties) {
  study::Plan plan = SamplePlan();
  plan.phases[1].links.assign(31, {"a-party", "another", 2, 10});
  const std::string html = RenderPlanHtml(plan, {});
  EXPECT_THAT(html, HasSubstr("31 links"));
  EXPECT_THAT(html, Not(HasSubstr("a-party")));
  EXPECT_THAT(html, HasSubstr(">310<"));
  EXPECT_THAT(html, Not(HasSubstr("Estimated network time")));
}

}  // namespace
}  // namespace partita::report::plan_html_test
