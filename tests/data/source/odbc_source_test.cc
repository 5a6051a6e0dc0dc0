// Tables behind unixODBC as CSV, with the drivers of SQLite and PostgreSQL: types, texts of any length, one
// statement, and what goes wrong.
#include <fmt/format.h>

#include <cmath>
#include <random>

#include "data/number_text.h"
#include "data/source/unixodbc.h"
#include "data/source/utf16.h"
#include "tests/data/expect_error.h"
#include "tests/data/source/odbc_databases.h"

namespace partita::data::odbc_source_test {
namespace {

using testing::AllOf;
using testing::Folder;

class OdbcSourceTest : public testing::OdbcDatabases {
 protected:
  std::string Asked(const std::string& name, const std::string& query,
                    const std::string& more = {}) const {
    folder_.Write("q.sql", query);
    return folder_.Write(
        "q.toml", fmt::format("source = \"odbc:DSN={}\"\nquery = \"q.sql\"\n{}", name, more));
  }
  std::string Read(const std::string& name, const std::string& query, size_t block = 7) const {
    return AllOf(OpenTable(Asked(name, query)), block);
  }
  void ExpectRefusal(ErrorCode code, const std::string& message, const std::string& hint,
                     const std::string& name, const std::string& query,
                     const std::string& more = {}) const {
    SCOPED_TRACE(query);
    ExpectError(code, message, hint, [&] { AllOf(OpenTable(Asked(name, query, more))); });
  }
};

TEST_F(OdbcSourceTest, ColumnsOfATable) {
  const std::string name = Sqlite(
      "CREATE TABLE \"a b\" (i INTEGER, d DOUBLE, v VARCHAR(40), day DATE);"
      "INSERT INTO \"a b\" VALUES (-3, 0.1, 'a, \"b\"', '2020-02-29'), (NULL, NULL, NULL, NULL),"
      "(7, 1e300, 'caf\xc3\xa9 \xf0\x9f\x8e\xb5', '0099-12-01');");
  const OpenedTable table = OpenTable(
      folder_.Write("t.toml", fmt::format("source = \"odbc:DSN={}\"\ntable = \"a b\"\n", name)));
  EXPECT_TRUE(table.dialect);
  EXPECT_EQ(AllOf(table),
            "i,d,v,day\n-3,0.1,\"a, \"\"b\"\"\",2020-02-29\n,,,\n"
            "7,1e+300,caf\xc3\xa9 \xf0\x9f\x8e\xb5,0099-12-01\n");
  EXPECT_EQ(DatabaseColumns(folder_ / "t.toml"), (std::vector<std::string>{"i", "d", "v", "day"}));
  ExpectError(ErrorCode::kRefused, "a database may change", "partita data freeze",
              [&] { OpenTableFile(folder_ / "t.toml"); });
}

// Random doubles over 60 orders of magnitude.
std::vector<double> SomeNumbers() {
  std::mt19937_64 random(5);
  std::vector<double> numbers(500);
  for (size_t i = 0; i < numbers.size(); ++i) {
    numbers[i] = std::ldexp(static_cast<double>(random()), static_cast<int>(random() % 200) - 130);
    if (i % 2 == 1) numbers[i] = -numbers[i];
  }
  return numbers;
}

std::vector<double> NumbersIn(const std::string& csv) {
  std::vector<double> numbers;
  for (size_t at = csv.find('\n') + 1; at < csv.size();) {
    const size_t end = csv.find('\n', at);
    numbers.push_back(ParseNumber(csv.substr(at, end - at), '.').value());
    at = end + 1;
  }
  return numbers;
}

// Whatever the size of the pieces. The driver itself writes 15 digits.
TEST_F(OdbcSourceTest, NumbersComeAsTheDriverWritesThem) {
  const std::vector<double> numbers = SomeNumbers();
  std::string sql = "BEGIN; CREATE TABLE t (x DOUBLE);";
  for (const double x : numbers)
    sql += fmt::format("INSERT INTO t VALUES (cast('{:.17g}' AS REAL));", x);
  const std::string name = Sqlite(sql + "COMMIT");
  for (const size_t block : {1, 64, 1 << 20}) {
    const std::vector<double> read = NumbersIn(Read(name, "SELECT x FROM t ORDER BY rowid", block));
    ASSERT_EQ(read.size(), numbers.size());
    for (size_t i = 0; i < numbers.size(); ++i)
      EXPECT_NEAR(read[i], numbers[i], 5e-15 * std::abs(numbers[i]));
  }
}

// Around the size of the buffer, with pairs of units across its end.
TEST_F(OdbcSourceTest, LongTexts) {
  for (const size_t size : {0, 1, 2046, 2047, 2048, 4094, 100'000}) {
    SCOPED_TRACE(size);
    std::string text = "b";
    for (size_t i = 0; i < size; ++i) text += "\xf0\x9f\x8e\xb5";
    const std::string name = Sqlite(
        "DROP TABLE IF EXISTS t; CREATE TABLE t (v TEXT); INSERT INTO t VALUES ('" + text + "')");
    EXPECT_EQ(Read(name, "SELECT v FROM t", 1 << 20), "v\n" + text + "\n");
  }
}

TEST_F(OdbcSourceTest, OneSelectIsAskedAndNothingIsKept) {
  const std::string name = Sqlite("CREATE TABLE t (x DOUBLE); INSERT INTO t VALUES (1), (2)");
  ExpectRefusal(ErrorCode::kBadInput, "a semicolon in the query", "one SELECT", name,
                "SELECT x FROM t; DELETE FROM t");
  ExpectRefusal(ErrorCode::kBadData, "it gives no columns", "a SELECT", name, "DELETE FROM t");
  ExpectRefusal(ErrorCode::kBadInput, "no such table", "isql", name, "SELECT x FROM elsewhere");
  ExpectRefusal(ErrorCode::kBadData, "two columns are named \"x\"", "a name of its own", name,
                "SELECT x, x FROM t");
  EXPECT_EQ(Read(name, "SELECT x FROM t;\n"), "x\n1\n2\n");
}

TEST_F(OdbcSourceTest, WhatIsMissingIsNamed) {
  const std::string name = Named("Driver = /nowhere/libnone.so\n");
  ExpectRefusal(ErrorCode::kBadInput, "/nowhere/libnone.so", "install the driver", name,
                "SELECT 1 AS x");
  ExpectRefusal(ErrorCode::kBadInput, "(IM002)", "odbc.ini", "unnamed", "SELECT 1 AS x");
  ExpectError(ErrorCode::kUsage, "unixODBC is not on this machine", "apt install",
              [] { OpenUnixodbc("libno_such_library.so"); });
  for (const char* where : {"odbc:x", "odbc:DSN=", "odbc:DSN=a;Driver=/tmp/x.so", "odbc:DSN=a b"}) {
    ExpectError(ErrorCode::kBadInput, "no name of a database", "odbc:DSN=NAME", [&] {
      OpenTable(folder_.Write("n.toml", fmt::format("source = \"{}\"\ntable = \"t\"\n", where)));
    });
  }
}

// A server with roles and types of its own.
using OdbcPostgresTest = OdbcSourceTest;

TEST_F(OdbcPostgresTest, ColumnsOfEveryType) {
  const std::string name = Postgres(
      "CREATE TABLE t (i int, b bigint, n numeric(20,2), d double precision, v varchar(9), c text, "
      "day date, "
      "yes boolean); INSERT INTO t VALUES (-3, 9223372036854775807, 0.10, 0.1::float8 + "
      "0.2::float8, "
      "'a, \"b\"', 'caf\xc3\xa9', '2020-02-29', true), (NULL, NULL, NULL, NULL, NULL, NULL, NULL, "
      "NULL)");
  EXPECT_EQ(
      Read(name, "SELECT * FROM t ORDER BY i"),
      "i,b,n,d,v,c,day,yes\n"
      "-3,9223372036854775807,0.10,0.30000000000000004,\"a, \"\"b\"\"\",caf\xc3\xa9,2020-02-29,1\n"
      ",,,,,,,\n");
  ExpectRefusal(ErrorCode::kBadData, "\"r\" is of type float4", "double precision", name,
                "SELECT 1.5::real AS r");
  ExpectRefusal(ErrorCode::kBadData, "\"ts\" is of type timestamp", "cast it", name,
                "SELECT now()::timestamp AS ts");
  ExpectRefusal(ErrorCode::kBadData, "is a number that reads 'NaN'", "double precision", name,
                "SELECT 'NaN'::numeric AS n");
}

TEST_F(OdbcPostgresTest, NumbersComeBack) {
  const std::vector<double> numbers = SomeNumbers();
  std::string sql = "CREATE TABLE t (i int, x double precision);";
  for (size_t i = 0; i < numbers.size(); ++i)
    sql += fmt::format("INSERT INTO t VALUES ({}, {:.17g});", i, numbers[i]);
  EXPECT_EQ(NumbersIn(Read(Postgres(sql), "SELECT x FROM t ORDER BY i", 1 << 20)), numbers);
}

// What a query does beside reading is taken back.
TEST_F(OdbcPostgresTest, NothingIsCommitted) {
  const std::string name = Postgres("CREATE TABLE t (x int); INSERT INTO t VALUES (1), (2)");
  try {
    Read(name, "WITH gone AS (DELETE FROM t RETURNING x) SELECT x FROM gone");
  } catch (const Error&) {
    // A driver may refuse it.
  }
  EXPECT_EQ(Read(name, "SELECT count(*)::int AS n FROM t"), "n\n2\n");
}

TEST_F(OdbcPostgresTest, AQueryWithoutEndIsEnded) {
  const std::string name = Postgres("");
  ExpectRefusal(ErrorCode::kUnreachable, "took longer than it may", "timeout_seconds", name,
                "SELECT 1 AS x FROM pg_sleep(60)", "timeout_seconds = 1\n");
}

TEST_F(OdbcPostgresTest, AServerThatIsNotThere) {
  const std::string name = Named(
      "Driver = PostgreSQL Unicode\nServername = /nowhere\nPort = 5432\nDatabase = d\nUserName = "
      "u\n");
  std::filesystem::permissions(folder_.Write("pass", "se}cret\n"),
                               std::filesystem::perms::owner_read);
  const std::optional<Error> error =
      ThrownBy([&] { OpenTable(Asked(name, "SELECT 1 AS x", "credentials = \"pass\"\n")); });
  ASSERT_TRUE(error);
  EXPECT_EQ(error->code(), ErrorCode::kUnreachable);
  EXPECT_EQ(error->message().find("se}cret"), std::string::npos);
}

TEST(Utf16Test, BothWays) {
  for (const char32_t point : {U'\0', U'a', U'\x7F', U'\x80', U'\x7FF', U'\x800', U'\xD7FF',
                               U'\xE000', U'\xFFFF', U'\x10000', U'\x10FFFF'}) {
    std::u16string text = point < 0x10000
                              ? std::u16string(1, static_cast<char16_t>(point))
                              : std::u16string{static_cast<char16_t>(0xD7C0 + (point >> 10)),
                                               static_cast<char16_t>(0xDC00 | (point & 0x3FF))};
    const std::optional<std::string> utf8 = Utf8OfUtf16(text + u"z");
    ASSERT_TRUE(utf8);
    EXPECT_EQ(Utf16OfUtf8(*utf8), text + u"z");
  }
  EXPECT_EQ(Utf8OfUtf16(u"\u00e9\U0001F3B5"), "\xc3\xa9\xf0\x9f\x8e\xb5");
  EXPECT_FALSE(Utf8OfUtf16(std::u16string{0xD800}));
  EXPECT_FALSE(Utf8OfUtf16(std::u16string{0xD800, u'a'}));
  EXPECT_FALSE(Utf8OfUtf16(std::u16string{0xDC00}));
  EXPECT_FALSE(Utf16OfUtf8("\xed\xa0\x80"));
}

}  // namespace
}  // namespace partita::data::odbc_source_test
