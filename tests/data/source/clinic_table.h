// A table of a schema of its own on the tests' PostgreSQL server, a role that may read it, and queries of sums.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "data/source/sum_source.h"
#include "tests/data/source/folder.h"
#include "tests/sums/protocol/postgres_server.h"

namespace partita::data::testing {

class ClinicTable : public ::testing::Test {
 protected:
  ClinicTable() {
    Administer(
        fmt::format("CREATE SCHEMA clinic; CREATE ROLE adder_{0} LOGIN; "
                    "GRANT USAGE ON SCHEMA clinic TO adder_{0}",
                    database_));
  }
  ~ClinicTable() override {
    Administer(fmt::format("DROP SCHEMA clinic CASCADE; DROP ROLE adder_{}", database_));
  }
  void Administer(const std::string& sql) const { sums::SharedServer().Administer(database_, sql); }
  void MakeTable(const std::string& columns, const std::string& rows) const {
    Administer(
        fmt::format("CREATE TABLE clinic.t ({}); INSERT INTO clinic.t {}; "
                    "GRANT SELECT ON clinic.t TO adder_{}",
                    columns, rows, database_));
  }
  // mode: "push-down" or "stream".
  SourceFile Source(const std::string& query, const std::string& role = {},
                    const std::string& mode = "push-down") const {
    folder_.Write("q.sql", query);
    return ReadSourceFile(folder_.Write(
        "s.toml", fmt::format("source = \"postgresql://{}@/{}?host={}\"\nquery = \"q.sql\"\n"
                              "mode = \"{}\"\n",
                              role.empty() ? "adder_" + database_ : role, database_,
                              sums::SharedServer().folder().string(), mode)));
  }
  SumAnswer Ask(const SumQuery& query, const std::string& sql = "SELECT * FROM clinic.t") const {
    return OpenSums(Source(sql))->Ask(query);
  }

  const std::string database_ = sums::SharedServer().MakeDatabase();
  const Folder folder_;
};

inline ColumnSchema Number(const std::string& name, double lower, double upper,
                           ColumnType type = ColumnType::kNumeric) {
  ColumnSchema schema;
  schema.name = name;
  schema.type = type;
  schema.lower = lower;
  schema.upper = upper;
  return schema;
}

inline ColumnSchema Factor(const std::string& name, std::vector<std::string> levels) {
  ColumnSchema schema;
  schema.name = name;
  schema.type = ColumnType::kFactor;
  schema.levels = std::move(levels);
  return schema;
}

// Every column is a variable: numbers by their bounds, levels as 1 and 10.
inline SumQuery AllOf(std::vector<ColumnSchema> columns) {
  SumQuery query;
  query.columns = std::move(columns);
  for (size_t c = 0; c < query.columns.size(); ++c) {
    SumVariable& variable = query.variables.emplace_back();
    variable.column = c;
    if (HasLevels(query.columns[c].type)) {
      variable.by_level = {1, 10};
    } else {
      variable.scale = ScaleOf(query.columns[c]);
    }
  }
  query.cells = {{}};
  return query;
}

}  // namespace partita::data::testing
