#include "data/source/postgres_session.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/error.h"
#include "data/source/csv_rows.h"
#include "data/utf8.h"

namespace partita::data {
namespace {

using postgres::FieldOf;
using postgres::Pq;

// Of the system catalogue (pg_type), fixed for ever: boolean, bigint, smallint, integer, text, double
// precision, character, varchar, date, numeric, uuid; and real.
constexpr std::array<Oid, 11> kTaken = {16, 20, 21, 23, 25, 701, 1042, 1043, 1082, 1700, 2950};
constexpr Oid kReal = 700, kBooleanOid = 16, kCharacterOid = 1042, kDateOid = 1082;
bool IsNumber(Oid type) {
  return type == 20 || type == 21 || type == 23 || type == 701 || type == 1700;
}

// The role that connected, and what it or a role that it is a member of may change; NULL: nothing.
constexpr const char* kMayWrite =
    "WITH mine AS (SELECT * FROM pg_roles WHERE pg_has_role(session_user, oid, 'MEMBER')), "
    "schemas AS (SELECT * FROM pg_namespace WHERE nspname !~ '^pg_' AND "
    "nspname <> 'information_schema') "
    "SELECT session_user::text, coalesce("
    "(SELECT 'everything' FROM mine WHERE rolsuper OR rolcreaterole OR rolreplication OR rolname "
    "IN "
    "('pg_write_all_data', 'pg_write_server_files', 'pg_execute_server_program') LIMIT 1), "
    "(SELECT format('%I.%I', s.nspname, c.relname) FROM pg_class c JOIN schemas s ON "
    "s.oid = c.relnamespace, mine WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f', 'S') AND "
    "(c.relowner = mine.oid OR CASE WHEN c.relkind = 'S' "
    "THEN has_sequence_privilege(mine.oid, c.oid, 'USAGE, UPDATE') "
    "ELSE has_table_privilege(mine.oid, c.oid, 'INSERT, UPDATE, DELETE, TRUNCATE') OR "
    "has_any_column_privilege(mine.oid, c.oid, 'INSERT, UPDATE') END) LIMIT 1), "
    "(SELECT format('the schema %I', s.nspname) FROM schemas s, mine WHERE s.nspowner = mine.oid "
    "OR "
    "has_schema_privilege(mine.oid, s.oid, 'CREATE') LIMIT 1), "
    "(SELECT 'the database' FROM mine WHERE "
    "has_database_privilege(mine.oid, current_database(), 'CREATE') LIMIT 1))";

}  // namespace

PostgresSession::PostgresSession(const SourceFile& source)
    : file_(source.file),
      connection_(postgres::Connect(source.where, {.what = "the database of " + source.file,
                                                   .password_place = "name that beside the source: "
                                                                     "credentials = \"FILE\"",
                                                   .password = source.password})) {
  Execute(fmt::format("BEGIN TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY; "
                      "SET LOCAL search_path = pg_catalog; SET LOCAL extra_float_digits = 3; "
                      "SET LOCAL DateStyle = 'ISO'; SET LOCAL TimeZone = 'UTC'; "
                      "SET LOCAL statement_timeout = '{}s'",
                      source.timeout.count()),
          PGRES_COMMAND_OK);
}

PostgresResult PostgresSession::Execute(const std::string& sql, ExecStatusType expected) {
  return Good(PostgresResult(Pq().exec(connection_.get(), sql.c_str()), Pq().clear), expected);
}

PostgresResult PostgresSession::Execute(const std::string& sql,
                                        const std::vector<SqlValue>& values) {
  std::vector<std::string> texts(values.size());
  std::vector<const char*> addresses(values.size(), nullptr);
  for (size_t v = 0; v < values.size(); ++v) {
    if (const double* number = std::get_if<double>(&values[v])) {
      texts[v] = fmt::format("{}", *number);
    } else if (const std::string* text = std::get_if<std::string>(&values[v])) {
      texts[v] = *text;
    } else {
      continue;
    }
    addresses[v] = texts[v].c_str();
  }
  return Good(PostgresResult(
                  Pq().execParams(connection_.get(), sql.c_str(), static_cast<int>(values.size()),
                                  nullptr, addresses.data(), nullptr, nullptr, 0),
                  Pq().clear),
              PGRES_TUPLES_OK);
}

PostgresResult PostgresSession::Describe(const std::string& query) {
  Good(PostgresResult(Pq().prepare(connection_.get(), "", query.c_str(), 0, nullptr), Pq().clear),
       PGRES_COMMAND_OK);
  return Good(PostgresResult(Pq().describePrepared(connection_.get(), ""), Pq().clear),
              PGRES_COMMAND_OK);
}

bool PostgresSession::Next(std::string& piece) {
  char* buffer = nullptr;
  const int size = Pq().getCopyData(connection_.get(), &buffer, 0);
  if (size > 0) piece.assign(buffer, static_cast<size_t>(size));
  Pq().freemem(buffer);
  if (size > 0) return true;
  Good(PostgresResult(Pq().getResult(connection_.get()), Pq().clear), PGRES_COMMAND_OK);
  return false;
}

PostgresResult PostgresSession::Good(PostgresResult result, ExecStatusType expected) {
  if (result != nullptr && Pq().resultStatus(result.get()) == expected) return result;
  const std::string state = result ? FieldOf(result.get(), PG_DIAG_SQLSTATE) : "";
  const std::string message = result ? FieldOf(result.get(), PG_DIAG_MESSAGE_PRIMARY) : "";
  if (state == "57014") {
    throw Error(ErrorCode::kUnreachable, file_ + ": the query took longer than it may",
                "raise timeout_seconds, or ask for less");
  }
  if (state.empty() || state.starts_with("08") || state.starts_with("57P")) {
    throw Error(ErrorCode::kUnreachable, file_ + ": the connection to the database was lost",
                "check the database server, and start again");
  }
  throw Error(ErrorCode::kBadInput,
              fmt::format("{}: the database refused the query: {} ({})", file_,
                          ReplaceMalformed(message), state),
              state == "42501"   ? "grant the role SELECT on what the query reads"
              : state == "42P01" ? "name tables with their schema: clinic.patients"
              : state == "25006" ? "a query only reads"
                                 : "try the query in psql as this role");
}

std::string TextAt(const PostgresResult& result, int column) {
  return Pq().getisnull(result.get(), 0, column) != 0
             ? std::string()
             : std::string(Pq().getvalue(result.get(), 0, column));
}

void RefuseWriters(PostgresSession& session, const std::string& file) {
  const PostgresResult role = session.Execute(kMayWrite, PGRES_TUPLES_OK);
  const std::string writes = TextAt(role, 1);
  if (writes.empty()) return;
  throw Error(
      ErrorCode::kRefused,
      fmt::format("{}: the role {} may write to {}", file, Printable(TextAt(role, 0)),
                  Printable(writes)),
      "use a role that may only read: CREATE ROLE partita_reader LOGIN; GRANT USAGE ON "
      "SCHEMA ... and GRANT SELECT ON ... TO partita_reader; and REVOKE CREATE ON SCHEMA public "
      "FROM PUBLIC where PostgreSQL is older than 15");
}

std::vector<PostgresColumn> RequireTypes(PostgresSession& session, const SourceFile& source) {
  const PostgresResult columns = session.Describe(source.query);
  std::vector<std::string> names;
  for (int c = 0; c < Pq().nfields(columns.get()); ++c)
    names.emplace_back(Pq().fname(columns.get(), c));
  RequireColumnNames(names, source.file);
  for (size_t c = 0; c < names.size(); ++c) {
    const Oid type = Pq().ftype(columns.get(), static_cast<int>(c));
    if (std::find(kTaken.begin(), kTaken.end(), type) != kTaken.end()) continue;
    const PostgresResult known = session.Execute(
        fmt::format("SELECT typtype, format_type(oid, NULL) FROM pg_type WHERE oid = {}", type),
        PGRES_TUPLES_OK);
    if (TextAt(known, 0) == "e") continue;
    throw Error(ErrorCode::kBadData,
                fmt::format("{}: column \"{}\" is of type {}", source.file, Printable(names[c]),
                            Printable(TextAt(known, 1))),
                type == kReal ? "say in the query what is meant: cast(x AS double precision), or "
                                "cast(x AS numeric) for the digits that are printed"
                              : "cast it in the query to a number, date or text");
  }
  std::vector<PostgresColumn> typed;
  for (size_t c = 0; c < names.size(); ++c)
    typed.push_back({names[c], Pq().ftype(columns.get(), static_cast<int>(c))});
  return typed;
}

SqlType PostgresType(const ColumnSchema& variable, const std::vector<PostgresColumn>& columns,
                     const std::string& file) {
  std::vector<std::string> names;
  for (const PostgresColumn& column : columns) names.push_back(column.name);
  const Oid type = columns[PlaceOfColumn(variable.name, names, file)].type;
  const bool is_date = variable.type == ColumnType::kDate;
  if (HasLevels(variable.type)) {
    if (type != kCharacterOid) return type == kBooleanOid ? SqlType::kBoolean : SqlType::kText;
  } else if (is_date ? type == kDateOid : IsNumber(type)) {
    return is_date ? SqlType::kDate : SqlType::kNumber;
  }
  throw Error(ErrorCode::kBadData,
              fmt::format("{}: column \"{}\" is {} in the study, and of another type in the "
                          "database",
                          file, Printable(variable.name), ColumnTypeName(variable.type)),
              HasLevels(variable.type) ? "its type fills texts up with spaces: trim(x) in the query"
              : is_date                ? "cast it in the query: cast(x AS date)"
                                       : "cast it in the query: cast(x AS double precision)");
}

std::string ServerVersion(PostgresSession& session) {
  return TextAt(session.Execute("SELECT current_setting('server_version')", PGRES_TUPLES_OK), 0);
}

}  // namespace partita::data
