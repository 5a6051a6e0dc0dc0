#include "methods/mle/report/least_squares.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "methods/mle/report/estimates_csv.h"
#include "methods/mle/report/json.h"
#include "methods/mle/report/plot_data.h"
#include "methods/mle/report/report.h"
#include "methods/mle/report/report_html.h"
#include "methods/mle/report/sem_summary.h"
#include "methods/mle/report/statements.h"
#include "report/result_json.h"
#include "tests/report/sample_run.h"

namespace partita::methods::mle::least_squares_report_test {
namespace {

using nlohmann::json;
using report::FullFacts;
using report::ParseResultJson;
using report::RegressionResult;
using report::SamplePlan;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(LeastSquaresReportTest, TheTerminalReadsLikeLm) {
  EXPECT_EQ(SemSummary(RegressionResult("main")), R"(Least squares

Regression of sbp:
               Estimate  Std.Err  t value  P(>|t|)  ci.lower  ci.upper
  (Intercept)    101.23     4.34   23.312    0.400     92.59    109.88
  age            0.6543   0.0524   12.496    0.400    0.5501    0.7585
  income       -0.00012  0.00515  -0.0239    0.400  -0.01036   0.01012

  Rows                       301
  Residual standard error    12.35 on 298 degrees of freedom
  R-squared                  0.25, adjusted 0.245
  F-statistic                49.67 on 2 and 298 degrees of freedom, p < 0.001

  Log-likelihood -1183.250, AIC 2374.500, BIC 2389.250

Notes:

  Tests and intervals assume that residuals are independent, normally distributed and equally
    spread; this was not checked. Robust (Huber-White) standard errors do not need the last two.

The same fit by maximum likelihood (divisor n, z tests) is in the report and the CSV.
)");
}

TEST(LeastSquaresReportTest, ThePageHasTheFitBesideOnRequest) {
  const std::string html =
      RenderReportHtml(std::vector{RegressionResult("main")}, SamplePlan(), FullFacts());
  EXPECT_THAT(html, HasSubstr("<td>(Intercept)</td><td class=\"number\">101.23</td>"
                              "<td class=\"number\">4.34</td><td class=\"number\">23.312</td>"));
  EXPECT_THAT(html, HasSubstr("<td class=\"number\">-0.00012</td>"));
  EXPECT_THAT(html, Not(HasSubstr("-0.000<")));
  EXPECT_THAT(html, HasSubstr("12.35 on 298 degrees of freedom"));
  EXPECT_THAT(html, HasSubstr("49.67 on 2 and 298 degrees of freedom, p &lt; 0.001"));
  EXPECT_THAT(html, HasSubstr("<dt>Estimator</dt><dd>least squares</dd>"));
  for (const char* measure : {"cfi", "rmsea", "chisq"})
    EXPECT_THAT(html, Not(HasSubstr("<small>" + std::string(measure)))) << measure;
  const size_t details = html.find("The same fit by maximum likelihood");
  ASSERT_NE(details, std::string::npos);
  EXPECT_THAT(html.substr(details), HasSubstr("sbp ~ age"));
  EXPECT_THAT(html.substr(0, details), Not(HasSubstr("<td>sbp ~ age</td>")));
}

// The residual degrees of freedom would tell the rows.
TEST(LeastSquaresReportTest, FewRowsAreNotShown) {
  MleResult result = RegressionResult("main");
  result.group_n = {9};
  result.least_squares[0].df = 6;
  const std::string html =
      RenderReportHtml(std::vector{result}, SamplePlan(), FullFacts());  // min_cell 10
  EXPECT_THAT(html, Not(HasSubstr("6 degrees of freedom")));
  EXPECT_THAT(html, HasSubstr("fewer than 10"));
}

TEST(LeastSquaresReportTest, SideBySideComesWithoutFitIndices) {
  std::vector<MleResult> results = {RegressionResult("crude"), RegressionResult("adjusted")};
  std::string html = RenderReportHtml(results, SamplePlan(), FullFacts());
  EXPECT_THAT(html, AllOf(HasSubstr("Fit of the regressions"), HasSubstr("Adjusted R-squared"),
                          Not(HasSubstr("CFI"))));
  results.push_back(report::FactorResult("factors"));
  html = RenderReportHtml(results, SamplePlan(), FullFacts());
  EXPECT_THAT(html, HasSubstr("Fit of the analyses"));
}

TEST(LeastSquaresReportTest, TheCsvHasBothAndNoEmptyLine) {
  const std::string csv = EstimatesCsv(std::vector{RegressionResult("main")});
  std::istringstream lines(csv);
  std::vector<std::string> read;
  for (std::string line; std::getline(lines, line);) read.push_back(line);
  ASSERT_EQ(read.size(), 5U) << csv;  // intercept, two slopes, residual variance
  EXPECT_THAT(read[0], HasSubstr(",se.lm,t.lm,df.lm,pvalue.lm,ci.lower.lm,ci.upper.lm"));
  EXPECT_THAT(read[2], HasSubstr("0.6543,0.0521,"));
  EXPECT_THAT(read[2], HasSubstr(",298,0.4,"));
  EXPECT_TRUE(read[4].ends_with(",,,,,,\r")) << read[4];
}

std::unique_ptr<const report::Result> ReadAnalyses(const std::string& /*method*/,
                                                   const nlohmann::ordered_json& stored) {
  return ReadMleReport(stored);
}

TEST(LeastSquaresReportTest, TheJsonHoldsAllAndReadsBack) {
  const std::vector<MleResult> results = {RegressionResult("main")};
  const std::string text = ResultJson(results, SamplePlan(), FullFacts());
  const json regression = json::parse(text)["analyses"][0]["least_squares"][0];
  EXPECT_EQ(regression["df"], 298);
  EXPECT_EQ(regression["group"], 1);
  EXPECT_EQ(regression["terms"][2]["est"], -0.000123);
  const report::StoredResult stored = ParseResultJson(text, "result.json", ReadAnalyses);
  EXPECT_EQ(stored.result->Json(stored.plan, stored.facts), text);
  EXPECT_EQ(stored.result->Html(stored.plan, stored.facts),
            RenderReportHtml(results, SamplePlan(), FullFacts()));
  // Of before there was one.
  json old = json::parse(text);
  old["analyses"][0].erase("least_squares");
  const report::StoredResult read = ParseResultJson(old.dump(), "result.json", ReadAnalyses);
  EXPECT_TRUE(AnalysesOf(read.result.get())[0].least_squares.empty());
  for (const char* damage : {R"({"group": 2})", R"({"terms": []})"}) {
    json damaged = json::parse(text);
    damaged["analyses"][0]["least_squares"][0].update(json::parse(damage));
    EXPECT_THROW(ParseResultJson(damaged.dump(), "result.json", ReadAnalyses), Error) << damage;
  }
  json damaged = json::parse(text);
  damaged["analyses"][0]["least_squares"][0]["terms"][0]["parameter"] = 99;
  EXPECT_THROW(ParseResultJson(damaged.dump(), "result.json", ReadAnalyses), Error);
}

TEST(LeastSquaresReportTest, WordsAreOfLeastSquares) {
  const std::vector<MleResult> results = {RegressionResult("main")};
  const std::string paragraph = MethodsParagraph(results, SamplePlan(), report::SampleFacts());
  EXPECT_THAT(paragraph, HasSubstr("sbp was regressed by least squares on 2 predictors (n = 301): "
                                   "R-squared = 0.250, adjusted 0.245, F(2, 298) = 49.670, p < "
                                   "0.001."));
  EXPECT_THAT(paragraph, AllOf(HasSubstr("by Student's t"), Not(HasSubstr("saturated")),
                               Not(HasSubstr("CFI"))));
  for (const report::Statement& statement :
       Statements(results, SamplePlan(), report::SampleFacts())) {
    if (statement.about != "standard-errors") continue;
    EXPECT_THAT(statement.text, AllOf(HasSubstr("least squares"), HasSubstr("not checked"),
                                      Not(HasSubstr("multivariate normal"))));
  }
}

TEST(LeastSquaresReportTest, SlopesAreDrawnInStandardDeviations) {
  const json data = json::parse(PlotData(std::vector{RegressionResult("main")}, {}));
  const json& sections = data["analyses"][0]["sections"];
  ASSERT_EQ(sections.size(), 1U);
  EXPECT_EQ(sections[0]["scale"], "standardised");
  ASSERT_EQ(sections[0]["rows"].size(), 2U);  // no intercept
  EXPECT_EQ(sections[0]["rows"][0]["label"], "age");
  EXPECT_DOUBLE_EQ(sections[0]["rows"][0]["est"], 0.48);
  EXPECT_DOUBLE_EQ(sections[0]["rows"][0]["upper"], 0.48 * (0.6543 + 2 * 0.0521) / 0.6543);
}

}  // namespace
}  // namespace partita::methods::mle::least_squares_report_test
