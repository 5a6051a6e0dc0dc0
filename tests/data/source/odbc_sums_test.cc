// Sums by engines behind unixODBC, with the drivers of SQLite and PostgreSQL: the same as from the rows in memory, by the
// dialects of their names and by that of the SQL standard; an engine that differs, or cannot see one moment, is refused.
#include "data/source/odbc_sums.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <cmath>
#include <limits>
#include <random>

#include "tests/data/expect_error.h"
#include "tests/data/source/odbc_databases.h"

namespace partita::data::odbc_sums_test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

ColumnSchema Number(const std::string& name, double lower, double upper,
                    ColumnType type = ColumnType::kNumeric) {
  ColumnSchema schema;
  schema.name = name;
  schema.type = type;
  schema.lower = lower;
  schema.upper = upper;
  return schema;
}

struct Rows {
  SumQuery query;
  Table table;
  std::string inserts;  // of a table t (x double precision, i int, sex varchar(9))
};

// Some cells are missing.
Rows SomeRows(bool weighted, bool only_squares) {
  Rows rows;
  SumQuery& query = rows.query;
  query.columns = {Number("x", -3, 5), Number("i", 0, 9, ColumnType::kInteger)};
  ColumnSchema& sex = query.columns.emplace_back();
  sex.name = "sex";
  sex.type = ColumnType::kFactor;
  sex.levels = {"f", "m", "M"};
  const int64_t one = int64_t{1} << query.bits;
  query.variables = {{0, ScaleOf(query.columns[0]), {}},
                     {1, ScaleOf(query.columns[1]), {}},
                     {2, {}, {-one, one, 77}},
                     {0, ScaleOf(query.columns[0]), {}, {{2, {1, 0, -1}}}}};
  Condition is_m;
  is_m.variable = "sex";
  is_m.levels = {"m"};
  const SumCondition above = {0, {"x", Condition::Kind::kAbove, 0.1, false, {}}};
  query.cells = {{}, {{2, is_m}, above}};
  query.counts = {{above}};
  query.sets = {{}, {above}};
  query.apart = {{{{2, is_m}}, {above}}};
  query.only_squares = only_squares;
  if (weighted) query.weight = {1};
  for (const ColumnSchema& column : query.columns)
    rows.table.columns.push_back({column, {}, {}, {}});
  std::mt19937 random(3);
  std::uniform_real_distribution<double> uniform(-3, 5);
  rows.table.num_rows = 300;
  for (size_t r = 0; r < rows.table.num_rows; ++r) {
    const double x = random() % 9 == 0 ? kNone : uniform(random);
    const auto i = static_cast<double>(random() % 10);
    const auto level = static_cast<int32_t>(random() % 4) - 1;
    rows.table.columns[0].numbers.push_back(x);
    rows.table.columns[1].numbers.push_back(i);
    rows.table.columns[2].codes.push_back(level);
    rows.inserts += fmt::format(
        "INSERT INTO t VALUES ({}, {}, {});", std::isnan(x) ? "NULL" : fmt::format("{:.17g}", x), i,
        level < 0 ? "NULL" : "'" + sex.levels[static_cast<size_t>(level)] + "'");
  }
  return rows;
}

constexpr char kTable[] = "CREATE TABLE t (x double precision, i int, sex varchar(9));";

class OdbcSumsTest : public testing::OdbcDatabases {
 protected:
  SourceFile SourceOf(const std::string& name, const std::string& query = "SELECT * FROM t") const {
    folder_.Write("q.sql", query);
    return ReadSourceFile(folder_.Write(
        "s.toml",
        fmt::format("source = \"odbc:DSN={}\"\nquery = \"q.sql\"\nmode = \"push-down\"\n", name)));
  }
  static void ExpectSums(SumSource& source, const Rows& rows) {
    const std::vector<Int128> ours = NumbersOf(SumsOfTable(rows.query, rows.table)),
                              theirs = NumbersOf(source.Ask(rows.query));
    ASSERT_EQ(ours.size(), theirs.size());
    for (size_t n = 0; n < ours.size(); ++n) EXPECT_EQ(ToString(ours[n]), ToString(theirs[n])) << n;
  }
};

TEST_F(OdbcSumsTest, EnginesAddUpAsThisProgramDoes) {
  for (const bool weighted : {false, true}) {
    for (const bool only_squares : {false, true}) {
      const Rows rows = SomeRows(weighted, only_squares);
      const auto sqlite = OpenSums(SourceOf(Sqlite(std::string("DROP TABLE IF EXISTS t; BEGIN;") +
                                                   kTable + rows.inserts + "COMMIT")));
      EXPECT_THAT(sqlite->engine(), StartsWith("SQLite 3."));
      ExpectSums(*sqlite, rows);
      const auto postgres = OpenSums(SourceOf(Postgres(kTable + rows.inserts)));
      EXPECT_THAT(postgres->engine(), StartsWith("PostgreSQL "));
      EXPECT_THAT(postgres->engine(), HasSubstr("by ODBC"));
      ExpectSums(*postgres, rows);
    }
  }
}

// Of an engine that nobody knows: what it is asked is the standard's, and exact where the engine is.
TEST_F(OdbcSumsTest, TheStandardsTextIsExact) {
  const Rows rows = SomeRows(true, false);
  SqlDialect dialect = OdbcDialect("Some Engine");
  EXPECT_EQ(dialect.name, "Some Engine");
  EXPECT_EQ(dialect.upper, StandardDialect().upper);
  for (const std::string& text :
       {dialect.upper, dialect.lower, dialect.truncated, dialect.bound_number, dialect.fence})
    EXPECT_THAT(text, Not(HasSubstr(">>")));
  // As numbers are bound by the driver of PostgreSQL.
  dialect.numbers_as_text = true;
  dialect.has_nan = true;
  const auto source = OpenOdbcSums(SourceOf(Postgres(kTable + rows.inserts)), dialect);
  ExpectSums(*source, rows);
}

TEST_F(OdbcSumsTest, AnEngineThatDiffersIsRefusedByName) {
  const std::string name = Postgres(kTable);
  const auto refused = [&](const SqlDialect& dialect, const std::string& name_of) {
    ExpectError(ErrorCode::kRefused, "adds up otherwise than this program", "leave out mode",
                [&] { OpenOdbcSums(SourceOf(name_of), dialect); });
  };
  // Upper halves that are rounded to zero; a whole part that is rounded; levels in any case.
  SqlDialect halves = OdbcDialect("PostgreSQL");
  halves.upper = "({0} / 4294967296)";
  refused(halves, name);
  SqlDialect rounded = OdbcDialect("PostgreSQL");
  rounded.truncated = "CAST({0} AS bigint)";
  refused(rounded, name);
  SqlDialect capitals = OdbcDialect("SQLite");
  capitals.bytewise = " COLLATE NOCASE";
  refused(capitals, Sqlite(std::string("DROP TABLE IF EXISTS t;") + kTable));
}

TEST_F(OdbcSumsTest, TypesAndNames) {
  const std::string name = Postgres(
      "CREATE TABLE t (x double precision, c char(9), day date, ts timestamp, yes boolean, r "
      "real); "
      "INSERT INTO t VALUES (1, 'a', '1970-01-03', now(), true, 1)");
  const auto ask = [&](ColumnSchema column) {
    SumQuery query;
    query.columns = {std::move(column)};
    query.cells = {{}};
    if (!HasLevels(query.columns[0].type)) query.variables = {{0, ScaleOf(query.columns[0]), {}}};
    return OpenSums(SourceOf(name))->Ask(query);
  };
  const SumAnswer days = ask(Number("day", 0, 4, ColumnType::kDate));
  EXPECT_EQ(ToString(days.cells.at(0).n), "1");
  EXPECT_EQ(ToString(days.cells[0].sums.at(0)), "0");
  EXPECT_EQ(ToString(days.checks.at(0).outside), "0");
  const auto refused = [&](const ColumnSchema& column, const std::string& message,
                           const std::string& hint) {
    ExpectError(ErrorCode::kBadData, message, hint, [&] { ask(column); });
  };
  ColumnSchema factor;
  factor.type = ColumnType::kFactor;
  factor.levels = {"a", "b"};
  factor.name = "c";
  refused(factor, "column \"c\" is factor in the study, and of another type", "trim(x)");
  factor.name = "x";
  refused(factor, "column \"x\" is factor", "varchar");
  refused(Number("ts", 0, 1), "column \"ts\" is numeric", "double precision");
  refused(Number("r", 0, 1), "column \"r\" is numeric", "double precision");
  refused(Number("x", 0, 1, ColumnType::kDate), "column \"x\" is date", "count days");
  refused(Number("X", 0, 1), "there is no column \"X\"", "AS X");
  factor.name = "c";
  factor.levels[0] = std::string(251, 'a');
  ExpectError(ErrorCode::kRefused, "a level of more than 250 bytes", "shorter",
              [&] { ask(factor); });
}

// All that is asked of one source is of one moment.
TEST_F(OdbcSumsTest, RowsThatComeMeanwhileAreNotSeen) {
  const std::string database = sums::SharedServer().MakeDatabase();
  const auto administer = [&](const std::string& sql) {
    sums::SharedServer().Administer(database, "SET search_path = public; " + sql);
  };
  administer(std::string(kTable) + "INSERT INTO t VALUES (1, 1, 'f'), (2, 2, 'm')");
  const auto source = OpenSums(SourceOf(
      Named(fmt::format("Driver = PostgreSQL Unicode\nServername = {}\nPort = 5432\nDatabase = {}\n"
                        "UserName = postgres\n",
                        sums::SharedServer().folder().string(), database))));
  const SumQuery query = SomeRows(false, false).query;
  EXPECT_EQ(ToString(source->Ask(query).rows), "2");
  administer("INSERT INTO t VALUES (3, 3, 'f')");
  EXPECT_EQ(ToString(source->Ask(query).rows), "2");
}

}  // namespace
}  // namespace partita::data::odbc_sums_test
