// Sums that PostgreSQL forms: types, hand-made numbers, the same whatever the plan, and the self-test on the real engine.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include "tests/data/expect_error.h"
#include "tests/data/source/clinic_table.h"

namespace partita::data::sums_in_postgres_test {
namespace {

using testing::AllOf;
using testing::Factor;
using testing::Number;
using SumsInPostgresTest = testing::ClinicTable;

TEST_F(SumsInPostgresTest, ColumnsOfEveryType) {
  MakeTable(
      "i int, b bigint, n numeric, d double precision, t text, yes boolean, day date, v varchar(4)",
      "VALUES (1, -2, 0.5, 'NaN', 'm', true, '1970-01-03', '1'), "
      "(2, 4, -2.25, 'infinity', 'M', false, 'infinity', '2'), "
      "(NULL, NULL, NULL, NULL, NULL, NULL, NULL, ''), (4, 0, 4, -4, 'm ', true, '1969-12-31', "
      "'2')");
  SumQuery query = AllOf({Number("i", -4, 4, ColumnType::kInteger),
                          Number("b", -4, 4, ColumnType::kInteger), Number("n", -4, 4),
                          Number("d", -4, 4), Factor("t", {"m", "M"}), Factor("yes", {"t", "f"}),
                          Number("day", -4, 4, ColumnType::kDate), Factor("v", {"1", "2"})});
  query.bits = 4;  // k = 4 x
  const SumAnswer answer = Ask(query);
  std::vector<std::string> sums;
  for (const Int128 sum : answer.cells.at(0).sums) sums.push_back(ToString(sum));
  EXPECT_EQ(sums, (std::vector<std::string>{"28", "8", "9", "-16", "11", "12", "4", "21"}));
  const auto expect = [&](size_t column, const char* missing, const char* outside,
                          const char* unusable) {
    EXPECT_EQ(ToString(answer.checks.at(column).missing), missing) << column;
    EXPECT_EQ(ToString(answer.checks[column].outside), outside) << column;
    EXPECT_EQ(ToString(answer.checks[column].unusable), unusable) << column;
  };
  expect(0, "1", "0", "0");
  expect(3, "1", "2", "0");  // NaN and infinity
  expect(4, "1", "0", "1");  // 'm '
  expect(5, "1", "0", "0");
  expect(6, "1", "0", "1");  // the date without end
  expect(7, "1", "0", "0");
}

TEST_F(SumsInPostgresTest, TypesThatCannotBeWhatTheColumnIsAreNamed) {
  MakeTable("t text, r real, c char(3), d date", "VALUES ('1', 1, 'm', '2020-01-01')");
  const auto refuse = [&](const SumQuery& query, const std::string& sql, const std::string& message,
                          const std::string& hint) {
    ExpectError(ErrorCode::kBadData, message, hint, [&] { Ask(query, sql); });
  };
  refuse(AllOf({Number("t", 0, 4)}), "SELECT t FROM clinic.t",
         "column \"t\" is numeric in the study, and of another type", "double precision");
  refuse(AllOf({Number("r", 0, 4)}), "SELECT r FROM clinic.t", "\"r\" is of type real",
         "double precision");
  refuse(AllOf({Factor("c", {"m", "f"})}), "SELECT c FROM clinic.t", "column \"c\" is factor",
         "trim(x)");
  refuse(AllOf({Number("t", 0, 4, ColumnType::kDate)}), "SELECT t FROM clinic.t",
         "column \"t\" is date", "cast(x AS date)");
  refuse(AllOf({Number("x", 0, 4)}), "SELECT t FROM clinic.t", "there is no column \"x\"", "AS x");
  EXPECT_EQ(ToString(Ask(AllOf({Number("t", 0, 4)}), "SELECT t::float8 AS t FROM clinic.t").rows),
            "1");
}

TEST_F(SumsInPostgresTest, ARoleThatMayWriteIsRefused) {
  MakeTable("x int", "VALUES (1)");
  ExpectError(ErrorCode::kRefused, "role postgres may write to everything", "may only read",
              [&] { OpenSums(Source("SELECT x FROM clinic.t", "postgres")); });
  EXPECT_THAT(OpenSums(Source("SELECT x FROM clinic.t"))->engine(),
              ::testing::StartsWith("PostgreSQL 1"));
}

// Sums past 2^63, in parallel and not, by any order: whole numbers do not depend on it.
TEST_F(SumsInPostgresTest, ThePlanChangesNothing) {
  MakeTable("x double precision, w int",
            "SELECT sin(i) * 3, i % 1000 FROM generate_series(1, 60000) AS i");
  Administer("ANALYZE clinic.t");
  SumQuery query = AllOf({Number("x", -3, 3), Number("w", 0, 1000, ColumnType::kInteger)});
  const SumAnswer plain = Ask(query);
  query.weight = {1};
  const SumAnswer weighted = Ask(query);
  EXPECT_GT(plain.cells.at(0).products.at(0), Int128{1} << 70);
  EXPECT_GT(weighted.cells.at(0).products.at(0), Int128{1} << 80);
  Administer(
      fmt::format("ALTER ROLE adder_{0} SET max_parallel_workers_per_gather = 2; "
                  "ALTER ROLE adder_{0} SET parallel_setup_cost = 0; "
                  "ALTER ROLE adder_{0} SET parallel_tuple_cost = 0; "
                  "ALTER ROLE adder_{0} SET min_parallel_table_scan_size = 0",
                  database_));
  EXPECT_TRUE(NumbersOf(Ask(query)) == NumbersOf(weighted));
  EXPECT_TRUE(NumbersOf(Ask(query, "SELECT * FROM clinic.t ORDER BY x DESC")) ==
              NumbersOf(weighted));
  query.weight = {};
  EXPECT_TRUE(NumbersOf(Ask(query)) == NumbersOf(plain));
}

// Engines refuse values that are bound and stand nowhere.
TEST_F(SumsInPostgresTest, OnlyWhatIsAskedIsBound) {
  MakeTable("g text, x double precision, y double precision",
            "VALUES ('a', 1, 2), ('b', -1, 2), ('a', NULL, 0)");
  SumQuery levels;
  levels.columns = {Factor("g", {"a", "b"})};
  levels.cells = {{}};
  EXPECT_EQ(ToString(Ask(levels).cells.at(0).n), "3");
  // Over two statements, of which the second needs neither g nor y.
  SumQuery many;
  many.columns = {Factor("g", {"a", "b"}), Number("x", -2, 2), Number("y", -2, 2)};
  for (size_t v = 0; v < 60; ++v) many.variables.push_back({1, ScaleOf(many.columns[1]), {}});
  many.cells = {{}};
  const SumAnswer answer = Ask(many);
  EXPECT_EQ(ToString(answer.checks.at(1).missing), "1");
  for (const Int128 product : answer.cells.at(0).products)
    EXPECT_EQ(ToString(product), ToString(Int128{1} << 59));
}

}  // namespace
}  // namespace partita::data::sums_in_postgres_test
