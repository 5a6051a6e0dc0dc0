// One transaction in PostgreSQL that only reads: READ ONLY, REPEATABLE READ, with settings of its own.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/libpq.h"
#include "base/postgres_connect.h"
#include "data/source/source_file.h"
#include "data/source/sum_statement.h"

namespace partita::data {

using PostgresResult = std::unique_ptr<pg_result, void (*)(pg_result*)>;

class PostgresSession {
 public:
  // Connects. Throws kUnreachable if the server does not answer, here and below.
  explicit PostgresSession(const SourceFile& source);

  // Throw kBadInput for what the server refuses, telling its main message and never the details, which
  // quote rows; kUnreachable for what takes longer than it may.
  PostgresResult Execute(const std::string& sql, ExecStatusType expected);
  PostgresResult Execute(const std::string& sql, const std::vector<SqlValue>& values);
  // The columns of one statement, with nothing behind it.
  PostgresResult Describe(const std::string& query);
  // The next piece of a copy; false at its end.
  bool Next(std::string& piece);

 private:
  PostgresResult Good(PostgresResult result, ExecStatusType expected);

  std::string file_;
  postgres::Connection connection_;
};

// Empty for NULL.
std::string TextAt(const PostgresResult& result, int column);

// Throws kRefused if the role, or one that it is a member of, may write to anything.
void RefuseWriters(PostgresSession& session, const std::string& file);

struct PostgresColumn {
  std::string name;
  Oid type = 0;  // of pg_type
};
// Of the query. Throws kBadData, naming the column, for types that no table of a study has.
std::vector<PostgresColumn> RequireTypes(PostgresSession& session, const SourceFile& source);
// What a variable's column is, for sums. Throws kBadData for one that is not there, or of a type that cannot be
// what the variable is.
SqlType PostgresType(const ColumnSchema& variable, const std::vector<PostgresColumn>& columns,
                     const std::string& file);

std::string ServerVersion(PostgresSession& session);

}  // namespace partita::data
