#include "report/document_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "methods/mle/report/report.h"
#include "report/result_json.h"
#include "tests/report/sample_run.h"

namespace partita::report::document_report_test {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::Not;

study::Document Sample() {
  study::Document document;
  document.title = "A mixture of <two>";
  study::DocumentSection section{"Components", {"Two of them are active."}, {}, {}};
  section.tables.push_back(
      {"Weights", {"component", "weight"}, {{"first", 1.0 / 3}, {"second", 0.66666666666666663}}});
  section.plots.push_back(
      {"Log density",
       "iteration",
       "nats",
       {{"held out", {1, 2, 3}, {-3, -2, -1.5}}, {"range", {1, 2}, {-4, -3}, {-2, -1}}},
       "of all iterations"});
  section.intervals.push_back(
      {"Intervals of odds ratios", "odds ratio", true, {{"smoker", 1.25, 2.5, 5}}});
  document.sections.push_back(std::move(section));
  document.json = R"({"components": 2})";
  document.files.push_back({"synthetic.csv", "age\n31\n"});
  return document;
}

std::unique_ptr<const Result> ReadStored(const std::string& /*method*/,
                                         const nlohmann::ordered_json& stored) {
  return ReadDocumentResult(stored);
}

StoredResult Stored(const study::Document& document) {
  return ParseResultJson(DocumentJson(document, FullPlan(), FullFacts()), "result.json",
                         ReadStored);
}

TEST(DocumentReportTest, TextHoldsTheSectionsAndTheRun) {
  const std::string text = DocumentSummary(Sample(), FullPlan(), FullFacts());
  EXPECT_THAT(text, HasSubstr("A mixture of <two>"));
  EXPECT_THAT(text, HasSubstr("Two of them are active."));
  EXPECT_THAT(text, HasSubstr("first      0.3333\n"));
  EXPECT_THAT(text, HasSubstr("Who learned what"));
}

TEST(DocumentReportTest, JsonHoldsTheNumbersInFullAndReadsBack) {
  const std::string text = DocumentJson(Sample(), FullPlan(), FullFacts());
  const json parsed = json::parse(text);
  EXPECT_EQ(parsed["status"], "converged");
  EXPECT_EQ(parsed["document"]["sections"][0]["tables"][0]["rows"][0][1], 1.0 / 3);
  EXPECT_EQ(parsed["document"]["files"][0], "synthetic.csv");
  EXPECT_EQ(parsed["result"]["components"], 2);
  EXPECT_THAT(text, Not(HasSubstr("31")));  // files stand beside it

  const StoredResult stored = ParseResultJson(text, "result.json", ReadStored);
  EXPECT_EQ(stored.result->Json(stored.plan, stored.facts), text);
  EXPECT_TRUE(methods::mle::AnalysesOf(stored.result.get()).empty());
  EXPECT_FALSE(stored.result->Csv());
  EXPECT_EQ(stored.result->Files().at(0).name, "synthetic.csv");
}

// The first table, in full; only of a fit that has converged.
TEST(DocumentReportTest, EstimatesAreATable) {
  study::Document document = Sample();
  document.sections.insert(document.sections.begin(), {"Words", {"No table."}, {}, {}});
  auto& table = document.sections[1].tables[0];
  table.columns[1] = "weight, or none";
  table.rows[1][1] = std::numeric_limits<double>::quiet_NaN();
  const auto csv = [&] {
    return ReadEstimatesResult(
               nlohmann::ordered_json::parse(DocumentJson(document, FullPlan(), FullFacts())))
        ->Csv();
  };
  EXPECT_EQ(csv(), "component,\"weight, or none\"\nfirst,0.3333333333333333\nsecond,\n");
  document.ending = study::Ending::kNotConverged;
  EXPECT_FALSE(csv());
}

TEST(DocumentReportTest, NoPValueIsZero) {
  study::Document document = Sample();
  document.sections[0].tables[0] = {
      "Tests", {"term", "z", "p-value"}, {{"a", 0.0, 0.0}, {"b", "-", 0.5}}};
  const std::string text = DocumentSummary(document, FullPlan(), FullFacts());
  EXPECT_THAT(text, HasSubstr("a     0  < 1e-300\n"));
  EXPECT_THAT(text, HasSubstr("b     -       0.5\n"));
  EXPECT_THAT(RenderDocumentHtml(document, FullPlan(), FullFacts()), HasSubstr("&lt; 1e-300"));
}

// Numbers that a method wrote as text, ranges of them and what is withheld; names stay on the left.
TEST(DocumentReportTest, NumbersStandOnTheRight) {
  study::Document document = Sample();
  document.sections[0].tables[0] = {
      "Medians",
      {"group", "median", "to", "comment"},
      {{"1", "29.5 to 30", "withheld", "none"}, {"2", "8", "-", "12"}}};
  const std::string text = DocumentSummary(document, FullPlan(), FullFacts());
  EXPECT_THAT(text, HasSubstr("1      29.5 to 30  withheld  none\n"));
  EXPECT_THAT(text, HasSubstr("2               8         -  12\n"));
}

TEST(DocumentReportTest, WhatIsNoNumberReadsBackToo) {
  study::Document document = Sample();
  document.ending = study::Ending::kNotTrained;
  document.sections[0].tables[0].rows[0][1] = std::numeric_limits<double>::quiet_NaN();
  document.sections[0].plots[0].series[0].y[1] = std::numeric_limits<double>::infinity();
  const StoredResult stored = Stored(document);
  EXPECT_EQ(stored.result->ending(), study::Ending::kNotTrained);
  // Said before anything else.
  EXPECT_THAT(DocumentSummary(document, FullPlan(), FullFacts()), HasSubstr("NOT TRAINED"));
  EXPECT_THAT(RenderDocumentHtml(document, FullPlan(), FullFacts()), HasSubstr("NOT TRAINED"));
  EXPECT_THAT(DocumentSummary(Sample(), FullPlan(), FullFacts()), Not(HasSubstr("NOT TRAINED")));
  EXPECT_EQ(stored.result->Json(stored.plan, stored.facts),
            DocumentJson(document, FullPlan(), FullFacts()));
}

TEST(DocumentReportTest, PageHoldsTablesAndPlotsEscaped) {
  const std::string page = RenderDocumentHtml(Sample(), FullPlan(), FullFacts());
  EXPECT_THAT(page, HasSubstr("A mixture of &lt;two&gt;"));
  EXPECT_THAT(page, Not(HasSubstr("<two>")));
  EXPECT_THAT(page, HasSubstr("0.3333"));
  EXPECT_THAT(page, HasSubstr("<svg"));
  EXPECT_THAT(page, HasSubstr("Log density"));
}

TEST(DocumentReportTest, PlotsAreOnThePageAndNoHeadingIsEmpty) {
  study::Document document = Sample();
  study::DocumentSection only_plots{"Chains", {}, {}, document.sections[0].plots};
  study::DocumentSection nothing{"Nothing to say"};
  document.sections = {only_plots, nothing};
  EXPECT_THAT(DocumentSummary(document, FullPlan(), FullFacts()), Not(HasSubstr("Chains")));
  const std::string page = RenderDocumentHtml(document, FullPlan(), FullFacts());
  EXPECT_THAT(page, HasSubstr("<h2>Chains</h2>"));
  EXPECT_THAT(page, HasSubstr("of all iterations"));
  EXPECT_THAT(page, HasSubstr("<polygon class=\"band s2\""));
  EXPECT_THAT(page, Not(HasSubstr("Nothing to say")));
}

TEST(DocumentReportTest, PageHasTheBoxAndTheNumbersOfItsScript) {
  study::Plan plan = FullPlan();
  plan.releases[0].mechanism = "discrete Gaussian";
  plan.privacy = {{"outside", "replace", "epsilon <= 1 at delta = 1e-06"}};
  const std::string page = RenderDocumentHtml(Sample(), plan, FullFacts());
  EXPECT_THAT(page, HasSubstr("class=\"statements\""));
  EXPECT_THAT(page, HasSubstr("by outside: epsilon &lt;= 1 at delta = 1e-06. This holds"));
  EXPECT_THAT(page, HasSubstr("{\"traffic\": [{\"phase\":\"set-up\""));
  EXPECT_THAT(page, HasSubstr("Licences of the packages"));
  RunFacts facts = FullFacts();
  facts.phases.clear();
  EXPECT_THAT(RenderDocumentHtml(Sample(), plan, facts), Not(HasSubstr("<script")));
}

TEST(DocumentReportTest, OwnRowsStayOnTheTerminal) {
  study::Document document = Sample();
  study::DocumentSection own;
  own.heading = "Own rows";
  own.paragraphs = {"Seventeen of them."};
  own.own_rows = true;
  document.sections.push_back(std::move(own));
  EXPECT_THAT(DocumentSummary(document, FullPlan(), FullFacts()), HasSubstr("Seventeen"));
  EXPECT_THAT(DocumentJson(document, FullPlan(), FullFacts()), Not(HasSubstr("Seventeen")));
  EXPECT_THAT(RenderDocumentHtml(document, FullPlan(), FullFacts()), Not(HasSubstr("Seventeen")));
}

TEST(DocumentReportTest, RefusesDamagedDocuments) {
  json parsed = json::parse(DocumentJson(Sample(), FullPlan(), FullFacts()));
  json short_row = parsed;
  short_row["document"]["sections"][0]["tables"][0]["rows"][0].erase(1);
  EXPECT_THROW(ParseResultJson(short_row.dump(), "r", ReadStored), Error);
  json half_line = parsed;
  half_line["document"]["sections"][0]["plots"][0]["series"][0]["y"].erase(0);
  EXPECT_THROW(ParseResultJson(half_line.dump(), "r", ReadStored), Error);
  json half_band = parsed;
  half_band["document"]["sections"][0]["plots"][0]["series"][1]["upper"].erase(0);
  EXPECT_THROW(ParseResultJson(half_band.dump(), "r", ReadStored), Error);
  json no_end = parsed;
  no_end["document"]["sections"][0]["intervals"][0]["rows"][0].erase("upper");
  EXPECT_THROW(ParseResultJson(no_end.dump(), "r", ReadStored), Error);
  // Of before there were notes, bands and intervals.
  json old = parsed;
  json& plot = old["document"]["sections"][0]["plots"][0];
  plot.erase("note");
  old["document"]["sections"][0].erase("intervals");
  for (json& series : plot["series"]) series.erase("upper");
  EXPECT_NO_THROW(ParseResultJson(old.dump(), "r", ReadStored));
  parsed["document"].erase("sections");
  EXPECT_THROW(ParseResultJson(parsed.dump(), "r", ReadStored), Error);
}

}  // namespace
}  // namespace partita::report::document_report_test
