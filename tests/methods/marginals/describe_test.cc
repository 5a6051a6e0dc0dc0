// Method `describe` with [analysis.privacy] through the whole path: what opens and what follows from it
// against the rows in the clear, on every engine and split; what is refused, forecast and charged.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "methods/all.h"
#include "methods/marginals/study.h"
#include "methods/prepare_study.h"
#include "run/ledger/ledger_charges.h"
#include "stats/marginals/noise.h"
#include "tests/methods/marginals/marginals_text.h"
#include "tests/methods/rehearsals.h"
#include "tests/run/study_in_process.h"

namespace partita::methods::marginals::describe_test {
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

Options Described() {
  Options options;
  options.method = "describe";
  options.analysis =
      "variables = [{variable = \"income\", bins = 20}, \"visits\", \"job\"]\ngroup = \"sex\"\n"
      "compare = [\"differences\"]\n";
  options.privacy = "epsilon = 5\ndelta = 1e-5\nadjacency = \"replace\"\n";
  return options;
}

const MarginalsStudy& AsMarginals(const run::Study& study) {
  return dynamic_cast<const MarginalsStudy&>(study);
}

struct Moments {
  double n = 0, mean = 0, sd = 0;
};

template <typename Value>
Moments MomentsOf(const std::vector<RegistryRow>& rows, const Value& value) {
  Moments moments;
  for (const RegistryRow& row : rows) moments.mean += value(row);
  moments.n = static_cast<double>(rows.size());
  moments.mean /= moments.n;
  for (const RegistryRow& row : rows)
    moments.sd += std::pow(value(row) - moments.mean, 2) / moments.n;
  moments.sd = std::sqrt(moments.sd);
  return moments;
}

// Intervals, widened so that they fail once in 1e9: four times as far from the estimate.
void ExpectHolds(const json& bounded, double truth) {
  ASSERT_FALSE(bounded["estimate"].is_null());
  const double estimate = bounded["estimate"], lower = bounded["lower"], upper = bounded["upper"];
  EXPECT_GE(truth, estimate - 4 * (estimate - lower) - 1e-9);
  EXPECT_LE(truth, estimate + 4 * (upper - estimate) + 1e-9);
}

TEST(MarginalsDescribeTest, EveryEngineAndSplit) {
  for (const char* engine : {"dealer", "replicated", "shamir", "ot"}) {
    for (const Split split : {Split::kColumns, Split::kRows}) {
      SCOPED_TRACE(fmt::format("{} {}", engine, split == Split::kColumns ? "columns" : "rows"));
      Options options = Described();
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
      ExpectPlannedTraffic(outcomes);
      const json result = ResultOf(outcomes[0]);
      EXPECT_EQ(result["rows"], rows.size());
      EXPECT_EQ(result["group"], "sex");
      ASSERT_EQ(result["table_one"].size(), 3u * 3u);
      const double most = 8 * result["noise_stddev"].get<double>();
      for (const json& entry : result["table_one"]) {
        std::vector<RegistryRow> of_group;
        for (const RegistryRow& row : rows) {
          if (entry["group"].is_null() || row.man == (entry["group"] == "m"))
            of_group.push_back(row);
        }
        EXPECT_NEAR(entry["n"]["estimate"], static_cast<double>(of_group.size()), most * 5);
        if (entry["column"] == "job") {
          EXPECT_TRUE(entry["mean"].is_null());
          ASSERT_EQ(entry["shares"].size(), 4u);
          for (size_t v = 0; v < 4; ++v) {
            const Moments share = MomentsOf(
                of_group, [&](const RegistryRow& row) { return row.job == "uvxy"[v] ? 1.0 : 0.0; });
            EXPECT_NEAR(entry["counts"][v], share.mean * share.n, most);
            if (share.mean > 0 && share.mean < 1) ExpectHolds(entry["shares"][v], share.mean);
          }
          continue;
        }
        const bool income = entry["column"] == "income";
        const Moments moments = MomentsOf(of_group, [&](const RegistryRow& row) {
          return income ? row.income : static_cast<double>(row.visits);
        });
        ExpectHolds(entry["mean"], moments.mean);
        ExpectHolds(entry["sd"], moments.sd);
        EXPECT_EQ(entry["quartiles"].size(), 3u);
      }
      ASSERT_EQ(result["differences"].size(), 2u + 4u);
      EXPECT_LE(result["differences"][0]["value"]["lower"], 0.5);
      for (size_t p = 1; p < parties; ++p) EXPECT_EQ(ResultOf(outcomes[p]), result);
      const study::Document& document = DocumentOf(outcomes[0]);
      ASSERT_EQ(document.files.size(), 3u);
      EXPECT_EQ(document.files[0].name, "table1.csv");
      EXPECT_THAT(document.files[0].contents,
                  ::testing::StartsWith("variable,statistic,level,group,estimate,lower,upper\n"
                                        "income,n,,,"));
      const auto& table = document.sections[0].tables[0];
      EXPECT_EQ(table.columns, (std::vector<std::string>{"", "all", "f", "m"}));
      EXPECT_EQ(table.rows.size(), 1u + 5u + 5u + 4u);
    }
  }
}

// One-way tables alone, of one variable and of several; missing cells; a hidden number of rows.
TEST(MarginalsDescribeTest, WithoutAGroup) {
  for (const char* variables : {"variables = [\"visits\"]\n", ""}) {
    Options options = Described();
    options.split = Split::kRows;
    options.declares_rows = false;
    options.missing = "complete";
    options.analysis = std::string(variables) + "expected_rows = 600\n";
    options.privacy = "epsilon = 5\ndelta = 1e-5\nadjacency = \"add-remove\"\n";
    const auto study = Prepare(MarginalsText(options));
    const MarginalsStudy& described = AsMarginals(*study);
    const size_t columns = described.spec.columns.size();
    EXPECT_EQ(columns, *variables == 0 ? 4u : 1u);
    // One row is in one cell of each one-way table: nothing else is counted.
    EXPECT_NEAR(std::ldexp(described.design.sensitivity.value(), -stats::marginals::kNoiseGridBits),
                std::sqrt(static_cast<double>(columns)), 1e-5);
    const auto outcomes = Outcomes(RunStudy(MarginalsText(options), RegistryTables(options)));
    ExpectPlannedTraffic(outcomes);
    const json result = ResultOf(outcomes[0]);
    EXPECT_TRUE(result["rows"].is_null());
    EXPECT_TRUE(result["group"].is_null());
    EXPECT_EQ(result["table_one"].size(), columns);
    EXPECT_TRUE(result["differences"].empty());
  }
}

// By a group of d columns 2 d - 1 tables; a row that is replaced changes two cells of each.
TEST(MarginalsDescribeTest, IsChargedForAllTables) {
  const auto study = Prepare(MarginalsText(Described()));
  const MarginalsStudy& described = AsMarginals(*study);
  EXPECT_EQ(study->Method().name, "describe");
  EXPECT_NEAR(std::ldexp(described.design.sensitivity.value(), -stats::marginals::kNoiseGridBits),
              std::sqrt(2.0 * 7), 1e-5);
  const auto charges = study->Charges({});
  ASSERT_FALSE(charges.empty());
  study::Plan plan;
  study->Describe(plan);
  std::string notes;
  for (const std::string& note : plan.notes) notes += note + "\n";
  EXPECT_THAT(notes, HasSubstr("split evenly over 7 tables"));
  EXPECT_THAT(notes, HasSubstr("the mean of income within"));
  EXPECT_THAT(notes, HasSubstr("There are no tests"));
  EXPECT_THAT(described.statement.mechanism,
              HasSubstr("4 one-way tables and 3 two-way tables with 'sex'"));
}

TEST(MarginalsDescribeTest, UselessTablesSaySo) {
  Options options = Described();
  options.rows = 40;
  options.privacy = "epsilon = 0.1\ndelta = 1e-5\nadjacency = \"replace\"\n";
  EXPECT_THAT(Prepare(MarginalsText(options))->Utility().useless, HasSubstr("shares would be off"));
  options.rows = 100'000;
  EXPECT_TRUE(Prepare(MarginalsText(options))->Utility().useless.empty());
}

TEST(MarginalsDescribeTest, RefusesByNameWhatNeedsExactCounts) {
  const std::string text = MarginalsText(Described());
  const auto expect = [&](const std::string& from, const std::string& to, const char* what,
                          const char* hint) {
    std::string edited = text;
    const size_t at = edited.find(from);
    ASSERT_NE(at, std::string::npos) << from;
    edited.replace(at, from.size(), to);
    try {
      ParseStudyFile(edited, "s.toml");
      ADD_FAILURE() << to;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kBadInput);
      EXPECT_THAT(error.what(), HasSubstr(what));
      EXPECT_THAT(error.hint(), HasSubstr(hint));
    }
  };
  for (const char* test : {"welch", "anova", "ranks", "chi-square", "fisher", "mantel-haenszel"})
    expect("\"differences\"", fmt::format("\"{}\"", test), "reject too often", "differences");
  const std::string compare = "compare = [\"differences\"]\n";
  expect(compare, "quantiles = [0.1]\n", "are the quartiles", "counts.csv");
  expect(compare, "release = [\"table\"]\n", "open to all", "remove it");
  expect(compare, "subset = []\n", "every row is counted", "remove it");
  expect(compare, "expected_rows = 5\n", "declares its number", "remove it");
  expect("group = \"sex\"", "group = \"site\"", "is no column", "name a variable");
  expect("group = \"sex\"", "group = \"visits\"", "compares two groups", "two levels");
  expect("epsilon = 5\n", "", "epsilon", "epsilon = 1");
  // Without the promise the same keys mean the exact table, and a forecast's guess has no place.
  expect("[analysis.privacy]\nepsilon = 5\ndelta = 1e-5\nadjacency = \"replace\"\n",
         "expected_rows = 5\n", "without [analysis.privacy]", "remove it");
}

TEST(MarginalsDescribeTest, RehearsesItsNoise) {
  for (const Split split : {Split::kColumns, Split::kRows}) {
    for (const bool group : {true, false}) {
      Options options = Described();
      options.split = split;
      if (!group) options.analysis = "";
      SilentProgress progress;
      const run::Rehearsal rehearsal = run::Rehearse(
          PrepareMarginalsStudy(ParseStudyFile(MarginalsText(options), "s.toml")), {}, progress);
      rehearsals::ExpectPassed(rehearsal);
      ASSERT_EQ(rehearsal.agreement.random.size(), 1u);
    }
  }
}

}  // namespace
}  // namespace partita::methods::marginals::describe_test
