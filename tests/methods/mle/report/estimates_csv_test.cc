#include "methods/mle/report/estimates_csv.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "methods/mle/report/json.h"
#include "tests/report/sample_run.h"

namespace partita::methods::mle::estimates_csv_test {
namespace {

using nlohmann::json;
using report::SmallResult;

// RFC 4180, written without a look at the writer.
std::vector<std::vector<std::string>> ParseCsv(const std::string& text) {
  std::vector<std::vector<std::string>> rows(1, std::vector<std::string>(1));
  bool quoted = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quoted && c == '"' && i + 1 < text.size() && text[i + 1] == '"') {
      rows.back().back() += '"';
      ++i;
    } else if (c == '"') {
      quoted = !quoted;
    } else if (!quoted && c == ',') {
      rows.back().emplace_back();
    } else if (!quoted && c == '\r') {
      EXPECT_EQ(text.at(i + 1), '\n');
      ++i;
      rows.emplace_back(1);
    } else {
      rows.back().back() += c;
    }
  }
  EXPECT_FALSE(quoted);
  EXPECT_EQ(rows.back(), std::vector<std::string>(1)) << "no line break at the end";
  rows.pop_back();
  return rows;
}

std::string AsText(const json& value) {
  if (value.is_null()) return "";
  if (value.is_boolean()) return value.get<bool>() ? "1" : "0";
  return value.is_string() ? value.get<std::string>() : value.dump();
}

TEST(EstimatesCsvTest, HoldsWhatTheJsonHolds) {
  std::vector<MleResult> results = report::ThreeAnalyses();
  results.push_back(SmallResult());
  results.back().name = "small";
  results.back().fit.estimates[1].standard_error = std::nan("");
  results[1].robust = report::RobustOf(results[1]);
  const auto rows = ParseCsv(EstimatesCsv(results));
  const json document =
      json::parse(ResultJson(results, report::SamplePlan(), report::SampleFacts()));
  const std::vector<std::string>& header = rows.at(0);
  size_t line = 1;
  for (const json& analysis : document["analyses"]) {
    size_t index = 0;
    for (const json& parameter : analysis["parameters"]) {
      if (parameter["exo"] || parameter["op"] == "==") {
        ++index;  // no number, no line
        continue;
      }
      ASSERT_EQ(rows.at(line).size(), header.size());
      for (size_t column = 0; column < header.size(); ++column) {
        const std::string& name = header[column];
        const std::string& cell = rows[line][column];
        const int group = parameter["group"];
        if (name.ends_with(".lm")) {
          EXPECT_EQ(cell, "");  // of regressions only
        } else if (name.ends_with(".robust")) {
          const json& robust = analysis["robust"];
          const json value = robust.is_null()
                                 ? json()
                                 : robust["parameters"][index][name.substr(0, name.size() - 7)];
          EXPECT_EQ(cell.empty(), value.is_null());
          if (!cell.empty()) {
            EXPECT_EQ(std::stod(cell), value.get<double>()) << name;
          }
        } else if (name == "analysis") {
          EXPECT_EQ(cell, analysis["name"]);
        } else if (name.starts_with("group.")) {
          const json& groups = analysis["model"]["groups"];
          const std::string key = name.substr(6);
          EXPECT_EQ(cell.empty() || group > 0, true);
          if (group > 0) {
            const json& value = groups[static_cast<size_t>(group) - 1][key];
            if (value.is_number()) {
              EXPECT_EQ(std::stod(cell), value.get<double>());
            } else {
              EXPECT_EQ(cell, value);
            }
          }
        } else if (parameter[name].is_number_float()) {
          EXPECT_EQ(std::stod(cell), parameter[name].get<double>()) << name;
        } else {
          EXPECT_EQ(cell, AsText(parameter[name])) << name;
        }
      }
      ++line;
      ++index;
    }
  }
  EXPECT_EQ(line, rows.size());
}

TEST(EstimatesCsvTest, QuotesAndDefusesTexts) {
  MleResult result = SmallResult();
  result.name = "=cmd|' /C calc'!A0";
  result.group_labels[0] = "a, \"b\"\r\nc";
  result.table.rows[0].label = "-1+1";
  result.table.rows[0].lhs = "@x";
  const auto rows = ParseCsv(EstimatesCsv(std::vector{result}));
  EXPECT_EQ(rows[1][0], "'=cmd|' /C calc'!A0");
  EXPECT_EQ(rows[1][2], "a, \"b\"\r\nc");
  EXPECT_EQ(rows[1][4], "'@x");
  EXPECT_EQ(rows[1][5], "~");
  EXPECT_EQ(rows[1][7], "'-1+1");
}

TEST(EstimatesCsvTest, RefusesAFitOfAnotherTable) {
  MleResult result = SmallResult();
  result.fit.estimates.pop_back();
  EXPECT_THROW(EstimatesCsv(std::vector{result}), Error);
}

}  // namespace
}  // namespace partita::methods::mle::estimates_csv_test
