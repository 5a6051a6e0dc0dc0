// The text of a study of a table that R's fits are of (tables.h), and the rows of its parts.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "stats/glm/inference.h"
#include "tests/methods/glm/tables.h"

namespace partita::methods::glm::testing {

inline std::string VariableText(const data::ColumnSchema& schema) {
  std::string text = fmt::format("[[variable]]\nname = \"{}\"\ntype = \"{}\"\n", schema.name,
                                 data::ColumnTypeName(schema.type));
  if (schema.levels.empty())
    return text + fmt::format("lower = {}\nupper = {}\n", schema.lower, schema.upper);
  std::string levels;
  for (const std::string& level : schema.levels)
    levels += fmt::format("{}\"{}\"", levels.empty() ? "" : ", ", level);
  return text + fmt::format("levels = [{}]\n", levels);
}

// A study of all rows of such a table in parts, with the fit's family, formula, errors and weights.
inline std::string ReferenceText(const nlohmann::json& fit, const std::string& engine,
                                 const std::vector<data::Table>& parts) {
  std::string text = "partita = 1\nname = \"reference\"\n";
  for (size_t h = 0; h < parts.size(); ++h) {
    text += fmt::format("[[party]]\nname = \"p{0}\"\nroles = [\"holder\"{1}]\nrows = [\"r{0}\"]\n",
                        h, h == 0 ? ", \"receiver\"" : "");
  }
  if (engine == "dealer") text += "[[party]]\nname = \"helper\"\nroles = [\"dealer\"]\n";
  for (size_t h = 0; h < parts.size(); ++h)
    text += fmt::format("[[rows]]\nname = \"r{}\"\ncount = {}\n", h, parts[h].num_rows);
  for (const data::ColumnSchema& schema : DictionaryOf(fit["data"]).columns)
    text += VariableText(schema);
  const auto value = [&](const char* key) { return fit.value(key, nlohmann::json()); };
  const auto line = [&](const char* key, const nlohmann::json& name) {
    return name.is_null() ? "" : fmt::format("{} = \"{}\"\n", key, name.get<std::string>());
  };
  const std::string site = value("site").is_null() ? "ignore" : value("site");
  text += fmt::format("[design]\nsite = \"{}\"\nmissing = \"refuse\"\n", site);
  for (const char* key : {"weights", "weights_type", "cluster"}) text += line(key, value(key));
  text += fmt::format(
      "[disclosure]\nmin_cell = 2\n[release]\naccept = \"table of covariates\"\n[engine]\nname = "
      "\"{}\"\n[[analysis]]\nmethod = \"glm\"\nsteps = 4\nrelease = [\"estimates\"]\n",
      engine);
  if (!value("ridge").is_null())
    text += fmt::format("penalty = {{ridge = {}}}\n", value("ridge").get<double>());
  for (const char* key : {"family", "link", "formula", "errors"}) text += line(key, value(key));
  return text;
}

// A twin's statistic is that of R.
inline void ExpectTest(const data::ModelTerm& term, const nlohmann::json& wanted, double chi_square,
                       std::optional<double> df) {
  const auto k = static_cast<double>(term.columns.size());
  EXPECT_EQ(wanted["columns"], term.columns.size());
  const double statistic = wanted["statistic"];
  EXPECT_NEAR(df ? chi_square / k : chi_square, statistic, 1e-6 * statistic + 1e-6);
  const double p_value = wanted["p_value"];
  EXPECT_NEAR(stats::glm::WaldPValue(chi_square, k, df), p_value, 1e-4 * p_value + 1e-12);
}

// A study's statistics are those of R, within what the grid moves the estimates, or within `digits`.
inline void ExpectTests(const nlohmann::json& tests, const nlohmann::json& wanted, double grid,
                        double digits) {
  ASSERT_EQ(tests.size(), wanted.size());
  for (size_t t = 0; t < wanted.size(); ++t) {
    const double statistic = wanted[t]["statistic"], slope = wanted[t]["slope"];
    EXPECT_EQ(tests[t]["columns"], wanted[t]["columns"]);
    const double within = digits > 0 ? digits * (1 + statistic) : grid * (1 + 0.6 * slope);
    EXPECT_NEAR(tests[t]["statistic"], statistic, within) << wanted[t]["term"];
    EXPECT_NEAR(tests[t]["p_value"], wanted[t]["p_value"].get<double>(), within);
  }
}

inline std::string CsvOf(const data::Table& table) {
  std::string csv;
  for (size_t c = 0; c < table.columns.size(); ++c)
    csv += (c == 0 ? "" : ",") + table.columns[c].schema.name;
  csv += "\n";
  for (size_t r = 0; r < table.num_rows; ++r) {
    for (size_t c = 0; c < table.columns.size(); ++c) {
      const data::Column& column = table.columns[c];
      csv += c == 0 ? "" : ",";
      csv += column.schema.levels.empty()
                 ? fmt::format("{}", column.numbers[r])
                 : column.schema.levels[static_cast<size_t>(column.codes[r])];
    }
    csv += "\n";
  }
  return csv;
}

}  // namespace partita::methods::glm::testing
