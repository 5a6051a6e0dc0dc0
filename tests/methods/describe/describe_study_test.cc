// Studies of method `describe` through the whole path: the table of a real data set on every
// engine, traffic as planned, who learns it, what is refused.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <random>
#include <sstream>

#include "base/error.h"
#include "methods/describe/layout.h"
#include "methods/describe/study.h"
#include "methods/prepare_study.h"
#include "run/party/build_plan.h"
#include "run/simulate/simulate.h"
#include "tests/methods/describe/describe_text.h"
#include "tests/methods/describe/tables.h"
#include "tests/paths.h"
#include "tests/run/reference_study.h"
#include "tests/run/study_in_process.h"
#include "tests/study/edited.h"

namespace partita::methods::describe::describe_study_test {
namespace {

using partita::testing::ExpectPlannedTraffic;
using partita::testing::Outcomes;
using partita::testing::Prepare;
using partita::testing::ResultOf;
using partita::testing::RunStudy;
using study::Edited;
using ::testing::Contains;
using ::testing::HasSubstr;
using testing::kDescribeStudy;
using ::testing::MatchesRegex;
using ::testing::Not;

// ---- abalone, whose numbers Python computed

std::string AbaloneText(const std::string& engine, size_t holders) {
  std::string text = "partita = 1\nname = \"abalone\"\n";
  for (size_t h = 0; h < holders; ++h) {
    text += fmt::format("[[party]]\nname = \"p{0}\"\nroles = [\"holder\"{1}]\nrows = [\"r{0}\"]\n",
                        h, h == 0 ? ", \"receiver\"" : "");
  }
  if (engine == "dealer") text += "[[party]]\nname = \"helper\"\nroles = [\"dealer\"]\n";
  for (size_t h = 0; h < holders; ++h)
    text += fmt::format("[[rows]]\nname = \"r{}\"\ncount = {}\n", h,
                        (4177 + holders - 1 - h) / holders);
  text += R"([[variable]]
name = "sex"
type = "factor"
levels = ["F", "I", "M"]
[[variable]]
name = "length"
type = "numeric"
lower = 0
upper = 1
[[variable]]
name = "whole_weight"
type = "numeric"
lower = 0
upper = 3
[[variable]]
name = "rings"
type = "integer"
lower = 1
upper = 30
[design]
site = "ignore"
missing = "refuse"
)";
  text += fmt::format("[engine]\nname = \"{}\"\n", engine);
  return text +
         "[[analysis]]\nmethod = \"describe\"\ngroup = \"sex\"\n"
         "compare = [\"differences\", \"welch\", \"anova\", \"ranks\"]\n"
         "release = [\"table\"]\n";
}

// Line by line to one holder after the other.
std::vector<std::string> AbaloneParts(size_t holders) {
  std::ifstream table(FixturePath("tables/abalone.csv"));
  std::string line;
  std::getline(table, line);
  std::vector<std::string> parts(holders, "sex,length,whole_weight,rings\n");
  for (size_t row = 0; std::getline(table, line); ++row) {
    std::vector<std::string> fields;
    std::stringstream cells(line);
    for (std::string field; std::getline(cells, field, ',');) fields.push_back(field);
    parts[row % holders] +=
        fmt::format("{},{},{},{}\n", fields[0], fields[1], fields[4], fields[8]);
  }
  return parts;
}

void ExpectAbalone(const nlohmann::json& result) {
  std::ifstream file(FixturePath("references/describe.json"));
  const auto reference = nlohmann::json::parse(file);
  const std::map<std::string, double> range = {{"length", 1}, {"whole_weight", 3}, {"rings", 0}};
  ASSERT_EQ(result["variables"].size(), 3u);
  for (const nlohmann::json& variable : result["variables"]) {
    const std::string name = variable["name"];
    SCOPED_TRACE(name);
    ASSERT_EQ(variable["columns"].size(), 4u);
    for (const nlohmann::json& column : variable["columns"]) {
      const std::string group = column["group"].is_null() ? "all" : column["group"];
      SCOPED_TRACE(group);
      const nlohmann::json& wanted = reference["variables"][name][group];
      EXPECT_EQ(column["n"], wanted["n"]);
      const double step = column["step"];
      const double sd = wanted["sd"];
      // A grid of 2^-6 standard errors at most; 2.3 steps of deviations over groups (protocol_test).
      EXPECT_LE(step, 0x1p-6 * 1.001 * sd / std::sqrt(wanted["n"].get<double>()) *
                          (group == "all" ? 3 : 1));
      EXPECT_NEAR(column["mean"], wanted["mean"].get<double>(), 0.51 * step);
      EXPECT_NEAR(column["sd"], sd, 0.51 * step * (group == "all" ? 2.3 : 1));
      for (size_t q = 0; q < 3; ++q) {
        EXPECT_NEAR(column["quantiles"][q], wanted["quantiles"][q].get<double>(),
                    range.at(name) / kMaxCells / 2 + 1e-12);
      }
    }
  }
}

// Roots of F: with means within 0.51 steps of at most 2^-6 standard errors s_g / sqrt(n_g) the vector
// of sqrt(n_g) m_g errs by 0.008 sqrt(3) of the largest s_g, here 1.2 of the pooled one, at most; and
// deviations by 0.008 / sqrt(1307) of themselves.
void ExpectF(const nlohmann::json& test, const std::string& name, const nlohmann::json& wanted) {
  EXPECT_EQ(test["test"], name);
  const double root = std::sqrt(wanted[0].get<double>());
  EXPECT_NEAR(std::sqrt(test["statistic"].get<double>()), root,
              0.008 * std::sqrt(3) * 1.2 / std::sqrt(2) + 5e-4 * root);
  EXPECT_EQ(test["df"], wanted[1]);
  EXPECT_NEAR(test["df_within"], wanted[2].get<double>(), 2e-3 * wanted[2].get<double>());
}

// Against R.
void ExpectAbaloneCompared(const nlohmann::json& result) {
  std::ifstream file(FixturePath("references/tables/tables.json"));
  const auto reference = nlohmann::json::parse(file);
  for (const auto& [v, m] : std::vector<std::pair<size_t, size_t>>{{0, 0}, {2, 1}}) {
    const nlohmann::json& compared = result["variables"][v]["comparison"];
    const nlohmann::json& wanted = reference["means"][m];
    const double largest =
        *std::max_element(wanted["differences"].begin(), wanted["differences"].end());
    EXPECT_NEAR(compared["standardized_difference"], largest,
                2 * 0.008 / std::sqrt(1307) * 1.2 + 5e-4 * largest);
    ASSERT_EQ(compared["tests"].size(), 3u);
    ExpectF(compared["tests"][0], "welch-anova", wanted["welch"]);
    ExpectF(compared["tests"][1], "anova", wanted["classic"]);
    EXPECT_EQ(compared["tests"][2]["test"], "kruskal-wallis");
    EXPECT_EQ(compared["tests"][2]["df"], 2);
  }
  const nlohmann::json& ranks = result["variables"][2]["comparison"]["tests"][2];
  EXPECT_NEAR(std::sqrt(ranks["statistic"].get<double>()),
              std::sqrt(reference["ranks"][0]["statistic"].get<double>()),
              std::ldexp(0.5 + 0x1p-9, -6) + 0x1p-11);
}

TEST(DescribeStudyTest, ARealTableOnEveryEngine) {
  for (const auto& [engine, holders] : std::vector<std::pair<std::string, size_t>>{
           {"dealer", 2}, {"replicated", 3}, {"shamir", 4}}) {
    SCOPED_TRACE(engine);
    const auto outcomes = Outcomes(RunStudy(AbaloneText(engine, holders), AbaloneParts(holders)));
    ASSERT_EQ(outcomes.size(), holders + (engine == "dealer" ? 1 : 0));
    ExpectPlannedTraffic(outcomes);
    ExpectAbalone(ResultOf(outcomes.front()));
    ExpectAbaloneCompared(ResultOf(outcomes.front()));
    for (size_t p = 1; p < outcomes.size(); ++p) EXPECT_EQ(outcomes[p].result, nullptr);
  }
}

TEST(DescribeStudyTest, ATableByTransfers) {
  const std::string text =
      Edited(AbaloneText("ot", 2), "group = \"sex\"", "group = \"sex\"\nvariables = [\"rings\"]");
  const auto outcomes = Outcomes(RunStudy(text, AbaloneParts(2)));
  ASSERT_EQ(outcomes.size(), 2u);
  ExpectPlannedTraffic(outcomes);
  EXPECT_EQ(ResultOf(outcomes.front())["variables"][0]["columns"][3]["quantiles"],
            (std::vector<double>{8, 9, 11}));
}

// ---- a made-up table in three clinics

std::string CsvOf(const std::vector<testing::ClinicRow>& rows) {
  const auto number = [](double value) {
    return std::isnan(value) ? std::string() : fmt::format("{:.6f}", value);
  };
  const auto whole = [](double value) {
    return std::isnan(value) ? std::string() : fmt::format("{:.0f}", value);
  };
  const char* stages[] = {"one", "two", "three"};
  std::string csv = "age,score,smoker,stage,arm,onset_time,onset_event\n";
  for (const testing::ClinicRow& row : rows) {
    csv += fmt::format("{},{},{},{},{},1,0\n", number(row.age), whole(row.score), whole(row.smoker),
                       row.stage < 0 ? "" : stages[row.stage],
                       row.arm < 0    ? ""
                       : row.arm == 0 ? "control"
                                      : "treated");
  }
  return csv;
}

std::vector<std::string> ClinicTables() {
  std::mt19937_64 random(3);
  std::vector<std::string> tables;
  for (const size_t rows : {200, 150, 120})
    tables.push_back(CsvOf(testing::DrawRows(random, rows, 0.08)));
  return tables;
}

TEST(DescribeStudyTest, TheTableIsPrintedAndWritten) {
  const auto outcomes = Outcomes(RunStudy(kDescribeStudy, ClinicTables()));
  ASSERT_EQ(outcomes.size(), 4u);
  const study::Document& document = partita::testing::DocumentOf(outcomes.front());
  ASSERT_EQ(document.sections.size(), 1u);
  const study::DocumentTable& table = document.sections.front().tables.front();
  EXPECT_EQ(table.columns,
            (std::vector<std::string>{"variable", "arm = control", "arm = treated", "all"}));
  std::vector<std::string> lines;
  for (const auto& row : table.rows) lines.push_back(std::get<std::string>(row.front()));
  EXPECT_EQ(lines, (std::vector<std::string>{
                       "rows", "age (years), mean (sd)", "age (years), median [quartiles]",
                       "age, missing", "score, mean (sd)", "score, median [quartiles]",
                       "score, missing", "smoker = 1", "smoker, missing", "stage = one",
                       "stage = two", "stage = three", "stage, missing"}));
  EXPECT_EQ(std::get<std::string>(table.rows.front().back()), "470");
  // One line has as many decimals in all columns; quantiles of a whole number are whole.
  const std::string fine = "([0-9]+\\.[0-9][0-9]|withheld)", whole = "([0-9]+|withheld)";
  for (size_t column = 1; column < table.columns.size(); ++column) {
    const auto cell = [&](size_t row) { return std::get<std::string>(table.rows[row][column]); };
    EXPECT_THAT(cell(1), MatchesRegex(fine + " \\(" + fine + "\\)"));
    EXPECT_THAT(cell(2), MatchesRegex(fine + " \\[" + fine + ", " + fine + "\\]"));
    EXPECT_THAT(cell(5), MatchesRegex(whole + " \\[" + whole + ", " + whole + "\\]"));
  }
  ASSERT_EQ(document.files.size(), 1u);
  EXPECT_EQ(document.files.front().name, "table1.csv");
  EXPECT_EQ(Prepare(kDescribeStudy)->FileNames(), std::vector<std::string>{"table1.csv"});
  const std::string& csv = document.files.front().contents;
  EXPECT_EQ(csv.rfind("variable,arm = control,arm = treated,all\nrows,", 0), 0u);
  EXPECT_EQ(std::count(csv.begin(), csv.end(), '\n'), 14);
  const std::string text = outcomes.front().result->Text(outcomes.front().plan, report::RunFacts{});
  EXPECT_THAT(text, HasSubstr("smoker = 1"));
  EXPECT_THAT(outcomes.front().result->Html(outcomes.front().plan, report::RunFacts{}),
              HasSubstr("age (years), median [quartiles]"));
}

TEST(DescribeStudyTest, ComparisonsFollowFromTheTable) {
  const std::string text =
      Edited(kDescribeStudy, "release =",
             "compare = [\"differences\", \"welch\", \"anova\", \"ranks\", \"chi-square\", "
             "\"fisher\", \"ratios\"]\nrelease =");
  const auto outcomes = Outcomes(RunStudy(text, ClinicTables()));
  ASSERT_EQ(outcomes.size(), 4u);
  ExpectPlannedTraffic(outcomes);
  const nlohmann::json variables = ResultOf(outcomes.front())["variables"];
  const auto names = [&](size_t v) {
    std::vector<std::string> list;
    for (const nlohmann::json& test : variables[v]["comparison"]["tests"]) {
      list.push_back(test["test"]);
      EXPECT_TRUE(test["p_value"].is_number()) << test;
    }
    return list;
  };
  EXPECT_EQ(names(0), (std::vector<std::string>{"welch-t", "anova", "wilcoxon"}));
  EXPECT_EQ(names(3), (std::vector<std::string>{"chi-square", "fisher"}));
  const nlohmann::json& smoker = variables[2];
  const auto count = [&](size_t arm, size_t value) {
    return smoker["columns"][arm]["counts"][value].get<double>();
  };
  EXPECT_NEAR(smoker["comparison"]["odds_ratio"]["estimate"],
              count(1, 1) * count(0, 0) / (count(1, 0) * count(0, 1)), 1e-12);
  EXPECT_FALSE(variables[3]["comparison"].contains("odds_ratio"));

  const study::Document& document = partita::testing::DocumentOf(outcomes.front());
  ASSERT_EQ(document.sections.size(), 2u);
  const study::DocumentTable& table = document.sections.front().tables.front();
  EXPECT_EQ(table.columns, (std::vector<std::string>{"variable", "arm = control", "arm = treated",
                                                     "all", "SMD", "p"}));
  const auto cell = [&](size_t row, size_t column) {
    return std::get<std::string>(table.rows[row][column]);
  };
  EXPECT_EQ(cell(0, 4), "");
  EXPECT_NE(cell(1, 4), "");  // of the mean
  EXPECT_NE(cell(2, 5), "");  // of the median
  EXPECT_EQ(cell(3, 5), "");
  ASSERT_EQ(document.sections[1].tables.size(), 2u);
  EXPECT_EQ(document.sections[1].tables[0].rows.size(), 3u + 3 + 2 + 2);
  EXPECT_EQ(document.sections[1].tables[1].rows.size(), 1u);
  const study::Plan plan = run::BuildPlan(*Prepare(text));
  EXPECT_THAT(plan.notes, Contains(HasSubstr("rank statistics, which open")));
  // Two more numbers of 6 bits.
  EXPECT_EQ(plan.exposures.front().bits->opened, 483u + 12);
}

std::vector<std::string> ThreeClinics() {
  std::mt19937_64 random(31);
  std::vector<std::string> tables;
  for (size_t h = 0; h < 3; ++h) {
    std::string csv = "age,score,smoker,stage,arm,onset_time,onset_event\n";
    for (size_t r = 0; r < 240; ++r) {
      csv += fmt::format("{},{},{},{},{},1,0\n", 20 + random() % 70, random() % 31,
                         random() % 10 < 3 + h ? 1 : 0,
                         std::vector<std::string>{"one", "two", "three"}[random() % 3],
                         random() % 2 == 0 ? "control" : "treated");
    }
    tables.push_back(csv);
  }
  return tables;
}

// A column for every holder by name, which the plan says and an envelope has to admit.
TEST(DescribeStudyTest, HoldersHaveColumnsWhereAllAgree) {
  const std::string text = Edited(Edited(kDescribeStudy, "group = \"arm\"", "group = \"site\""),
                                  "missing = \"complete\"", "missing = \"refuse\"");
  const auto study = Prepare(text);
  const study::Plan plan = run::BuildPlan(*study);
  EXPECT_THAT(plan.assumptions, Contains(HasSubstr("open to north, by name")));
  EXPECT_THAT(plan.checks.front().rule, HasSubstr("of each holder"));
  // The bits of one column, of which one holder's min_rows rows have enough.
  const auto grouped = run::BuildPlan(
      *Prepare(Edited(kDescribeStudy, "missing = \"complete\"", "missing = \"refuse\"")));
  EXPECT_LT(plan.exposures.front().bits->opened, grouped.exposures.front().bits->opened);
  const study::SectionUses uses = study->file.analyses.front().section->Uses();
  ASSERT_EQ(uses.releases.size(), 1u);
  EXPECT_EQ(uses.releases.front().what, kSiteTable);

  const auto outcomes = Outcomes(RunStudy(text, ThreeClinics()));
  ExpectPlannedTraffic(outcomes);
  const nlohmann::json result = ResultOf(outcomes.front());
  EXPECT_EQ(result["group"], "site");
  size_t quantiles_of_holders = 0;
  for (const nlohmann::json& variable : result["variables"]) {
    ASSERT_EQ(variable["columns"].size(), 4u);
    EXPECT_EQ(variable["columns"][1]["group"], "south");
    for (size_t h = 0; h < 3; ++h) {
      EXPECT_EQ(variable["columns"][h]["n"], 240);
      for (const nlohmann::json& quantile :
           variable["columns"][h].value("quantiles", nlohmann::json()))
        quantiles_of_holders += quantile.is_number() ? 1 : 0;
    }
    EXPECT_EQ(variable["columns"][3]["n"], 720);
  }
  EXPECT_GT(quantiles_of_holders, 0u);  // all values of a column are one holder's
  EXPECT_THROW(Prepare(Edited(text, "min_rows = 200", "min_rows = 5")), Error);
}

TEST(DescribeStudyTest, OddsRatiosWithinHoldersArePrinted) {
  const std::string text =
      Edited(Edited(kDescribeStudy, "missing = \"complete\"", "missing = \"refuse\""),
             "release =", "compare = [\"mantel-haenszel\", \"ratios\"]\nrelease =");
  const auto outcomes = Outcomes(RunStudy(text, ThreeClinics()));
  ExpectPlannedTraffic(outcomes);
  const nlohmann::json result = ResultOf(outcomes.front());
  size_t with = 0;
  for (const nlohmann::json& variable : result["variables"]) {
    if (!variable["comparison"].contains("mantel_haenszel")) continue;
    ++with;
    const nlohmann::json& within = variable["comparison"]["mantel_haenszel"];
    // Arms are drawn alike: its logarithm's error is about 0.16.
    EXPECT_NEAR(std::log(within["odds_ratio"]["estimate"].get<double>()),
                std::log(variable["comparison"]["odds_ratio"]["estimate"].get<double>()), 0.1);
    EXPECT_GT(within["p_value"], 0);
  }
  EXPECT_EQ(with, 1u);
  EXPECT_THAT(outcomes.front().result->Html(outcomes.front().plan, report::RunFacts{}),
              HasSubstr("odds ratio within holders"));
  EXPECT_THAT(run::BuildPlan(*Prepare(text)).notes,
              Contains(HasSubstr("odds ratios within holders, which open")));
}

TEST(DescribeStudyTest, AllAreToldWhereTheStudySaysSo) {
  const std::string text =
      Edited(kDescribeStudy, "[\"table\"]", "[{what = \"table\", to = \"all\"}]");
  const auto outcomes = Outcomes(RunStudy(text, ClinicTables()));
  ASSERT_EQ(outcomes.size(), 4u);
  ExpectPlannedTraffic(outcomes);
  for (size_t p = 1; p < 3; ++p) EXPECT_EQ(ResultOf(outcomes[p]), ResultOf(outcomes[0]));
  EXPECT_EQ(outcomes[3].result, nullptr);
  for (const study::PlanParty& party : outcomes[0].plan.parties) {
    if (party.name != "helper") {
      EXPECT_THAT(party.learns, Contains(HasSubstr("counts")));
    }
  }
}

TEST(DescribeStudyTest, OnlyTheReceiverLearnsTheTable) {
  const study::Plan plan = run::BuildPlan(*Prepare(kDescribeStudy));
  EXPECT_EQ(plan.method, "describe");
  EXPECT_THAT(plan.parties[0].learns, Contains(HasSubstr("quantiles")));
  EXPECT_THAT(plan.parties[0].learns, Contains(HasSubstr("which variables the checks withheld")));
  EXPECT_THAT(plan.parties[1].learns, Not(Contains(HasSubstr("counts"))));
  ASSERT_EQ(plan.releases.size(), 2u);
  EXPECT_EQ(plan.releases[0].to, "all");
  EXPECT_EQ(plan.releases[1].to, "north");
  EXPECT_THAT(plan.checks.back().rule, HasSubstr("also without each holder's own rows"));
  ASSERT_EQ(plan.exposures.size(), 1u);
  ASSERT_TRUE(plan.exposures.front().bits.has_value());
  // 11 rows of counts and two numbers of each of two groups; six quantiles of each of three columns:
  // 22 counts of up to 3 x 2^20 rows at 21.6 / 2 + 2 bits, 8 numbers of 6, 9 of 12 and 9 of 5 bits.
  EXPECT_EQ(plan.exposures.front().bits->opened, 483u);
  EXPECT_TRUE(plan.exposures.front().bits->passes);
  EXPECT_THAT(plan.assumptions, Contains(HasSubstr("no differential privacy")));
  EXPECT_THAT(plan.assumptions, Contains(HasSubstr("Tables of several studies can be subtracted")));
  EXPECT_EQ(plan.leakage_level, "sufficient-statistics");
}

TEST(DescribeStudyTest, TooFewRowsOpenNothing) {
  const std::string few = Edited(kDescribeStudy, "min_rows = 200", "min_rows = 471");
  const auto refused = RunStudy(few, ClinicTables());
  for (const auto& end : refused) EXPECT_TRUE(end.error.has_value()) << end.party;
  ASSERT_NE(run::RootCause(refused), nullptr);
  EXPECT_EQ(run::RootCause(refused)->error->code(), ErrorCode::kRefused);
  EXPECT_THAT(run::RootCause(refused)->error->message(), HasSubstr("min_rows = 471"));
  Outcomes(RunStudy(Edited(few, "471", "470"), ClinicTables()));
}

// With a higher min_cell the rarest counts are withheld, and the table says so.
TEST(DescribeStudyTest, SmallCellsAreWithheld) {
  const std::string text =
      Edited(Edited(kDescribeStudy, "min_rows = 200", "min_rows = 200\nmin_cell = 30"),
             "release =", "compare = [\"welch\", \"ranks\", \"fisher\"]\nrelease =");
  const auto outcomes = Outcomes(RunStudy(text, ClinicTables()));
  ASSERT_EQ(outcomes.size(), 4u);
  const nlohmann::json result = ResultOf(outcomes.front());
  size_t withheld = 0;
  for (const nlohmann::json& variable : result["variables"]) {
    EXPECT_EQ(variable["comparison"]["tests"].empty(),
              variable["columns"][0]["withheld"].get<bool>());
    for (const nlohmann::json& column : variable["columns"]) {
      if (!column["withheld"].get<bool>()) continue;
      ++withheld;
      EXPECT_EQ(column.size(), 2u);
    }
  }
  // About 19 cells are missing of each group.
  EXPECT_GE(withheld, 8u);
  EXPECT_THAT(partita::testing::DocumentOf(outcomes.front()).sections.front().paragraphs,
              Contains(HasSubstr("fewer than 30 rows")));
}

// Rows without a group, outside the population or the subset are left out, at their owner.
TEST(DescribeStudyTest, TakesTheRowsOfThePopulation) {
  std::vector<testing::ClinicRow> rows;
  for (int i = 0; i < 120; ++i) {
    testing::ClinicRow row;
    row.age = 20 + i % 60;
    row.score = i % 31;
    row.smoker = i / 2 % 2;
    row.stage = i / 4 % 3;
    row.arm = i % 10 == 0 ? -1 : i / 12 % 2;
    rows.push_back(row);
  }
  std::string text =
      Edited(kDescribeStudy, "[engine]",
             "[population]\nsubset = [{variable = \"age\", at_least = 30}]\n[engine]");
  text = Edited(text, "release =", "subset = [{variable = \"score\", at_most = 29}]\nrelease =");
  uint64_t wanted = 0;
  for (const testing::ClinicRow& row : rows)
    wanted += row.age >= 30 && row.score <= 29 && row.arm >= 0 ? 3 : 0;
  const std::string csv = CsvOf(rows);
  const auto outcomes = Outcomes(RunStudy(text, {csv, csv, csv}));
  ASSERT_EQ(outcomes.size(), 4u);
  const nlohmann::json all = ResultOf(outcomes.front())["variables"][3]["columns"].back();
  EXPECT_EQ(all["n"].get<uint64_t>() + all["missing"].get<uint64_t>(), wanted);
  EXPECT_EQ(outcomes.front().rows.not_in_population, 20u);
  EXPECT_EQ(outcomes.front().rows.incomplete, 10u);
  const auto study = Prepare(text);
  // Ten for each of 11 counts and two more numbers of each of two groups.
  EXPECT_EQ(study->LeastRowsApart(), 260u);
}

TEST(DescribeStudyTest, MissingCellsAreCountedAndLeaveNoRowOut) {
  const auto study = Prepare(kDescribeStudy);
  const auto counted = study->TableChecks().counted_of;
  EXPECT_THAT(counted, Contains("age"));
  EXPECT_THAT(counted, Not(Contains("arm")));
}

TEST(DescribeStudyTest, RefusesMoreRowsThanAreAssumed) {
  const auto study = Prepare(kDescribeStudy);
  data::Holding holding;
  holding.blocks = {{0, 0, run::kMaxUndeclaredRows + 1, false}};
  run::OwnRows counts;
  try {
    study->PrepareRows(0, holding, counts);
    ADD_FAILURE() << "accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kBadData);
    EXPECT_THAT(error.message(), HasSubstr("block 'n' has 1048577 rows"));
    EXPECT_THAT(error.hint(), HasSubstr("count"));
  }
}

struct Refusal {
  std::string from, to, what, hint;
};

TEST(DescribeStudyTest, RefusesWhatItDoesNotDo) {
  const std::string cells = "[engine]";
  for (const Refusal& refusal : std::vector<Refusal>{
           {"site = \"ignore\"", "site = \"fixed\"", "effects of sites", "site = \"ignore\""},
           {"missing = \"complete\"", "missing = \"complete\"\ncluster = \"score\"", "clusters",
            "leave them out"},
           {cells, "[population]\nunit = \"visit\"\nmax_rows_per_person = 4\n[engine]",
            "a person has several", "one row per person"},
           {cells, "[release]\ngrid = \"full\"\n[engine]", "on a grid", "leave `grid` out"},
           {"min_rows = 200", "min_rows = 20", "more than half", "table of covariates"}}) {
    SCOPED_TRACE(refusal.to);
    try {
      Prepare(Edited(kDescribeStudy, refusal.from, refusal.to));
      ADD_FAILURE() << "accepted";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kBadInput);
      EXPECT_THAT(error.message(), HasSubstr(refusal.what));
      EXPECT_THAT(error.hint(), HasSubstr(refusal.hint));
    }
  }
}

// Where few rows are promised the grid is coarser, and with the consent of all everything opens.
TEST(DescribeStudyTest, FollowsTheReleaseRule) {
  const auto with_rows = [](int rows) {
    return Edited(kDescribeStudy, "min_rows = 200", fmt::format("min_rows = {}", rows));
  };
  const auto grid_of = [](const run::Study& study) {
    return dynamic_cast<const DescribeStudy&>(study).task.grid_bits;
  };
  int finest = 6;
  std::vector<int> grids;
  for (int rows = 200; rows > 20 && finest > 4; --rows) {
    const auto study = Prepare(with_rows(rows));
    EXPECT_LE(grid_of(*study), finest);
    EXPECT_TRUE(run::BuildPlan(*study).exposures.front().bits->passes);
    finest = grid_of(*study);
    grids.push_back(finest);
  }
  EXPECT_EQ(grids.front(), 6);
  EXPECT_EQ(grids.back(), 4);
  const std::string accepted =
      Edited(with_rows(20), "[engine]", "[release]\naccept = \"table of covariates\"\n[engine]");
  const auto study = Prepare(accepted);
  EXPECT_EQ(grid_of(*study), 6);
  const study::Plan plan = run::BuildPlan(*study);
  EXPECT_FALSE(plan.exposures.front().bits->passes);
  EXPECT_THAT(plan.exposures.front().bits->meaning, HasSubstr("table of covariates"));
}

}  // namespace
}  // namespace partita::methods::describe::describe_study_test
