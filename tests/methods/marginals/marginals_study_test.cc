// Studies of method `marginals` through the whole path: what opens against counting in the clear, on
// every engine, traffic as planned, one answer at all parties, synthetic tables, missing cells, repair.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "methods/marginals/study.h"
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

// Rows drawn by anybody, again, from the file alone.
TEST(MarginalsStudyTest, AnybodyDrawsFromTheFile) {
  const Options options;
  const auto outcomes = Outcomes(RunStudy(MarginalsText(options), RegistryTables(options)));
  const std::string& text = *FileOf(DocumentOf(outcomes[1]), "model.json");
  const OpenedTables opened = ParseTablesJson(text);
  EXPECT_EQ(TablesJson(opened), text);
  const stats::marginals::Choice choice = ChooseFor(opened);
  EXPECT_EQ(CandidateName(choice.chosen), ResultOf(outcomes[0])["generator"]);
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

// Cells outside the dictionary stop nothing, and a faulty row contributes nothing.
TEST(MarginalsStudyTest, TakesAnyTableOfTheRightShape) {
  Options options;
  std::vector<std::string> tables = RegistryTables(options);
  for (size_t at = tables[1].find(",u\n"), changed = 0; changed < 100;
       at = tables[1].find(",u\n", at + 1), ++changed) {
    tables[1].replace(at + 1, 1, "z");
  }
  const auto outcomes = Outcomes(RunStudy(MarginalsText(options), tables));
  ASSERT_EQ(outcomes.size(), 3u);
  const json result = ResultOf(outcomes[0]);
  double jobs = 0;
  for (const double count : result["counts"][3]["counts"]) jobs += count;
  EXPECT_NEAR(jobs, 200, 8 * std::sqrt(3) * result["noise_stddev"].get<double>());
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
}

}  // namespace
}  // namespace partita::methods::marginals::marginals_study_test
