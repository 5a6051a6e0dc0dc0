// The little of SQL that the store says to its database, in words that SQLite and PostgreSQL understand alike:
// parameters are $1, $2, ..., which first occur in that order; what is replaced is deleted first, or conflicts by a key
// that is named; numbers are signed ones of 64 bits, texts are compared by their bytes.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "base/bytes.h"

namespace partita::node {

// Bytes live for as long as the rows that they were asked for with.
using SqlValue = std::variant<int64_t, ByteView, std::string>;

class SqlRows {
 public:
  virtual ~SqlRows() = default;
  virtual bool Step() = 0;  // whether there is a row, or another one
  // Of the current row; columns count from 0.
  virtual bool IsNull(int column) = 0;
  virtual int64_t Integer(int column) = 0;
  virtual ByteView Blob(int column) = 0;  // valid until the next Step
  virtual std::string Text(int column) = 0;
};

// All throw kStorage if the database fails, kBadInput if what it holds cannot be.
class Sql {
 public:
  enum class Kind { kRead, kWrite };

  virtual ~Sql() = default;
  virtual std::unique_ptr<SqlRows> Query(const std::string& sql,
                                         const std::vector<SqlValue>& values = {}) = 0;
  // The same of a large table, without parameters, within a transaction: not all rows are in memory at once.
  virtual std::unique_ptr<SqlRows> Scan(const std::string& sql) = 0;
  // One at a time; without Commit everything is undone. After Commit has thrown nobody knows which.
  virtual void Begin(Kind kind) = 0;
  virtual void Commit() = 0;
  virtual void Undo() noexcept = 0;
  // Throws kStorage unless this process alone may write, as far as it can be known.
  virtual void RequireHeld() = 0;

  // A statement without rows.
  void Do(const std::string& sql, const std::vector<SqlValue>& values = {}) {
    Query(sql, values)->Step();
  }
};

class SqlTransaction {
 public:
  SqlTransaction(Sql& sql, Sql::Kind kind) : sql_(sql) { sql.Begin(kind); }
  ~SqlTransaction() {
    if (open_) sql_.Undo();
  }
  SqlTransaction(const SqlTransaction&) = delete;
  SqlTransaction& operator=(const SqlTransaction&) = delete;
  void Commit() {
    sql_.Commit();
    open_ = false;
  }

 private:
  Sql& sql_;
  bool open_ = true;
};

}  // namespace partita::node
