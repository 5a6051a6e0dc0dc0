// The tables of a ledger as anybody with SQLite can change them.
#pragma once

#include <gtest/gtest.h>
#include <sqlite3.h>

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "base/error.h"

namespace partita::privacy::ledger {

struct RawTable {
  std::string name;
  std::vector<std::string> columns;
  size_t keys = 1;  // the first columns, which name a row
};

inline const std::vector<RawTable>& RawTables() {
  static const std::vector<RawTable> kTables = {
      {"accounts", {"id", "name", "pseudonym"}, 1},
      {"entries", {"account", "sequence", "body", "hash"}, 2},
      {"heads", {"account", "sequence", "hash"}, 1},
      {"journal", {"number", "body", "hash"}, 1},
      {"journal_head", {"id", "number", "hash"}, 1},
  };
  return kTables;
}

struct RawCell {
  int type = SQLITE_NULL;  // SQLITE_INTEGER, SQLITE_TEXT or SQLITE_BLOB
  int64_t number = 0;
  Bytes bytes;

  // Of an integer those of its two's complement.
  size_t size() const { return type == SQLITE_INTEGER ? sizeof number : bytes.size(); }
  RawCell Flipped(size_t byte, uint8_t mask) const {
    RawCell other = *this;
    if (type == SQLITE_INTEGER) {
      other.number = static_cast<int64_t>(static_cast<uint64_t>(number) ^
                                          static_cast<uint64_t>(mask) << (8 * byte));
    } else {
      other.bytes[byte] ^= mask;
    }
    return other;
  }
};
using RawRow = std::vector<RawCell>;

class RawLedger {
 public:
  explicit RawLedger(const std::filesystem::path& file) {
    if (sqlite3_open(file.c_str(), &connection_) != SQLITE_OK)
      throw Error(ErrorCode::kInternal, "no database");
    Execute("PRAGMA synchronous=OFF; PRAGMA journal_mode=MEMORY");
  }
  ~RawLedger() { sqlite3_close(connection_); }
  RawLedger(const RawLedger&) = delete;
  RawLedger& operator=(const RawLedger&) = delete;

  void Execute(const std::string& sql) {
    char* message = nullptr;
    EXPECT_EQ(sqlite3_exec(connection_, sql.c_str(), nullptr, nullptr, &message), SQLITE_OK)
        << sql << ": " << (message != nullptr ? message : "");
    sqlite3_free(message);
  }

  std::vector<RawRow> Rows(const RawTable& table) {
    sqlite3_stmt* statement = Prepare("SELECT * FROM " + table.name);
    std::vector<RawRow> rows;
    while (sqlite3_step(statement) == SQLITE_ROW) {
      RawRow& row = rows.emplace_back();
      for (int i = 0; i < static_cast<int>(table.columns.size()); ++i) {
        RawCell cell{sqlite3_column_type(statement, i), sqlite3_column_int64(statement, i), {}};
        if (cell.type != SQLITE_INTEGER) {
          const auto* bytes = static_cast<const uint8_t*>(sqlite3_column_blob(statement, i));
          cell.bytes.assign(bytes, bytes + sqlite3_column_bytes(statement, i));
        }
        row.push_back(std::move(cell));
      }
    }
    sqlite3_finalize(statement);
    return rows;
  }

  // Whether SQLite let it happen.
  bool Delete(const RawTable& table, const RawRow& row) {
    return Change("DELETE FROM " + table.name, table, row, {});
  }
  bool Set(const RawTable& table, const RawRow& row, size_t column, const RawCell& value) {
    return Change("UPDATE " + table.name + " SET " + table.columns[column] + " = ?", table, row,
                  {value});
  }
  // Puts `value` in the place of all cells of the row but its keys.
  bool Replace(const RawTable& table, const RawRow& row, const RawRow& value) {
    std::string sql = "UPDATE " + table.name + " SET ";
    std::vector<RawCell> cells;
    for (size_t i = table.keys; i < table.columns.size(); ++i) {
      sql += (i > table.keys ? ", " : "") + table.columns[i] + " = ?";
      cells.push_back(value[i]);
    }
    return Change(sql, table, row, cells);
  }

 private:
  sqlite3_stmt* Prepare(const std::string& sql) {
    sqlite3_stmt* statement = nullptr;
    if (sqlite3_prepare_v2(connection_, sql.c_str(), -1, &statement, nullptr) != SQLITE_OK)
      throw Error(ErrorCode::kInternal, sql + ": " + sqlite3_errmsg(connection_));
    return statement;
  }
  static void Bind(sqlite3_stmt* statement, int parameter, const RawCell& cell) {
    const int size = static_cast<int>(cell.bytes.size());
    if (cell.type == SQLITE_INTEGER) {
      sqlite3_bind_int64(statement, parameter, cell.number);
    } else if (cell.type == SQLITE_TEXT) {
      sqlite3_bind_text(statement, parameter, reinterpret_cast<const char*>(cell.bytes.data()),
                        size, SQLITE_TRANSIENT);
    } else {
      sqlite3_bind_blob(statement, parameter, cell.bytes.data(), size, SQLITE_TRANSIENT);
    }
  }
  bool Change(const std::string& sql, const RawTable& table, const RawRow& row,
              const std::vector<RawCell>& values) {
    std::string whole = sql + " WHERE ";
    for (size_t i = 0; i < table.keys; ++i)
      whole += (i > 0 ? " AND " : "") + table.columns[i] + " = ?";
    sqlite3_stmt* statement = Prepare(whole);
    int parameter = 0;
    for (const RawCell& value : values) Bind(statement, ++parameter, value);
    for (size_t i = 0; i < table.keys; ++i) Bind(statement, ++parameter, row[i]);
    const bool done = sqlite3_step(statement) == SQLITE_DONE;
    sqlite3_finalize(statement);
    return done && sqlite3_changes(connection_) == 1;
  }

  sqlite3* connection_ = nullptr;
};

}  // namespace partita::privacy::ledger
