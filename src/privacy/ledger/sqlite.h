// The little of SQLite that the ledger uses, as two classes.
//
// Errors: kTimeout while other connections hold the file, kRefused for a file that is damaged or no
// database, kStorage for a disk that is full or fails, kUsage for everything else that the system
// refuses (no such file, no permission). SQLite's message is quoted; it never contains values.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

#include "base/bytes.h"

struct sqlite3;
struct sqlite3_stmt;

namespace partita::privacy::ledger {

class Statement {
 public:
  Statement(sqlite3* connection, const std::string& file, const char* sql);
  ~Statement();
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;

  // Parameters count from 1. Blobs and texts must live until the statement is stepped for the last
  // time.
  Statement& Bind(int parameter, int64_t value);
  Statement& Bind(int parameter, ByteView blob);
  Statement& Bind(int parameter, const std::string& text);
  // Whether there is a row.
  bool Step();
  // Of the current row; columns count from 0.
  int64_t Integer(int column);
  ByteView Blob(int column);  // valid until the next Step
  std::string Text(int column);

 private:
  void Require(int result_code);

  sqlite3* connection_;
  const std::string& file_;
  sqlite3_stmt* statement_ = nullptr;
};

class Database {
 public:
  // Opens for reading and writing. create: also makes the file.
  Database(const std::string& file, const std::string& vfs, bool create,
           std::chrono::milliseconds patience);
  ~Database();
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;

  Statement Prepare(const char* sql) { return {connection_, file_, sql}; }
  void Execute(const char* sql);
  std::string Pragma(const char* sql);  // the first column of the first row; empty if there is none
  const std::string& file() const { return file_; }

 private:
  std::string file_;
  sqlite3* connection_ = nullptr;
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

}  // namespace partita::privacy::ledger
