// Tables of sums that a database formed: what its holder brings is what the rows of a CSV file give, in every design,
// and so is the table; what needs rows says so; sums of rows that differ by few are not formed.
#include "run/party/pushed_sums.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <random>

#include "methods/describe/study.h"
#include "tests/data/expect_error.h"
#include "tests/data/source/sqlite_of_csv.h"
#include "tests/methods/describe/describe_text.h"
#include "tests/run/study_in_process.h"
#include "tests/study/edited.h"

namespace partita::methods::describe::pushed_sums_test {
namespace {

using nlohmann::json;
using partita::testing::Prepare;
using study::Edited;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr size_t kRowsOfEach = 150;
const std::vector<std::string> kHolders = {"north", "south", "west"};

const std::string kNoQuantiles = Edited(
    Edited(Edited(testing::kDescribeStudy, "quantiles = [0.25, 0.5, 0.75]", "quantiles = []"),
           "[engine]\n",
           "[release]\naccept = \"table of covariates\"\n[engine]\ninput_bits = 30\n"),
    "min_rows = 200", "min_rows = 100");
const std::string kWide = Edited(kNoQuantiles, "release = [\"table\"]\n",
                                 "release = [\"table\"]\ncompare = [\"differences\", \"welch\", "
                                 "\"anova\", \"chi-square\", \"fisher\", \"ratios\", "
                                 "\"mantel-haenszel\"]\n");

std::string WithGroup(const std::string& group, const std::string& text = kNoQuantiles) {
  return Edited(text, "group = \"arm\"\n", group);
}
std::string WithPopulation(const std::string& condition, const std::string& text = kNoQuantiles) {
  return Edited(text, "[engine]\n", "[population]\nsubset = [{" + condition + "}]\n[engine]\n");
}

std::string CsvOfRows(uint32_t seed, bool missing) {
  std::mt19937 generator(seed);
  std::uniform_real_distribution<double> unit(0, 1);
  const auto choice = [&](uint32_t n) { return static_cast<uint32_t>(generator() % n); };
  const auto lacks = [&](uint32_t one_in) { return choice(one_in) == 0 && missing; };
  std::string csv = "age,score,smoker,stage,arm,onset_time,onset_event\n";
  for (size_t r = 0; r < kRowsOfEach; ++r) {
    const double age = 18 + 80 * unit(generator);
    const std::string cells[] = {fmt::format("{:.17g}", age), fmt::format("{}", choice(31)),
                                 fmt::format("{}", choice(2)),
                                 std::vector<std::string>{"one", "two", "three"}[choice(3)],
                                 choice(2) == 0 ? "control" : "treated"};
    for (const std::string& cell : cells) csv += (lacks(15) ? "" : cell) + ",";
    csv += fmt::format("{},{}\n", 1 + choice(90), choice(2));
  }
  return csv;
}

class DescribePushedSumsTest : public ::testing::Test {
 protected:
  ~DescribePushedSumsTest() override { std::filesystem::remove_all(folder_); }

  void MakeTables(bool missing = true) {
    for (size_t h = 0; h < kHolders.size(); ++h)
      std::ofstream(Csv(h)) << CsvOfRows(static_cast<uint32_t>(3 + h), missing);
    std::filesystem::remove(folder_ / "t.db");
    std::filesystem::remove(Record());
    data::testing::SqliteOfCsv(Csv(1), folder_ / "t.db");
    std::ofstream(Source()) << "source = \"sqlite:t.db\"\ntable = \"t\"\nmode = \"push-down\"\n";
  }
  std::filesystem::path Csv(size_t holder) const { return folder_ / fmt::format("{}.csv", holder); }
  std::filesystem::path Source() const { return folder_ / "t.toml"; }
  std::filesystem::path Record() const { return run::SumSetsPath(Source()); }

  static size_t Party(const run::Study& study) { return run::PartyByName(study, "south"); }
  run::FormedSums Form(const run::Study& study) const {
    return run::FormSums(study, Party(study), Source(), Record());
  }
  std::filesystem::path File(const run::Study& study) const {
    const run::FormedSums formed = Form(study);
    std::ofstream(folder_ / "t.sums") << data::SumFileText(formed.query, formed.sums);
    return folder_ / "t.sums";
  }
  static run::LocalData Load(const run::Study& study, const std::filesystem::path& file) {
    SilentProgress progress;
    return run::LoadLocalData(study, Party(study), file, {}, progress);
  }
  json TableOf(const std::string& text, bool pushed) const {
    const auto study = Prepare(text);
    std::vector<std::filesystem::path> files(study->parties.size());
    for (size_t h = 0; h < kHolders.size(); ++h)
      files[run::PartyByName(*study, kHolders[h])] = Csv(h);
    if (pushed) files[Party(*study)] = File(*study);
    SilentProgress progress;
    const auto outcomes =
        partita::testing::Outcomes(run::SimulateInProcess(*study, files, {}, progress));
    partita::testing::ExpectPlannedTraffic(outcomes);
    return partita::testing::ResultOf(outcomes.at(study->receiver));
  }

  const std::filesystem::path folder_ =
      partita::testing::MakeTemporaryFolder("describe_pushed_sums");
};

TEST_F(DescribePushedSumsTest, EveryDesignGivesWhatItsRowsGive) {
  MakeTables();
  const std::string texts[] = {
      kNoQuantiles,
      kWide,
      WithGroup(""),
      WithGroup("group = \"site\"\n"),
      WithGroup("group = \"stage\"\n",
                Edited(kNoQuantiles, "\"smoker\", \"stage\"]", "\"smoker\", \"arm\"]")),
      WithPopulation("variable = \"age\", at_least = 40"),
      Edited(kNoQuantiles, "release = [\"table\"]\n",
             "release = [\"table\"]\nsubset = [{variable = \"smoker\", is = 1}]\n"),
      WithGroup("", Edited(kNoQuantiles, "[\"age\", \"score\", \"smoker\", \"stage\"]",
                           "[\"smoker\", \"stage\"]")),
  };
  for (const std::string& text : texts) {
    SCOPED_TRACE(text.substr(text.find("[[analysis]]")));
    std::filesystem::remove(Record());
    const auto study = Prepare(text);
    const run::LocalData kept = Load(*study, Csv(1)), pushed = Load(*study, File(*study));
    const OwnNumbers& one = static_cast<DescribeRows&>(*kept.method).numbers;
    const OwnNumbers& other = static_cast<DescribeRows&>(*pushed.method).numbers;
    EXPECT_TRUE(one.counts == other.counts);
    EXPECT_TRUE(one.sums == other.sums);
    EXPECT_TRUE(one.squares == other.squares);
    EXPECT_TRUE(one.stratum == other.stratum);
    EXPECT_TRUE(other.histograms.empty());
    EXPECT_EQ(pushed.rows.observed, kept.rows.observed);
    EXPECT_EQ(pushed.rows.not_in_population, kept.rows.not_in_population);
    EXPECT_EQ(pushed.rows.incomplete, kept.rows.incomplete);
    EXPECT_EQ(pushed.cells.missing, kept.cells.missing);
    EXPECT_TRUE(study->ExactRowSets(*pushed.method, pushed.holding).empty());
    EXPECT_EQ(study->ExactRowSets(*kept.method, kept.holding).size(), 1u);
  }
}

TEST_F(DescribePushedSumsTest, TheTableIsThatOfACsvFileToTheLastDigit) {
  MakeTables();
  for (const std::string& text : {kWide, WithGroup("group = \"site\"\n")}) {
    std::filesystem::remove(Record());
    const json of_rows = TableOf(text, false);
    EXPECT_EQ(of_rows, TableOf(text, true));
    // Values were on that grid before.
    EXPECT_EQ(of_rows, TableOf(Edited(text, "input_bits = 30\n", ""), false));
  }
}

TEST_F(DescribePushedSumsTest, NothingElseLeavesTheDatabase) {
  const auto study = Prepare(kNoQuantiles);
  const data::SumQuery query = study->SumsOf(Party(*study));
  // Two groups of two numbers: n, sums and squares, no products; 1 + 1 + 2 + 3 counts of each.
  EXPECT_TRUE(query.only_squares);
  EXPECT_EQ(query.cells.size(), 2u);
  EXPECT_EQ(query.variables.size(), 2u);
  EXPECT_EQ(query.counts.size(), 14u);
  EXPECT_EQ(query.sets.size(), 3u);
  EXPECT_EQ(data::NumSums(query), 2 + 3 * query.columns.size() + 3 + 14 + 2 * (1 + 2 + 2));
}

TEST_F(DescribePushedSumsTest, WhatNeedsRowsSaysSo) {
  const auto refused = [&](const std::string& text, const std::string& message,
                           const std::string& hint) {
    const auto study = Prepare(text);
    ExpectError(ErrorCode::kRefused, message, hint, [&] { study->SumsOf(Party(*study)); });
  };
  refused(Edited(kNoQuantiles, "quantiles = []", "quantiles = [0.5]"),
          "quantiles are found among counts in thousands of cells", "quantiles = []");
  refused(Edited(kWide, "\"anova\"", "\"anova\", \"ranks\""),
          "ranks are found among counts in thousands of cells", "leave \"ranks\" out");
  refused(Edited(kNoQuantiles, "input_bits = 30\n", ""), "on a grid of 30 bits or fewer",
          "input_bits = 30");
  refused(Edited(kNoQuantiles, "[\"age\", \"score\", \"smoker\", \"stage\"]", "[\"decade\"]"),
          "'decade' is derived from another variable by this program", "in the query");
  ExpectError(ErrorCode::kBadInput, "rounds values to 2^-30 of the half-width",
              "input_bits = 30, or remove it",
              [&] { Prepare(Edited(kNoQuantiles, "input_bits = 30", "input_bits = 29")); });
}

TEST_F(DescribePushedSumsTest, RowsThatDifferByFewAreNotServed) {
  MakeTables(false);
  const std::string small =
      Edited(WithGroup(""), "[\"age\", \"score\", \"smoker\", \"stage\"]", "[\"stage\"]");
  Form(*Prepare(small));
  Form(*Prepare(Edited(small, "[\"stage\"]", "[\"smoker\"]")));
  ExpectError(ErrorCode::kRefused, "differ from those of this study by", "use the same rows",
              [&] { Form(*Prepare(WithPopulation("variable = \"age\", above = 19", small))); });
  EXPECT_NO_THROW(Form(*Prepare(WithPopulation("variable = \"smoker\", is = 1", small))));
  data::testing::ChangeSqlite(folder_ / "t.db",
                              "UPDATE t SET stage = CASE stage WHEN 'one' THEN 'two' ELSE 'one' "
                              "END WHERE rowid = 7");
  ExpectError(ErrorCode::kRefused, "rows have come, gone or changed since", "next edition",
              [&] { Form(*Prepare(Edited(small, "[\"stage\"]", "[\"arm\"]"))); });
}

TEST_F(DescribePushedSumsTest, CountsThatNoRowsHaveAreRefused) {
  MakeTables(false);
  const std::string text =
      Edited(WithGroup(""), "[\"age\", \"score\", \"smoker\", \"stage\"]", "[\"smoker\"]");
  const auto study = Prepare(text);
  run::FormedSums formed = Form(*study);
  formed.sums.answer.counts.at(0) += formed.sums.answer.counts.at(1) / 2 + 1;
  std::ofstream(folder_ / "t.sums") << data::SumFileText(formed.query, formed.sums);
  ExpectError(ErrorCode::kBadData, "no rows add up to these sums", "data freeze",
              [&] { Load(*study, folder_ / "t.sums"); });
}

TEST(DescribePushedSumsPlanTest, ThePlanSaysWhatACommitmentIsTo) {
  const auto commits = Contains(HasSubstr("its commitment is to these sums"));
  EXPECT_THAT(run::BuildPlan(*Prepare(kNoQuantiles)).assumptions, commits);
  EXPECT_THAT(run::BuildPlan(*Prepare(Edited(kNoQuantiles, "input_bits = 30\n", ""))).assumptions,
              Not(commits));
}

}  // namespace
}  // namespace partita::methods::describe::pushed_sums_test
