// Cells that the dictionary does not allow, in a study where nothing of a row may stop a run.
#include "data/repair.h"

#include <gtest/gtest.h>

#include <cmath>

#include "data/holding.h"
#include "tests/data/expect_error.h"
#include "tests/data/tables.h"

namespace partita::data::repair_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

Schema AllTypes() {
  Schema schema{{Numeric("x", -1, 3), Numeric("n", 0, 5), Factor("f", {"a", "b", "c"}),
                 Numeric("d", 0, 10), Numeric("t", 0, 4)}};
  schema.columns[1].type = ColumnType::kInteger;
  schema.columns[2].reference = "b";
  schema.columns[3].type = ColumnType::kDate;
  schema.columns[4].type = ColumnType::kSurvival;
  schema.columns[4].time_column = "time";
  schema.columns[4].event_column = "event";
  return schema;
}

const std::string kHeader = "x,n,f,d,time,event\n";

CsvContents Repaired(const std::string& rows) {
  CsvOptions options;
  options.repair = true;
  return Read(kHeader + rows, AllTypes(), options);
}

const std::vector<std::string> kAll = {"x", "n", "f", "d", "t"};

TEST(RepairTest, NumbersMoveToTheNearestBound) {
  const CsvContents contents = Repaired(
      "-7,-1,a,1969-12-31,9,0\n"
      "1e300,99,b,2970-01-01,2,1\n"
      "0.5,2,c,1970-01-05,0,0\n");
  EXPECT_THAT(contents.table.Get("x").numbers, ElementsAre(-1.0, 3.0, 0.5));
  EXPECT_THAT(contents.table.Get("n").numbers, ElementsAre(0.0, 5.0, 2.0));
  EXPECT_THAT(contents.table.Get("d").numbers, ElementsAre(0.0, 10.0, 4.0));
  EXPECT_THAT(contents.table.Get("t").numbers, ElementsAre(4.0, 2.0, 0.0));
  const RepairedCells cells = CountRepaired(contents.report, false);
  EXPECT_EQ(cells.clamped, 7u);
  EXPECT_EQ(cells.without_value + cells.ragged_rows, 0u);
  EXPECT_THAT(cells.where, HasSubstr("column 'x': 2 cells outside the bounds (first at line 2)"));
  EXPECT_THAT(cells.where, HasSubstr("column 't': 1 cell outside the bounds (first at line 2)"));
}

// Each of these stops a study without noise, and here is one cell without a value.
TEST(RepairTest, WhatIsNotOfItsTypeCountsAsMissing) {
  const std::string good[] = {"1", "2", "a", "1970-01-02", "3", "1"};
  const std::pair<size_t, std::string> bad[] = {{0, "tall"}, {0, "nan"}, {0, "1,5"},  {0, "\xFF"},
                                                {1, "2.5"},  {1, "two"}, {2, "z"},    {2, "\xFF"},
                                                {3, "soon"}, {3, "3.5"}, {4, "late"}, {4, ""},
                                                {5, "2"},    {5, "yes"}, {5, "\xFF"}, {5, ""}};
  for (const auto& [column, text] : bad) {
    SCOPED_TRACE(text);
    std::string row;
    for (size_t c = 0; c < 6; ++c) {
      row += (c > 0 ? "," : "") + (c == column ? "\"" + text + "\"" : good[c]);
    }
    const CsvContents contents = Repaired(row + "\n");
    const size_t variable = std::min<size_t>(column, 4);
    for (size_t c = 0; c < kAll.size(); ++c) {
      EXPECT_EQ(contents.report.columns[c].missing, c == variable ? 1u : 0u);
      EXPECT_EQ(contents.report.columns[c].unusable, c == variable && !text.empty() ? 1u : 0u);
    }
    EXPECT_EQ(CountRepaired(contents.report, false).without_value, 1u);
    EXPECT_EQ(CountRepaired(contents.report, true).without_value, text.empty() ? 0u : 1u);
    if (!text.empty()) {
      ExpectError(ErrorCode::kBadData, "", "", [&] { Read(kHeader + row + "\n", AllTypes()); });
    }
  }
}

TEST(RepairTest, MissingCellsGetTheMiddleOrTheReferenceAndTheirRowIsNeutral) {
  const std::string rows = "1,2,a,1970-01-02,3,1\n,,,,,\n1,2,,1970-01-02,3,1\n";
  Table table = Repaired(rows).table;
  FillMissing(table, kAll, FaultyRows::kNeutral);
  EXPECT_THAT(table.Get("x").numbers, ElementsAre(1.0, 1.0, 1.0));
  EXPECT_THAT(table.Get("n").numbers, ElementsAre(2.0, 2.0, 2.0));
  EXPECT_THAT(table.Get("d").numbers, ElementsAre(1.0, 5.0, 1.0));
  EXPECT_THAT(table.Get("t").numbers, ElementsAre(3.0, 2.0, 3.0));
  EXPECT_THAT(table.Get("t").codes, ElementsAre(1, 0, 1));
  EXPECT_THAT(table.Get("f").codes, ElementsAre(0, 1, 1));
  EXPECT_THAT(table.neutral, ElementsAre(0, 1, 1));

  Table filled = Repaired(rows).table;
  FillMissing(filled, kAll, FaultyRows::kFill);
  EXPECT_THAT(filled.Get("f").codes, ElementsAre(0, 1, 1));
  EXPECT_THAT(filled.neutral, IsEmpty());

  // What the study does not use makes no row neutral.
  Table some = Repaired(rows).table;
  FillMissing(some, std::vector<std::string>{"x"}, FaultyRows::kNeutral);
  EXPECT_THAT(some.neutral, ElementsAre(0, 1, 0));
  EXPECT_THAT(some.Get("f").codes, ElementsAre(0, -1, -1));
}

// What stands in depends on the row's own cells alone: a row changes no other.
TEST(RepairTest, ARowIsRepairedByItself) {
  const std::string rows[] = {"9,2,a,1970-01-02,3,1\n", ",2,z,1970-01-02,3,1\n", "1,2,b\n",
                              "2,7,c,soon,3,7,1,1\n"};
  std::string all;
  for (const std::string& row : rows) all += row;
  Table together = Repaired(all).table;
  FillMissing(together, kAll, FaultyRows::kNeutral);
  for (size_t r = 0; r < 4; ++r) {
    Table alone = Repaired(rows[r]).table;
    FillMissing(alone, kAll, FaultyRows::kNeutral);
    for (const std::string& name : kAll) {
      const Column &one = alone.Get(name), &of_all = together.Get(name);
      if (!one.numbers.empty()) {
        EXPECT_EQ(one.numbers[0], of_all.numbers[r]) << name;
      }
      if (!one.codes.empty()) {
        EXPECT_EQ(one.codes[0], of_all.codes[r]) << name;
      }
    }
    EXPECT_EQ(alone.Neutral(0), together.Neutral(r));
  }
}

TEST(RepairTest, RecordsOfAnotherLengthAreNeutralRows) {
  CsvOptions options;
  options.repair = true;
  const Schema schema{{Key("id"), Factor("f", {"a", "b"}), Numeric("x")}};
  const CsvContents contents = Read("id,f,x\nk1,b\nk2,b,1\nk3,b,1,1\nk4\n", schema, options);
  EXPECT_EQ(contents.table.num_rows, 4u);
  EXPECT_THAT(contents.table.neutral, ElementsAre(1, 0, 1, 1));
  EXPECT_THAT(contents.table.Get("id").keys, ElementsAre("k1", "k2", "k3", "k4"));
  // A level may be the name of the row's block.
  EXPECT_THAT(contents.table.Get("f").codes, ElementsAre(1, 1, 1, -1));
  EXPECT_TRUE(std::isnan(contents.table.Get("x").numbers[0]));
  EXPECT_EQ(contents.report.ragged, 3u);
  EXPECT_EQ(contents.report.first_ragged_line, 2u);
  EXPECT_THAT(CountRepaired(contents.report, true).where,
              HasSubstr("3 records with more or fewer fields than the header (first at line 2)"));
}

TEST(RepairTest, KeysAndBytesThatAreNoCsvStillStop) {
  CsvOptions options;
  options.repair = true;
  const Schema schema{{Key("id"), Numeric("x")}};
  for (const std::string text : {"id,x\n,1\n", "id,x\n k1,1\n", "id,x\n\"k\xFF\",1\n", "id\nk1\n",
                                 "id,x\nk1,\"1\n", "", "id,x\nk1,1\n\nk2,2\n"}) {
    SCOPED_TRACE(text);
    ExpectError(ErrorCode::kBadData, "", "", [&] { Read(text, schema, options); });
  }
}

// north holds a, whose number of rows is declared, and b, whose number is not.
TEST(RepairTest, RowsOfNoBlockAndBlocksWithoutRows) {
  const Partition partition =
      MakePartition({"x"}, {{"a", 2}, {"b", std::nullopt}, {"c", 1}},
                    {{"north", 0, {"x"}, {"a", "b"}}, {"south", 1, {"x"}, {"c"}}});
  const RowColumns names{.key = "", .block = "site"};
  const Schema schema = SchemaForParty({{Numeric("x")}}, partition, 0, names);
  CheckRules rules;
  rules.repaired = rules.allow_missing = true;
  CsvOptions options;
  options.repair = true;
  const auto hold = [&](const std::string& text, const CheckRules& with) {
    return MakeHolding(Read(text, schema, options).table, partition, 0, names, with);
  };
  const std::string stray = "x,site\n1,a\n2,c\n3,b\n4,a\n5,\n";
  const Holding holding = hold(stray, rules);
  EXPECT_THAT(holding.table->Get("x").numbers, ElementsAre(1, 4, 2, 3, 5));
  EXPECT_THAT(holding.table->neutral, ElementsAre(0, 0, 1, 0, 1));
  EXPECT_EQ(holding.Block(1).num_rows, 3u);
  EXPECT_EQ(hold("x,site\n1,a\n4,a\n", rules).Block(1).num_rows, 0u);
  CheckRules strict;
  strict.allow_missing = true;
  ExpectError(ErrorCode::kBadData, "holds no row block of that name", "",
              [&] { hold(stray, strict); });
  ExpectError(ErrorCode::kBadData, "no rows of block 'b'", "",
              [&] { hold("x,site\n1,a\n4,a\n", strict); });
  // A declared number is everybody's.
  ExpectError(ErrorCode::kBadData, "the study declares 2", "",
              [&] { hold("x,site\n1,a\n3,b\n", rules); });
}

}  // namespace
}  // namespace partita::data::repair_test
