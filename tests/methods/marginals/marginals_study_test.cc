// Studies of method `marginals` through the whole path: what opens against counting in the clear, on
// every engine, traffic as planned, one answer at all parties, synthetic tables, missing cells, repair.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "methods/marginals/given.h"
#include "methods/marginals/study.h"
#include "privacy/ledger/account_state.h"
#include "run/ledger/ledger_charges.h"
#include "tests/methods/marginals/marginals_text.h"
#include "tests/run/study_in_process.h"

namespace partita::methods::marginals::marginals_study_test {
namespace {

using nlohmann::json;
using partita::testing::DocumentOf;
using partita::testing::ExpectPlannedTraffic;
using partita::testing::Outcomes;
using partita::testing::Prepare;
using partita::testing::ResultOf;
using partita::testing::RunStudy;
using ::testing::HasSubstr;
using testing::MarginalsText;
using testing::Options;
using testing::RegistryRow;
using testing::RegistryRows;
using testing::RegistryTables;
using testing::Split;

const MarginalsStudy& AsMarginals(const run::Study& study) {
  return dynamic_cast<const MarginalsStudy&>(study);
}

// By level of each column, over all rows.
std::vector<std::vector<double>> TrueCounts(const std::vector<RegistryRow>& rows) {
  std::vector<std::vector<double>> counts = {std::vector<double>(4), std::vector<double>(6),
                                             std::vector<double>(2), std::vector<double>(3)};
  for (const RegistryRow& row : rows) {
    counts[0][static_cast<size_t>(row.income / 25)] += 1;
    counts[1][static_cast<size_t>(row.visits)] += 1;
    counts[2][row.man ? 1 : 0] += 1;
    counts[3][row.job == 'u' ? 0 : row.job == 'v' ? 1 : 2] += 1;
  }
  return counts;
}

// Noise beyond eight standard deviations has a probability below 2e-15 for a cell.
void ExpectCounts(const json& result, const std::vector<std::vector<double>>& wanted) {
  const double most = 8 * result["noise_stddev"].get<double>();
  ASSERT_EQ(result["counts"].size(), wanted.size());
  for (size_t a = 0; a < wanted.size(); ++a) {
    ASSERT_EQ(result["counts"][a]["counts"].size(), wanted[a].size());
    for (size_t v = 0; v < wanted[a].size(); ++v)
      EXPECT_NEAR(result["counts"][a]["counts"][v], wanted[a][v], most) << a << " " << v;
  }
}

const std::string* FileOf(const study::Document& document, const std::string& name) {
  for (const study::DocumentFile& file : document.files) {
    if (file.name == name) return &file.contents;
  }
  return nullptr;
}

TEST(MarginalsStudyTest, EveryEngineAndSplit) {
  for (const char* engine : {"dealer", "replicated", "shamir", "ot"}) {
    for (const Split split : {Split::kColumns, Split::kRows}) {
      SCOPED_TRACE(fmt::format("{} {}", engine, split == Split::kColumns ? "columns" : "rows"));
      Options options;
      options.engine = engine;
      options.split = split;
      const bool three = options.engine == "replicated" || options.engine == "shamir";
      const size_t parties = three ? 3 : 2;
      std::vector<RegistryRow> rows;
      for (size_t p = 0; p < (split == Split::kRows ? parties : 1); ++p) {
        for (const RegistryRow& row : RegistryRows(options.rows, p)) rows.push_back(row);
      }
      const auto outcomes =
          Outcomes(RunStudy(MarginalsText(options), RegistryTables(options, parties)));
      ASSERT_EQ(outcomes.size(), parties + (options.engine == "dealer" ? 1 : 0));
      ExpectPlannedTraffic(outcomes);
      json first = ResultOf(outcomes[0]);
      EXPECT_EQ(first["rows"], rows.size());
      ExpectCounts(first, TrueCounts(rows));
      const study::Document& document = DocumentOf(outcomes[0]);
      ASSERT_NE(FileOf(document, "synthetic_2.csv"), nullptr);
      const std::string& csv = *FileOf(document, "synthetic_1.csv");
      EXPECT_EQ(csv.substr(0, csv.find('\n')), "income,visits,sex,job");
      EXPECT_EQ(std::count(csv.begin(), csv.end(), '\n'), 51);
      // The others have the same but the synthetic tables.
      for (size_t p = 1; p < parties; ++p) {
        json other = ResultOf(outcomes[p]);
        EXPECT_EQ(FileOf(DocumentOf(outcomes[p]), "synthetic_1.csv"), nullptr);
        EXPECT_EQ(*FileOf(DocumentOf(outcomes[p]), "model.json"), *FileOf(document, "model.json"));
        other["synthetic"] = first["synthetic"];
        EXPECT_EQ(other, first);
      }
    }
  }
}

TEST(MarginalsStudyTest, MissingCellsLeaveNoRowOut) {
  Options options;
  options.missing = "complete";
  const auto study = Prepare(MarginalsText(options));
  EXPECT_THAT(study->TableChecks().counted_of,
              ::testing::UnorderedElementsAre("income", "visits", "sex", "job"));
  EXPECT_TRUE(study->TableChecks().allow_missing);
}

// Most missed first, by the least that the error is and then by its estimate, and none whose
// difference noise explains.
TEST(MarginalsStudyTest, TablesAreListedByTheErrorOfACell) {
  Options options;
  options.analysis = "columns = [\"income\", \"visits\", \"sex\", \"job\"]\n";
  const auto outcomes = Outcomes(RunStudy(MarginalsText(options), RegistryTables(options)));
  const study::Document& document = DocumentOf(outcomes[0]);
  EXPECT_EQ(document.title, "registry");  // the study's
  const auto& tables = document.sections[0].tables;
  if (tables.size() < 2) {  // one in which noise explains everything
    EXPECT_THAT(document.sections[0].paragraphs.back(), HasSubstr("Noise explains all"));
    return;
  }
  ASSERT_FALSE(tables[1].rows.empty());
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  std::pair before(kInfinity, kInfinity);
  for (const auto& row : tables[1].rows) {
    const std::pair error(std::get<double>(row[3]), std::get<double>(row[2]));
    EXPECT_LE(error, before);
    EXPECT_GT(error.second, 0);
    before = error;
  }
}

// Rows drawn by anybody, again, from the file alone.
TEST(MarginalsStudyTest, AnybodyDrawsFromTheFile) {
  const Options options;
  const auto outcomes = Outcomes(RunStudy(MarginalsText(options), RegistryTables(options)));
  const std::string& text = *FileOf(DocumentOf(outcomes[1]), "model.json");
  const OpenedTables opened = ParseTablesJson(text);
  EXPECT_EQ(TablesJson(opened), text);
  const stats::marginals::Choice choice = ChooseFor(opened);
  EXPECT_EQ(ChoiceName(choice), ResultOf(outcomes[0])["generator"]);
  crypto::SystemRandom random;
  const std::vector<data::Table> drawn = DrawTables(opened, choice, 1000, 2, random);
  ASSERT_EQ(drawn.size(), 2u);
  EXPECT_EQ(drawn[0].num_rows, 1000u);
  // Visits follow income: of rows of more than 60, more than half have three visits or more. Of 300
  // rows and noise of 11 rows a cell they are 120, give or take 35.
  size_t rich = 0, often = 0;
  for (size_t n = 0; n < 1000; ++n) {
    if (drawn[0].Get("income").numbers[n] < 60) continue;
    ++rich;
    often += drawn[0].Get("visits").numbers[n] >= 3 ? 1 : 0;
  }
  EXPECT_GT(2 * often, rich);
}

// Sixty of 300 rows are set aside: they are in no count; each holder sees on its terminal how its
// own columns of them compare, and
// no file says it.
TEST(MarginalsStudyTest, HoldersJudgeByRowsSetAside) {
  for (const Split split : {Split::kColumns, Split::kRows}) {
    Options options;
    options.split = split;
    options.privacy +=
        "[analysis.utility]\ntest_rows = 60\nseed = 7\ntargets = [{variable = \"sex\", level = "
        "\"m\"}]\n";
    const auto outcomes = Outcomes(RunStudy(MarginalsText(options), RegistryTables(options)));
    ASSERT_EQ(outcomes.size(), 3u);
    ExpectPlannedTraffic(outcomes);
    const json result = ResultOf(outcomes[0]);
    EXPECT_EQ(outcomes[0].rows.observed, 300u);
    EXPECT_EQ(outcomes[0].rows.neutral, 60u);
    const double blocks = split == Split::kRows ? 2 : 1;
    EXPECT_EQ(result["rows"], 240 * blocks);
    double counted = 0;
    for (const double count : result["counts"][2]["counts"]) counted += count;
    EXPECT_NEAR(counted, 240 * blocks, 8 * std::sqrt(2) * result["noise_stddev"].get<double>());
    for (size_t p = 0; p < 2; ++p) {
      const auto& sections = DocumentOf(outcomes[p]).sections;
      const auto own = std::ranges::find_if(
          sections, [](const study::DocumentSection& section) { return section.own_rows; });
      ASSERT_NE(own, sections.end());
      // Of columns split the target is at one holder; of rows split at both.
      const bool predicts = split == Split::kRows || p == 0;
      ASSERT_EQ(own->tables.size(), predicts ? 2u : 1u);
      ASSERT_EQ(own->tables[0].rows.size(), 3u);
      EXPECT_EQ(std::get<std::string>(own->tables[0].rows[1][0]), "synthetic");
      for (const auto& row : own->tables[0].rows) {
        EXPECT_GE(std::get<double>(row[1]), 0);
        EXPECT_LE(std::get<double>(row[2]), 1);
      }
      if (split != Split::kRows) continue;
      // Job follows sex: counted rows predict it without an error.
      EXPECT_EQ(std::get<double>(own->tables[1].rows[0][2]), 1);
      EXPECT_GT(std::get<double>(own->tables[1].rows[1][2]), 0.8);
    }
    EXPECT_EQ(DocumentOf(outcomes[1]).json.find("Own columns"), std::string::npos);
  }
}

// Nobody tells how many rows there are: the number is estimated from what opened, outsiders' rows
// of the statement are about
// a row that is added or removed, and the file draws rows all the same.
TEST(MarginalsStudyTest, TheNumberOfRowsMayBeHidden) {
  Options options;
  options.split = Split::kRows;
  options.declares_rows = false;
  options.privacy = "epsilon = 3\ndelta = 1e-5\nadjacency = \"add-remove\"\n";
  options.analysis += "expected_rows = 500\n";
  const auto outcomes = Outcomes(RunStudy(MarginalsText(options), RegistryTables(options)));
  ASSERT_EQ(outcomes.size(), 3u);
  ExpectPlannedTraffic(outcomes);
  const json result = ResultOf(outcomes[0]);
  const double stddev = result["noise_stddev"];
  EXPECT_NE(result["rows"], 600);
  EXPECT_NEAR(result["rows"], 600, 12 * stddev);
  std::vector<RegistryRow> rows = RegistryRows(300, 0);
  for (const RegistryRow& row : RegistryRows(300, 1)) rows.push_back(row);
  ExpectCounts(result, TrueCounts(rows));
  const auto study = Prepare(MarginalsText(options));
  size_t added = 0, replaced = 0;
  for (const privacy::StatementRow& row : AsMarginals(*study).statement.rows) {
    if (row.loss.infinite) continue;
    EXPECT_LE(row.loss.epsilon_upper, 3);
    (row.adjacency == privacy::Adjacency::kAddRemove ? added : replaced) += 1;
  }
  EXPECT_GE(added, 1u);
  EXPECT_GE(replaced, 2u);
  const std::string& text = *FileOf(DocumentOf(outcomes[1]), "model.json");
  const OpenedTables opened = ParseTablesJson(text);
  EXPECT_FALSE(opened.noisy.rows.has_value());
  EXPECT_EQ(TablesJson(opened), text);
  crypto::SystemRandom random;
  EXPECT_EQ(DrawTables(opened, ChooseFor(opened), 100, 1, random).front().num_rows, 100u);
  EXPECT_THROW(DrawForIntervals(opened, {"sex", "job"}, 3, random), Error);
}

// Men have job u: other pairs are declared impossible, and tables of sex weigh more.
TEST(MarginalsStudyTest, DeclaredPairsAndTargets) {
  Options options;
  options.analysis =
      "columns = [{variable = \"income\", edges = [0, 20, 50, 100]}, \"visits\", \"sex\", "
      "\"job\"]\n"
      "impossible = [{sex = \"m\", job = \"v\"}, {sex = \"m\", job = \"x\"}, {sex = \"f\", job = "
      "\"u\"}]\ntargets = [\"sex\"]\nsynthetic_rows = 400\n";
  const auto outcomes = Outcomes(RunStudy(MarginalsText(options), RegistryTables(options)));
  ASSERT_EQ(outcomes.size(), 3u);
  ExpectPlannedTraffic(outcomes);
  const json result = ResultOf(outcomes[0]);
  double of_target = 0, of_others = 0;
  for (const json& table : result["tables"]) {
    const auto columns = table["columns"].get<std::vector<std::string>>();
    (std::ranges::find(columns, "sex") != columns.end() ? of_target : of_others) =
        table["noise_stddev"];
  }
  EXPECT_LT(of_target, of_others);
  std::vector<double> income(3);
  for (const RegistryRow& row : RegistryRows(300, 0))
    income[row.income < 20 ? 0 : row.income < 50 ? 1 : 2] += 1;
  for (size_t v = 0; v < 3; ++v)
    EXPECT_NEAR(result["counts"][0]["counts"][v], income[v], 8 * of_others);
  const std::string& csv = *FileOf(DocumentOf(outcomes[0]), "synthetic_1.csv");
  EXPECT_EQ(csv.find(",m,v"), std::string::npos);
  EXPECT_EQ(csv.find(",m,x"), std::string::npos);
  EXPECT_EQ(csv.find(",f,u"), std::string::npos);
  EXPECT_NE(csv.find(",m,u"), std::string::npos);
  // Another party draws from the file: the declaration and the weights are in it.
  const std::string& text = *FileOf(DocumentOf(outcomes[1]), "model.json");
  const OpenedTables opened = ParseTablesJson(text);
  EXPECT_EQ(TablesJson(opened), text);
  crypto::SystemRandom random;
  const data::Table drawn = DrawTables(opened, ChooseFor(opened), 500, 1, random).front();
  for (size_t n = 0; n < 500; ++n)
    EXPECT_FALSE(drawn.Get("sex").codes[n] == 1 && drawn.Get("job").codes[n] == 1);
}

// Three of six pairs: job follows sex and visits income, so their scores are the largest.
TEST(MarginalsStudyTest, PairsAreChosenByScores) {
  for (const char* engine : {"dealer", "replicated", "shamir", "ot"}) {
    SCOPED_TRACE(engine);
    Options options;
    options.engine = engine;
    options.rows = 3000;
    options.analysis += "select = \"scores\"\npairs = 3\n";
    const bool three = options.engine == "replicated" || options.engine == "shamir";
    const size_t parties = three ? 3 : 2;
    const std::vector<RegistryRow> rows = RegistryRows(options.rows, 0);
    const auto outcomes =
        Outcomes(RunStudy(MarginalsText(options), RegistryTables(options, parties)));
    ExpectPlannedTraffic(outcomes);
    json first = ResultOf(outcomes[0]);
    EXPECT_EQ(first["rows"], rows.size());
    ExpectCounts(first, TrueCounts(rows));
    ASSERT_EQ(first["scores"].size(), 6u);
    size_t counted = 0;
    for (const json& score : first["scores"]) {
      counted += score["counted"].get<bool>() ? 1 : 0;
      const bool related = score["columns"] == json({"income", "visits"}) ||
                           score["columns"] == json({"sex", "job"});
      if (related) {
        EXPECT_TRUE(score["counted"]);
        EXPECT_GT(score["score"], 10 * score["noise_stddev"].get<double>());
      }
    }
    EXPECT_EQ(counted, 3u);
    EXPECT_EQ(first["tables"].size(), 4u + 3u);
    const study::Document& document = DocumentOf(outcomes[0]);
    const OpenedTables opened = ParseTablesJson(*FileOf(document, "model.json"));
    EXPECT_EQ(TablesJson(opened), *FileOf(document, "model.json"));
    EXPECT_EQ(std::ranges::count(opened.noisy.weights, 0.0), 3);
    EXPECT_EQ(opened.scores.scores.size(), 6u);
    // 4 + 6 + 2 + 3 levels; of the chosen pairs all cells.
    const std::string& csv = *FileOf(document, "counts.csv");
    size_t cells = 0;
    for (const json& table : first["tables"]) cells += table["cells"].get<size_t>();
    EXPECT_EQ(static_cast<size_t>(std::count(csv.begin(), csv.end(), '\n')), 1 + cells);
    for (size_t p = 1; p < parties; ++p) {
      json other = ResultOf(outcomes[p]);
      EXPECT_EQ(*FileOf(DocumentOf(outcomes[p]), "model.json"), *FileOf(document, "model.json"));
      other["synthetic"] = first["synthetic"];
      EXPECT_EQ(other, first);
    }
  }
}

// The plan names three releases with their noise, the ledger is charged for one Gaussian.
TEST(MarginalsStudyTest, ThePlanSaysWhatScoresTake) {
  Options options;
  options.analysis += "select = \"scores\"\npairs = 3\n";
  const auto study = Prepare(MarginalsText(options));
  const MarginalsStudy& marginals = AsMarginals(*study);
  ASSERT_EQ(study->releases.size(), 3u);
  EXPECT_EQ(study->releases[0].num_values, 15u);
  EXPECT_EQ(study->releases[1].num_values, 6u);
  EXPECT_EQ(study->releases[2].num_values, 24u + 18u + 12u);  // the largest pairs
  EXPECT_EQ(marginals.design.noise.dimension, 15u + 6u + 54u);
  ASSERT_EQ(study->Exposures().size(), 3u);
  EXPECT_THAT(marginals.statement.mechanism,
              ::testing::AllOf(HasSubstr("Three openings, charged as one"), HasSubstr("75 cells"),
                               HasSubstr("20 %, 20 % and 60 %")));
  for (const privacy::StatementRow& row : marginals.statement.rows) {
    if (row.adversary.kind == privacy::AdversaryKind::kOutsideAnalyst && !row.loss.infinite) {
      EXPECT_LE(row.loss.epsilon_upper, 3);
    }
  }
}

// Table 1 by sex: seven tables instead of ten, less noise, and what a curator counts within the noise.
TEST(MarginalsStudyTest, TableOneByAGroup) {
  for (const char* engine : {"dealer", "replicated"}) {
    for (const Split split : {Split::kColumns, Split::kRows}) {
      SCOPED_TRACE(engine);
      Options options;
      options.engine = engine;
      options.split = split;
      options.analysis += "select = \"group\"\ngroup = \"sex\"\n";
      const size_t parties = options.engine == "replicated" ? 3 : 2;
      std::vector<RegistryRow> rows;
      for (size_t p = 0; p < (split == Split::kRows ? parties : 1); ++p) {
        for (const RegistryRow& row : RegistryRows(options.rows, p)) rows.push_back(row);
      }
      const auto outcomes =
          Outcomes(RunStudy(MarginalsText(options), RegistryTables(options, parties)));
      ExpectPlannedTraffic(outcomes);
      const json result = ResultOf(outcomes[0]);
      ExpectCounts(result, TrueCounts(rows));
      EXPECT_EQ(result["tables"].size(), 7u);
      ASSERT_EQ(result["table_one"].size(), 3u * 3u);
      const double most = 8 * result["noise_stddev"].get<double>();
      for (const json& entry : result["table_one"]) {
        std::vector<RegistryRow> of_group;
        for (const RegistryRow& row : rows) {
          if (entry["group"].is_null() || row.man == (entry["group"] == "m"))
            of_group.push_back(row);
        }
        const auto wanted = TrueCounts(of_group);
        const size_t column = entry["column"] == "income" ? 0 : entry["column"] == "visits" ? 1 : 3;
        ASSERT_EQ(entry["counts"].size(), wanted[column].size());
        for (size_t v = 0; v < wanted[column].size(); ++v)
          EXPECT_NEAR(entry["counts"][v], wanted[column][v], most) << entry["column"] << v;
        EXPECT_EQ(entry["quartiles"].size(), column < 2 ? 3u : 0u);
        for (const json& quartile : entry["quartiles"]) {
          EXPECT_LE(quartile["lower"], quartile["estimate"]);
          EXPECT_LE(quartile["estimate"], quartile["upper"]);
        }
      }
      const study::Document& document = DocumentOf(outcomes[0]);
      EXPECT_EQ(document.sections[0].heading, "Table 1");
      const auto& table = document.sections[0].tables[0];
      EXPECT_EQ(table.columns, (std::vector<std::string>{"", "all", "f", "m"}));
      // Rows; of each number mean, standard deviation and three quartiles; three kinds of jobs.
      EXPECT_EQ(table.rows.size(), 1u + 5u + 5u + 3u);
      for (const auto& row : table.rows) EXPECT_EQ(row.size(), 4u);
      const OpenedTables opened = ParseTablesJson(*FileOf(document, "model.json"));
      EXPECT_EQ(std::ranges::count(opened.noisy.weights, 0.0), 3);
    }
  }
}

// Where the group comes first in a pair and where it comes last, with missing cells and a hidden
// number of rows.
TEST(MarginalsStudyTest, TableOneOfAnyColumn) {
  for (const char* group : {"income", "job"}) {
    Options options;
    options.split = Split::kRows;
    options.declares_rows = false;
    options.missing = "complete";
    options.privacy = "epsilon = 10\ndelta = 1e-5\nadjacency = \"add-remove\"\n";
    options.analysis = fmt::format(
        "columns = [{{variable = \"income\", bins = 4}}, \"visits\", \"job\"]\n"
        "expected_rows = 600\nselect = \"group\"\ngroup = \"{}\"\n",
        group);
    const auto outcomes = Outcomes(RunStudy(MarginalsText(options), RegistryTables(options)));
    const json result = ResultOf(outcomes[0]);
    const double noise = result["noise_stddev"];
    // Over the groups the counts of a column are those of the whole column.
    for (const json& whole : result["counts"]) {
      if (whole["column"] == group) continue;
      for (size_t v = 0; v < whole["levels"].size(); ++v) {
        double sum = 0, parts = 0;
        for (const json& entry : result["table_one"]) {
          if (entry["column"] != whole["column"] || entry["group"].is_null()) continue;
          sum += entry["counts"][v].get<double>();
          parts += 1;
        }
        EXPECT_NEAR(sum, whole["counts"][v], 8 * noise * std::sqrt(parts + 1)) << group;
      }
    }
    const auto& table = DocumentOf(outcomes[0]).sections[0].tables[0];
    EXPECT_EQ(std::get<std::string>(table.rows[0][1]), "-");
  }
}

TEST(MarginalsStudyTest, DrawsRowsOfAGroup) {
  const Options options;
  const auto outcomes = Outcomes(RunStudy(MarginalsText(options), RegistryTables(options)));
  const OpenedTables opened = ParseTablesJson(*FileOf(DocumentOf(outcomes[1]), "model.json"));
  const stats::marginals::Choice choice = ChooseFor(opened);
  crypto::SystemRandom random;
  const data::Table men =
      DrawGiven(opened, choice, ParseGiven(opened, {"sex=m", "income=[75, 100]"}), 200, random);
  ASSERT_EQ(men.num_rows, 200u);
  size_t often = 0;
  for (size_t n = 0; n < 200; ++n) {
    EXPECT_EQ(men.Get("sex").codes[n], 1);
    EXPECT_GE(men.Get("income").numbers[n], 75);
    often += men.Get("visits").numbers[n] >= 3 ? 1 : 0;
  }
  EXPECT_GT(often, 100u);  // visits follow income
  EXPECT_EQ(GivenNote(opened, ParseGiven(opened, {"sex=m"})), "");
  OpenedTables chosen = opened;  // income, visits, sex, job: sex with job alone
  chosen.noisy.weights = {1, 1, 1, 1, 1, 0, 1, 0, 1, 1};
  EXPECT_EQ(
      GivenNote(chosen, ParseGiven(opened, {"sex=m"})),
      " sex was counted with 1 of 3 other columns (job): the rest may be drawn as if it had no "
      "relation to them.");
  EXPECT_THROW(ParseGiven(opened, {"sex"}), Error);
  EXPECT_THROW(ParseGiven(opened, {"sexes=m"}), Error);
  EXPECT_THROW(ParseGiven(opened, {"sex=x"}), Error);
  EXPECT_THROW(ParseGiven(opened, {"sex=m", "sex=f"}), Error);
}

TEST(MarginalsStudyTest, MissingCellsAreALevel) {
  Options options;
  options.missing = "complete";
  std::vector<std::string> tables = RegistryTables(options);
  // Ninety rows without sex.
  size_t removed = 0;
  for (size_t at = tables[0].find(",m\n"); removed < 90; at = tables[0].find(",m\n", at + 1)) {
    tables[0].erase(at + 1, 1);
    ++removed;
  }
  const auto outcomes = Outcomes(RunStudy(MarginalsText(options), tables));
  const json result = ResultOf(outcomes[0]);
  const json& sex = result["counts"][2];
  EXPECT_EQ(sex["levels"], (json{"f", "m", "missing"}));
  EXPECT_NEAR(sex["counts"][2], 90, 8 * result["noise_stddev"].get<double>());
  // Of 800 rows, a third or so is missing again: an empty cell.
  const OpenedTables opened = ParseTablesJson(*FileOf(DocumentOf(outcomes[0]), "model.json"));
  crypto::SystemRandom random;
  const data::Table drawn = DrawTables(opened, ChooseFor(opened), 800, 1, random).front();
  EXPECT_GT(std::ranges::count(drawn.Get("sex").codes, -1), 40);
}

// 750 rows each, of which the dictionary allows hardly any cell: an income beyond its bound and a job
// that is none; records with a field too few; an income and visits beyond their bounds.
std::vector<std::string> FaultyTables() {
  std::string table = "income,visits,sex,job\n";
  for (size_t row = 0; row < 750; ++row) {
    table += row < 300 ? "1e9,0,f,z\n" : row < 600 ? "30,0,f\n" : "-5,9,f,v\n";
  }
  return {table, table};
}

// Counts, of one column, beyond six standard deviations of noise in one run of 2e7.
void ExpectCountsOf(const json& result, size_t column, const std::vector<double>& wanted) {
  const double most = 6 * result["noise_stddev"].get<double>();
  const json& counts = result["counts"][column]["counts"];
  ASSERT_EQ(counts.size(), wanted.size());
  for (size_t v = 0; v < wanted.size(); ++v) EXPECT_NEAR(counts[v], wanted[v], most) << v;
}

// Cells outside the dictionary stop nothing: numbers go to the nearest bound, other cells to the
// reference level or the middle. Faults are in 300 rows or more, 20 standard deviations of the noise,
// and whatever a row holds, it is in one cell of every table.
TEST(MarginalsStudyTest, FillsWhatTheDictionaryDoesNotAllow) {
  Options options;
  options.split = Split::kRows;
  options.rows = 750;
  const auto outcomes = Outcomes(RunStudy(MarginalsText(options), FaultyTables()));
  ASSERT_EQ(outcomes.size(), 3u);
  const json result = ResultOf(outcomes[0]);
  EXPECT_LT(20 * result["noise_stddev"].get<double>(), 300);
  ExpectCountsOf(result, 0, {300, 0, 600, 600});
  // Records with a field too few are empty: 2 is the middle of 0 to 5, u the reference.
  ExpectCountsOf(result, 1, {600, 0, 600, 0, 0, 300});
  ExpectCountsOf(result, 3, {1200, 300, 0});
}

// The same where missing cells are a level: all cells of a record with a field too few.
TEST(MarginalsStudyTest, CountsMissingCellsOfFaultyRows) {
  Options options;
  options.split = Split::kRows;
  options.rows = 750;
  options.missing = "complete";
  const json result = ResultOf(Outcomes(RunStudy(MarginalsText(options), FaultyTables()))[0]);
  ExpectCountsOf(result, 0, {300, 0, 0, 600, 600});
  ExpectCountsOf(result, 1, {600, 0, 0, 0, 0, 300, 600});
  ExpectCountsOf(result, 2, {900, 0, 600});
  ExpectCountsOf(result, 3, {0, 300, 0, 1200});
}

TEST(MarginalsStudyTest, ThePlanKeepsThePromise) {
  const auto study = Prepare(MarginalsText({}));
  const MarginalsStudy& of = AsMarginals(*study);
  size_t promised = 0;
  for (const privacy::StatementRow& row : of.statement.rows) {
    if (!row.loss.infinite && row.loss.epsilon_upper <= 3) ++promised;
  }
  EXPECT_EQ(promised, 4u);  // outsiders, two parties, the dealer
  Options outside;
  outside.privacy += "against = \"outside\"\n";
  EXPECT_LT(AsMarginals(*Prepare(MarginalsText(outside))).design.noise_stddev(),
            of.design.noise_stddev());
  const study::Plan plan = run::BuildPlan(*study);
  EXPECT_EQ(plan.method, "marginals");
  ASSERT_EQ(plan.releases.size(), 1u);
  EXPECT_EQ(plan.releases[0].max_count, 1u);
  EXPECT_THAT(plan.notes.front(), HasSubstr("Forecast on made-up rows"));
}

// Nothing that is said of faulty cells is false of this method: how many are missing opens.
TEST(MarginalsStudyTest, SaysThatMissingCellsAreCounted) {
  for (const char* missing : {"refuse", "complete"}) {
    Options options;
    options.missing = missing;
    const auto study = Prepare(MarginalsText(options));
    const std::string caveats =
        fmt::format("{}", fmt::join(AsMarginals(*study).statement.caveats, "\n"));
    const std::string counted =
        options.missing == "complete" ? "as missing" : "or the reference level";
    EXPECT_THAT(caveats,
                HasSubstr(counted + "; all of them are in the counts, which open with noise"));
    EXPECT_THAT(caveats, ::testing::Not(HasSubstr("only their holder learns")));
  }
}

// Twice as many rows of a person, twice the noise.
TEST(MarginalsStudyTest, PersonsMayHaveSeveralRows) {
  Options options;
  options.split = Split::kRows;
  const double one = AsMarginals(*Prepare(MarginalsText(options))).design.noise_stddev();
  options.population = "[population]\nunit = \"visit\"\nmax_rows_per_person = 2\n";
  EXPECT_NEAR(AsMarginals(*Prepare(MarginalsText(options))).design.noise_stddev(), 2 * one,
              1e-6 * one);
}

// An account as `partita ledger open` makes it.
privacy::ledger::AccountState AccountByDefaults(uint32_t coalition) {
  privacy::ledger::Policy policy;
  policy.table = "registry";
  policy.outside = {privacy::Adjacency::kReplace, "3", "1e-6", "0"};
  policy.insider = policy.outside;
  policy.coalition = coalition;
  privacy::ledger::AccountState account(privacy::ledger::Pseudonym{1});
  account.Append({"steward", 0},
                 privacy::ledger::Opened{policy, privacy::ledger::DesignFilter(policy.outside),
                                         privacy::ledger::DesignFilter(*policy.insider)});
  return account;
}

// How many runs of a study an account pays for, ten at most.
size_t RunsPaidFor(const run::Study& study, uint32_t coalition) {
  privacy::ledger::AccountState account = AccountByDefaults(coalition);
  for (uint8_t run = 0; run < 10; ++run) {
    const auto request = run::ChargesOf(study, account.policy());
    EXPECT_TRUE(request.exact.empty());
    try {
      account.Append({"operator", 0}, account.Price(crypto::Digest{run}, crypto::Digest{},
                                                    "registry", request.charges, request.exact));
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kBudget) << error.what();
      return run;
    }
  }
  return 10;
}

TEST(MarginalsStudyTest, IsChargedAsTheGaussianThatItIs) {
  Options options;
  options.privacy = "epsilon = 1\ndelta = 1e-6\nadjacency = \"replace\"\n";
  const auto study = Prepare(MarginalsText(options));
  // Nine times the squared loss fits into three times the epsilon, less what delta costs.
  EXPECT_GE(RunsPaidFor(*study, 1), 4u);
  EXPECT_LE(RunsPaidFor(*study, 1), 9u);
  const NoiseDesign& design = AsMarginals(*study).design;
  const auto charges = run::ChargesOf(*study, AccountByDefaults(1).policy()).charges;
  ASSERT_EQ(charges.size(), 2u);
  const auto outside = std::get<privacy::ledger::GridGaussian>(charges[0].mechanism),
             insider = std::get<privacy::ledger::GridGaussian>(charges[1].mechanism);
  EXPECT_EQ(outside.remaining.shares, 2u);
  EXPECT_EQ(outside.sensitivity, design.sensitivity.value());
  EXPECT_EQ(insider.remaining.shares, 1u);
  EXPECT_EQ(insider.sensitivity, design.replace_sensitivity.value());
  EXPECT_LT(insider.sensitivity, outside.sensitivity);  // tables of its own columns stay
}

// Three openings are one mechanism: its sensitivity and all its numbers, charged once.
TEST(MarginalsStudyTest, ScoresAreChargedAsOneGaussian) {
  Options options;
  options.analysis += "select = \"scores\"\npairs = 3\n";
  options.privacy = "epsilon = 1\ndelta = 1e-6\nadjacency = \"replace\"\n";
  const auto study = Prepare(MarginalsText(options));
  EXPECT_GE(RunsPaidFor(*study, 1), 4u);
  EXPECT_LE(RunsPaidFor(*study, 1), 9u);
  const NoiseDesign& design = AsMarginals(*study).design;
  const auto charges = run::ChargesOf(*study, AccountByDefaults(1).policy()).charges;
  ASSERT_EQ(charges.size(), 2u);
  const auto outside = std::get<privacy::ledger::GridGaussian>(charges[0].mechanism);
  EXPECT_EQ(outside.sensitivity, design.sensitivity.value());
  EXPECT_EQ(outside.remaining.dimension, 75u);
  EXPECT_EQ(charges[0].count, 1u);
}

TEST(MarginalsStudyTest, LargerCoalitionsAreChargedOrRefused) {
  Options options;
  options.split = Split::kRows;
  options.parties = 5;
  options.privacy = "epsilon = 1\ndelta = 1e-6\nadjacency = \"replace\"\n";
  const auto study = Prepare(MarginalsText(options));
  const size_t fit = RunsPaidFor(*study, 3);
  EXPECT_GE(fit, 2u);
  EXPECT_LT(fit, RunsPaidFor(*study, 1));
  const auto charges = run::ChargesOf(*study, AccountByDefaults(3).policy()).charges;
  ASSERT_EQ(charges.size(), 2u);
  EXPECT_EQ(charges[1].adversary.size, 3u);
  EXPECT_EQ(std::get<privacy::ledger::GridGaussian>(charges[1].mechanism).remaining.shares, 2u);
  const auto is_refused = [](const char* engine, privacy::ledger::Policy policy) {
    Options of;
    of.engine = engine;
    try {
      run::ChargesOf(*Prepare(MarginalsText(of)), policy);
    } catch (const Error& error) {
      return error.code() == ErrorCode::kRefused;
    }
    return false;
  };
  const privacy::ledger::Policy two = AccountByDefaults(2).policy();
  EXPECT_TRUE(is_refused("replicated", two));
  EXPECT_TRUE(is_refused("shamir", two));
  EXPECT_FALSE(is_refused("ot", two));  // there is one other party
  privacy::ledger::Policy hidden = two;
  hidden.outside.adjacency = privacy::Adjacency::kAddRemove;
  EXPECT_TRUE(is_refused("dealer", hidden));
}

// Forecasts by table, and the statement of each holder as of its own foreign tables: "income" and
// "sex" are at one, "visits" and "job" at the other, so that seven of ten tables are foreign to both.
TEST(MarginalsStudyTest, ForecastsEveryTable) {
  const std::vector<std::string> notes = Prepare(MarginalsText({}))->Utility().notes;
  ASSERT_GE(notes.size(), 2u);
  EXPECT_THAT(notes[0], HasSubstr("if columns are nearly functions of each other"));
  EXPECT_THAT(notes[1], HasSubstr("the worst first: single columns "));
  for (const char* name : {"income", "visits", "sex", "job", "; pairs ", "(income, visits)"})
    EXPECT_THAT(notes[1], HasSubstr(name));
}

// 1e8 products at the most: (income 4 + sex 2) x (visits 6 + job 3) levels of every row.
TEST(MarginalsStudyTest, TransfersAreForSmallTables) {
  Options options;
  options.engine = "ot";
  options.rows = 100'000'000 / 54;
  EXPECT_NO_THROW(Prepare(MarginalsText(options)));
  ++options.rows;
  try {
    Prepare(MarginalsText(options));
    ADD_FAILURE() << "took it";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("engine 'ot' would make 1e+08 products"));
    EXPECT_THAT(error.what(), HasSubstr("109 GB"));
    EXPECT_THAT(error.hint(), HasSubstr("engine dealer"));
  }
  options.engine = "dealer";
  EXPECT_NO_THROW(Prepare(MarginalsText(options)));
  options.engine = "ot";
  options.split = Split::kRows;  // no products
  EXPECT_NO_THROW(Prepare(MarginalsText(options)));
}

TEST(MarginalsStudyTest, UselessStudiesSaySo) {
  Options options;
  options.privacy = "epsilon = 0.05\ndelta = 1e-5\nadjacency = \"replace\"\n";
  EXPECT_NE(Prepare(MarginalsText(options))->Utility().useless, "");
  EXPECT_EQ(Prepare(MarginalsText({}))->Utility().useless, "");
}

TEST(MarginalsStudyTest, RefusesFilesThatAreNone) {
  const Options options;
  const auto outcomes = Outcomes(RunStudy(MarginalsText(options), RegistryTables(options)));
  const json right = json::parse(*FileOf(DocumentOf(outcomes[0]), "model.json"));
  const auto is_refused = [&](const auto& change) {
    json changed = right;
    change(changed);
    try {
      ParseTablesJson(changed.dump());
    } catch (const Error& error) {
      return error.code() == ErrorCode::kBadInput;
    }
    return false;
  };
  EXPECT_FALSE(is_refused([](json&) {}));
  EXPECT_TRUE(is_refused([](json& file) { file["format"] = "partita mixture 1"; }));
  EXPECT_TRUE(is_refused([](json& file) { file["cells"].erase(0); }));
  EXPECT_TRUE(is_refused([](json& file) { file["cells"][0] = 1e13; }));
  EXPECT_TRUE(is_refused([](json& file) { file["cells"][0] = "many"; }));
  EXPECT_TRUE(is_refused([](json& file) { file["noise_stddev"] = 0; }));
  EXPECT_TRUE(is_refused([](json& file) { file["rows"] = 0; }));
  EXPECT_TRUE(is_refused([](json& file) { file["columns"][0]["encoding"] = "unit"; }));
  EXPECT_TRUE(is_refused([](json& file) { file["columns"][0]["bins"] = 1; }));
  EXPECT_TRUE(is_refused([](json& file) { file["columns"][2]["levels"] = {"f"}; }));
  EXPECT_TRUE(is_refused([](json& file) { file.erase("columns"); }));
  EXPECT_TRUE(is_refused([](json& file) { file["impossible"] = {{0, 0, 1}}; }));
  EXPECT_TRUE(is_refused([](json& file) { file["impossible"] = {{0, 0, 1, 60}}; }));
  EXPECT_TRUE(is_refused([](json& file) { file["weights"] = {1, 1}; }));
  EXPECT_TRUE(is_refused([](json& file) { file["weights"] = std::vector<double>(10, 0); }));
  // A pair that was not measured has no counts; scores are of every pair.
  const auto unmeasured = [](json& file, double cell) {
    file["weights"] = std::vector<double>(10, 1);
    file["weights"][9] = 0;
    for (size_t i = file["cells"].size() - 6; i < file["cells"].size(); ++i)
      file["cells"][i] = cell;
  };
  EXPECT_FALSE(is_refused([&](json& file) { unmeasured(file, 0); }));
  EXPECT_TRUE(is_refused([&](json& file) { unmeasured(file, 1); }));
  const auto score = [](json& file, size_t pairs, double value, double noise) {
    file["scores"] = {{"values", std::vector<double>(pairs, value)}, {"noise_stddev", noise}};
  };
  EXPECT_FALSE(is_refused([&](json& file) { score(file, 6, -3, 2); }));
  EXPECT_TRUE(is_refused([&](json& file) { score(file, 5, -3, 2); }));
  EXPECT_TRUE(is_refused([&](json& file) { score(file, 6, 1e13, 2); }));
  EXPECT_TRUE(is_refused([&](json& file) { score(file, 6, -3, 0); }));
}

}  // namespace
}  // namespace partita::methods::marginals::marginals_study_test
