// Tables in SQLite files as CSV: every kind of cell, and that nothing can be written.
#include <fmt/format.h>
#include <sqlite3.h>

#include <random>

#include "data/number_text.h"
#include "tests/data/expect_error.h"
#include "tests/data/source/folder.h"

namespace partita::data::sqlite_source_test {
namespace {

using testing::AllOf;
using testing::Folder;

void MakeTables(const std::string& file, const std::string& sql) {
  sqlite3* connection = nullptr;
  ASSERT_EQ(sqlite3_open(file.c_str(), &connection), SQLITE_OK);
  EXPECT_EQ(sqlite3_exec(connection, sql.c_str(), nullptr, nullptr, nullptr), SQLITE_OK)
      << sqlite3_errmsg(connection);
  sqlite3_close(connection);
}

std::string Asked(const Folder& folder, const std::string& query) {
  folder.Write("q.sql", query);
  return folder.Write("q.toml", "source = \"sqlite:t.db\"\nquery = \"q.sql\"\n");
}

TEST(SqliteSourceTest, CellsOfEveryKind) {
  const Folder folder;
  MakeTables(folder / "t.db",
             "CREATE TABLE \"a b\" (i INTEGER, r REAL, t TEXT, x);"
             "INSERT INTO \"a b\" VALUES (-9223372036854775808, 0.1, 'a, \"b\"', NULL),"
             "(0, 1e300, '', 1.5), (7, -0.5, 'l\nm', 'text'), (NULL, 1e999, NULL, 3);");
  const OpenedTable table =
      OpenTable(folder.Write("t.toml", "source = \"sqlite:t.db\"\ntable = \"a b\"\n"));
  EXPECT_TRUE(table.dialect);
  EXPECT_EQ(AllOf(table),
            "i,r,t,x\n-9223372036854775808,0.1,\"a, \"\"b\"\"\",\n0,1e+300,,1.5\n"
            "7,-0.5,\"l\nm\",text\n,inf,,3\n");
  // No decimal number: a study refuses it.
  EXPECT_FALSE(ParseNumber("inf", '.'));
}

// Whatever the size of the pieces, and all numbers come back.
TEST(SqliteSourceTest, NumbersComeBack) {
  const Folder folder;
  std::mt19937_64 random(5);
  std::vector<double> numbers;
  std::string sql = "BEGIN; CREATE TABLE t (x REAL);";
  for (int i = 0; i < 2000; ++i) {
    const double x =
        std::ldexp(static_cast<double>(random()), static_cast<int>(random() % 200) - 130);
    numbers.push_back(i % 2 == 0 ? x : -x);
    sql += fmt::format("INSERT INTO t VALUES (cast('{:.17g}' AS REAL));", numbers.back());
  }
  MakeTables(folder / "t.db", sql + "COMMIT");
  for (const size_t block : {1, 64, 1 << 20}) {
    const std::string csv =
        AllOf(OpenTable(Asked(folder, "SELECT x FROM t ORDER BY rowid")), block);
    size_t at = 2;
    for (const double x : numbers) {
      const size_t end = csv.find('\n', at);
      ASSERT_EQ(ParseNumber(csv.substr(at, end - at), '.'), x);
      at = end + 1;
    }
    EXPECT_EQ(at, csv.size());
  }
}

TEST(SqliteSourceTest, OnlyOneSelectIsTaken) {
  const Folder folder;
  MakeTables(folder / "t.db", "CREATE TABLE t (x REAL); INSERT INTO t VALUES (1), (2)");
  for (const auto& tried : std::vector<std::pair<std::string, std::string>>{
           {"SELECT x FROM t; DELETE FROM t", "not one statement"},
           {"", "not one statement"},
           {"DELETE FROM t", "it gives no columns"},
           {"DELETE FROM t RETURNING x", "readonly"},
           {"ATTACH 'other.db' AS o", "it gives no columns"},
           {"SELECT \"y\" FROM t", "no such column: y"},
           {"SELECT x, x FROM t", "two columns are named \"x\""},
           {"SELECT x FROM elsewhere", "no such table"},
           {"SELECT x'00' AS b FROM t", "column \"b\" of row 1 holds a blob"}}) {
    SCOPED_TRACE(tried.first);
    const std::optional<Error> error =
        ThrownBy([&] { AllOf(OpenTable(Asked(folder, tried.first))); });
    ASSERT_TRUE(error);
    EXPECT_THAT(error->message(), ::testing::HasSubstr(tried.second));
  }
  EXPECT_EQ(AllOf(OpenTable(Asked(folder, "SELECT x FROM t; -- remark\n"))), "x\n1\n2\n");
  EXPECT_FALSE(std::filesystem::exists(folder / "other.db"));
  ExpectError(ErrorCode::kBadInput, "unable to open", "", [&] {
    OpenTable(folder.Write("n.toml", "source = \"sqlite:n.db\"\ntable = \"t\"\n"));
  });
  EXPECT_FALSE(std::filesystem::exists(folder / "n.db"));
}

// An empty line would be no row.
TEST(SqliteSourceTest, ARowOfOneMissingCellIsARow) {
  const Folder folder;
  MakeTables(folder / "t.db", "CREATE TABLE t (x REAL); INSERT INTO t VALUES (1), (NULL), (NULL)");
  EXPECT_EQ(AllOf(OpenTable(Asked(folder, "SELECT x FROM t;\n"))), "x\n1\n\"\"\n\"\"\n");
}

TEST(SqliteSourceTest, TextsAreUtf8WhateverTheDatabaseKeeps) {
  const Folder folder;
  MakeTables(folder / "t.db",
             "PRAGMA encoding = 'UTF-16le'; CREATE TABLE t (x TEXT); INSERT INTO t VALUES "
             "('caf\xc3\xa9')");
  EXPECT_EQ(AllOf(OpenTable(Asked(folder, "SELECT x FROM t"))), "x\ncaf\xc3\xa9\n");
}

TEST(SqliteSourceTest, AQueryWithoutEndIsEnded) {
  const Folder folder;
  MakeTables(folder / "t.db", "CREATE TABLE t (x REAL)");
  Asked(folder,
        "WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c) "
        "SELECT count(*) AS n FROM c");
  ExpectError(ErrorCode::kUnreachable, "took longer than it may", "timeout_seconds", [&] {
    AllOf(OpenTable(folder.Write(
        "s.toml", "source = \"sqlite:t.db\"\nquery = \"q.sql\"\ntimeout_seconds = 1\n")));
  });
}

// A study reads its table more than once.
TEST(SqliteSourceTest, StudiesRunOnWhatWasFrozen) {
  const Folder folder;
  MakeTables(folder / "t.db", "CREATE TABLE t (x REAL)");
  const std::string source = Asked(folder, "SELECT x FROM t");
  ExpectError(ErrorCode::kRefused, "a database may change", "partita data freeze",
              [&] { OpenTableFile(source); });
  EXPECT_TRUE(OpenTableFile(folder.Write("t.frozen", "x\n1\n")).dialect);
  EXPECT_FALSE(OpenTableFile(folder.Write("t.csv", "x\n1\n")).dialect);
}

}  // namespace
}  // namespace partita::data::sqlite_source_test
