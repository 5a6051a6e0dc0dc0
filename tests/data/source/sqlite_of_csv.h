// A CSV file's rows as a table `t` of an SQLite file: numbers as numbers, empty cells as NULL.
#pragma once

#include <gtest/gtest.h>
#include <sqlite3.h>

#include <fstream>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "data/number_text.h"

namespace partita::data::testing {

// Cells of a line without quotes.
inline std::vector<std::string> CellsOf(const std::string& line) {
  std::vector<std::string> cells(1);
  for (const char c : line) {
    if (c == ',') {
      cells.emplace_back();
    } else {
      cells.back() += c;
    }
  }
  return cells;
}

inline void SqliteOfCsv(const std::string& csv, const std::string& database) {
  std::ifstream file(csv);
  std::string line, columns, places;
  ASSERT_TRUE(std::getline(file, line));
  for (const std::string& name : CellsOf(line)) {
    columns += (columns.empty() ? "\"" : ", \"") + name + "\"";
    places += places.empty() ? "?" : ", ?";
  }
  sqlite3* connection = nullptr;
  ASSERT_EQ(sqlite3_open(database.c_str(), &connection), SQLITE_OK);
  ASSERT_EQ(sqlite3_exec(connection, ("CREATE TABLE t (" + columns + "); BEGIN").c_str(), nullptr,
                         nullptr, nullptr),
            SQLITE_OK);
  sqlite3_stmt* insert = nullptr;
  ASSERT_EQ(sqlite3_prepare_v2(connection, ("INSERT INTO t VALUES (" + places + ")").c_str(), -1,
                               &insert, nullptr),
            SQLITE_OK);
  while (std::getline(file, line)) {
    int place = 0;
    for (const std::string& cell : CellsOf(line)) {
      const std::optional<double> number = ParseNumber(cell, '.');
      ++place;
      if (cell.empty()) {
        sqlite3_bind_null(insert, place);
      } else if (number) {
        sqlite3_bind_double(insert, place, *number);
      } else {
        sqlite3_bind_text(insert, place, cell.c_str(), -1, SQLITE_TRANSIENT);
      }
    }
    ASSERT_EQ(sqlite3_step(insert), SQLITE_DONE);
    sqlite3_reset(insert);
  }
  sqlite3_finalize(insert);
  ASSERT_EQ(sqlite3_exec(connection, "COMMIT", nullptr, nullptr, nullptr), SQLITE_OK);
  sqlite3_close(connection);
}

inline void ChangeSqlite(const std::string& database, const std::string& sql) {
  sqlite3* connection = nullptr;
  ASSERT_EQ(sqlite3_open(database.c_str(), &connection), SQLITE_OK);
  EXPECT_EQ(sqlite3_exec(connection, sql.c_str(), nullptr, nullptr, nullptr), SQLITE_OK)
      << sqlite3_errmsg(connection);
  sqlite3_close(connection);
}

}  // namespace partita::data::testing
