// A connection to whatever has a driver for unixODBC, and what its calls come to. What it began is never committed.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "base/error.h"
#include "data/source/source_file.h"
#include "data/source/unixodbc.h"

namespace partita::data {

bool OdbcSucceeded(SQLRETURN result);
SQLPOINTER OdbcPointer(uintptr_t value);
// Throws kBadInput, naming `what`, for what is not UTF-8.
std::u16string OdbcText(const std::string& file, const std::string& text, const char* what);
SQLWCHAR* OdbcUnits(std::u16string& text);
// A name or a message, ended by a zero.
std::string Utf8OfOdbc(const SQLWCHAR* units);
Error OdbcTookTooLong(const std::string& file);

// An environment, a connection or a statement.
class OdbcHandle {
 public:
  OdbcHandle(SQLSMALLINT type, SQLHANDLE parent);
  ~OdbcHandle();
  OdbcHandle(const OdbcHandle&) = delete;
  OdbcHandle& operator=(const OdbcHandle&) = delete;

  SQLHANDLE get() const { return handle_; }
  SQLSMALLINT type() const { return type_; }

 private:
  SQLSMALLINT type_;
  SQLHANDLE handle_ = SQL_NULL_HANDLE;
};

// Throws kUnreachable if the database does not answer or takes too long, kBadInput for what it does not understand, and
// kUsage where there is no unixODBC.
class OdbcSession {
 public:
  explicit OdbcSession(const SourceFile& source);
  ~OdbcSession();
  OdbcSession(const OdbcSession&) = delete;
  OdbcSession& operator=(const OdbcSession&) = delete;

  const OdbcHandle& connection() const { return connection_; }
  // Throws what a call on `handle` came to.
  void Require(SQLRETURN result, const OdbcHandle& handle) const;
  // SQLGetInfo, of texts.
  std::string Info(SQLUSMALLINT what) const;
  // The source's query; of a table's name in the database's own quotes (a blank one: it has none) all.
  std::string QueryOf(const SourceFile& source) const;
  // Gives up after so long.
  void Limit(const OdbcHandle& statement, std::chrono::seconds timeout) const;

 private:
  // On one line, without the password.
  std::string Told(std::string message) const;

  std::string file_;
  std::string password_;
  OdbcHandle environment_;
  OdbcHandle connection_;
};

struct OdbcColumn {
  std::string name;
  SQLSMALLINT type = 0;
};
// Of a prepared statement. Throws as RequireColumnNames.
std::vector<OdbcColumn> OdbcColumnsOf(const OdbcSession& session, const OdbcHandle& statement,
                                      const std::string& file);

}  // namespace partita::data
