// Studies of split columns through the whole path: the table that whole rows give, a real data set
// against Python's exact arithmetic, what the plan says, rehearsals, and what is refused.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "base/error.h"
#include "methods/describe/group_bits.h"
#include "methods/describe/study.h"
#include "methods/prepare_study.h"
#include "run/party/build_plan.h"
#include "tests/methods/describe/tables.h"
#include "tests/methods/rehearsals.h"
#include "tests/paths.h"
#include "tests/run/study_in_process.h"
#include "tests/study/edited.h"

namespace partita::methods::describe::split_study_test {
namespace {

using partita::testing::ExpectPlannedTraffic;
using partita::testing::Outcomes;
using partita::testing::Prepare;
using partita::testing::ResultOf;
using partita::testing::RunStudy;
using study::Edited;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

const std::string kDictionary = R"([[variable]]
name = "age"
type = "numeric"
lower = 18
upper = 98
[[variable]]
name = "score"
type = "integer"
lower = 0
upper = 30
[[variable]]
name = "smoker"
type = "integer"
lower = 0
upper = 1
[[variable]]
name = "stage"
type = "factor"
levels = ["one", "two", "three"]
[[variable]]
name = "arm"
type = "factor"
levels = ["control", "treated"]
)";

const std::string kAnalysis = R"([disclosure]
min_rows = 550
min_cell = 30
[engine]
name = "dealer"
[design]
site = "ignore"
missing = "complete"
[[analysis]]
method = "describe"
group = "arm"
quantiles = [0.5]
compare = ["welch", "ranks", "chi-square"]
release = ["table"]
)";

// The clinic has age and smoker, the registry the others and the arm.
const std::string kSplit = R"(partita = 1
name = "two-holders"
[[party]]
name = "clinic"
roles = ["holder", "receiver"]
columns = ["age", "smoker"]
[[party]]
name = "registry"
roles = ["holder"]
columns = ["score", "stage", "arm"]
[[party]]
name = "helper"
roles = ["dealer"]
[[rows]]
name = "all"
count = 900
[table]
key = "id"
)" + kDictionary + kAnalysis;

const std::string kWhole = R"(partita = 1
name = "two-holders"
[[party]]
name = "clinic"
roles = ["holder", "receiver"]
rows = ["n"]
[[party]]
name = "registry"
roles = ["holder"]
rows = ["s"]
[[party]]
name = "helper"
roles = ["dealer"]
[[rows]]
name = "n"
count = 500
[[rows]]
name = "s"
count = 400
)" + kDictionary + kAnalysis;

std::vector<testing::ClinicRow> Drawn() {
  std::mt19937_64 random(5);
  std::vector<testing::ClinicRow> rows = testing::DrawRows(random, 900, 0.25);
  for (size_t i = 0; i < rows.size(); i += 3) rows[i].arm = -1;
  return rows;
}

std::string Cell(double value, bool whole) {
  if (std::isnan(value)) return "";
  return whole ? fmt::format("{:.0f}", value) : fmt::format("{:.6f}", value);
}
std::string ClinicCells(const testing::ClinicRow& row) {
  return Cell(row.age, false) + "," + Cell(row.smoker, true);
}
std::string RegistryCells(const testing::ClinicRow& row) {
  const char* stages[] = {"one", "two", "three"};
  const char* arms[] = {"control", "treated"};
  return Cell(row.score, true) + "," + (row.stage < 0 ? "" : stages[row.stage]) + "," +
         (row.arm < 0 ? "" : arms[row.arm]);
}

// Keys bring them into one order, whatever the order in the files.
std::vector<std::string> SplitTables(const std::vector<testing::ClinicRow>& rows) {
  std::string clinic = "id,age,smoker\n", registry = "id,score,stage,arm\n";
  for (size_t i = 0; i < rows.size(); ++i) {
    const size_t back = rows.size() - 1 - i;
    clinic += fmt::format("p{:04},{}\n", i, ClinicCells(rows[i]));
    registry += fmt::format("p{:04},{}\n", back, RegistryCells(rows[back]));
  }
  return {clinic, registry};
}

std::vector<std::string> WholeTables(const std::vector<testing::ClinicRow>& rows) {
  std::vector<std::string> tables(2, "age,smoker,score,stage,arm\n");
  for (size_t i = 0; i < rows.size(); ++i)
    tables[i < 500 ? 0 : 1] += ClinicCells(rows[i]) + "," + RegistryCells(rows[i]) + "\n";
  return tables;
}

void ExpectSameColumns(const nlohmann::json& split, const nlohmann::json& whole, double cell,
                       size_t& quantiles) {
  ASSERT_EQ(split.size(), whole.size());
  for (size_t c = 0; c < split.size(); ++c) {
    for (const char* key : {"group", "withheld", "n", "missing", "counts", "mean", "sd", "step"}) {
      EXPECT_EQ(split[c].contains(key), whole[c].contains(key)) << key;
      EXPECT_EQ(split[c].value(key, nlohmann::json()), whole[c].value(key, nlohmann::json()))
          << key;
    }
    // Without one holder's own rows some are withheld of whole rows.
    if (!split[c].contains("quantiles") || !whole[c].contains("quantiles")) continue;
    if (split[c]["quantiles"][0].is_null() || whole[c]["quantiles"][0].is_null()) continue;
    ++quantiles;
    EXPECT_NEAR(split[c]["quantiles"][0], whole[c]["quantiles"][0].get<double>(), cell);
  }
}

// With a small min_cell, which everybody has to accept of split columns.
std::string Accepted(const std::string& text) {
  return Edited(Edited(text, "[engine]", "[release]\naccept = \"table of covariates\"\n[engine]"),
                "min_cell = 30", "min_cell = 5");
}

TEST(DescribeSplitStudyTest, TheTableIsThatOfWholeRows) {
  const auto rows = Drawn();
  const auto outcomes = Outcomes(RunStudy(Accepted(kSplit), SplitTables(rows)));
  ASSERT_EQ(outcomes.size(), 3u);
  ExpectPlannedTraffic(outcomes);
  const nlohmann::json split = ResultOf(outcomes.front());
  const nlohmann::json whole =
      ResultOf(Outcomes(RunStudy(Accepted(kWhole), WholeTables(rows))).front());
  size_t quantiles = 0;
  ASSERT_EQ(split["variables"].size(), 4u);
  for (size_t v = 0; v < 4; ++v) {
    SCOPED_TRACE(split["variables"][v]["name"]);
    EXPECT_EQ(split["variables"][v]["columns"][0]["withheld"], false);
    // Half a cell of each, of 1/256 and 1/4096 of the bounds.
    ExpectSameColumns(split["variables"][v]["columns"], whole["variables"][v]["columns"],
                      v == 0 ? 80 / 512.0 * 1.07 : 0, quantiles);
  }
  EXPECT_GE(quantiles, 4u);
  const auto& tests = split["variables"][1]["comparison"]["tests"];
  EXPECT_EQ(tests, whole["variables"][1]["comparison"]["tests"]);  // a cell for each value
  EXPECT_EQ(outcomes[0].rows.incomplete, 0u);
  EXPECT_EQ(outcomes[1].rows.incomplete, 300u);  // without an arm, as the registry alone knows
}

// ---- abalone, whose numbers Python computed

TEST(DescribeSplitStudyTest, ARealTableOnEveryEngine) {
  std::ifstream file(FixturePath("tables/abalone.csv"));
  std::string line, with_sex = "id,sex,rings\n", with_length = "id,length,whole_weight\n";
  std::getline(file, line);
  for (size_t row = 0; std::getline(file, line); ++row) {
    std::vector<std::string> fields;
    std::stringstream cells(line);
    for (std::string field; std::getline(cells, field, ',');) fields.push_back(field);
    with_sex += fmt::format("a{:04},{},{}\n", row, fields[0], fields[8]);
    with_length += fmt::format("a{:04},{},{}\n", row, fields[1], fields[4]);
  }
  std::ifstream stored(FixturePath("references/describe.json"));
  const auto reference = nlohmann::json::parse(stored);
  for (const std::string engine : {"dealer", "replicated", "shamir"}) {
    SCOPED_TRACE(engine);
    std::string text = R"(partita = 1
name = "abalone"
[[party]]
name = "p0"
roles = ["holder"]
columns = ["length", "whole_weight"]
[[party]]
name = "p1"
roles = ["holder"]
columns = ["sex", "rings"]
[[party]]
name = "p2"
roles = [)";
    text += engine == "dealer" ? "\"dealer\"]\n" : "\"receiver\"]\n";
    text += R"([[rows]]
name = "all"
count = 4177
[table]
key = "id"
[[variable]]
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
[disclosure]
min_cell = 20
[release]
accept = "table of covariates"
[design]
site = "ignore"
missing = "refuse"
)";
    text += fmt::format("[engine]\nname = \"{}\"\n", engine) +
            "[[analysis]]\nmethod = \"describe\"\ngroup = \"sex\"\nquantiles = [0.25, 0.5, 0.75]\n"
            "release = [\"table\"]\n";
    if (engine == "dealer")
      text = Edited(text, "roles = [\"holder\"]\ncolumns = [\"length\"",
                    "roles = [\"holder\", \"receiver\"]\ncolumns = [\"length\"");
    const auto outcomes = Outcomes(RunStudy(text, {with_length, with_sex}));
    ASSERT_EQ(outcomes.size(), 3u);
    ExpectPlannedTraffic(outcomes);
    // Elsewhere it opens to a party without a table.
    const nlohmann::json result = ResultOf(outcomes[engine == "dealer" ? 0 : 2]);
    ASSERT_EQ(result["variables"].size(), 3u);
    for (const nlohmann::json& variable : result["variables"]) {
      const std::string name = variable["name"];
      SCOPED_TRACE(name);
      const double range = name == "length" ? 1 : name == "rings" ? 0 : 3;
      for (const nlohmann::json& column : variable["columns"]) {
        const std::string group = column["group"].is_null() ? "all" : column["group"];
        const nlohmann::json& wanted = reference["variables"][name][group];
        EXPECT_EQ(column["n"], wanted["n"]);
        EXPECT_NEAR(column["mean"], wanted["mean"].get<double>(),
                    0.51 * column["step"].get<double>());
        for (size_t q = 0; q < 3; ++q) {
          EXPECT_NEAR(column["quantiles"][q], wanted["quantiles"][q].get<double>(),
                      range / kMaxSplitCells / 2 + 1e-12);
        }
      }
    }
  }
}

// ---- the plan

std::vector<GroupBits> BitsOfGroups(const std::string& text) {
  const auto study = Prepare(text);
  return GroupBitsOf(dynamic_cast<const DescribeStudy&>(*study));
}

TEST(DescribeSplitStudyTest, ThePlanSaysWhoKnowsWhom) {
  const study::Plan plan = run::BuildPlan(*Prepare(kSplit));
  EXPECT_THAT(plan.assumptions, Contains(HasSubstr("their holders know whose rows they are")));
  EXPECT_THAT(plan.assumptions,
              Contains(HasSubstr("clinic knows its own variables of all 900 persons. Of a group "
                                 "of min_cell = 30 of them")));
  EXPECT_THAT(plan.assumptions, Not(Contains(HasSubstr("registry knows its own"))));
  EXPECT_THAT(plan.checks.back().rule, HasSubstr("rows left out as well"));
  EXPECT_THAT(plan.checks.back().rule, Not(HasSubstr("each holder's own rows")));
  EXPECT_THAT(run::BuildPlan(*Prepare(kWhole)).assumptions,
              Not(Contains(HasSubstr("whose rows they are"))));
}

// Of 900 persons log2 C(900, 30) = 186.0 bits say who thirty are. Age has three numbers of 9 bits,
// log2 257 of a quantile and log2 31 for how many of the thirty lack it; smoker log2 C(32, 2) ways to
// write thirty as three counts: 48.9 bits. Without missing cells, quantiles and ranks 18 and log2 31.
TEST(DescribeSplitStudyTest, CountsBitsOfAGroup) {
  const std::string accepted =
      Edited(kSplit, "[engine]", "[release]\naccept = \"table of covariates\"\n[engine]");
  std::vector<GroupBits> bits = BitsOfGroups(accepted);
  ASSERT_EQ(bits.size(), 1u);
  EXPECT_EQ(bits[0].party, 0u);
  EXPECT_EQ(bits[0].rows, 900u);
  EXPECT_EQ(bits[0].group, 185u);
  EXPECT_EQ(bits[0].opened, 49u);
  EXPECT_TRUE(bits[0].passes);
  const std::string small = Edited(accepted, "min_cell = 30", "min_cell = 5");
  EXPECT_FALSE(BitsOfGroups(small)[0].passes);  // 42.0 and 42.1 bits
  EXPECT_THAT(run::BuildPlan(*Prepare(small)).assumptions,
              Contains(HasSubstr("may compute who is in a small group")));
  const std::string less = Edited(
      Edited(Edited(accepted, "missing = \"complete\"", "missing = \"refuse\""), "[0.5]", "[]"),
      "\"ranks\", ", "");
  bits = BitsOfGroups(less);
  EXPECT_EQ(bits[0].opened, 23u);
  EXPECT_TRUE(bits[0].passes);
  // Counts of a factor alone.
  bits = BitsOfGroups(
      Edited(Edited(Edited(less, "[\"age\", \"smoker\"]", "[\"age\", \"smoker\", \"stage\"]"),
                    "[\"score\", \"stage\", \"arm\"]", "[\"score\", \"arm\"]"),
             "release = [\"table\"]", "variables = [\"stage\"]\nrelease = [\"table\"]"));
  EXPECT_EQ(bits[0].opened, 9u);
}

struct Refusal {
  std::string from, to, what, hint;
};

TEST(DescribeSplitStudyTest, RefusesWhatSplitColumnsDoNotHave) {
  for (const Refusal& refusal : std::vector<Refusal>{
           {"group = \"arm\"", "group = \"site\"", "holders are what is compared", "another group"},
           {"\"welch\", ", "\"mantel-haenszel\", ", "holders are what is compared",
            "leave \"mantel-haenszel\" out"},
           {"release = [", "subset = [{variable = \"age\", at_least = 30}]\nrelease = [",
            "not at one holder of block 'all'", "let one holder have them all"},
           {"[engine]", "[population]\nsubset = [{variable = \"age\", at_least = 30}]\n[engine]",
            "not at one holder of block 'all'", "let one holder have them all"},
           {"min_cell = 30", "min_cell = 5", "of a group of min_cell = 5 persons",
            "a higher min_cell"},
           {"key = \"id\"\n",
            "key = \"id\"\nblock = \"part\"\n[[rows]]\nname = \"more\"\ncount = 9\n[[party]]\nname "
            "= \"third\"\nroles = [\"holder\"]\ncolumns = [\"score\", \"stage\", \"arm\"]\nrows = "
            "[\"more\"]\n",
            "with some parties and other rows with others", "blocks of the same holders"}}) {
    SCOPED_TRACE(refusal.to);
    std::string text = Edited(kSplit, refusal.from, refusal.to);
    if (refusal.to.find("third") != std::string::npos)
      text = Edited(text, "columns = [\"score\", \"stage\", \"arm\"]\n",
                    "columns = [\"score\", \"stage\", \"arm\"]\nrows = [\"all\"]\n");
    try {
      Prepare(text);
      ADD_FAILURE() << "accepted";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kBadInput);
      EXPECT_THAT(error.message(), HasSubstr(refusal.what));
      EXPECT_THAT(error.hint(), HasSubstr(refusal.hint));
    }
  }
}

// Conditions are the group's holder's; rows that it leaves out the others do not know.
TEST(DescribeSplitStudyTest, TakesTheRowsOfThePopulation) {
  const auto rows = Drawn();
  const std::string text =
      Edited(Edited(kSplit, "[engine]",
                    "[population]\nsubset = [{variable = \"score\", at_most = 12}]\n[release]\n"
                    "accept = \"table of covariates\"\n[engine]"),
             "min_cell = 30", "min_cell = 10");
  const auto outcomes =
      Outcomes(RunStudy(Edited(text, "min_rows = 550", "min_rows = 200"), SplitTables(rows)));
  ASSERT_EQ(outcomes.size(), 3u);
  ExpectPlannedTraffic(outcomes);
  uint64_t wanted = 0;
  for (const testing::ClinicRow& row : rows) wanted += row.score <= 12 && row.arm >= 0 ? 1 : 0;
  const nlohmann::json all = ResultOf(outcomes.front())["variables"][0]["columns"].back();
  EXPECT_EQ(all["n"].get<uint64_t>() + all["missing"].get<uint64_t>(), wanted);
  EXPECT_EQ(outcomes[0].rows.not_in_population, 0u);
  EXPECT_GT(outcomes[1].rows.not_in_population, 0u);
}

TEST(DescribeSplitStudyTest, RehearsalsAgree) {
  const auto rehearse = [](const std::string& text) {
    const DescribeStudy study = PrepareDescribeStudy(ParseStudyFile(text, "study.toml"));
    SilentProgress progress;
    return run::Rehearse(study, {}, progress);
  };
  const run::Rehearsal grouped = rehearse(kSplit);
  rehearsals::ExpectPassed(grouped);
  EXPECT_GT(grouped.agreement.exact.size(), 4u * 3);
  rehearsals::ExpectPassed(
      rehearse(Edited(Edited(kSplit, "group = \"arm\"\n", ""),
                      "compare = [\"welch\", \"ranks\", \"chi-square\"]\n", "")));
}

}  // namespace
}  // namespace partita::methods::describe::split_study_test
