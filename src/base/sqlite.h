// The little of SQLite that ledgers and upload stores use. Not in the library `base`: link
// partita_sqlite.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "base/bytes.h"
#include "base/error.h"

struct sqlite3;
struct sqlite3_stmt;

namespace partita::sqlite {

// What to throw, by whoever keeps the file. result_code: one of SQLite's; reason: SQLite's words,
// which never contain values.
using Failure = Error (*)(const std::string& file, int result_code, const std::string& reason);

class Statement;

class Database {
 public:
  struct Options {
    Failure fail;
    std::string vfs = {};                     // empty: the default
    bool create = false;                      // also makes the file
    std::chrono::milliseconds patience = {};  // with other connections that hold it
    bool read_only = false;                   // only SELECT, and no name in double quotes is a text
  };

  // Opens for reading and writing, unless for reading only.
  Database(const std::string& file, const Options& options);
  ~Database();
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;

  // Statements that still run then fail with SQLITE_INTERRUPT.
  void EndAt(std::chrono::steady_clock::time_point deadline);
  Statement Prepare(const char* sql) const;
  void Execute(const char* sql);
  std::string Pragma(const char* sql) const;  // the first column of the first row; empty if none
  const std::string& file() const { return file_; }

 private:
  friend class Statement;
  void Require(bool good, int result_code) const;

  std::string file_;
  Failure fail_;
  sqlite3* connection_ = nullptr;
  std::chrono::steady_clock::time_point deadline_;
};

class Statement {
 public:
  enum class Type { kNull, kInteger, kReal, kText, kBlob };

  // sql holds one statement.
  Statement(const Database& database, const char* sql);
  ~Statement();
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;

  // Parameters count from 1. Blobs and texts must live until the statement is stepped for the last
  // time, or reset. An empty blob is not NULL.
  Statement& Bind(int parameter, int64_t value);
  Statement& Bind(int parameter, ByteView blob);
  Statement& Bind(int parameter, const std::string& text);
  Statement& BindReal(int parameter, double value);  // NaN becomes NULL
  // Whether there is a row.
  bool Step();
  int NumColumns() const;
  std::string ColumnName(int column) const;
  // Of the current row; columns count from 0.
  Type TypeOf(int column);
  double Real(int column);
  bool IsNull(int column);
  int64_t Integer(int column);
  ByteView Blob(int column);  // valid until the next Step
  std::string Text(int column);
  void Reset();  // to be bound and stepped anew

 private:
  const Database& database_;
  sqlite3_stmt* statement_ = nullptr;
};

// Resets a statement when its use ends, however it ends.
class Use {
 public:
  explicit Use(Statement& statement) : statement_(statement) {}
  ~Use() { statement_.Reset(); }
  Use(const Use&) = delete;
  Use& operator=(const Use&) = delete;
  Statement* operator->() { return &statement_; }

 private:
  Statement& statement_;
};

// Between `begin` and Commit; without Commit everything is undone.
class Transaction {
 public:
  enum class Kind { kRead, kWrite };
  Transaction(Database& database, Kind kind);
  ~Transaction();
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;
  void Commit();

 private:
  Database& database_;
  bool open_ = false;
};

}  // namespace partita::sqlite
