// Sums of rows that pass from PostgreSQL through this program: those that the database forms itself, whatever the
// types, the number of rows and of questions; and what ends a pass.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <thread>

#include "base/date.h"
#include "data/csv_reader.h"
#include "data/source/sum_source.h"
#include "tests/data/expect_error.h"
#include "tests/data/source/clinic_table.h"

namespace partita::data::passing_sums_test {
namespace {

using testing::AllOf;
using testing::Factor;
using testing::Number;

class PassingSumsTest : public testing::ClinicTable {
 protected:
  static constexpr const char* kAll = "SELECT * FROM clinic.t";

  std::unique_ptr<SumSource> Passing(const std::string& sql = kAll,
                                     const std::string& role = {}) const {
    return OpenSums(Source(sql, role, "stream"));
  }
  std::unique_ptr<SumSource> PushedDown() const { return OpenSums(Source(kAll)); }
};

const char kTypes[] =
    "i int, s smallint, b bigint, n numeric, d double precision, t text, yes boolean, day date, v "
    "varchar(4)";

// Every type, with missing cells, codes, and values and levels that are not allowed.
SumQuery EveryType() {
  ColumnSchema coded = Number("i", -4, 4, ColumnType::kInteger);
  coded.missing_codes = {"3", "none"};
  ColumnSchema levels = Factor("t", {"m", "M"});
  levels.missing_codes = {"?"};
  ColumnSchema day = Number("day", -4, 4, ColumnType::kDate);
  day.missing_codes = {"1970-01-04", "-"};
  SumQuery query = AllOf({coded, Number("s", -4, 4, ColumnType::kInteger), Number("b", -4, 4),
                          Number("n", -4, 4), Number("d", -4, 4), levels, Factor("yes", {"t", "f"}),
                          day, Factor("v", {"1", "2"}), Factor("i", {"1", "2"})});
  query.bits = 20;
  query.variables[9].by_level = {-5, 7};
  Condition present;
  present.variable = "n";
  present.kind = Condition::Kind::kPresent;
  Condition above;
  above.variable = "d";
  above.kind = Condition::Kind::kAbove;
  above.number = 0.5;
  query.cells = {{}, {{3, present}}, {{3, present}, {4, above}}};
  query.counts = {{{4, above}}};
  query.sets = {{}, {{3, present}}};
  query.apart = {{{{3, present}}, {{4, above}}}};
  return query;
}

TEST_F(PassingSumsTest, ColumnsOfEveryTypeAsTheDatabaseAddsThemUp) {
  MakeTable(kTypes,
            "VALUES (1, 1, -2, 0.5, 'NaN', 'm', true, '1970-01-03', '1'), "
            "(2, -2, 4, -2.25, 'infinity', 'M', false, '2020-02-29', '2'), "
            "(NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, ''), "
            "(3, 4, 0, 1e-300, -4, 'm ', true, '1969-12-31', '2'), "
            "(5, 3, 9007199254740993, 0.1, -0.0, '?', false, '1970-01-01', '3'), "
            "(-1, 0, 2, 3.9999999, 1e-310, '', NULL, '1970-01-04', '1')");
  const SumAnswer passed = Passing()->Ask(EveryType());
  EXPECT_TRUE(NumbersOf(passed) == NumbersOf(PushedDown()->Ask(EveryType())));
  EXPECT_EQ(ToString(passed.checks.at(0).missing), "2");  // NULL and the code
  EXPECT_EQ(ToString(passed.checks.at(0).outside), "1");
  EXPECT_EQ(ToString(passed.checks.at(4).outside), "2");   // NaN and infinity
  EXPECT_EQ(ToString(passed.checks.at(7).missing), "2");   // NULL and the code
  EXPECT_EQ(ToString(passed.checks.at(5).unusable), "1");  // 'm '
  EXPECT_EQ(ToString(passed.checks.at(9).unusable), "3");  // 3, 5 and -1
  EXPECT_THAT(Passing()->engine(),
              ::testing::StartsWith("this program, of rows from PostgreSQL 1"));
}

TEST_F(PassingSumsTest, ADateWithoutEndIsOutOfBounds) {
  MakeTable("day date", "VALUES ('infinity'), ('-infinity'), ('1970-01-03')");
  const SumAnswer answer = Passing()->Ask(AllOf({Number("day", -4, 4, ColumnType::kDate)}));
  EXPECT_EQ(ToString(answer.checks.at(0).outside), "2");
  EXPECT_EQ(ToString(answer.checks.at(0).missing), "0");
}

// Codes of numbers, dates and levels as the reader of CSV files knows them.
TEST_F(PassingSumsTest, AsTheRowsOfACsvFile) {
  Schema schema;
  schema.columns = {Number("x", -3, 3), Number("n", 0, 9, ColumnType::kInteger),
                    Number("day", -4, 4, ColumnType::kDate), Factor("g", {"a", "c"})};
  schema.columns[0].missing_codes = {"-1.5", "?"};
  schema.columns[1].missing_codes = {"9"};
  schema.columns[2].missing_codes = {"1969-12-28"};
  schema.columns[3].missing_codes = {"b"};
  std::string csv = "x,n,day,g\n", rows;
  for (int i = 0; i < 500; ++i) {
    const std::string x = i % 7 == 0 ? "-1.5" : fmt::format("{}", std::sin(i) * 3),
                      n = std::to_string(i % 10), day = FormatDate(i % 9 - 4),
                      g = std::string(1, "abc"[i % 3]);
    csv += fmt::format("{},{},{},{}\n", x, n, day, g);
    rows += fmt::format("{}({}, {}, '{}'::date, '{}')", i == 0 ? "VALUES " : ", ", x, n, day, g);
  }
  MakeTable("x double precision, n int, day date, g text", rows);
  size_t used = 0;
  const ByteSource bytes = [&](std::span<uint8_t> out) {
    const size_t size = std::min(out.size(), csv.size() - used);
    std::memcpy(out.data(), csv.data() + used, size);
    used += size;
    return size;
  };
  const CsvContents contents = ReadCsv(bytes, "t.csv", schema, {});
  SumQuery query = AllOf(schema.columns);
  query.bits = 30;
  const SumAnswer expected = SumsOfTable(query, contents.table);
  EXPECT_EQ(ToString(expected.checks.at(2).missing), "56");
  EXPECT_TRUE(NumbersOf(Passing()->Ask(query)) == NumbersOf(expected));
  EXPECT_TRUE(NumbersOf(PushedDown()->Ask(query)) == NumbersOf(expected));
}

// A text that is longer than every level is none of them; many questions are answered in smaller pieces.
TEST_F(PassingSumsTest, LongTextsAndManyQuestions) {
  MakeTable(
      "t text, x int",
      "SELECT CASE i % 3 WHEN 0 THEN repeat('ab', 1 << 20) WHEN 1 THEN 'ab' ELSE 'abab' END, i % 5 "
      "FROM generate_series(1, 60) AS i");
  const SumQuery query = AllOf({Factor("t", {"ab", "cd"}), Number("x", 0, 4)});
  const SumAnswer expected = PushedDown()->Ask(query);
  EXPECT_EQ(ToString(expected.checks.at(0).unusable), "40");
  const std::vector<SumAnswer> answers =
      Passing()->AskAll(std::vector<SumQuery>(10'000, query), {});
  ASSERT_EQ(answers.size(), 10'000u);
  for (const SumAnswer& answer : answers) ASSERT_TRUE(NumbersOf(answer) == NumbersOf(expected));
}

// Around the ends of pieces, with weights, and with sums past 2^63.
TEST_F(PassingSumsTest, AnyNumberOfRows) {
  for (const int rows : {0, 1, 4095, 4096, 4097, 8192, 20000}) {
    MakeTable(kTypes, fmt::format("SELECT i % 5, i % 3, i % 4, sin(i)::numeric * 4, cos(i) * 4, "
                                  "(ARRAY['m', 'M', '?', NULL, ''])[1 + i % 5], "
                                  "i % 3 = 0, date '1970-01-01' + i % 4, (1 + i % 2)::text FROM "
                                  "generate_series(1, {}) AS i",
                                  rows));
    SumQuery query = EveryType();
    query.bits = 30;
    for (const bool weighted : {false, true}) {
      query.weight.clear();
      if (weighted) {
        query.weight = {query.columns.size()};
        query.columns.push_back(Number("i", 0, 4, ColumnType::kInteger));
      }
      const SumAnswer passed = Passing()->Ask(query);
      EXPECT_EQ(ToString(passed.rows), std::to_string(rows));
      EXPECT_TRUE(NumbersOf(passed) == NumbersOf(PushedDown()->Ask(query))) << rows << weighted;
      if (rows == 20000) {
        EXPECT_GT(passed.cells.at(0).products.at(14), Int128{1} << 70);
      }
    }
    Administer("DROP TABLE clinic.t");
  }
}

TEST_F(PassingSumsTest, ManyQuestionsAreOnePassOfOneSnapshot) {
  MakeTable("x double precision, g text", "SELECT sin(i), 'ab' FROM generate_series(1, 9000) AS i");
  SumQuery first = AllOf({Number("x", -1, 1)}), second = AllOf({Factor("g", {"ab", "cd"})}),
           third = AllOf({Number("x", -2, 2), Factor("g", {"cd", "ab"})});
  const auto source = Passing();
  const std::vector<SumAnswer> all = source->AskAll({first, second, third}, {});
  ASSERT_EQ(all.size(), 3u);
  // Rows that come meanwhile are not in it.
  Administer("INSERT INTO clinic.t VALUES (0.5, 'cd')");
  EXPECT_TRUE(NumbersOf(all[0]) == NumbersOf(source->Ask(first)));
  EXPECT_TRUE(NumbersOf(all[1]) == NumbersOf(source->Ask(second)));
  EXPECT_TRUE(NumbersOf(all[2]) == NumbersOf(source->Ask(third)));
  EXPECT_EQ(ToString(PushedDown()->Ask(first).rows), "9001");
}

TEST_F(PassingSumsTest, WhatCannotBeReadIsNamed) {
  MakeTable("t text, x double precision, big numeric", "VALUES ('1', 1, 1e400)");
  ExpectError(ErrorCode::kBadData, "there is no column \"y\"", "AS y",
              [&] { Passing()->Ask(AllOf({Number("y", 0, 4)})); });
  ExpectError(ErrorCode::kBadData, "column \"t\" is numeric in the study", "double precision",
              [&] { Passing()->Ask(AllOf({Number("t", 0, 4)})); });
  ExpectError(ErrorCode::kBadInput, "out of range", "psql",
              [&] { Passing()->Ask(AllOf({Number("big", 0, 4)})); });
  ExpectError(ErrorCode::kRefused, "role postgres may write to everything", "may only read",
              [&] { Passing(kAll, "postgres"); });
}

TEST_F(PassingSumsTest, AQueryThatTakesTooLongAndALostConnectionEndIt) {
  MakeTable("x double precision", "SELECT i FROM generate_series(1, 3) AS i");
  const std::string slow = "SELECT x FROM clinic.t, LATERAL (SELECT pg_sleep(30 * x)) AS wait";
  SourceFile source = Source(slow, "", "stream");
  source.timeout = std::chrono::seconds(1);
  ExpectError(ErrorCode::kUnreachable, "longer than it may", "timeout_seconds",
              [&] { OpenSums(source)->Ask(AllOf({Number("x", 0, 4)})); });
  std::thread killer([&] {
    Administer(
        fmt::format("DO $$ BEGIN WHILE NOT EXISTS (SELECT FROM pg_stat_activity WHERE datname = "
                    "'{0}' AND wait_event = "
                    "'PgSleep' AND query LIKE 'COPY%') LOOP PERFORM pg_stat_clear_snapshot(); "
                    "PERFORM pg_sleep(0.01); END LOOP; "
                    "PERFORM pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{0}' "
                    "AND query LIKE 'COPY%'; END $$",
                    database_));
  });
  ExpectError(ErrorCode::kUnreachable, "connection to the database was lost", "start again",
              [&] { Passing(slow)->Ask(AllOf({Number("x", 0, 4)})); });
  killer.join();
}

}  // namespace
}  // namespace partita::data::passing_sums_test
