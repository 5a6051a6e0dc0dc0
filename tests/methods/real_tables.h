// Real tables that references hold (tests/references/survival/real.json and others): the study of one
// on an engine, its rows at holders, and its run beside the same in the clear.
//
// A table has "columns", each with a type, "lower" and "upper" or "levels", and "values" (of factors
// numbers of levels from 1; null: missing), and, if it has times, their bounds.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/progress.h"
#include "run/rehearse/rehearsal.h"
#include "run/simulate/mock_tables.h"
#include "tests/run/study_in_process.h"

namespace partita::methods::real {

using nlohmann::json;

struct Parties {
  std::string engine;
  size_t holders = 2;
};

// One of each engine.
inline const std::vector<Parties> kParties = {
    {"dealer", 2}, {"replicated", 3}, {"shamir", 3}, {"ot", 2}};
inline constexpr size_t kPolynomials = 2, kTransfers = 3;

// Two rows to one holder after the other; with `by` all rows of one of its values to the same.
inline std::vector<size_t> HolderOfRows(const json& table, size_t holders,
                                        const std::string& by = "") {
  const json& columns = table["columns"];
  const size_t rows = columns.begin().value()["values"].size();
  std::vector<size_t> holder;
  for (size_t r = 0; r < rows; ++r)
    holder.push_back((by.empty() ? r / 2 : columns[by]["values"][r].get<size_t>()) % holders);
  return holder;
}

inline std::string ListText(const json& words) {
  std::string list;
  for (const std::string word : words)
    list += fmt::format("{}\"{}\"", list.empty() ? "" : ", ", word);
  return "[" + list + "]";
}

inline std::string VariableText(const std::string& name, const json& column) {
  std::string text = fmt::format("[[variable]]\nname = \"{}\"\ntype = \"{}\"\n", name,
                                 column["type"].get<std::string>());
  if (column.contains("levels"))
    return text + fmt::format("levels = {}\n", ListText(column["levels"]));
  return text + fmt::format("lower = {}\nupper = {}\n", column["lower"].get<double>(),
                            column["upper"].get<double>());
}

// Parties, blocks with their rows, and everything that does not depend on the method: what the table of
// covariates tells is accepted, and no count is too small. min_rows: asked for.
inline std::string HeadText(const Parties& parties, const std::vector<size_t>& holder_of_rows,
                            size_t min_rows) {
  std::string text = "partita = 1\nname = \"real\"\n";
  for (size_t h = 0; h < parties.holders; ++h) {
    text += fmt::format("[[party]]\nname = \"p{0}\"\nroles = [\"holder\"{1}]\nrows = [\"r{0}\"]\n",
                        h, h == 0 ? ", \"receiver\"" : "");
  }
  if (parties.engine == "dealer") text += "[[party]]\nname = \"helper\"\nroles = [\"dealer\"]\n";
  for (size_t h = 0; h < parties.holders; ++h) {
    text += fmt::format("[[rows]]\nname = \"r{}\"\ncount = {}\n", h,
                        std::count(holder_of_rows.begin(), holder_of_rows.end(), h));
  }
  return text +
         fmt::format(
             "[engine]\nname = \"{}\"\n[disclosure]\nmin_cell = 1\nmin_rows = {}\n[release]\n"
             "accept = \"table of covariates\"\n",
             parties.engine, min_rows);
}

inline data::Column ColumnOf(const data::ColumnSchema& schema, const json& columns) {
  data::Column column;
  column.schema = schema;
  const bool times = schema.type == data::ColumnType::kSurvival,
             levels = data::HasLevels(schema.type);
  if (levels || times) {
    for (const json& value : columns[times ? schema.event_column : schema.name]["values"])
      column.codes.push_back(value.is_null() ? -1 : value.get<int32_t>() - (levels ? 1 : 0));
  }
  if (!levels) {
    for (const json& value : columns[times ? schema.time_column : schema.name]["values"])
      column.numbers.push_back(value.is_null() ? std::nan("") : value.get<double>());
  }
  return column;
}

// The table as the study's dictionary has it, at its holders.
inline data::MockStudy RowsOf(const run::Study& study, const json& table,
                              const std::vector<size_t>& holder_of_rows) {
  data::MockStudy rows;
  rows.pooled.num_rows = holder_of_rows.size();
  const json& columns = table["columns"];
  std::vector<std::string> names;
  for (const data::ColumnSchema& schema : study.file.dictionary.columns) {
    rows.pooled.columns.push_back(ColumnOf(schema, columns));
    if (schema.type == data::ColumnType::kSurvival) {
      names.insert(names.end(), {schema.time_column, schema.event_column});
    } else {
      names.push_back(schema.name);
    }
  }
  std::string header;
  for (const std::string& name : names) header += (header.empty() ? "" : ",") + name;
  for (size_t p = 0; p <= *std::max_element(holder_of_rows.begin(), holder_of_rows.end()); ++p)
    rows.tables.push_back({p, header + "\n"});
  for (size_t r = 0; r < holder_of_rows.size(); ++r) {
    rows.row_blocks.push_back(fmt::format("r{}", holder_of_rows[r]));
    rows.row_keys.emplace_back();
    std::string& csv = rows.tables[holder_of_rows[r]].csv;
    for (size_t c = 0; c < names.size(); ++c) {
      const json& column = columns[names[c]];
      const json& value = column["values"][r];
      csv += c == 0 ? "" : ",";
      if (value.is_null()) continue;
      csv += column.contains("levels")
                 ? column["levels"][value.get<size_t>() - 1].get<std::string>()
                 : fmt::format("{}", value.get<double>());
    }
    csv += "\n";
  }
  return rows;
}

// Empty where a party failed, which is a failure of the test.
struct Ran {
  run::RehearsedRun run;
  json result;  // the receiver's
};

// The deployed code over all parties; every number that opened is that of the twin in the clear on the
// pooled rows, and the messages are the plan's.
inline Ran RunReal(const run::Study& study, const json& table,
                   const std::vector<size_t>& holder_of_rows) {
  SilentProgress progress;
  Ran ran;
  ran.run.mock = RowsOf(study, table, holder_of_rows);
  const std::filesystem::path folder = partita::testing::MakeTemporaryFolder("real");
  const auto files = run::WriteMockTables(study, ran.run.mock, folder);
  ran.run.ends = run::SimulateInProcess(study, files, {}, progress, run::Keep::kOpenings);
  std::filesystem::remove_all(folder);
  if (const run::PartyEnd* cause = run::RootCause(ran.run.ends)) {
    ADD_FAILURE() << cause->party << ": " << cause->error->message() << " | "
                  << cause->error->hint();
    return ran;
  }
  ran.result = partita::testing::ResultOf(ran.run.outcome(study.receiver));
  run::Agreement agreement;
  study.Compare(ran.run, agreement, progress);
  EXPECT_GT(agreement.exact.size(), 3u);
  for (const run::ExactNumber& number : agreement.exact)
    EXPECT_GE(number.digits, 6) << number.name << ": " << number.run << ", " << number.plain;
  EXPECT_TRUE(run::CompareCosts(study, ran.run.ends).agree);
  return ran;
}

}  // namespace partita::methods::real
