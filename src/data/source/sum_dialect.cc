#include "data/source/sum_dialect.h"

#include <utility>

namespace partita::data {
namespace {

constexpr char kPlace[] = "{0}";

SqlDialect MakeSqlite() {
  SqlDialect dialect;
  dialect.name = "SQLite";
  dialect.real = "REAL";
  dialect.integer = "INTEGER";
  dialect.truncated = "CAST({0} AS INTEGER)";
  dialect.whole = "CAST(CAST({0} AS INTEGER) AS REAL)";
  dialect.upper = "({0} >> 32)";
  dialect.lower = "({0} & 4294967295)";
  dialect.text = "CAST({0} AS TEXT)";
  dialect.fence = " LIMIT -1";
  dialect.bytewise = " COLLATE BINARY";
  dialect.bound_number = dialect.bound_text = "?{0}";
  dialect.typed_columns = false;
  return dialect;
}

SqlDialect MakePostgres() {
  SqlDialect dialect;
  dialect.name = "PostgreSQL";
  dialect.real = "double precision";
  dialect.integer = "bigint";
  dialect.truncated = "CAST(trunc({0}) AS bigint)";
  dialect.whole = "trunc({0})";
  dialect.upper = "({0} >> 32)";
  dialect.lower = "({0} & 4294967295)";
  dialect.text = "CAST({0} AS text)";
  dialect.days =
      "CASE WHEN isfinite({0}) THEN CAST({0} - date '1970-01-01' AS double precision) END";
  dialect.is_day = "isfinite({0})";
  // A constant of the type that OFFSET has: before another one is converted, no parallel plan is looked for.
  dialect.fence = " OFFSET bigint '0'";
  dialect.bytewise = " COLLATE \"C\"";
  dialect.bound_number = "CAST(${0} AS double precision)";
  dialect.bound_text = "CAST(${0} AS text)";
  dialect.wide_sums = true;
  dialect.has_nan = true;
  dialect.repeatable_is_one_moment = true;
  return dialect;
}

SqlDialect MakeStandard() {
  SqlDialect dialect;
  dialect.name = "SQL";
  dialect.real = "DOUBLE PRECISION";
  dialect.integer = "BIGINT";
  dialect.truncated = "CAST(CASE WHEN {0} < 0 THEN CEILING({0}) ELSE FLOOR({0}) END AS BIGINT)";
  dialect.whole = "(CASE WHEN {0} < 0 THEN CEILING({0}) ELSE FLOOR({0}) END)";
  // What is divided is a multiple of 2^32.
  dialect.upper = "(({0} - MOD(MOD({0}, 4294967296) + 4294967296, 4294967296)) / 4294967296)";
  dialect.lower = "MOD(MOD({0}, 4294967296) + 4294967296, 4294967296)";
  dialect.text = "{0}";
  dialect.bound_number = "CAST(? AS DOUBLE PRECISION)";
  dialect.bound_text = "CAST(? AS VARCHAR(250))";
  dialect.places = false;
  dialect.values_list = false;
  return dialect;
}

// Bound in the order of the text.
SqlDialect ByOrder(SqlDialect dialect) {
  for (std::string* bound : {&dialect.bound_number, &dialect.bound_text}) {
    const size_t at = bound->find(kPlace);
    bound->replace(at, sizeof kPlace - 1, "");
    const size_t dollar = bound->find('$');
    if (dollar != std::string::npos) (*bound)[dollar] = '?';
  }
  dialect.places = false;
  return dialect;
}

}  // namespace

const SqlDialect& SqliteDialect() {
  static const SqlDialect dialect = MakeSqlite();
  return dialect;
}

const SqlDialect& PostgresDialect() {
  static const SqlDialect dialect = MakePostgres();
  return dialect;
}

const SqlDialect& StandardDialect() {
  static const SqlDialect dialect = MakeStandard();
  return dialect;
}

SqlDialect OdbcDialect(const std::string& engine) {
  if (engine == SqliteDialect().name) return ByOrder(SqliteDialect());
  if (engine == PostgresDialect().name) {
    SqlDialect dialect = ByOrder(PostgresDialect());
    dialect.numbers_as_text = true;
    return dialect;
  }
  SqlDialect dialect = StandardDialect();
  dialect.name = engine;
  return dialect;
}

std::string Filled(const std::string& piece, const std::string& what) {
  std::string filled;
  size_t from = 0;
  for (size_t at = piece.find(kPlace); at != std::string::npos; at = piece.find(kPlace, from)) {
    filled += piece.substr(from, at - from) + what;
    from = at + sizeof kPlace - 1;
  }
  return filled + piece.substr(from);
}

}  // namespace partita::data
