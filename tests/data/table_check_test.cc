#include "data/table_check.h"

#include "tests/data/expect_error.h"
#include "tests/data/tables.h"

namespace partita::data::table_check_test {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

ColumnSchema Ordered(const std::string& name, std::vector<std::string> levels) {
  ColumnSchema column = Factor(name, std::move(levels));
  column.type = ColumnType::kOrdered;
  return column;
}

ColumnSchema Date(const std::string& name) {
  ColumnSchema column = Numeric(name, 0, 20000);  // 1970-01-01 to 2024-10-04
  column.type = ColumnType::kDate;
  return column;
}

ColumnSchema Survival(const std::string& name) {
  ColumnSchema column = Numeric(name, 0, 100);
  column.type = ColumnType::kSurvival;
  column.time_column = name + "_time";
  column.event_column = name + "_event";
  return column;
}

// Two holders of the same rows "all" and of all columns of `schema` at the first.
Partition SharedRows(const Schema& schema, uint64_t count) {
  std::vector<std::string> variables, here;
  for (const ColumnSchema& column : schema.columns) here.push_back(column.name);
  variables = here;
  variables.push_back("other");
  return MakePartition(variables, {{"all", count}},
                       {{"a", 0, here, {"all"}}, {"b", 1, {"other"}, {"all"}}});
}

// Whole rows: the first party holds the blocks b1 and b2, the second b3.
Partition WholeRows(const Schema& schema) {
  std::vector<std::string> variables;
  for (const ColumnSchema& column : schema.columns) variables.push_back(column.name);
  return MakePartition(variables, {{"b1", {}}, {"b2", 2}, {"b3", {}}},
                       {{"a", 0, variables, {"b1", "b2"}}, {"b", 1, variables, {"b3"}}});
}

Partition OneBlockEach(const Schema& schema) {
  std::vector<std::string> variables;
  for (const ColumnSchema& column : schema.columns) variables.push_back(column.name);
  return MakePartition(variables, {{"b1", {}}, {"b2", {}}},
                       {{"a", 0, variables, {"b1"}}, {"b", 1, variables, {"b2"}}});
}

TableCheck Check(const std::string& text, const Schema& schema, const Partition& partition,
                 const RowColumns& row_columns = {}, const TableCheckOptions& options = {}) {
  return CheckTable(FromText(text), "t.csv", schema, partition, 0, row_columns, options);
}

TableCheck CheckRows(const std::string& text, const Schema& schema,
                     const TableCheckOptions& options = {}) {
  return Check(text, schema, OneBlockEach(schema), {}, options);
}

// "problem x: what" of every entry.
std::vector<std::string> Lines(const TableCheck& check) {
  std::vector<std::string> lines;
  for (const TableProblem& problem : check.problems) {
    lines.push_back(std::string(SeverityName(problem.severity)) + " " + problem.column + ": " +
                    problem.what);
  }
  return lines;
}

TEST(TableCheckTest, ACleanTableHasNoProblems) {
  const Schema schema{
      {Numeric("x"), Integer("i"), Factor("f", {"a", "b"}), Ordered("o", {"l", "h"}), Date("d")},
      1};
  const TableCheck check =
      CheckRows("x,i,f,o,d\n1.5,2,a,l,2000-01-01\n-1,3,b,h,2001-01-01\n", schema);
  EXPECT_THAT(Lines(check), ElementsAre());
  EXPECT_TRUE(check.usable());
  EXPECT_EQ(check.num_rows, 2u);
}

TEST(TableCheckTest, FindsEverythingAtOnceWithLines) {
  const Schema schema{
      {Numeric("x"), Integer("i"), Factor("f", {"m", "w"}), Date("d"), Numeric("gone")}, 1};
  const TableCheck check = CheckRows(
      "x,i,f,d\n"
      "1,1,m,2000-01-01\n"
      "tall,2,1,1.2.2000\n"
      "3,1.5,2,2000-01-01\n"
      ",11,w,2000-02-30\n"
      "30,2,m,1960-01-01\n",
      schema);
  EXPECT_FALSE(check.usable());
  EXPECT_THAT(
      Lines(check),
      ElementsAre("problem gone: the header has no such column",
                  "problem x: 1 cell not numbers, the first is 'tall'",
                  "problem x: 1 cell out of bounds, the first is '30'", "problem x: 1 missing cell",
                  "problem i: 1 number not whole, the first is '1.5'",
                  "problem i: 1 cell out of bounds, the first is '11'",
                  "problem f: 2 cells not among the levels: '1' (1), '2' (1)",
                  "problem d: 2 cells not dates, the first is '1.2.2000'",
                  "problem d: 1 cell out of bounds, the first is '1960-01-01'"));
  EXPECT_THAT(check.problems[1].lines, ElementsAre(3u));
  EXPECT_THAT(check.problems[3].lines, ElementsAre(5u));
  EXPECT_THAT(check.problems[6].lines, ElementsAre(3u, 4u));
  EXPECT_THAT(check.problems[6].fix, HasSubstr("'m', 'w'"));
}

TEST(TableCheckTest, ListsTheFirstLinesAndCountsAll) {
  std::string text = "x\n";
  for (int i = 0; i < 20; ++i) text += "bad\n";
  const TableCheck check = CheckRows(text, Schema{{Numeric("x")}, 1});
  ASSERT_EQ(check.problems.size(), 1u);
  EXPECT_EQ(check.problems[0].count, 20u);
  EXPECT_THAT(check.problems[0].lines, ElementsAre(2u, 3u, 4u, 5u, 6u));
}

TEST(TableCheckTest, RecognisesTheOtherDecimalMark) {
  TableCheckOptions options;
  options.csv.separator = ';';
  const TableCheck check =
      CheckRows("x;i\n1,5;1\n2,5;2\n", Schema{{Numeric("x"), Integer("i")}, 1}, options);
  ASSERT_EQ(check.problems.size(), 1u);
  EXPECT_THAT(check.problems[0].fix, HasSubstr("'.' as the decimal mark and 2 of these"));
  EXPECT_EQ(check.columns[0].other_decimal, 2u);
}

TEST(TableCheckTest, SuspectsAUnitThatIsAThousandTimesSmaller) {
  ColumnSchema weight = Numeric("weight", 30, 200);
  weight.unit = "kg";
  const TableCheck check = CheckRows("weight\n70000\n81000\n64500\n", Schema{{weight}, 1});
  ASSERT_EQ(check.problems.size(), 1u);
  EXPECT_THAT(check.problems[0].what,
              AllOf(HasSubstr("3 cells out of bounds"), HasSubstr("divided by 1000"),
                    HasSubstr("is the unit really kg?")));
  // One outlier is no unit.
  EXPECT_THAT(CheckRows("weight\n70000\n81\n64\n", Schema{{weight}, 1}).problems[0].what,
              Not(HasSubstr("divided")));
}

TEST(TableCheckTest, MissingCellsAreNotesWhereTheStudyDropsRows) {
  const Schema schema{{Numeric("x"), Numeric("y")}, 1};
  TableCheckOptions options;
  options.allow_missing = true;
  const TableCheck check = CheckRows("x,y\n,1\n2,2\n3,3\n", schema, options);
  EXPECT_TRUE(check.usable());
  EXPECT_THAT(Lines(check), ElementsAre("note x: 1 missing cell"));
  EXPECT_THAT(Lines(CheckRows("x,y\n,1\n,2\n", schema, options)),
              ElementsAre("problem x: the column is empty"));
}

TEST(TableCheckTest, MissingCodesOfNumbersAreNumbers) {
  ColumnSchema x = Numeric("x", 0, 1000);
  x.missing_codes = {"999"};
  TableCheckOptions options;
  options.allow_missing = true;
  EXPECT_THAT(Lines(CheckRows("x\n999.00\n2\n3\n", {{x}, 1}, options)),
              ElementsAre("note x: 1 missing cell"));
}

// Also where a column is empty, which is a pattern of its own.
TEST(TableCheckTest, CountsPatternsOfMissingValuesForTheirOwner) {
  const Schema schema{{Numeric("x"), Numeric("y"), Numeric("z")}, 1};
  TableCheckOptions options;
  options.allow_missing = true;
  options.patterns_of = {"x", "y"};
  const TableCheck check = CheckRows("x,y,z\n1,,1\n2,,\n,,3\n4,,4\n", schema, options);
  EXPECT_TRUE(check.usable());
  EXPECT_THAT(
      Lines(check),
      ElementsAre("note : rows by pattern of missing values: [\"x\", \"y\"] 1; [\"y\"] 3",
                  "note x: 1 missing cell", "note y: 4 missing cells", "note z: 1 missing cell"));
  EXPECT_THAT(check.problems[2].fix, HasSubstr("count with what they have"));
  EXPECT_THAT(check.problems[3].fix, HasSubstr("left out"));
  options.patterns_of.clear();
  EXPECT_FALSE(CheckRows("x,y,z\n1,,1\n2,,\n", schema, options).usable());
}

TEST(TableCheckTest, ConstantColumnsAreNotesWhereOthersHaveRows) {
  const Schema schema{{Numeric("x"), Factor("f", {"a", "b"})}, 1};
  EXPECT_THAT(Lines(CheckRows("x,f\n1,a\n1,a\n", schema)),
              ElementsAre("note x: all cells are equal"));
  EXPECT_THAT(Lines(Check("id,x,f\nk1,1,a\nk2,1,a\n", schema, SharedRows(schema, 2), {"id", ""})),
              ElementsAre("problem x: all cells are equal"));
}

TEST(TableCheckTest, ChecksKeysOfSharedBlocks) {
  const Schema schema{{Numeric("x")}, 1};
  const TableCheck check =
      Check("id,x\nk1,1\nk2,2\nk1,3\n,4\n k5,5\n", schema, SharedRows(schema, 6), {"id", ""});
  EXPECT_THAT(Lines(check),
              ElementsAre("problem id: 1 key repeated, the first is 'k1'",
                          "problem : 5 rows of the block 'all', but the study declares 6",
                          "problem id: 1 key with a space at the beginning or end",
                          "problem id: 1 missing cell"));
  EXPECT_THAT(check.problems[0].lines, ElementsAre(4u));
}

TEST(TableCheckTest, ChecksBlocks) {
  const Schema schema{{Numeric("x")}, 1};
  const TableCheck check =
      Check("x,site\n1,b1\n2,b1\n3,b2\n4,b7\n", schema, WholeRows(schema), {"", "site"});
  EXPECT_THAT(Lines(check),
              ElementsAre("problem site: 1 row of a block that this party does not hold, the first "
                          "is 'b7'",
                          "problem site: 1 row of the block 'b2', but the study declares 2",
                          "problem site: 1 cell not among the levels: 'b7' (1)"));
  EXPECT_THAT(Lines(Check("x,site\n1,b2\n2,b2\n", schema, WholeRows(schema), {"", "site"})),
              ElementsAre("problem site: no row of the block 'b1'"));
  // Without the column the blocks are not guessed at.
  EXPECT_THAT(Lines(Check("x,sight\n1,b1\n2,b2\n", schema, WholeRows(schema), {"", "site"})),
              ElementsAre("problem site: the header has no such column"));
}

// A list that was matched has other rows than the block of the rows that match: never fewer, and of
// hidden ones `count` says nothing of it.
TEST(TableCheckTest, MatchedListsHaveOtherRowsThanTheirBlock) {
  const Schema schema{{Numeric("x")}, 1};
  const auto lines = [&](uint64_t count, bool hidden) {
    Partition partition = SharedRows(schema, count);
    partition.blocks[0].matched = true;
    partition.blocks[0].hidden = hidden;
    return Lines(Check("x\n1\n2\n3\n", schema, partition));
  };
  EXPECT_THAT(lines(2, false), ElementsAre());
  EXPECT_THAT(lines(3, false), ElementsAre());
  EXPECT_THAT(lines(4, false),
              ElementsAre("problem : 3 rows of the block 'all', of which 4 matched"));
  EXPECT_THAT(lines(2, true), ElementsAre());
  EXPECT_THAT(lines(5, true), ElementsAre());
}

TEST(TableCheckTest, MissingCellsThatAreCountedLeaveNoRowOut) {
  const Schema schema{{Numeric("x"), Numeric("y")}, 1};
  TableCheckOptions options;
  options.allow_missing = true;
  options.counted_of = {"x"};
  const TableCheck check = CheckRows("x,y\n1,1\n,\n3,3\n", schema, options);
  ASSERT_THAT(Lines(check), ElementsAre("note x: 1 missing cell", "note y: 1 missing cell"));
  EXPECT_THAT(check.problems[0].fix, HasSubstr("their rows stay"));
  EXPECT_THAT(check.problems[1].fix, HasSubstr("left out"));
}

TEST(TableCheckTest, SurvivalIsTwoColumns) {
  const Schema schema{{Survival("os")}, 1};
  EXPECT_THAT(Lines(CheckRows("os_time,os_event\n10,1\n20,0\n", schema)), ElementsAre());
  EXPECT_THAT(Lines(CheckRows("os_time,os_event\n101,1\n20,2\n", schema)),
              ElementsAre("problem os_time: 1 cell out of bounds, the first is '101'",
                          "problem os_event: 1 cell out of bounds, the first is '2'"));
}

TEST(TableCheckTest, ReportsBrokenFilesAsProblems) {
  const Schema schema{{Numeric("x"), Numeric("y")}, 1};
  EXPECT_THAT(Lines(CheckRows("", schema)), ElementsAre("problem : the file is empty"));
  EXPECT_THAT(Lines(CheckRows("x,y\n", schema)), ElementsAre("problem : the table has no rows"));
  EXPECT_THAT(Lines(CheckRows("x,y,x\n1,2,3\n4,5,6\n", schema)),
              ElementsAre("problem x: two columns have this name"));
  const TableCheck ragged = CheckRows("x,y\n1,2\n1,2,3\n2,3\n7\n", schema);
  EXPECT_THAT(Lines(ragged),
              ElementsAre("problem : 2 records with more or fewer fields than the header"));
  EXPECT_THAT(ragged.problems[0].lines, ElementsAre(3u, 5u));
  const TableCheck quote = CheckRows("x,y\n1,2\n3,\"4\n", schema);
  ASSERT_FALSE(quote.usable());
  EXPECT_THAT(quote.problems[0].what, HasSubstr("t.csv:3"));
  const TableCheck one_field = CheckRows("x;y\n1;2\n", schema);
  EXPECT_THAT(one_field.problems[0].fix, HasSubstr("write separator = \";\""));
  EXPECT_THAT(Lines(CheckRows("x,y\n\xFF,2\n1,3\n2,4\n", schema)),
              ElementsAre("problem x: 1 cell not valid UTF-8"));
}

TEST(TableCheckTest, NeedsTheStudysColumnsToBeNamed) {
  const Schema schema{{Numeric("x")}, 1};
  EXPECT_TRUE(ThrownBy([&] { Check("x\n1\n", schema, SharedRows(schema, 1)); }).has_value());
}

}  // namespace
}  // namespace partita::data::table_check_test
