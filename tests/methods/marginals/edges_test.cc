// Whole studies at the edges of what may be declared: few rows and none, the smallest epsilon, rows that
// are all alike, domains that nobody could list.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "methods/marginals/study.h"
#include "tests/methods/marginals/marginals_text.h"
#include "tests/run/study_in_process.h"

namespace partita::methods::marginals::edges_test {
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

// The JSON writer has null for numbers that are none: nothing that this method says of tables may be.
void ExpectNumbers(const json& value, const std::string& where) {
  EXPECT_FALSE(value.is_null()) << where;
  if (!value.is_structured()) return;
  for (const auto& [key, inner] : value.items()) ExpectNumbers(inner, where + "/" + key);
}

using Row = std::map<std::string, std::string>;

std::vector<std::string> Fields(const std::string& line) {
  std::vector<std::string> fields = {""};
  for (const char c : line) {
    if (c == ',') {
      fields.emplace_back();
    } else {
      fields.back() += c;
    }
  }
  return fields;
}

std::vector<Row> SyntheticRows(const run::PartyOutcome& outcome) {
  const std::vector<study::DocumentFile>& files = DocumentOf(outcome).files;
  const auto file = std::ranges::find(files, "synthetic_1.csv", &study::DocumentFile::name);
  if (file == files.end()) return {};
  std::istringstream lines(file->contents);
  std::string line;
  std::getline(lines, line);
  const std::vector<std::string> names = Fields(line);
  std::vector<Row> rows;
  while (std::getline(lines, line)) {
    const std::vector<std::string> fields = Fields(line);
    rows.emplace_back();
    for (size_t i = 0; i < names.size(); ++i) rows.back()[names[i]] = fields.at(i);
  }
  return rows;
}

// Traffic as planned, numbers everywhere, counts within eight standard deviations of `sex` as it is in
// the rows (a cell is beyond them with a probability of 2e-15), all synthetic rows from the dictionary.
void ExpectSound(const Options& options, const std::vector<RegistryRow>& rows) {
  const auto outcomes = Outcomes(RunStudy(MarginalsText(options), RegistryTables(options)));
  ASSERT_GE(outcomes.size(), 2u);
  ExpectPlannedTraffic(outcomes);
  const json result = ResultOf(outcomes[0]);
  for (const char* key : {"rows", "noise_stddev", "candidates", "counts", "tables"})
    ExpectNumbers(result[key], key);
  const auto men = static_cast<double>(std::ranges::count(rows, true, &RegistryRow::man));
  const double most = 8 * result["noise_stddev"].get<double>();
  EXPECT_NEAR(result["counts"][2]["counts"][0], static_cast<double>(rows.size()) - men, most);
  EXPECT_NEAR(result["counts"][2]["counts"][1], men, most);
  const std::vector<Row> drawn = SyntheticRows(outcomes[0]);
  ASSERT_EQ(drawn.size(), 50u);
  for (const Row& row : drawn) {
    EXPECT_THAT((std::set<std::string>{"f", "m"}), ::testing::Contains(row.at("sex")));
    EXPECT_THAT((std::set<std::string>{"u", "v", "x", "y"}), ::testing::Contains(row.at("job")));
    const double income = std::stod(row.at("income")), visits = std::stod(row.at("visits"));
    EXPECT_TRUE(income >= 0 && income <= 100 && visits >= 0 && visits <= 5) << income;
  }
}

std::vector<RegistryRow> AllRows(const Options& options) {
  std::vector<RegistryRow> rows = RegistryRows(options.rows, 0);
  if (options.split == Split::kRows) {
    for (const RegistryRow& row : RegistryRows(options.rows, 1)) rows.push_back(row);
  }
  return rows;
}

TEST(MarginalsEdgesTest, FewRows) {
  for (const Split split : {Split::kColumns, Split::kRows}) {
    for (const size_t rows : {1, 2, 7, 50}) {
      SCOPED_TRACE(fmt::format("{} rows, {}", rows, split == Split::kColumns ? "columns" : "rows"));
      Options options;
      options.split = split;
      options.rows = rows;
      ExpectSound(options, AllRows(options));
      if (rows > 7) continue;
      EXPECT_NE(Prepare(MarginalsText(options))->Utility().useless, "");
      options.analysis += "triples = [{columns = [\"income\", \"sex\", \"job\"]}]\n";
      ExpectSound(options, AllRows(options));
    }
  }
}

// Where the number of rows is not public a holder may have none, and so may all.
TEST(MarginalsEdgesTest, NoRows) {
  Options options;
  options.split = Split::kRows;
  options.declares_rows = false;
  options.rows = 0;
  options.privacy = "epsilon = 3\ndelta = 1e-5\nadjacency = \"add-remove\"\n";
  options.analysis += "expected_rows = 50\n";
  ExpectSound(options, {});
}

// The promise is kept at the least that may be promised, and the plan says what that is worth.
TEST(MarginalsEdgesTest, TheSmallestEpsilon) {
  for (const Split split : {Split::kColumns, Split::kRows}) {
    Options options;
    options.split = split;
    options.rows = 50;
    options.privacy = "epsilon = 0.01\ndelta = 1e-5\nadjacency = \"replace\"\n";
    const auto study = Prepare(MarginalsText(options));
    size_t promised = 0;
    for (const privacy::StatementRow& row : AsMarginals(*study).statement.rows) {
      if (row.loss.infinite) continue;
      EXPECT_LE(row.loss.epsilon_upper, 0.01);
      ++promised;
    }
    EXPECT_GE(promised, 3u);
    EXPECT_THAT(study->Utility().useless, HasSubstr("total variation"));
    ExpectSound(options, AllRows(options));
  }
  Options options;
  options.privacy = "epsilon = 0.009\ndelta = 1e-5\nadjacency = \"replace\"\n";
  EXPECT_THROW(Prepare(MarginalsText(options)), Error);
}

// Every column has one level in all rows: counts say so, and most synthetic rows have it.
TEST(MarginalsEdgesTest, ConstantColumns) {
  Options options;
  options.rows = 3000;
  std::vector<std::string> tables = {"id,income,sex\n", "id,visits,job\n"};
  for (size_t n = 0; n < options.rows; ++n) {
    tables[0] += fmt::format("k{},10,m\n", n);
    tables[1] += fmt::format("k{},3,v\n", n);
  }
  const auto outcomes = Outcomes(RunStudy(MarginalsText(options), tables));
  const json result = ResultOf(outcomes[0]);
  ExpectNumbers(result["tables"], "tables");
  const double most = 8 * result["noise_stddev"].get<double>();
  ASSERT_LT(most, 150);
  EXPECT_NEAR(result["counts"][0]["counts"][0], 3000, most);
  EXPECT_NEAR(result["counts"][1]["counts"][3], 3000, most);
  EXPECT_NEAR(result["counts"][2]["counts"][1], 3000, most);
  // A level that nobody has gets what its noise left of it, 5 % of 3000 at the most.
  const auto alike = std::ranges::count_if(SyntheticRows(outcomes[0]), [](const Row& row) {
    return row.at("sex") == "m" && row.at("visits") == "3";
  });
  EXPECT_GE(alike, 35);
}

// 24 columns of two levels have 16 million combinations, 2^24: nothing lists them.
TEST(MarginalsEdgesTest, DomainsThatNobodyCouldList) {
  constexpr size_t kColumns = 24, kRows = 200;
  std::string held[2], variables;
  std::vector<std::string> tables = {"id", "id"};
  for (size_t c = 0; c < kColumns; ++c) {
    held[c % 2] += fmt::format("{}\"v{}\"", held[c % 2].empty() ? "" : ", ", c);
    tables[c % 2] += fmt::format(",v{}", c);
    variables += fmt::format(
        "[[variable]]\nname = \"v{}\"\ntype = \"factor\"\nlevels = [\"n\", \"y\"]\n", c);
  }
  for (size_t n = 0; n < kRows; ++n) {
    for (size_t holder = 0; holder < 2; ++holder) {
      tables[holder] += fmt::format("\nk{}", n);
      for (size_t c = holder; c < kColumns; c += 2)
        tables[holder] += n % (c + 2) == 0 ? ",y" : ",n";
    }
  }
  const std::string text = fmt::format(
      "partita = 1\nname = \"wide\"\n[[party]]\nname = \"north\"\nroles = [\"holder\", "
      "\"receiver\"]\ncolumns = [{}]\n[[party]]\nname = \"south\"\nroles = [\"holder\"]\ncolumns = "
      "[{}]\n[[party]]\nname = \"helper\"\nroles = [\"dealer\"]\n[[rows]]\nname = \"all\"\ncount = "
      "{}\n[table]\nkey = \"id\"\n{}[design]\nsite = \"ignore\"\nmissing = \"refuse\"\nfaulty_rows "
      "= \"fill\"\n[engine]\nname = \"dealer\"\n[[analysis]]\nmethod = \"marginals\"\n"
      "synthetic_rows = 40\n[analysis.privacy]\nepsilon = 10\ndelta = 1e-5\nadjacency = "
      "\"replace\"\n",
      held[0], held[1], kRows, variables);
  const auto outcomes = Outcomes(RunStudy(text, tables));
  ExpectPlannedTraffic(outcomes);
  const json result = ResultOf(outcomes[0]);
  EXPECT_EQ(result["tables"].size(), kColumns * (kColumns + 1) / 2);
  ExpectNumbers(result["tables"], "tables");
  EXPECT_EQ(SyntheticRows(outcomes[0]).size(), 40u);
}

}  // namespace
}  // namespace partita::methods::marginals::edges_test
