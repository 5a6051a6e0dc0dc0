// Studies of method `meta` through the whole path: pooled numbers on every engine against R, traffic
// as planned, who learns them, sites without an estimate, what is refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "methods/meta/study.h"
#include "run/party/build_plan.h"
#include "tests/methods/meta/meta_text.h"
#include "tests/run/study_in_process.h"
#include "tests/study/edited.h"

namespace partita::methods::meta::meta_study_test {
namespace {

using nlohmann::json;
using partita::testing::ExpectPlannedTraffic;
using partita::testing::Outcomes;
using partita::testing::Prepare;
using partita::testing::ResultOf;
using partita::testing::RunStudy;
using study::Edited;
using ::testing::Contains;
using ::testing::HasSubstr;
using testing::kAccept;
using testing::MetaText;
using ::testing::Not;
using testing::TablesOf;

json Reference(const std::string& name) {
  std::ifstream file(FixturePath("references/meta/meta.json"));
  return json::parse(file)[name];
}

stats::meta::Sites SitesOf(const json& table) {
  return {table["estimates"], table["standard_errors"]};
}

const json& AnalysisOf(const json& table, const std::string& estimator, bool hartung) {
  for (const json& analysis : table["analyses"]) {
    if (analysis["estimator"] == estimator && analysis["hartung_knapp"] == hartung) return analysis;
  }
  throw std::runtime_error("no such analysis");
}

// A step of the grid each: half a step, and what tau^2 moves within its precision.
void ExpectR(const json& result, const json& wanted) {
  const double step = result["step"];
  for (const char* name : {"estimate", "standard_error"})
    EXPECT_NEAR(result[name], wanted[name].get<double>(), step) << name;
  EXPECT_NEAR(result["tau_squared"], wanted["tau_squared"].get<double>(),
              0.006 * wanted["tau_squared"].get<double>());
  EXPECT_NEAR(result["q"], wanted["q"].get<double>(), 0x1p-6);
  EXPECT_NEAR(result["i_squared"], wanted["i_squared"].get<double>(), 0x1p-6);
  // Of the interval also the critical value times a step; of a new site's tau^2's error.
  for (const char* name : {"lower", "upper"})
    EXPECT_NEAR(result[name], wanted[name].get<double>(), 4 * step) << name;
  const double width = wanted["new_upper"].get<double>() - wanted["new_lower"].get<double>();
  EXPECT_NEAR(result["new_site"]["lower"], wanted["new_lower"].get<double>(),
              4 * step + 0.003 * width);
}

TEST(MetaStudyTest, TheTrialsOfBcg) {
  const json table = Reference("bcg");
  const std::string text = MetaText(13, "dealer", "ratios = true\n");
  const auto outcomes = Outcomes(RunStudy(text, TablesOf(SitesOf(table))));
  ASSERT_EQ(outcomes.size(), 14u);
  ExpectPlannedTraffic(outcomes);
  const json result = ResultOf(outcomes.front());
  ExpectR(result, AnalysisOf(table, "reml", true));
  EXPECT_EQ(result["sites"], 13);
  EXPECT_EQ(result["df"], 12);
  EXPECT_TRUE(result["by_site"].is_null());
  for (size_t p = 1; p < outcomes.size(); ++p) EXPECT_EQ(outcomes[p].result, nullptr);
  const study::Document& document = partita::testing::DocumentOf(outcomes.front());
  ASSERT_EQ(document.sections.size(), 2u);
  ASSERT_EQ(document.sections[0].intervals.size(), 1u);
  EXPECT_EQ(document.sections[0].intervals.front().rows.size(), 2u);
  EXPECT_TRUE(document.sections[0].intervals.front().ratios);
  EXPECT_THAT(outcomes.front().result->Html(outcomes.front().plan, report::RunFacts{}),
              HasSubstr("Forest plot"));
}

TEST(MetaStudyTest, FiveSitesOnOtherEngines) {
  const json table = Reference("few");
  const auto laird = Outcomes(
      RunStudy(MetaText(5, "shamir", "estimator = \"dersimonian-laird\"\ninterval = \"normal\"\n"),
               TablesOf(SitesOf(table))));
  ASSERT_EQ(laird.size(), 5u);
  ExpectPlannedTraffic(laird);
  ExpectR(ResultOf(laird.front()), AnalysisOf(table, "dersimonian-laird", false));
  const auto fixed = Outcomes(
      RunStudy(MetaText(5, "dealer", "estimator = \"fixed\"\n"), TablesOf(SitesOf(table))));
  ExpectPlannedTraffic(fixed);
  const json result = ResultOf(fixed.front()), wanted = AnalysisOf(table, "fixed", false);
  EXPECT_NEAR(result["estimate"], wanted["estimate"].get<double>(), result["step"].get<double>());
  EXPECT_TRUE(result["new_site"].is_null());
  EXPECT_TRUE(result["df"].is_null());
}

// Everybody is told, every site by name: the rest is computed in the clear.
TEST(MetaStudyTest, SitesOpenWhereAllAgreed) {
  const json table = Reference("few");
  const std::string text = Edited(MetaText(5, "shamir", "protocol = \"site-estimates\"\n"),
                                  "[\"pooled\"]", "[{what = \"pooled\", to = \"all\"}]");
  const auto outcomes = Outcomes(RunStudy(text, TablesOf(SitesOf(table))));
  ASSERT_EQ(outcomes.size(), 5u);
  ExpectPlannedTraffic(outcomes);
  const json result = ResultOf(outcomes.front());
  for (size_t p = 1; p < 5; ++p) EXPECT_EQ(ResultOf(outcomes[p]), result);
  ASSERT_EQ(result["by_site"].size(), 5u);
  for (size_t s = 0; s < 5; ++s) {
    const double error = table["standard_errors"][s];
    EXPECT_EQ(result["by_site"][s]["site"], "p" + std::to_string(s));
    // Half a step of 2^-5, which is as fine as half of one site's bits allow.
    EXPECT_NEAR(result["by_site"][s]["estimate"], table["estimates"][s].get<double>(), error / 64);
    EXPECT_NEAR(result["by_site"][s]["standard_error"], error, error / 64);
  }
  const json& wanted = AnalysisOf(table, "reml", true);
  EXPECT_NEAR(result["estimate"], wanted["estimate"].get<double>(), 0.02);
  EXPECT_EQ(
      partita::testing::DocumentOf(outcomes.front()).sections[0].intervals.front().rows.size(), 7u);
  const study::Plan plan = run::BuildPlan(*Prepare(text));
  EXPECT_EQ(plan.leakage_level, "site-estimates");
  EXPECT_THAT(plan.assumptions, Contains(HasSubstr("by name")));
}

// Two estimates are too few for any min_sites.
TEST(MetaStudyTest, NoFewerSitesThanThreeAreProposed) {
  std::vector<std::string> tables = TablesOf(SitesOf(Reference("few")));
  for (size_t s = 2; s < tables.size(); ++s) tables[s] = testing::kNoEstimate;
  const auto refused = RunStudy(MetaText(tables.size(), "dealer"), tables);
  ASSERT_NE(run::RootCause(refused), nullptr);
  EXPECT_THAT(run::RootCause(refused)->error->message(), HasSubstr("2 of 5 sites"));
  EXPECT_THAT(run::RootCause(refused)->error->hint(), Not(HasSubstr("min_sites")));
}

// One site of six has none: all stop and hear how many, unless the study says how many are enough.
TEST(MetaStudyTest, SitesWithoutAnEstimateAreCounted) {
  const json table = Reference("few");
  std::vector<std::string> tables = TablesOf(SitesOf(table));
  tables.insert(tables.begin() + 2, testing::kNoEstimate);
  const auto refused = RunStudy(MetaText(6, "dealer"), tables);
  for (const auto& end : refused) EXPECT_TRUE(end.error.has_value()) << end.party;
  ASSERT_NE(run::RootCause(refused), nullptr);
  const Error& error = *run::RootCause(refused)->error;
  EXPECT_EQ(error.code(), ErrorCode::kRefused);
  EXPECT_THAT(error.message(), HasSubstr("5 of 6 sites have an estimate"));
  EXPECT_THAT(error.hint(), HasSubstr("min_sites = 5"));

  const auto outcomes = Outcomes(RunStudy(MetaText(6, "dealer", "min_sites = 5\n"), tables));
  ASSERT_EQ(outcomes.size(), 7u);
  const json result = ResultOf(outcomes.front());
  ExpectR(result, AnalysisOf(table, "reml", true));
  EXPECT_EQ(result["sites"], 5);
  EXPECT_EQ(result["without_estimate"], 1);
  EXPECT_THAT(partita::testing::DocumentOf(outcomes.front()).sections[0].paragraphs,
              Contains(HasSubstr("1 of 6 sites brought no estimate")));
}

std::string RowsCsv(const json& rows) {
  std::string csv = "relapse,arm,age\n";
  for (size_t r = 0; r < rows["age"].size(); ++r) {
    csv += fmt::format("{},{},{}\n", rows["relapse"][r] == 0 ? "no" : "yes",
                       rows["arm"][r] == 0 ? "old" : "new", rows["age"][r].get<int>());
  }
  return csv;
}

std::vector<std::string> RowTables() {
  const json table = Reference("fitted");
  std::vector<std::string> tables;
  for (const json& rows : table["rows"]) tables.push_back(RowsCsv(rows));
  return tables;
}

// Each site fits its own rows; R did the same.
TEST(MetaStudyTest, SitesFitTheirOwnRows) {
  const json table = Reference("fitted");
  const auto outcomes = Outcomes(RunStudy(testing::FormulaText(5, "dealer"), RowTables()));
  ASSERT_EQ(outcomes.size(), 6u);
  ExpectPlannedTraffic(outcomes);
  const json result = ResultOf(outcomes.front());
  ExpectR(result, AnalysisOf(table, "reml", true));
  EXPECT_EQ(result["of"], "arm.new");
  EXPECT_EQ(result["ratios"], true);
  const auto open = Outcomes(
      RunStudy(testing::FormulaText(5, "shamir", "protocol = \"site-estimates\"\n"), RowTables()));
  ASSERT_EQ(open.size(), 5u);
  ExpectPlannedTraffic(open);
  const json by_site = ResultOf(open.front())["by_site"];
  for (size_t s = 0; s < 5; ++s) {
    const double error = table["standard_errors"][s];
    EXPECT_NEAR(by_site[s]["estimate"], table["estimates"][s].get<double>(), error / 64);
    EXPECT_NEAR(by_site[s]["standard_error"], error, error / 64);
  }
}

// Site p1 has no relapse in the new arm, p2 too few rows, p3 only one arm: each is told why, nobody
// else. With min_sites the others are pooled.
TEST(MetaStudyTest, HoldersAreToldWhyTheyHaveNoEstimate) {
  std::vector<std::string> tables = RowTables();
  std::string separated = "relapse,arm,age\n", few = separated, one_arm = separated;
  for (int i = 0; i < 160; ++i) {
    const int age = 20 + i * 7 % 60;
    const char* relapse = i % 3 == 0 ? "yes" : "no";
    const char* arm = i % 2 == 0 ? "old" : "new";
    separated += fmt::format("{},{},{}\n", i % 4 == 0 ? "yes" : "no", arm, age);
    if (i < 60) few += fmt::format("{},{},{}\n", relapse, arm, age);
    one_arm += fmt::format("{},old,{}\n", relapse, age);
  }
  tables.insert(tables.begin() + 1, {separated, few, one_arm});
  const auto refused = RunStudy(testing::FormulaText(8, "dealer"), tables);
  ASSERT_EQ(refused.size(), 9u);
  const auto message = [&](size_t p) { return refused[p].error->message(); };
  for (size_t p = 0; p < 8; ++p) {
    ASSERT_TRUE(refused[p].error.has_value());
    EXPECT_THAT(message(p), HasSubstr("5 of 8 sites have an estimate"));
    EXPECT_EQ(message(p).find("this site has none") != std::string::npos, p >= 1 && p <= 3) << p;
  }
  EXPECT_THAT(message(1), HasSubstr("separation"));
  EXPECT_THAT(message(2), HasSubstr("it has 60 rows, and 100 are needed"));
  EXPECT_THAT(message(3), HasSubstr("arm.new is 0 in all of its rows"));

  const auto outcomes =
      Outcomes(RunStudy(testing::FormulaText(8, "dealer", "min_sites = 5\n"), tables));
  ASSERT_EQ(outcomes.size(), 9u);
  ExpectPlannedTraffic(outcomes);
  ExpectR(ResultOf(outcomes.front()), AnalysisOf(Reference("fitted"), "reml", true));
  for (size_t p = 0; p < 8; ++p)
    EXPECT_EQ(outcomes[p].checks.size(), p >= 1 && p <= 3 ? 2u : 1u) << p;
  EXPECT_THAT(outcomes[1].checks.back().rule, HasSubstr("separation"));
}

TEST(MetaStudyTest, EstimatesOfFewRowsAreNone) {
  OwnFit fit;
  fit.estimate = {true, 1, 0.5};
  fit.rows = 100;
  fit.columns = 3;
  fit.smallest_cell = 5;
  EXPECT_TRUE(Decide(fit, {5, 100}).estimate.usable);
  EXPECT_FALSE(Decide(fit, {6, 100}).estimate.usable);
  EXPECT_THAT(Decide(fit, {6, 100}).reason, HasSubstr("min_cell = 6"));
  EXPECT_FALSE(Decide(fit, {5, 101}).estimate.usable);
  fit.rows = 12;  // three columns and ten more are needed
  EXPECT_FALSE(Decide(fit, {1, 1}).estimate.usable);
  fit.rows = 13;
  EXPECT_TRUE(Decide(fit, {1, 1}).estimate.usable);
  EXPECT_EQ(Prepare(testing::FormulaText(5, "dealer"))->LeastRowsApart(), 30u);
}

TEST(MetaStudyTest, ThePlanSaysWhatOpens) {
  const auto study = Prepare(MetaText(13, "dealer"));
  const study::Plan plan = run::BuildPlan(*study);
  EXPECT_EQ(plan.method, "meta");
  EXPECT_EQ(plan.protocol, "pooled");
  ASSERT_EQ(plan.releases.size(), 3u);
  EXPECT_EQ(plan.releases[0].to, "all");
  EXPECT_EQ(plan.releases[1].max_count, 2u);
  EXPECT_EQ(plan.releases[2].to, "p0");
  ASSERT_EQ(plan.exposures.size(), 1u);
  ASSERT_TRUE(plan.exposures.front().bits.has_value());
  // Three numbers at 6 bits, twice 6 of tau^2, log2(14) = 3.8 of the count; 12 sites of 2^20 values:
  // log2 C(12 + 2^20 - 1, 12) = 240 - log2 12! = 211.1.
  EXPECT_EQ(plan.exposures.front().bits->opened, 34u);
  EXPECT_EQ(plan.exposures.front().bits->table, 211u);
  EXPECT_TRUE(plan.exposures.front().bits->passes);
  EXPECT_THAT(plan.assumptions, Contains(HasSubstr("open to nobody")));
  EXPECT_THAT(plan.parties[1].learns, Not(Contains(HasSubstr("pooled"))));
  EXPECT_TRUE(study->Warnings().empty());
  // Of four sites the others' have 57 bits: 2^-4 for 27.
  const auto four = Prepare(MetaText(4, "shamir"));
  EXPECT_THAT(four->Warnings(), Contains(HasSubstr("2^-4")));
}

struct Refusal {
  std::string from, to, what, hint;
};

TEST(MetaStudyTest, RefusesWhatItDoesNotDo) {
  const std::string text = MetaText(5, "dealer", "min_sites = 5\n");
  Prepare(text);
  for (const Refusal& refusal : std::vector<Refusal>{
           {"site = \"ignore\"", "site = \"fixed\"", "effects of sites", "site = \"ignore\""},
           {"missing = \"complete\"", "missing = \"complete\"\ncluster = \"centre\"", "clusters",
            "leave them out"},
           {"count = 1", "count = 30", "block 'r0' is not of one row", "count = 1"},
           {"count = 1\n", "", "block 'r0' is not of one row", "count = 1"},
           {"min_sites = 5", "min_sites = 6", "min_sites is 6", "smaller"},
           {"min_sites = 5", "min_sites = 3", "more than half", "more sites"},
           {"[engine]", "[release]\ngrid = \"full\"\n[engine]", "on a grid", "leave `grid` out"}}) {
    SCOPED_TRACE(refusal.to);
    try {
      Prepare(Edited(text, refusal.from, refusal.to));
      ADD_FAILURE() << "accepted";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kBadInput);
      EXPECT_THAT(error.message(), HasSubstr(refusal.what));
      EXPECT_THAT(error.hint(), HasSubstr(refusal.hint));
    }
  }
  EXPECT_THROW(Prepare(MetaText(2, "dealer", "", kAccept)), Error);
  // Three sites tell one another's estimates, which all may accept.
  EXPECT_THROW(Prepare(MetaText(3, "replicated")), Error);
  Prepare(MetaText(3, "replicated", "", kAccept));
}

}  // namespace
}  // namespace partita::methods::meta::meta_study_test
