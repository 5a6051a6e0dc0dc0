// Three-way tables that a study names, through the whole path: counted, named in plan, report and files,
// drawn from; what is refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <sstream>

#include "base/error.h"
#include "methods/marginals/study.h"
#include "stats/marginals/noise.h"
#include "tests/methods/marginals/marginals_text.h"
#include "tests/run/study_in_process.h"

namespace partita::methods::marginals::triples_test {
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

const std::string* FileOf(const study::Document& document, const std::string& name) {
  for (const study::DocumentFile& file : document.files) {
    if (file.name == name) return &file.contents;
  }
  return nullptr;
}

// What the triple's counts are, in rows of triples.csv: visits follow income, so most cells are empty.
TEST(MarginalsTriplesTest, TriplesAreCountedNamedAndDrawn) {
  for (const Split split : {Split::kColumns, Split::kRows}) {
    Options options;
    options.split = split;
    options.analysis +=
        "triples = [{columns = [\"sex\", \"income\", \"visits\"]}, {columns = [\"income\", "
        "\"sex\", "
        "\"job\"]}]\n";
    const auto study = Prepare(MarginalsText(options));
    EXPECT_THAT(AsMarginals(*study).CountedText(),
                HasSubstr("10 one-way and two-way tables of 4 columns and the three-way tables of "
                          "income, visits, sex; income, sex, job"));
    EXPECT_THAT(AsMarginals(*study).statement.mechanism,
                HasSubstr("income, sex, job, in one opening"));
    EXPECT_THAT(study->Utility().notes[1], HasSubstr("; triples (income, "));
    EXPECT_NEAR(std::ldexp(AsMarginals(*study).design.sensitivity.value(),
                           -stats::marginals::kNoiseGridBits),
                std::sqrt(2.0 * 12), 1e-5);
    std::vector<RegistryRow> rows = RegistryRows(options.rows, 0);
    if (split == Split::kRows) {
      for (const RegistryRow& row : RegistryRows(options.rows, 1)) rows.push_back(row);
    }
    const auto outcomes = Outcomes(RunStudy(MarginalsText(options), RegistryTables(options)));
    ExpectPlannedTraffic(outcomes);
    const json result = ResultOf(outcomes[0]);
    ASSERT_EQ(result["tables"].size(), 12u);
    EXPECT_EQ(result["tables"][10]["columns"], json({"income", "visits", "sex"}));
    EXPECT_EQ(result["tables"][11]["cells"], 4 * 2 * 3);
    EXPECT_THAT(*FileOf(DocumentOf(outcomes[0]), "counts.csv"),
                ::testing::Not(HasSubstr("visits,5,sex,m,job")));
    std::istringstream lines(*FileOf(DocumentOf(outcomes[1]), "triples.csv"));
    std::string line;
    std::getline(lines, line);
    EXPECT_EQ(line, "column,level,with,with_level,and,and_level,count,lower,upper");
    const double most = 8 * result["noise_stddev"].get<double>();
    size_t cells = 0;
    for (; cells < 4 * 6 * 2; ++cells) {
      ASSERT_TRUE(std::getline(lines, line));
      const size_t income = cells / 12, visits = cells / 2 % 6;
      const bool man = cells % 2 == 1;
      const auto count = std::ranges::count_if(rows, [&](const RegistryRow& row) {
        return static_cast<size_t>(row.income / 25) == income &&
               static_cast<size_t>(row.visits) == visits && row.man == man;
      });
      const std::string tail = fmt::format(",visits,{},sex,{},", visits, man ? "m" : "f");
      const size_t at = line.find(tail);
      ASSERT_NE(at, std::string::npos) << line;
      EXPECT_NEAR(std::stod(line.substr(at + tail.size())), static_cast<double>(count), most);
    }
    while (std::getline(lines, line)) ++cells;
    EXPECT_EQ(cells, 4u * 6 * 2 + 4 * 2 * 3);
    const std::string& text = *FileOf(DocumentOf(outcomes[1]), "model.json");
    const OpenedTables opened = ParseTablesJson(text);
    EXPECT_EQ(TablesJson(opened), text);
    EXPECT_EQ(opened.triples.size(), 2u);
    EXPECT_EQ(ChoiceName(ChooseFor(opened)), result["generator"]);
    crypto::SystemRandom random;
    EXPECT_EQ(DrawTables(opened, ChooseFor(opened), 100, 1, random).front().num_rows, 100u);
  }
}

TEST(MarginalsTriplesTest, TriplesOfThreeHoldersAreRefused) {
  Options options;
  options.engine = "replicated";
  options.analysis += "triples = [{columns = [\"sex\", \"job\", \"visits\"]}]\n";
  try {
    Prepare(MarginalsText(options));
    ADD_FAILURE() << "took it";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kBadInput);
    EXPECT_THAT(error.what(), HasSubstr("(visits, sex, job) lie at three holders"));
    EXPECT_THAT(error.hint(), HasSubstr("one or two holders"));
  }
  options.split = Split::kRows;
  EXPECT_NO_THROW(Prepare(MarginalsText(options)));
}

// What `ot` multiplies for each row: levels (income 4, sex 2) x (visits 6, job 3), and the eight pairs of
// levels of income and sex with those of the other holder.
TEST(MarginalsTriplesTest, PairsOfLevelsCountAmongTransfers) {
  Options options;
  options.engine = "ot";
  options.analysis += "triples = [{columns = [\"income\", \"sex\", \"job\"]}]\n";
  options.rows = 100'000'000 / (6 * 9 + 8 * 9);
  EXPECT_NO_THROW(Prepare(MarginalsText(options)));
  ++options.rows;
  EXPECT_THROW(Prepare(MarginalsText(options)), Error);
}

// Files with other triples than Partita writes.
TEST(MarginalsTriplesTest, RefusesFilesThatAreNone) {
  Options options;
  options.analysis += "triples = [{columns = [\"income\", \"sex\", \"job\"]}]\n";
  const auto outcomes = Outcomes(RunStudy(MarginalsText(options), RegistryTables(options)));
  const json right = json::parse(*FileOf(DocumentOf(outcomes[0]), "model.json"));
  ASSERT_EQ(right["triples"], json({{0, 2, 3}}));
  const auto is_refused = [&](const json& triples) {
    json changed = right;
    changed["triples"] = triples;
    try {
      ParseTablesJson(changed.dump());
    } catch (const Error& error) {
      return error.code() == ErrorCode::kBadInput;
    }
    return false;
  };
  EXPECT_FALSE(is_refused({{0, 2, 3}}));
  EXPECT_TRUE(is_refused({{0, 1, 3}}));  // another number of cells
  EXPECT_TRUE(is_refused({{0, 3, 2}}));
  EXPECT_TRUE(is_refused({{0, 2, 4}}));
  EXPECT_TRUE(is_refused({{0, 2, -1}}));
  EXPECT_TRUE(is_refused({{0, 2}}));
  EXPECT_TRUE(is_refused({{0, 2, 3, 3}}));
  EXPECT_TRUE(is_refused({{0, 2, 3.5}}));
  EXPECT_TRUE(is_refused({{"a", 0}}));
  EXPECT_TRUE(is_refused(json::array()));
  EXPECT_TRUE(is_refused("all"));
  EXPECT_TRUE(is_refused({{0, 2, 3}, {0, 2, 3}}));
}

}  // namespace
}  // namespace partita::methods::marginals::triples_test
