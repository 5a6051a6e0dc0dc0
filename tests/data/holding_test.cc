// A party's rows in the agreed order, and readers of exact ring integers.
#include "data/holding.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>

#include "data/design.h"
#include "data/key_order.h"
#include "tests/data/expect_error.h"
#include "tests/data/tables.h"

namespace partita::data::holding_test {
namespace {

using testing::ElementsAre;

Schema Dictionary() {
  return {{Numeric("x1"), Numeric("x2", -10, 20), Numeric("x3"), Factor("school", {"a", "b"})}};
}

// north: x1, x2 of a; south: x1, x2 of b; east: x3 and school of both.
Partition Complex() {
  return MakePartition({"x1", "x2", "x3", "school"}, {{"a", 3}, {"b", 2}},
                       {{"north", 0, {"x1", "x2"}, {"a"}},
                        {"south", 1, {"x1", "x2"}, {"b"}},
                        {"east", 2, {"x3", "school"}, {"a", "b"}}});
}

const RowColumns kRows{.key = "id", .block = "school"};

Holding Hold(const std::string& text, size_t party, const Partition& partition = Complex(),
             const RowColumns& rows = kRows) {
  return MakeHolding(Read(text, SchemaForParty(Dictionary(), partition, party, rows)).table,
                     partition, party, rows);
}

std::vector<Int128> ReadRows(const RowReader& reader, size_t first_row, size_t num_rows,
                             size_t cols) {
  std::vector<Int128> out(num_rows * cols);
  reader(first_row, num_rows, out.data());
  return out;
}

TEST(SchemaForPartyTest, AsksForWhatThePartyNeeds) {
  auto names = [](const Schema& schema) {
    std::vector<std::string> list;
    for (const ColumnSchema& column : schema.columns) {
      list.push_back(column.name + ":" + std::string(ColumnTypeName(column.type)));
    }
    return list;
  };
  EXPECT_THAT(names(SchemaForParty(Dictionary(), Complex(), 0, kRows)),
              ElementsAre("x1:numeric", "x2:numeric", "id:key"));
  EXPECT_THAT(names(SchemaForParty(Dictionary(), Complex(), 2, kRows)),
              ElementsAre("x3:numeric", "school:factor", "id:key"));
  // A block column that is no variable is a factor over the party's blocks.
  const Schema schema = SchemaForParty(Dictionary(), Complex(), 2, {.key = "id", .block = "site"});
  EXPECT_THAT(names(schema), ElementsAre("x3:numeric", "school:factor", "id:key", "site:factor"));
  EXPECT_THAT(schema.Find("site")->levels, ElementsAre("a", "b"));
  // Whole rows of one block need neither.
  const Partition horizontal = MakePartition(
      {"x1"}, {{"a", {}}, {"b", {}}}, {{"north", 0, {"x1"}, {"a"}}, {"south", 1, {"x1"}, {"b"}}});
  EXPECT_THAT(names(SchemaForParty(Dictionary(), horizontal, 0, {})), ElementsAre("x1:numeric"));
}

TEST(SchemaForPartyTest, NamesWhatIsMissing) {
  auto expect = [](const std::string& message, const RowColumns& rows, size_t party) {
    ExpectError(ErrorCode::kBadInput, message, "",
                [&] { SchemaForParty(Dictionary(), Complex(), party, rows); });
  };
  expect("'north' shares rows with other holders, but no key column is named",
         {.key = {}, .block = "school"}, 0);
  expect("'east' holds several row blocks, but no column names", {.key = "id", .block = {}}, 2);
  expect("the key column 'x1' cannot be a variable", {.key = "x1", .block = "school"}, 0);
  expect("column 'x3' names row blocks, but is a numeric", {.key = "id", .block = "x3"}, 2);
  EXPECT_THROW(SchemaForParty(Dictionary(), Complex(), 3, kRows), Error);
  ExpectError(ErrorCode::kBadInput, "variable 'x2' of holder 'north' is not in the dictionary", "",
              [] { SchemaForParty({{Numeric("x1")}}, Complex(), 0, kRows); });
}

TEST(HoldingTest, OrdersByBlockThenKey) {
  const Holding east = Hold("id,school,x3\nk9,b,1\nk3,a,2\nk10,a,3\nk1,b,4\nK4,a,5\n", 2);
  ASSERT_EQ(east.blocks.size(), 2u);
  EXPECT_THAT(east.Keys(0), ElementsAre("K4", "k10", "k3"));  // bytewise
  EXPECT_THAT(east.Keys(1), ElementsAre("k1", "k9"));
  EXPECT_EQ(east.Block(1).first_row, 3u);
  EXPECT_EQ(east.Block(1).num_rows, 2u);
  EXPECT_THAT(east.table->Get("x3").numbers, ElementsAre(5, 3, 2, 4, 1));
  EXPECT_THAT(east.table->Get("school").codes, ElementsAre(0, 0, 0, 1, 1));
  EXPECT_THROW(Hold("id,x1,x2\nb,1,1\nc,2,2\na,3,3\n", 0).Block(1), Error);
}

TEST(HoldingTest, TheOrderOfTheFileDoesNotMatter) {
  std::vector<std::string> lines = {"b,1.5,2\n", "c,2.5,4\n", "a,-3,7\n"};
  std::sort(lines.begin(), lines.end());
  std::vector<std::vector<Int128>> seen;
  do {
    const Holding north = Hold("id,x1,x2\n" + lines[0] + lines[1] + lines[2], 0);
    const std::string columns[] = {"x2", "x1"};
    seen.push_back(ReadRows(ScaledRows(north, 0, columns, 50), 0, 3, 2));
    EXPECT_EQ(seen.back(), seen.front());
  } while (std::next_permutation(lines.begin(), lines.end()));
  EXPECT_EQ(seen.size(), 6u);
}

TEST(HoldingTest, UnsharedBlocksKeepTheOrderOfTheFileAndNeedNoKey) {
  const Partition horizontal = MakePartition(
      {"x1"}, {{"a", {}}, {"b", {}}}, {{"north", 0, {"x1"}, {"a"}}, {"south", 1, {"x1"}, {"b"}}});
  const Holding north = Hold("id,x1\nz,3\nz,1\na,2\n", 0, horizontal, {});
  EXPECT_THAT(north.table->Get("x1").numbers, ElementsAre(3, 1, 2));
  EXPECT_FALSE(north.blocks[0].shared);
  EXPECT_EQ(north.key_column, "");
}

TEST(HoldingTest, BadRowsAreRefused) {
  auto expect = [](const std::string& message, const std::string& hint, const std::string& text,
                   size_t party) {
    ExpectError(ErrorCode::kBadData, message, hint, [&] { Hold(text, party); });
  };
  expect("the key 'b' stands twice in row block 'a' (rows 1 and 3 of the table)", "one row per key",
         "id,x1,x2\nb,1,1\nc,2,2\nb,3,3\n", 0);
  expect("the table of 'north' has 2 rows of block 'a', but the study declares 3", "",
         "id,x1,x2\nb,1,1\nc,2,2\n", 0);
  expect("the table of 'north' has no rows of block 'a'", "", "id,x1,x2\n", 0);
  expect("the table of 'east' has no rows of block 'b'", "", "id,school,x3\n1,a,1\n2,a,1\n3,a,1\n",
         2);
  // The same key in two blocks is two people.
  EXPECT_NO_THROW(Hold("id,school,x3\nk,a,1\nl,a,1\nm,a,1\nk,b,1\nl,b,1\n", 2));
}

TEST(HoldingTest, RowsOfForeignBlocksAreRefused) {
  // The dictionary knows level "c", but east holds no such block.
  Schema dictionary{
      {Numeric("x1"), Numeric("x2"), Numeric("x3"), Factor("school", {"a", "b", "B"})}};
  const Schema schema = SchemaForParty(dictionary, Complex(), 2, kRows);
  Table table = Read("id,school,x3\n1,a,1\n2,B,1\n", schema).table;
  ExpectError(ErrorCode::kBadData,
              "row 2 of the table has 'B' in column 'school', but this party holds no row block",
              "did you mean 'b'?", [&] { MakeHolding(table, Complex(), 2, kRows); });
}

TEST(HoldingTest, UncheckedTablesAreABug) {
  for (const char* cell : {"", "10.5", "-11"}) {
    ExpectError(ErrorCode::kInternal, "column 'x1' was not checked", "",
                [&] { Hold(std::string("id,x1,x2\na,1,1\nb,") + cell + ",1\nc,1,1\n", 0); });
  }
  ExpectError(ErrorCode::kInternal, "column 'school' was not checked", "",
              [] { Hold("id,school,x3\n1,,1\n", 2); });
}

TEST(RowReaderTest, ScaledRowsAreExact) {
  const Holding north = Hold("id,x1,x2\na,10,20\nb,-10,5\nc,0.1,12.5\n", 0);
  const std::string columns[] = {"x2", "x1"};
  const RowReader reader = ScaledRows(north, 0, columns, 50);
  const Int128 one = Int128{1} << 50;
  EXPECT_EQ(ReadRows(reader, 0, 3, 2),
            (std::vector<Int128>{one, one, 0, -one, one / 2, RoundToGrid(0.1 / 10, 50)}));
  EXPECT_EQ(ReadRows(reader, 2, 1, 2), (std::vector<Int128>{one / 2, RoundToGrid(0.1 / 10, 50)}));
  EXPECT_TRUE(ReadRows(reader, 3, 0, 2).empty());
  EXPECT_THROW(ReadRows(reader, 2, 2, 2), Error);
  EXPECT_THROW(ReadRows(reader, 4, 0, 2), Error);
  EXPECT_THROW(ReadRows(reader, 1, std::numeric_limits<size_t>::max() / 64, 0), Error);
  EXPECT_EQ(ReadRows(ScaledRows(north, 0, columns, 30), 0, 1, 2)[0], Int128{1} << 30);
}

TEST(RowReaderTest, ReadersOutliveTheHolding) {
  RowReader reader;
  {
    const Holding south = Hold("id,x1,x2\na,5,5\nb,-5,5\n", 1);
    const std::string columns[] = {"x1"};
    reader = ScaledRows(south, 1, columns, 40);
  }
  EXPECT_EQ(ReadRows(reader, 0, 2, 1), (std::vector<Int128>{Int128{1} << 39, -(Int128{1} << 39)}));
}

TEST(RowReaderTest, SecondBlocksStartAtTheirOwnRows) {
  const Holding east = Hold("id,school,x3\n5,b,-1\n1,a,2\n4,b,3\n2,a,4\n3,a,5\n", 2);
  const std::string columns[] = {"x3"};
  std::vector<Int128> expected;
  for (double x : {3.0, -1.0}) expected.push_back(RoundToGrid(x / 10, 60));
  EXPECT_EQ(ReadRows(ScaledRows(east, 1, columns, 60), 0, 2, 1), expected);
  EXPECT_THROW(ReadRows(ScaledRows(east, 0, columns, 60), 2, 2, 1), Error);
}

TEST(RowReaderTest, WrongColumnsAreRefused) {
  const Holding east = Hold("id,school,x3\n5,b,-1\n1,a,2\n4,b,3\n2,a,4\n3,a,5\n", 2);
  const std::string school[] = {"school"}, unknown[] = {"x4"}, x3[] = {"x3"};
  ExpectError(ErrorCode::kBadInput, "column 'school' is a factor, not a number", "",
              [&] { ScaledRows(east, 0, school, 50); });
  ExpectError(ErrorCode::kBadInput, "no column 'x4'", "did you mean 'x3'?",
              [&] { ScaledRows(east, 0, unknown, 50); });
  EXPECT_THROW(ScaledRows(east, 0, x3, 63), Error);
  EXPECT_THROW(ScaledRows(east, 0, x3, 0), Error);
}

TEST(KeyOrderTest, SortsAsBytesDo) {
  std::mt19937_64 random(3);
  std::vector<std::string> keys;
  for (int i = 0; i < 5000; ++i) {
    // Common prefixes around eight bytes, NUL and bytes above 127, repeated keys.
    std::string key(random() % 12, 'k');
    for (size_t j = random() % 4; j > 0; --j) key.push_back("\0a\x80\xFF"[random() % 4]);
    keys.push_back(key);
  }
  std::vector<uint32_t> rows(keys.size());
  std::iota(rows.begin(), rows.end(), 0U);
  SortRowsByKey(rows, keys);
  std::vector<uint32_t> expected(keys.size());
  std::iota(expected.begin(), expected.end(), 0U);
  std::stable_sort(expected.begin(), expected.end(), [&](uint32_t a, uint32_t b) {
    return std::lexicographical_compare(
        keys[a].begin(), keys[a].end(), keys[b].begin(), keys[b].end(),
        [](char x, char y) { return static_cast<uint8_t>(x) < static_cast<uint8_t>(y); });
  });
  EXPECT_EQ(rows, expected);
}

// One party, one block, columns as given.
Holding HoldColumns(Schema schema, const std::string& text, const CheckRules& rules,
                    const std::vector<DerivedVariable>& derived = {}) {
  std::vector<std::string> names;
  for (const ColumnSchema& column : schema.columns) names.push_back(column.name);
  const Partition partition = MakePartition(names, {{"a", {}}}, {{"north", 0, names, {"a"}}});
  Table table = Read(text, schema).table;
  AddDesignColumns(table, schema, derived);
  return MakeHolding(std::move(table), partition, 0, {}, rules);
}

TEST(HoldingTest, MissingCellsBecomeZeroWhereTheyAreAllowed) {
  const Schema schema{{Numeric("x", 0, 10), Factor("f", {"a", "b"})}};
  const std::string text = "x,f\n10,b\n,a\n0,\n";
  ExpectError(ErrorCode::kInternal, "column 'x' was not checked", "",
              [&] { HoldColumns(schema, text, {}); });
  const Holding holding = HoldColumns(schema, text, {.allow_missing = true});
  const std::vector<std::string> columns = {"x", "f.b"};
  EXPECT_THAT(ReadRows(ScaledRows(holding, 0, columns, 1), 0, 3, 2),
              ElementsAre(2, 2, 0, -2, -2, 0));
  // Values out of bounds are never allowed.
  ExpectError(ErrorCode::kInternal, "column 'x' was not checked", "",
              [&] { HoldColumns(schema, "x,f\n11,a\n", {.allow_missing = true}); });
}

TEST(HoldingTest, DesignColumnsAreScaledByTheirOwnBounds) {
  const Schema schema{{Numeric("x", 0, 8), Date("day", 0, 4),
                       Ordered("pain", {"no", "some", "bad"}, Contrasts::kScores)}};
  DerivedVariable half;
  half.name = "half";
  half.from = "x";
  half.kind = TransformKind::kScale;
  half.centre = 4;
  half.scale = 4;
  const Holding holding = HoldColumns(
      schema, "x,day,pain\n0,1970-01-01,no\n6,1970-01-02,bad\n8,1970-01-05,some\n", {}, {half});
  const std::vector<std::string> columns = {"half", "day", "pain"};
  EXPECT_THAT(ReadRows(ScaledRows(holding, 0, columns, 2), 0, 3, 3),
              ElementsAre(-4, -4, -4, 2, -2, 4, 4, 4, 0));
  // An ordered variable with other contrasts has no scores.
  const Schema ordered{{Ordered("pain", {"no", "yes"})}};
  const Holding without = HoldColumns(ordered, "pain\nno\nyes\n", {});
  const std::vector<std::string> pain = {"pain"};
  ExpectError(ErrorCode::kBadInput, "column 'pain' is a ordered, not a number", "NAME.LEVEL",
              [&] { ScaledRows(without, 0, pain, 2); });
}

}  // namespace
}  // namespace partita::data::holding_test
