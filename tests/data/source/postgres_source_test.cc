// Tables in PostgreSQL as CSV: types, roles, statements, a lost server.
#include <fmt/format.h>

#include <cstdlib>
#include <tuple>

#include "tests/data/expect_error.h"
#include "tests/data/source/folder.h"
#include "tests/sums/protocol/postgres_server.h"

namespace partita::data::postgres_source_test {
namespace {

using testing::AllOf;
using testing::Folder;

class PostgresSourceTest : public ::testing::Test {
 protected:
  PostgresSourceTest() {
    Administer("CREATE SCHEMA clinic; CREATE TYPE clinic.sex AS ENUM ('f', 'm')");
    // Roles are of the whole server.
    Administer(fmt::format(
        "CREATE ROLE reader_{0} LOGIN; GRANT USAGE ON SCHEMA clinic TO reader_{0}", database_));
  }
  ~PostgresSourceTest() override {
    Administer(fmt::format("DROP SCHEMA clinic CASCADE; DROP ROLE reader_{}", database_));
  }
  void Administer(const std::string& sql) const { sums::SharedServer().Administer(database_, sql); }
  // A table that the role may read.
  void MakeTable(const std::string& columns, const std::string& rows) const {
    Administer(
        fmt::format("CREATE TABLE clinic.t ({}); INSERT INTO clinic.t VALUES {}; "
                    "GRANT SELECT ON clinic.t TO reader_{}",
                    columns, rows, database_));
  }
  std::string Source(const std::string& query, const std::string& more = {},
                     const std::string& role = {}) const {
    folder_.Write("q.sql", query);
    return folder_.Write(
        "s.toml", fmt::format("source = \"postgresql://{}@/{}?host={}\"\nquery = \"q.sql\"\n{}",
                              role.empty() ? "reader_" + database_ : role, database_,
                              sums::SharedServer().folder().string(), more));
  }
  std::string Read(const std::string& query) const { return AllOf(OpenTable(Source(query))); }
  void ExpectRefusal(ErrorCode code, const std::string& message, const std::string& hint,
                     const std::string& query, const std::string& more = {}) const {
    SCOPED_TRACE(query);
    ExpectError(code, message, hint, [&] { AllOf(OpenTable(Source(query, more))); });
  }

  const std::string database_ = sums::SharedServer().MakeDatabase();
  const Folder folder_;
};

TEST_F(PostgresSourceTest, ColumnsOfEveryType) {
  MakeTable(
      "i int, b bigint, n numeric, d double precision, t text, v varchar(9), day date, yes "
      "boolean, "
      "s clinic.sex",
      "(-3, 9223372036854775807, 0.10, 0.1::float8 + 0.2::float8, 'a, \"b\"', '', '2020-02-29', "
      "true, 'm'), "
      "(NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL)");
  EXPECT_EQ(Read("SELECT * FROM clinic.t ORDER BY i"),
            "i,b,n,d,t,v,day,yes,s\n"
            "-3,9223372036854775807,0.10,0.30000000000000004,\"a, \"\"b\"\"\",\"\",2020-02-29,t,m\n"
            ",,,,,,,,\n");
  folder_.Write("w.toml", "");
  EXPECT_TRUE(OpenTable(Source("SELECT i FROM clinic.t")).dialect);
}

// Whatever the role's own settings are.
TEST_F(PostgresSourceTest, SettingsOfTheRoleChangeNothing) {
  MakeTable("d double precision, day date", "(0.1, '2020-02-01')");
  Administer(
      fmt::format("ALTER ROLE reader_{0} SET extra_float_digits = -9; "
                  "ALTER ROLE reader_{0} SET DateStyle = 'German'; "
                  "ALTER ROLE reader_{0} SET search_path = clinic",
                  database_));
  EXPECT_EQ(Read("SELECT * FROM clinic.t"), "d,day\n0.1,2020-02-01\n");
  ExpectRefusal(ErrorCode::kBadInput, "relation \"t\" does not exist", "with their schema",
                "SELECT * FROM t");
}

TEST_F(PostgresSourceTest, OtherTypesAreNamed) {
  MakeTable("r real, ts timestamptz, a int[]", "(1.1, now(), '{1}')");
  ExpectRefusal(ErrorCode::kBadData, "column \"r\" is of type real", "double precision",
                "SELECT r FROM clinic.t");
  ExpectRefusal(ErrorCode::kBadData, "\"ts\" is of type timestamp with time zone", "cast it",
                "SELECT ts FROM clinic.t");
  ExpectRefusal(ErrorCode::kBadData, "\"a\" is of type integer[]", "cast it",
                "SELECT a FROM clinic.t");
  EXPECT_EQ(Read("SELECT r::float8 AS r, ts::date > '2020-01-01' AS ts FROM clinic.t"),
            "r,ts\n1.100000023841858,t\n");
}

TEST_F(PostgresSourceTest, ARoleThatMayWriteIsRefused) {
  MakeTable("x int", "(1)");
  ExpectError(ErrorCode::kRefused, "role postgres may write to everything", "may only read",
              [&] { OpenTable(Source("SELECT x FROM clinic.t", "", "postgres")); });
  EXPECT_EQ(Read("SELECT x FROM clinic.t"), "x\n1\n");
  for (const char* right : {"INSERT", "UPDATE", "DELETE", "TRUNCATE"}) {
    Administer(fmt::format("GRANT {} ON clinic.t TO reader_{}", right, database_));
    ExpectRefusal(ErrorCode::kRefused, "may write to clinic.t", "may only read",
                  "SELECT x FROM clinic.t");
    Administer(fmt::format("REVOKE {} ON clinic.t FROM reader_{}", right, database_));
  }
  Administer(fmt::format("GRANT UPDATE (x) ON clinic.t TO reader_{}", database_));
  ExpectRefusal(ErrorCode::kRefused, "may write to clinic.t", "may only read",
                "SELECT x FROM clinic.t");
  Administer(fmt::format("REVOKE UPDATE (x) ON clinic.t FROM reader_{}", database_));
  Administer("CREATE TABLE clinic.hidden (x int)");
  ExpectRefusal(ErrorCode::kBadInput, "permission denied for table hidden", "grant the role",
                "SELECT x FROM clinic.hidden");
}

// Rights that a role has by another, may give itself, or has outside tables.
TEST_F(PostgresSourceTest, WhateverMayWriteIsRefused) {
  MakeTable("x int", "(1)");
  Administer(
      fmt::format("CREATE ROLE writer_{0} NOLOGIN; GRANT INSERT ON clinic.t TO writer_{0}; "
                  "CREATE SEQUENCE clinic.numbers",
                  database_));
  const std::string reader = "reader_" + database_;
  for (const auto& [give, take, what] :
       std::vector<std::tuple<std::string, std::string, std::string>>{
           {"ALTER ROLE {0} NOINHERIT; GRANT writer_{1} TO {0}", "REVOKE writer_{1} FROM {0}",
            "clinic.t"},
           {"ALTER TABLE clinic.t OWNER TO {0}; REVOKE ALL ON clinic.t FROM {0}",
            "ALTER TABLE clinic.t OWNER TO postgres; GRANT SELECT ON clinic.t TO {0}", "clinic.t"},
           {"GRANT USAGE ON SEQUENCE clinic.numbers TO {0}",
            "REVOKE USAGE ON SEQUENCE clinic.numbers FROM {0}", "clinic.numbers"},
           {"GRANT CREATE ON SCHEMA clinic TO {0}", "REVOKE CREATE ON SCHEMA clinic FROM {0}",
            "the schema clinic"},
           {"GRANT pg_execute_server_program TO {0}", "REVOKE pg_execute_server_program FROM {0}",
            "everything"},
           {"ALTER ROLE {0} CREATEROLE", "ALTER ROLE {0} NOCREATEROLE", "everything"}}) {
    SCOPED_TRACE(give);
    Administer(fmt::format(fmt::runtime(give), reader, database_));
    ExpectRefusal(ErrorCode::kRefused, "may write to " + what, "may only read",
                  "SELECT x FROM clinic.t");
    Administer(fmt::format(fmt::runtime(take), reader, database_));
    EXPECT_EQ(Read("SELECT x FROM clinic.t"), "x\n1\n");
  }
  // As one role by the settings of another.
  Administer(
      fmt::format("CREATE ROLE chief_{0} LOGIN SUPERUSER; ALTER ROLE chief_{0} SET role = '{1}'",
                  database_, reader));
  ExpectError(ErrorCode::kRefused, "may write to everything", "may only read",
              [&] { OpenTable(Source("SELECT x FROM clinic.t", "", "chief_" + database_)); });
  Administer(fmt::format("DROP ROLE chief_{0}; DROP OWNED BY writer_{0}; DROP ROLE writer_{0}",
                         database_));
}

TEST_F(PostgresSourceTest, AddressesThatMeanMoreAreRefused) {
  const auto refuse = [&](const std::string& address, const std::string& message) {
    const std::string file = folder_.Write(
        "a.toml", "source = \"postgresql://" + address + "\"\ntable = \"clinic.t\"\n");
    ExpectError(ErrorCode::kBadInput, message, "", [&] { OpenTable(file); });
  };
  refuse("r@localhost/d?options=-c%20role%3Dx", "sets 'options'");
  refuse("r@localhost/d?replication=database", "sets 'replication'");
  refuse("r@localhost", "names no database");
  refuse("localhost/d", "no user");
  refuse("r:pw/secret@localhost:5/d", "port that is no number");
  ::setenv("PGOPTIONS", "-c role=x", 1);
  refuse("r@localhost/d", "the environment sets PGOPTIONS");
  ::unsetenv("PGOPTIONS");
}

TEST_F(PostgresSourceTest, ARowOfOneMissingCellIsARow) {
  MakeTable("x int", "(1), (NULL), (NULL)");
  EXPECT_EQ(Read("SELECT x FROM clinic.t ORDER BY x;\n"), "x\n1\n\"\"\n\"\"\n");
}

TEST_F(PostgresSourceTest, OnlyOneQueryIsTaken) {
  MakeTable("x int", "(1), (2)");
  ExpectRefusal(ErrorCode::kBadInput, "cannot insert multiple commands", "",
                "SELECT x FROM clinic.t; SELECT 1");
  ExpectRefusal(ErrorCode::kBadInput, "syntax error", "", "SELECT 1 AS x) TO PROGRAM 'true' --");
  ExpectRefusal(ErrorCode::kBadData, "it gives no columns", "", "DROP TABLE clinic.t");
  ExpectRefusal(ErrorCode::kBadData, "two columns are named \"x\"", "", "SELECT 1 AS x, 2 AS x");
  ExpectRefusal(ErrorCode::kUnreachable, "took longer than it may", "timeout_seconds",
                "SELECT 1 AS x FROM pg_sleep(60)", "timeout_seconds = 1\n");
  // An error in the middle quotes no row.
  const std::optional<Error> error = ThrownBy(
      [&] { Read("SELECT 1 / (x - 2) AS x, 'secret' AS s FROM clinic.t ORDER BY x DESC"); });
  ASSERT_TRUE(error);
  EXPECT_EQ(error->code(), ErrorCode::kBadInput);
  EXPECT_THAT(error->message(), ::testing::HasSubstr("division by zero (22012)"));
  EXPECT_THAT(error->message(), ::testing::Not(::testing::HasSubstr("secret")));
  EXPECT_EQ(Read("SELECT x FROM clinic.t ORDER BY x -- a remark"), "x\n1\n2\n");
}

// One snapshot, for whatever is committed meanwhile, and a server that goes away is no shorter table.
TEST_F(PostgresSourceTest, ALostConnectionIsNoShorterTable) {
  MakeTable("x text", "('')");
  Administer(
      "TRUNCATE clinic.t; INSERT INTO clinic.t SELECT repeat('x', 1000) FROM "
      "generate_series(1, 30000)");
  const OpenedTable table = OpenTable(Source("SELECT x FROM clinic.t"));
  Bytes block(1 << 16);
  ASSERT_EQ(table.bytes(block), block.size());
  Administer("DELETE FROM clinic.t");
  size_t size = block.size();
  while (size < (20 << 20)) size += table.bytes(block);
  Administer(
      fmt::format("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = "
                  "'reader_{}'",
                  database_));
  ExpectError(ErrorCode::kUnreachable, "the connection to the database was lost", "", [&] {
    while (table.bytes(block) == block.size()) {
    }
  });
  ExpectError(ErrorCode::kUnreachable, "cannot be reached", "role",
              [&] { OpenTable(Source("SELECT 1 AS x", "", "nobody_at_all")); });
}

}  // namespace
}  // namespace partita::data::postgres_source_test
