// Sums that SQLite forms: the text, every kind of cell, hand-made numbers, random rows against sums in memory, and
// engines that add up otherwise.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <sqlite3.h>

#include <cmath>
#include <limits>
#include <random>

#include "base/sqlite.h"
#include "data/source/sqlite_rows.h"
#include "data/source/sum_self_test.h"
#include "tests/data/expect_error.h"
#include "tests/data/source/folder.h"

namespace partita::data::sums_in_sqlite_test {
namespace {

using testing::Folder;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

void Make(const std::string& file, const std::string& sql) {
  sqlite3* connection = nullptr;
  ASSERT_EQ(sqlite3_open(file.c_str(), &connection), SQLITE_OK);
  EXPECT_EQ(sqlite3_exec(connection, sql.c_str(), nullptr, nullptr, nullptr), SQLITE_OK)
      << sqlite3_errmsg(connection);
  sqlite3_close(connection);
}

SourceFile SourceOf(const Folder& folder, const std::string& query) {
  folder.Write("q.sql", query);
  return ReadSourceFile(folder.Write(
      "s.toml", "source = \"sqlite:t.db\"\nquery = \"q.sql\"\nmode = \"push-down\"\n"));
}

SumAnswer Ask(const Folder& folder, const std::string& query, const SumQuery& asked) {
  return OpenSums(SourceOf(folder, query))->Ask(asked);
}

ColumnSchema Number(const std::string& name, double lower, double upper,
                    ColumnType type = ColumnType::kNumeric) {
  ColumnSchema schema;
  schema.name = name;
  schema.type = type;
  schema.lower = lower;
  schema.upper = upper;
  return schema;
}

ColumnSchema Factor(const std::string& name, std::vector<std::string> levels) {
  ColumnSchema schema;
  schema.name = name;
  schema.type = ColumnType::kFactor;
  schema.levels = std::move(levels);
  return schema;
}

Condition Is(const std::string& variable, const std::string& level) {
  Condition condition;
  condition.variable = variable;
  condition.levels = {level};
  return condition;
}

Condition Compared(const std::string& variable, Condition::Kind kind, double number = 0) {
  Condition condition;
  condition.variable = variable;
  condition.kind = kind;
  condition.number = number;
  return condition;
}

// x on [-1, 3] and a factor, weighted, of all rows and of those of one level.
SumQuery SmallQuery() {
  SumQuery query;
  query.bits = 4;
  query.columns = {Number("x", -1, 3), Factor("sex", {"f", "m"}),
                   Number("w", 0, 9, ColumnType::kInteger)};
  query.variables = {{0, ScaleOf(query.columns[0]), {}}, {1, {}, {-16, 16}}};
  query.cells = {{}, {{1, Is("sex", "m")}}};
  query.weight = {2};
  query.sets = {{{0, Compared("x", Condition::Kind::kPresent)}}};
  query.apart = {{{{1, Is("sex", "m")}}, {{0, Compared("x", Condition::Kind::kAbove, 1)}}}};
  return query;
}

TEST(SumsInSqliteTest, HandMadeNumbers) {
  const Folder folder;
  // z = (x - 1) / 2 on sixteenths: -16, 16, 0, and 1.0625 -> 0.5 -> 1.
  Make(folder / "t.db",
       "CREATE TABLE t (x, sex, w); INSERT INTO t VALUES "
       "(-1, 'f', 1), (3.0, 'm', 2), (1, 'm', 3), (1.0625, 'f', 0), (1.0625, 'm', 5), (NULL, 'm', "
       "1)");
  const SumAnswer answer = Ask(folder, "SELECT * FROM t -- all", SmallQuery());
  EXPECT_EQ(ToString(answer.rows), "6");
  EXPECT_EQ(ToString(answer.weight), "12");
  EXPECT_EQ(ToString(answer.checks.at(0).missing), "1");
  EXPECT_EQ(ToString(answer.checks[0].outside), "0");
  EXPECT_EQ(ToString(answer.sets.at(0)), "5");
  // 'm' without x > 1: (1, m) and the missing one; x > 1 without 'm': (1.0625, f).
  EXPECT_EQ(ToString(answer.apart.at(0)), "3");
  const SumCell &all = answer.cells.at(0), &men = answer.cells.at(1);
  EXPECT_EQ(ToString(all.n), "12");
  EXPECT_EQ(ToString(all.sums.at(0)), "21");       // -16 + 2 * 16 + 5 * 1
  EXPECT_EQ(ToString(all.sums.at(1)), "160");      // 16 (11 - 1)
  EXPECT_EQ(ToString(all.products.at(0)), "773");  // 256 + 2 * 256 + 5
  EXPECT_EQ(ToString(all.products.at(1)), "848");  // 16 (16 + 32 + 5)
  EXPECT_EQ(ToString(all.products.at(2)), "3072");
  EXPECT_EQ(ToString(men.n), "11");
  EXPECT_EQ(ToString(men.sums.at(0)), "37");
  EXPECT_EQ(ToString(men.products.at(0)), "517");
}

TEST(SumsInSqliteTest, CellsThatCannotBeUsedAreCounted) {
  const Folder folder;
  Make(folder / "t.db",
       "CREATE TABLE t (x, sex, w); INSERT INTO t VALUES "
       "('1,5', 'f', 1), ('abc', ' f', 2.5), (x'00', 'F', 10), ('', '', -1), (4, 'NA', 1), "
       "(1e999, NULL, 1), (-9, 1, NULL), (2, 2.0, 1), ('-', 'm', 1), (0.5, 'm', 1)");
  SumQuery query = SmallQuery();
  query.columns[0].missing_codes = {"-9", "-"};
  query.columns[1].missing_codes = {"NA"};
  const SumAnswer answer = Ask(folder, "SELECT * FROM t", query);
  const auto expect = [&](size_t column, const char* missing, const char* outside,
                          const char* unusable) {
    EXPECT_EQ(ToString(answer.checks.at(column).missing), missing) << column;
    EXPECT_EQ(ToString(answer.checks[column].outside), outside) << column;
    EXPECT_EQ(ToString(answer.checks[column].unusable), unusable) << column;
  };
  expect(0, "3", "2", "3");  // '', -9, '-'; 4, infinity; '1,5', 'abc', a blob
  expect(1, "3", "0", "4");  // '', NA, NULL; ' f', 'F', 1, 2.0
  expect(2, "1", "2", "1");  // NULL; 10, -1; 2.5
  ExpectError(
      ErrorCode::kBadData,
      "s.toml: column 'x' has 3 cells that are no number; column 'x' has 2 cells outside of "
      "its bounds [-1, 3]; column 'x' has 3 missing cells; column 'sex' has 4 cells that are "
      "no level of it",
      "missing = \"complete\"", [&] { RequireUsable(query, answer, false, "s.toml"); });
}

TEST(SumsInSqliteTest, DatesAreDays) {
  const Folder folder;
  Make(folder / "t.db",
       "CREATE TABLE t (day); INSERT INTO t VALUES ('1970-01-03'), ('1969-12-31'), ('2023-02-29'), "
       "('1970-1-1'), (2440588), (NULL), ('')");
  SumQuery query;
  query.bits = 2;
  query.columns = {Number("day", -4, 4, ColumnType::kDate)};
  query.variables = {{0, ScaleOf(query.columns[0]), {}}};
  query.cells = {{}};
  const SumAnswer answer = Ask(folder, "SELECT day FROM t", query);
  EXPECT_EQ(ToString(answer.checks.at(0).unusable), "3");
  EXPECT_EQ(ToString(answer.checks[0].missing), "2");
  EXPECT_EQ(ToString(answer.cells.at(0).sums.at(0)), "1");  // 2 - 1 days, of quarters of 4
  EXPECT_EQ(ToString(answer.cells[0].products.at(0)), "5");
}

// Against the functions that read a CSV file's numbers, by 30 bits; 60 variables take several statements.
TEST(SumsInSqliteTest, RandomRowsAddUpAsInMemory) {
  const Folder folder;
  std::mt19937_64 random(11);
  std::uniform_real_distribution<double> uniform(-1.2, 1.2);
  SumQuery query;
  Table table;
  table.num_rows = 300;
  std::string names, rows = "INSERT INTO t VALUES ";
  for (size_t c = 0; c < 60; ++c) {
    const double width = std::ldexp(1.0, static_cast<int>(c * 11) - 330);
    query.columns.push_back(Number(fmt::format("x {}", c), -0.7 * width, width));
    query.variables.push_back({c, ScaleOf(query.columns.back()), {}});
    table.columns.push_back({query.columns.back(), {}, {}, {}});
    names += fmt::format("{}\"x {}\" REAL", c == 0 ? "" : ", ", c);
  }
  query.columns.push_back(Factor("g", {"m", "M", "m "}));
  query.variables.push_back({60, {}, {7, -8, 9}});
  table.columns.push_back({query.columns.back(), {}, {}, {}});
  sqlite3* connection = nullptr;
  ASSERT_EQ(sqlite3_open((folder / "t.db").c_str(), &connection), SQLITE_OK);
  ASSERT_EQ(sqlite3_exec(connection, ("CREATE TABLE t (" + names + ", g TEXT)").c_str(), nullptr,
                         nullptr, nullptr),
            SQLITE_OK);
  std::string insert = "INSERT INTO t VALUES (?";
  for (size_t c = 0; c < 60; ++c) insert += ", ?";
  sqlite3_stmt* statement = nullptr;
  ASSERT_EQ(sqlite3_prepare_v2(connection, (insert + ")").c_str(), -1, &statement, nullptr),
            SQLITE_OK);
  for (size_t r = 0; r < table.num_rows; ++r) {
    for (size_t c = 0; c < 60; ++c) {
      const double x = random() % 13 == 0 ? kNone : uniform(random) * query.columns[c].upper;
      table.columns[c].numbers.push_back(x);
      sqlite3_bind_double(statement, static_cast<int>(c) + 1, x);  // NaN is NULL
    }
    const auto level = static_cast<int32_t>(random() % 3);
    table.columns[60].codes.push_back(level);
    sqlite3_bind_text(statement, 61, query.columns[60].levels[static_cast<size_t>(level)].c_str(),
                      -1, SQLITE_TRANSIENT);
    ASSERT_EQ(sqlite3_step(statement), SQLITE_DONE);
    sqlite3_reset(statement);
  }
  sqlite3_finalize(statement);
  sqlite3_close(connection);
  query.cells = {{}, {{60, Is("g", "M")}, {3, Compared("x 3", Condition::Kind::kAtLeast, 0)}}};
  query.sets = {{{3, Compared("x 3", Condition::Kind::kBelow, 0)}}, {{60, Is("g", "m ")}}};
  query.apart = {{query.sets[0], query.sets[1]}};
  ASSERT_GT(SumStatements(SqliteDialect(), query,
                          {"SELECT 1", {}, std::vector<SqlType>(61, SqlType::kAny)})
                .size(),
            2u);
  const std::vector<Int128> ours = NumbersOf(SumsOfTable(query, table));
  const std::vector<Int128> theirs = NumbersOf(Ask(folder, "SELECT * FROM t", query));
  ASSERT_EQ(ours.size(), theirs.size());
  for (size_t i = 0; i < ours.size(); ++i) ASSERT_EQ(ToString(ours[i]), ToString(theirs[i])) << i;
}

// A study's levels, bounds and codes are data, not text.
TEST(SumsInSqliteTest, NothingOfTheStudyStandsInTheText) {
  SumQuery query = SmallQuery();
  query.columns[1].levels = {"f", "m'; DROP TABLE t --"};
  query.columns[1].missing_codes = {"none'"};
  query.columns[0].upper = 1234.5;
  query.cells[1] = {{1, Is("sex", "m'; DROP TABLE t --")}};
  query.apart = {{query.cells[1], {}}};
  for (const SqlDialect& dialect : {SqliteDialect(), PostgresDialect()}) {
    const auto statements =
        SumStatements(dialect, query, {"SELECT 1", {}, std::vector<SqlType>(3, SqlType::kNumber)});
    ASSERT_EQ(statements.size(), 1u);
    for (const char* word : {"DROP", "none", "1234.5"})
      EXPECT_THAT(statements[0].text, Not(HasSubstr(word)));
    EXPECT_THAT(statements[0].values, ::testing::Contains(SqlValue(1234.5)));
    EXPECT_THAT(statements[0].text, HasSubstr(dialect.fence));
  }
  query.columns[0].name = "x\" FROM secrets --";
  const auto quoted =
      SumStatements(SqliteDialect(), query, {"SELECT 1", {}, std::vector<SqlType>(3)});
  EXPECT_THAT(quoted[0].text, HasSubstr("q.\"x\"\" FROM secrets --\""));
}

TEST(SumsInSqliteTest, ColumnsAreNamedAsInTheStudy) {
  const Folder folder;
  Make(folder / "t.db", "CREATE TABLE t (X, sex, w); INSERT INTO t VALUES (1, 'f', 1)");
  ExpectError(ErrorCode::kBadData, "there is no column \"x\"", "AS x",
              [&] { Ask(folder, "SELECT * FROM t", SmallQuery()); });
  EXPECT_EQ(ToString(Ask(folder, "SELECT X AS x, sex, w FROM t", SmallQuery()).rows), "1");
  ExpectError(ErrorCode::kBadInput, "not one statement", "",
              [&] { Ask(folder, "SELECT x FROM t; SELECT 1", SmallQuery()); });
}

// ---- the self-test

class Memory {
 public:
  Memory() : database_(":memory:", {.fail = &SqliteSourceFailed, .create = true}) {}

  AskStatement Asker() const {
    return [this](const SqlStatement& statement) {
      sqlite::Statement asked(database_, statement.text.c_str());
      for (size_t v = 0; v < statement.values.size(); ++v) {
        const auto at = static_cast<int>(v) + 1;
        if (const auto* number = std::get_if<double>(&statement.values[v]))
          asked.BindReal(at, *number);
        if (const auto* text = std::get_if<std::string>(&statement.values[v]))
          asked.Bind(at, *text);
      }
      std::vector<Int128> numbers;
      EXPECT_TRUE(asked.Step());
      for (int c = 0; c < asked.NumColumns(); ++c) numbers.push_back(asked.Integer(c));
      return numbers;
    };
  }

 private:
  sqlite::Database database_;
};

TEST(SumSelfTest, AnEngineThatAddsUpIsTaken) {
  const Memory memory;
  EXPECT_NO_THROW(RequireExactSums(SqliteDialect(), "SQLite", memory.Asker()));
}

TEST(SumSelfTest, AnEngineThatDiffersIsRefusedByName) {
  const Memory memory;
  const auto refused = [&](const SqlDialect& dialect, const AskStatement& ask) {
    ExpectError(ErrorCode::kRefused, "Engine 7 adds up otherwise than this program",
                "leave out mode", [&] { RequireExactSums(dialect, "Engine 7", ask); });
  };
  SqlDialect capitals = SqliteDialect();
  capitals.bytewise = " COLLATE NOCASE";
  refused(capitals, memory.Asker());
  SqlDialect blanks = SqliteDialect();
  blanks.bytewise = " COLLATE RTRIM";
  refused(blanks, memory.Asker());
  // By one unit in one sum, and in the upper half of a product.
  for (const size_t column : {0, 30, 60}) {
    refused(SqliteDialect(), [&](const SqlStatement& statement) {
      std::vector<Int128> numbers = memory.Asker()(statement);
      numbers.at(column) += 1;
      return numbers;
    });
  }
  // Shifts that do not keep the sign, rounding of halves to even, sums in floating point.
  for (const auto& [from, to] :
       std::vector<std::pair<std::string, std::string>>{{">> 32", "/ 4294967296"},
                                                        {">= 0.5", "> 0.5"},
                                                        {"<= -0.5", "< -0.5"},
                                                        {"abs(", "0 * abs("}}) {
    refused(SqliteDialect(), [&, from = from, to = to](const SqlStatement& statement) {
      SqlStatement other = statement;
      for (size_t at = other.text.find(from); at != std::string::npos;
           at = other.text.find(from, at + to.size()))
        other.text.replace(at, from.size(), to);
      return memory.Asker()(other);
    });
  }
}

}  // namespace
}  // namespace partita::data::sums_in_sqlite_test
