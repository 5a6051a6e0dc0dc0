#include "methods/mle/report/report_html.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "methods/mle/report/equations.h"
#include "methods/mle/report/json.h"
#include "methods/mle/report/plot_data.h"
#include "methods/mle/report/report.h"
#include "methods/mle/report/statements.h"
#include "report/html_text.h"
#include "report/numbers.h"
#include "report/result_json.h"
#include "report/web_assets.h"
#include "tests/report/sample_run.h"

namespace partita::methods::mle::report_html_test {
namespace {

using nlohmann::json;
using report::Escape;
using report::FactorResult;
using report::FullFacts;
using report::NumberAt;
using report::RunFacts;
using report::SamplePlan;
using report::SmallResult;
using report::ThreeAnalyses;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

std::string Html(const std::vector<MleResult>& results, const RunFacts& facts = FullFacts()) {
  return RenderReportHtml(results, SamplePlan(), facts);
}

// The page without what the build put in.
std::string WithoutAssets(std::string html) {
  for (const std::string& text :
       {std::string(report::web_assets::Script()), std::string(report::web_assets::Style())}) {
    const size_t at = html.find(text);
    EXPECT_NE(at, std::string::npos);
    html.erase(at, text.size());
  }
  return html;
}

size_t Count(const std::string& text, const std::string& part) {
  size_t count = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

TEST(ReportHtmlTest, HoldsEveryMandatorySentence) {
  for (const RunFacts& facts : {report::SampleFacts(), FullFacts(), RunFacts{}}) {
    for (const std::vector<MleResult>& results : {std::vector{SmallResult()}, ThreeAnalyses()}) {
      const std::string html = Html(results, facts);
      for (const report::Statement& statement : Statements(results, SamplePlan(), facts)) {
        EXPECT_THAT(html, HasSubstr(Escape(statement.text)));
      }
      EXPECT_THAT(html, HasSubstr(Escape(MethodsParagraph(results, SamplePlan(), facts))));
    }
  }
}

TEST(ReportHtmlTest, NeedsNothingButItself) {
  const std::string html = Html(ThreeAnalyses());
  EXPECT_TRUE(html.starts_with("<!DOCTYPE html>\n"));
  EXPECT_LT(html.size(), 600000U);
  const std::string own = WithoutAssets(html);
  for (const char* reference :
       {"<link", "<img", "<iframe", "src=", "@import", "style=", "onclick"}) {
    EXPECT_THAT(own, Not(HasSubstr(reference)));
  }
  EXPECT_EQ(Count(own, "href=\""), Count(own, "href=\"#"));
  EXPECT_THAT(std::string(report::web_assets::Script()),
              AllOf(Not(HasSubstr("</script")), Not(HasSubstr("<!--"))));
  EXPECT_THAT(std::string(report::web_assets::Style()),
              AllOf(Not(HasSubstr("</style")), Not(HasSubstr("url(")), Not(HasSubstr("@import"))));
  const std::string policy = std::string(report::web_assets::Policy());
  EXPECT_THAT(policy, HasSubstr("default-src 'none'"));
  EXPECT_THAT(policy, Not(HasSubstr("unsafe")));
  EXPECT_THAT(html,
              HasSubstr("http-equiv=\"Content-Security-Policy\" content=\"" + Escape(policy)));
  // The policy comes before everything that it governs.
  EXPECT_LT(html.find("Content-Security-Policy"), html.find("<style"));
  EXPECT_THAT(html, HasSubstr("@observablehq/plot"));
  EXPECT_THAT(html, HasSubstr("@dagrejs/dagre"));
}

TEST(ReportHtmlTest, StaysUnderTwoMegabytesForALargeStudy) {
  std::vector<MleResult> results;
  for (int i = 0; i < 20; ++i) {
    results.push_back(FactorResult("analysis-" + std::to_string(i), {"a", "b", "c"}));
  }
  EXPECT_LT(Html(results).size(), 2000000U);
}

// Everything that a study or a party can write: markup, ends of elements, quotes.
TEST(ReportHtmlTest, TakesEveryTextAsText) {
  const std::string evil =
      "</script><script>alert(1)</script><img src=x onerror='alert(1)'>\" onload=\"alert(1)";
  std::vector<MleResult> results = {FactorResult(evil, {evil, "b" + evil}), FactorResult(evil)};
  for (MleResult& result : results) {
    result.function = result.fit.optimizer = evil;
    result.fit.warnings = {evil};
    result.fit.fit_measures[evil] = 1;
    result.table.rows[1].label = result.table.rows[2].lhs = result.table.rows[2].rhs = evil;
    result.table.rows[3].op = evil;
    for (std::string& name : result.table.observed) name += evil;
    for (std::string& name : result.table.latent) name += evil;
  }
  study::Plan plan = SamplePlan();
  plan.title = plan.study = plan.engine = plan.protocol = plan.partition = plan.method = evil;
  plan.leakage_level = evil;
  plan.assumptions = {evil};
  plan.parties[0] = {evil, {"holder", "receiver"}, evil, {evil}};
  plan.releases = {{evil, evil, evil, evil, 2}};
  RunFacts facts = FullFacts();
  facts.party = facts.agreement_hash = facts.study_hash = facts.plan_hash = facts.run_id = evil;
  facts.software_version = facts.started_at = facts.leakage_level = evil;
  facts.phases[0].phase = evil;
  facts.releases[0] = {evil, evil, evil, evil, 1, 1};
  facts.approvals[0] = {evil, evil, evil, evil, evil, evil, 1, 1};
  facts.rows = {{evil, 400, 300, {{evil, 100}}}};
  facts.variables[0] = {evil, evil, evil, evil, {}, {}, 0, {}, {}};
  facts.disclosure[0] = {evil, evil, true};
  facts.leakage = facts.privacy = facts.libraries = {evil};
  facts.history = {{evil, {{1, 2, 3}}}};
  const std::string html = RenderReportHtml(results, plan, facts);
  const std::string own = WithoutAssets(html);
  EXPECT_EQ(Count(own, "<script"), 2U);
  EXPECT_EQ(Count(own, "</script>"), 2U);
  EXPECT_THAT(own, AllOf(Not(HasSubstr("<img")), Not(HasSubstr("onload=\""))));
  EXPECT_GT(Count(own, Escape(evil)), 60U);
  EXPECT_THAT(own, HasSubstr("\\u003c/script>"));
}

TEST(ReportHtmlTest, ShowsEveryEstimateThatTheJsonHas) {
  const std::vector<MleResult> results = ThreeAnalyses();
  const std::string html = Html(results);
  const json document = json::parse(ResultJson(results, SamplePlan(), FullFacts()));
  for (const json& analysis : document["analyses"]) {
    for (const json& row : analysis["parameters"]) {
      if (row["exo"]) continue;
      const std::string name = row["lhs"].get<std::string>() + " " + row["op"].get<std::string>() +
                               " " + row["rhs"].get<std::string>();
      EXPECT_THAT(html, HasSubstr("<td>" + Escape(name) + "</td>"));
      for (const char* key : {"std.lv", "std.all"})
        EXPECT_THAT(html, HasSubstr(">" + report::Number3(row[key]) + "</td>"));
      const double error = row["free"] == 0 ? std::nan("") : row["se"].get<double>();
      EXPECT_THAT(html, HasSubstr(">" + NumberAt(row["est"], error) + "</td>"));
      if (row["free"] == 0) continue;
      EXPECT_THAT(html, HasSubstr(">" + report::Number3(row["z"]) + "</td>"));
      for (const char* key : {"se", "ci.lower", "ci.upper"}) {
        EXPECT_THAT(html, HasSubstr(">" + NumberAt(row[key], error) + "</td>"))
            << name << " " << key;
      }
    }
    for (const auto& [name, value] : analysis["fit"].items()) {
      EXPECT_THAT(html, HasSubstr("<small>" + name + "</small>"));
    }
  }
  // A fixed covariate's moment is the sample's.
  EXPECT_THAT(html, Not(HasSubstr("age ~~ age")));
}

TEST(ReportHtmlTest, ShowsEveryFactOfTheRun) {
  const std::string html = Html({SmallResult()});
  for (const std::string& text : {std::string(64, 'a'),
                                  std::string(64, 'b'),
                                  std::string(64, 'c'),
                                  std::string(64, 'd'),
                                  std::string(64, 'e'),
                                  std::string(64, 'f'),
                                  std::string("an envelope"),
                                  std::string("2024-06-30T00:00:00Z"),
                                  std::string("no end"),
                                  std::string("smoker = yes"),
                                  std::string("NOT passed"),
                                  std::string("likelihood-oracle"),
                                  std::string("12 of 54 sufficient statistics"),
                                  std::string("1,240,000"),
                                  std::string("Exact releases: 1 before this study."),
                                  std::string("OpenSSL 3.0.17"),
                                  std::string("points"),
                                  std::string(">4.94<"),
                                  std::string(">1.17<"),
                                  std::string("1,237,067"),
                                  std::string("-3737.750"),
                                  std::string("The dealer sees no data"),
                                  std::string("2*b"),
                                  std::string("b == 1/3")}) {
    EXPECT_THAT(html, HasSubstr(text));
  }
  EXPECT_THAT(Html({SmallResult()}, report::SampleFacts()),
              HasSubstr("No approvals are recorded for this run."));
}

TEST(ReportHtmlTest, SuppressesSmallCountsAndWhatGivesThemAway) {
  RunFacts facts = FullFacts();  // min_cell 10
  facts.rows = {{"all", 356, 304, {{"missing x1", 12}, {"withdrawn", 40}}},
                {"north", 187, 156, {{"missing x1", 3}, {"withdrawn", 28}}},
                {"south", 169, 148, {{"missing x1", 9}, {"withdrawn", 12}}}};
  const std::string html = Html({SmallResult()}, facts);
  EXPECT_EQ(Count(html, "missing x1: fewer than 10"), 2U);
  EXPECT_EQ(Count(html, "missing x1: not shown"), 1U);
  // Whoever knows how many rows were declared would have the count from those used.
  for (const char* count : {"356", "187", "169", "304", "148", "missing x1: 12"}) {
    EXPECT_THAT(WithoutAssets(html), Not(HasSubstr(std::string(">") + count)));
  }
  EXPECT_THAT(html, HasSubstr("withdrawn: 28"));
  facts.min_cell = 3;
  EXPECT_THAT(Html({SmallResult()}, facts),
              AllOf(HasSubstr(">356<"), HasSubstr(">304<"), HasSubstr("missing x1: 3")));
  // A moment of few rows, and a group of few.
  facts = FullFacts();
  facts.variables[0].n = 9;
  EXPECT_THAT(Html({SmallResult()}, facts), Not(HasSubstr(">4.94<")));
  MleResult small = SmallResult();
  small.group_n[0] = 4;
  EXPECT_THAT(Html({small}, facts), HasSubstr("<dd>fewer than 10</dd>"));
}

// Of a hidden match: how many of the own rows are in the join nobody knows.
TEST(ReportHtmlTest, RowsUsedMayBeUnknown) {
  RunFacts facts = FullFacts();
  facts.rows = {{"north", 60, std::nullopt, {}}};
  EXPECT_THAT(Html({SmallResult()}, facts), AllOf(HasSubstr(">60<"), HasSubstr("not known here")));
  facts.rows[0].used = 60;
  EXPECT_THAT(Html({SmallResult()}, facts), Not(HasSubstr("not known here")));
}

TEST(ReportHtmlTest, IsReadableWithoutScripts) {
  const std::string html = Html(ThreeAnalyses());
  EXPECT_THAT(html, HasSubstr("<noscript>"));
  EXPECT_EQ(Count(html, "<figure "), Count(html, "<figcaption>"));
  EXPECT_EQ(Count(html, "<figure "), Count(html, "data-label=\""));
  // Two diagrams for the analysis by group; estimates thrice; comparison; traffic.
  EXPECT_EQ(Count(html, "data-plot=\"diagram\""), 4U);
  EXPECT_EQ(Count(html, "data-plot=\"estimates\""), 3U);
  EXPECT_EQ(Count(html, "data-plot=\"comparison\""), 1U);
  EXPECT_EQ(Count(html, "data-plot=\"traffic\""), 1U);
  EXPECT_EQ(Count(html, "data-plot=\"history\""), 0U);
}

TEST(ReportHtmlTest, MarksAFitThatDidNotConverge) {
  MleResult result = SmallResult();
  result.fit.converged = false;
  result.fit.warnings = {"The likelihood is flat."};
  const std::string html = Html({result});
  EXPECT_THAT(html, HasSubstr("Did NOT converge: main."));
  EXPECT_THAT(html, HasSubstr("The likelihood is flat."));
}

TEST(ReportHtmlTest, ShowsRobustStandardErrorsWhereAskedFor) {
  MleResult result = FactorResult("main");
  const std::string standard = Html({result});
  result.robust = report::RobustOf(result);
  result.notes = {"Warning: this does not hold: five rows per parameter."};
  result.likelihood = {{5, 4, 221, 20, 54}, "likelihood-oracle"};
  const std::string robust = Html({result});
  const double error = result.fit.estimates[1].standard_error;
  const std::string cell = ">" + NumberAt(error, error) + "</td>",
                    wide = ">" + NumberAt(1.25 * error, 1.25 * error) + "</td>";
  EXPECT_THAT(standard, AllOf(HasSubstr(cell), Not(HasSubstr(wide))));
  EXPECT_THAT(robust, AllOf(HasSubstr(wide), Not(HasSubstr(cell)), HasSubstr("Huber-White"),
                            HasSubstr("<small>chisq.scaled</small>"), HasSubstr("36.500"),
                            HasSubstr("A warning about robust"), HasSubstr("five rows per")));
  EXPECT_THAT(robust, HasSubstr("221 numbers of rank 20, where rank 54 gives"));
  const json data = json::parse(PlotData(std::vector{result}, {}));
  EXPECT_DOUBLE_EQ(data["analyses"][0]["sections"][0]["rows"][0]["lower"].get<double>(),
                   result.robust->estimates[1].ci_lower * 0.25 / result.fit.estimates[1].estimate);
}

std::unique_ptr<const report::Result> ReadAnalyses(const std::string& /*method*/,
                                                   const nlohmann::ordered_json& stored) {
  return ReadMleReport(stored);
}

TEST(ReportHtmlTest, IsTheSameForAStoredResult) {
  std::vector<MleResult> results = ThreeAnalyses();
  results[1].robust = report::RobustOf(results[1]);
  const report::StoredResult stored = report::ParseResultJson(
      ResultJson(results, SamplePlan(), FullFacts()), "result.json", ReadAnalyses);
  EXPECT_EQ(stored.result->Html(stored.plan, stored.facts), Html(results));
}

TEST(ReportHtmlTest, RefusesWhatIsNoResult) {
  EXPECT_THROW(Html({}), Error);
  MleResult result = SmallResult();
  result.fit.estimates.pop_back();
  EXPECT_THROW(Html({result}), Error);
}

TEST(ReportHtmlTest, LeavesLargeDiagramsOut) {
  MleResult result = SmallResult();
  while (result.table.observed.size() + result.table.latent.size() <= kMaxDiagramNodes) {
    result.table.observed.push_back("v" + std::to_string(result.table.observed.size()));
  }
  EXPECT_THAT(Html({result}),
              AllOf(HasSubstr("too many variables"), Not(HasSubstr("data-plot=\"diagram\""))));
}

TEST(EquationsTest, FollowTheParameterTable) {
  const std::string html = ModelEquations(FactorResult("main"));
  const auto greek = [](const char* letter, int number) {
    return std::string("<var>") + letter + "</var><sub>" + std::to_string(number) + "</sub>";
  };
  const std::string space = "\u00A0";
  EXPECT_THAT(html, HasSubstr("x1 = verbal + <var>\u03B5</var><sub>x1</sub>"));
  EXPECT_THAT(html, HasSubstr("x2 = " + greek("\u03BB", 1) + space + "verbal + "));
  EXPECT_THAT(html, HasSubstr("y3 = " + greek("\u03BB", 4) + space + "speed + "));
  EXPECT_THAT(html, HasSubstr("speed = b" + space + "verbal + " + greek("\u03B2", 1) + space +
                              "age + <var>\u03B6</var><sub>speed</sub>"));
  EXPECT_THAT(html, HasSubstr("cov(<var>\u03B5</var><sub>x2</sub>, <var>\u03B5</var><sub>y2</sub>) "
                              "= " +
                              greek("\u03B8", 1)));
  EXPECT_THAT(html, HasSubstr("var(verbal) = " + greek("\u03C8", 1)));
  EXPECT_THAT(html, HasSubstr("var(<var>\u03B6</var><sub>speed</sub>) = " + greek("\u03C8", 2)));
  EXPECT_THAT(html, HasSubstr("<code>twice := 2*b</code>"));
  EXPECT_THAT(html, Not(HasSubstr("var(age)")));
  EXPECT_THAT(html, Not(HasSubstr("in each group")));
  EXPECT_THAT(ModelEquations(ThreeAnalyses()[2]), HasSubstr("in each group"));
}

TEST(EquationsTest, WriteFixedValuesAndInterceptsAndDropZeros) {
  MleResult result = FactorResult("main");
  result.table.rows[1].free = 0;
  result.fit.estimates[1].estimate = 0.5;
  result.table.rows[8].free = 0;  // x2 ~~ y2
  result.fit.estimates[8].estimate = 0;
  stats::Parameter intercept;
  intercept.lhs = "x1";
  intercept.op = "~1";
  intercept.free = 1;
  result.table.rows.push_back(intercept);
  result.fit.estimates.push_back({});
  const std::string html = ModelEquations(result);
  EXPECT_THAT(html, HasSubstr("x2 = 0.5\u00A0verbal + "));
  EXPECT_THAT(html, Not(HasSubstr("cov(")));
  EXPECT_THAT(html, HasSubstr("x1 = <var>\u03BD</var><sub>1</sub> + verbal + "));
}

TEST(EquationsTest, UseALabelOnlyWhereAllGroupsShareIt) {
  MleResult result = ThreeAnalyses()[2];
  const size_t second = result.table.rows.size() / 2;
  EXPECT_EQ(ParameterSymbols(result.table)[6], "b");
  for (size_t i = second; i < result.table.rows.size(); ++i) {
    if (result.table.rows[i].op == "~" && result.table.rows[i].rhs == "verbal") {
      result.table.rows[i].label = "c";
    }
  }
  const std::vector<std::string> symbols = ParameterSymbols(result.table);
  EXPECT_EQ(symbols[6], "<var>\u03B2</var><sub>1</sub>");
  EXPECT_EQ(symbols[1], "<var>\u03BB</var><sub>1</sub>");
  // ".p5." is no label of a user.
  result.table.rows[1].label = result.table.rows[second].label = ".p2.";
  EXPECT_EQ(ParameterSymbols(result.table)[1], "<var>\u03BB</var><sub>1</sub>");
}

TEST(PlotDataTest, WithoutAScaleEveryRowHasAnAxis) {
  MleResult result = FactorResult("main");
  result.fit.estimates[1].std_all = std::nan("");
  const json sections = json::parse(PlotData(std::vector{result}, {}))["analyses"][0]["sections"];
  EXPECT_EQ(sections[0]["scale"], "own");
  EXPECT_EQ(sections[0]["rows"][0]["est"], result.fit.estimates[1].estimate);
  EXPECT_EQ(sections[1]["scale"], "standardised");
}

TEST(PlotDataTest, WhatIsNotDrawnIsNamed) {
  MleResult result = FactorResult("main");
  EXPECT_THAT(Html({result}), Not(HasSubstr("no standard error")));
  EXPECT_THAT(Html({result}), HasSubstr("Not drawn, because fixed: 2 parameters."));
  for (const size_t row : {1U, 2U}) {
    stats::ParameterEstimate& estimate = result.fit.estimates[row];
    estimate.standard_error = estimate.ci_lower = estimate.ci_upper = std::nan("");
  }
  EXPECT_THAT(Html({result}),
              HasSubstr("Not drawn, because there is no standard error: verbal =~ x2 and verbal =~ "
                        "x3."));
}

TEST(PlotDataTest, HoldsTheNumbersInFullAndNoCounts) {
  std::vector<MleResult> results = ThreeAnalyses();
  results[0].fit.estimates[2].ci_upper = std::nan("");
  const json data = json::parse(PlotData(results, FullFacts()));
  EXPECT_EQ(data["analyses"].size(), 3U);
  const json& loadings = data["analyses"][0]["sections"][0];
  EXPECT_EQ(loadings["title"], "Latent variables (loadings)");
  ASSERT_EQ(loadings["rows"].size(), 3U);  // two are fixed, one has no interval
  EXPECT_EQ(loadings["rows"][0]["label"], "verbal =~ x2");
  // In standard deviations, so that the rows share an axis.
  const stats::ParameterEstimate& second = results[0].fit.estimates[1];
  EXPECT_EQ(loadings["scale"], "standardised");
  EXPECT_DOUBLE_EQ(loadings["rows"][0]["est"], second.std_all);
  EXPECT_DOUBLE_EQ(loadings["rows"][0]["lower"],
                   second.ci_lower * (second.std_all / second.estimate));
  const json& by_group = data["analyses"][2]["sections"][0];
  EXPECT_EQ(by_group["scale"], "own");  // groups compare in the units of the model
  EXPECT_EQ(by_group["rows"][0]["est"], results[2].fit.estimates[1].estimate);
  EXPECT_EQ(data["analyses"][2]["series"], json({"Pasteur", "Grant-White"}));
  EXPECT_EQ(data["analyses"][2]["sections"][0]["rows"].size(), 8U);
  const json& graph = data["analyses"][0]["graphs"][0];
  EXPECT_EQ(graph["nodes"].size(), 9U);
  EXPECT_EQ(graph["edges"].size(), 9U);  // six loadings, two regressions, one covariance
  EXPECT_EQ(graph["edges"][6], json({{"from", 0},
                                     {"to", 1},
                                     {"kind", "path"},
                                     {"est", results[0].fit.estimates[6].estimate}}));
  EXPECT_EQ(data["traffic"][1]["start"], 0.25);
  EXPECT_EQ(data["comparison"]["series"], json({"crude", "adjusted", "by-school"}));
  // Of "crude" one loading has no interval, so "adjusted" has nothing to share it with.
  EXPECT_EQ(data["comparison"]["sections"][0]["rows"].size(), 6U);
  EXPECT_TRUE(json::parse(PlotData(std::vector{SmallResult()}, {}))["comparison"].is_null());
}

}  // namespace
}  // namespace partita::methods::mle::report_html_test
