// Pattern cells on shares against the same rule in plain code, on random tables and at its edges,
// rows, columns or both split, with exactly the rounds and bytes of the plan, and one bit opened.
#include "methods/mle/moments/pattern_cells.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>

#include "tests/mpc/harness.h"

namespace partita::methods::mle::pattern_cells_test {
namespace {

using mpc::Engine;

// A value of every part.
using Row = std::vector<size_t>;

// Who has which parts in which blocks, and the rows of each block.
struct Table {
  std::vector<size_t> parts;                 // how many values
  std::vector<std::vector<size_t>> columns;  // by holder, numbers of parts
  std::vector<std::vector<size_t>> blocks;   // by block, its holders
  std::vector<std::vector<Row>> rows;        // by block
};

bool Holds(const std::vector<size_t>& numbers, size_t number) {
  return std::count(numbers.begin(), numbers.end(), number) > 0;
}

Row Of(const Row& row, const std::vector<size_t>& parts) {
  Row values;
  for (const size_t part : parts) values.push_back(row[part]);
  return values;
}

bool NoneOrEnough(const std::map<Row, uint64_t>& counts, uint64_t minimum) {
  return std::all_of(counts.begin(), counts.end(),
                     [&](const auto& entry) { return entry.second >= minimum; });
}

// Whether every cell is 0 or at least the minimum, over all rows.
bool PooledPasses(const Table& table, uint64_t minimum) {
  std::map<Row, uint64_t> cells;
  for (const std::vector<Row>& rows : table.rows) {
    for (const Row& row : rows) ++cells[row];
  }
  return NoneOrEnough(cells, minimum);
}

// Whether a holder's own patterns are so among the rows that it does not hold.
bool OthersPass(const Table& table, uint64_t minimum, size_t holder) {
  std::map<Row, uint64_t> patterns;
  for (size_t b = 0; b < table.blocks.size(); ++b) {
    if (Holds(table.blocks[b], holder)) continue;
    for (const Row& row : table.rows[b]) ++patterns[Of(row, table.columns[holder])];
  }
  return NoneOrEnough(patterns, minimum);
}

// Whether no pattern of its columns has one value only of a column that it lacks.
bool NothingFollows(const Table& table, size_t holder) {
  for (size_t part = 0; part < table.parts.size(); ++part) {
    if (Holds(table.columns[holder], part)) continue;
    std::map<Row, std::set<size_t>> values;
    for (const std::vector<Row>& rows : table.rows) {
      for (const Row& row : rows) values[Of(row, table.columns[holder])].insert(row[part]);
    }
    for (const auto& [pattern, taken] : values) {
      if (taken.size() < 2) return false;
    }
  }
  return true;
}

bool PlainPasses(const Table& table, uint64_t minimum) {
  bool passes = PooledPasses(table, minimum);
  for (size_t h = 0; h < table.columns.size(); ++h)
    passes = passes && OthersPass(table, minimum, h) && NothingFollows(table, h);
  return passes;
}

struct Options {
  std::string kind = "dealer";
  size_t parties = 2;
  uint64_t max_rows = 0;  // of each block that one holder has; 0: as many as there are
};

PatternTask TaskOf(const Options& options, const Table& table) {
  PatternTask task;
  task.parts = table.parts;
  // Holders are the last of the parties.
  for (size_t h = 0; h < table.columns.size(); ++h)
    task.holders.push_back({options.parties - table.columns.size() + h, table.columns[h]});
  for (size_t b = 0; b < table.blocks.size(); ++b) {
    const bool whole = table.blocks[b].size() == 1 && options.max_rows > 0;
    task.blocks.push_back({table.blocks[b], whole ? options.max_rows : table.rows[b].size()});
  }
  return task;
}

OwnPatterns OwnPatternsOf(const Table& table, size_t holder) {
  OwnPatterns own(table.blocks.size());
  for (size_t b = 0; b < table.blocks.size(); ++b) {
    if (!Holds(table.blocks[b], holder)) continue;
    for (const Row& row : table.rows[b]) {
      uint32_t& pattern = own[b].emplace_back(0);
      for (const size_t part : table.columns[holder])
        pattern = static_cast<uint32_t>(pattern * table.parts[part] + row[part]);
    }
  }
  return own;
}

// What all parties are told.
bool Told(const Options& options, const Table& table, uint64_t minimum,
          std::vector<uint64_t>* depth = nullptr) {
  const PatternTask task = TaskOf(options, table);
  mpc::testing::RunOptions run;
  run.kind = options.kind;
  run.num_parties = options.parties;
  run.releases = {{kPatternCellsRelease, "one bit", "all", "exact", 1, mpc::kEverybody, 1}};
  std::vector<std::optional<bool>> answers(options.parties);
  const auto result = mpc::testing::RunAndComparePlan(run, [&](Engine& engine, size_t) {
    const std::optional<size_t> self = engine.self();
    OwnPatterns own(table.blocks.size());
    for (size_t h = 0; h < table.columns.size(); ++h) {
      if (self == task.holders[h].party) own = OwnPatternsOf(table, h);
    }
    const std::optional<bool> answer = PatternCellsPass(engine, task, own, minimum);
    EXPECT_EQ(answer.has_value(), self.has_value());
    if (self) answers[*self] = answer;
  });
  result.ThrowIfFailed();
  for (const std::optional<bool>& answer : answers) EXPECT_EQ(answer, answers.front());
  if (depth != nullptr) *depth = result.depth;
  return answers.front().value();
}

// By holder and cell, each holder's rows whole.
using Counts = std::vector<std::vector<uint64_t>>;

Table Whole(const Counts& counts) {
  Table table{{counts.front().size()}, {}, {}, {}};
  for (size_t h = 0; h < counts.size(); ++h) {
    table.columns.push_back({0});
    table.blocks.push_back({h});
    std::vector<Row>& rows = table.rows.emplace_back();
    for (size_t k = 0; k < counts[h].size(); ++k) rows.insert(rows.end(), counts[h][k], {k});
  }
  return table;
}

bool Told(const Options& options, const Counts& counts, uint64_t minimum,
          std::vector<uint64_t>* depth = nullptr) {
  return Told(options, Whole(counts), minimum, depth);
}

// Mostly no rows or enough; sometimes a cell that few rows have, together or without one holder.
Counts RandomCounts(std::mt19937_64& random, size_t holders, size_t cells, uint64_t minimum) {
  Counts counts(holders, std::vector<uint64_t>(cells));
  for (size_t k = 0; k < cells; ++k) {
    if (random() % 3 == 0) continue;
    for (size_t h = 0; h < holders; ++h) counts[h][k] = minimum + random() % 5;
  }
  const size_t cell = random() % cells;
  switch (random() % 3) {
    case 0:
      counts[random() % holders][cell] = random() % (2 * minimum);
      break;
    case 1:
      for (size_t h = 0; h < holders; ++h) counts[h][cell] = random() % minimum;
      break;
    default:
      break;
  }
  return counts;
}

void ExpectPlain(const Options& options, size_t holders, size_t tables) {
  SCOPED_TRACE(options.kind);
  std::mt19937_64 random(holders);
  for (size_t t = 0; t < tables; ++t) {
    SCOPED_TRACE(t);
    const uint64_t minimum = 2 + random() % 9;
    const Table table = Whole(RandomCounts(random, holders, 1 + random() % 70, minimum));
    EXPECT_EQ(Told(options, table, minimum), PlainPasses(table, minimum));
  }
}

TEST(PatternCells, AnswersThatOfPlainCode) {
  ExpectPlain({.kind = "dealer", .parties = 2}, 2, 12);
  ExpectPlain({.kind = "dealer", .parties = 5}, 4, 12);
  ExpectPlain({.kind = "replicated", .parties = 3}, 3, 12);
  ExpectPlain({.kind = "shamir", .parties = 4}, 3, 6);
  ExpectPlain({.kind = "ot", .parties = 2}, 2, 3);
}

// The tables above would not tell a wrong rule from the right one if all of them passed, or failed.
TEST(PatternCells, TablesOfTheTestAreOfAllKinds) {
  std::mt19937_64 random(3);
  size_t pass = 0, fail = 0, only_without_own_rows = 0;
  for (int t = 0; t < 100; ++t) {
    const Table table = Whole(RandomCounts(random, 3, 8, 5));
    const bool passes = PlainPasses(table, 5);
    ++(passes ? pass : fail);
    only_without_own_rows += !passes && PooledPasses(table, 5) ? 1 : 0;
  }
  EXPECT_GT(pass, 20u);
  EXPECT_GT(fail, 20u);
  EXPECT_GT(only_without_own_rows, 10u);
}

// Exactly at the minimum, one below it, nobody, and everybody in one cell.
TEST(PatternCells, HoldsAtTheEdges) {
  for (const auto& [kind, parties] : std::vector<std::pair<std::string, size_t>>{
           {"dealer", 2}, {"replicated", 3}, {"shamir", 3}, {"ot", 2}}) {
    SCOPED_TRACE(kind);
    const Options options{.kind = kind, .parties = parties};
    EXPECT_TRUE(Told(options, Counts{{5, 0, 7}, {5, 0, 5}}, 5));
    EXPECT_FALSE(Told(options, Counts{{5, 0, 7}, {5, 0, 4}}, 5));
    EXPECT_FALSE(Told(options, Counts{{5, 1, 7}, {5, 0, 5}}, 5));
    EXPECT_TRUE(Told(options, Counts{{0, 0}, {0, 0}}, 5));
    EXPECT_TRUE(Told(options, Counts{{100, 0}, {0, 0}}, 5));
  }
}

// Twelve rows together, nine of which one holder knows: the others' three are what it is left with.
TEST(PatternCells, FindsFewRowsBesideOnesOwn) {
  const Counts counts = {{9, 8}, {3, 8}};
  EXPECT_TRUE(PooledPasses(Whole(counts), 5));
  EXPECT_FALSE(Told({}, counts, 5));
  const Counts three = {{3, 8}, {3, 8}, {1, 8}};
  EXPECT_TRUE(PooledPasses(Whole(three), 5));
  EXPECT_FALSE(Told({.kind = "replicated", .parties = 3}, three, 5));
}

// A holder that has all rows is left with nothing, and parties without rows subtract nothing.
TEST(PatternCells, OneHolderIsHeldToItsRowsAlone) {
  EXPECT_TRUE(Told({}, Counts{{5, 0, 9}}, 5));
  EXPECT_FALSE(Told({}, Counts{{5, 2, 9}}, 5));
}

// As many cells as there may be, one of which fails, in each table of its own.
TEST(PatternCells, HoldsForAsManyCellsAsThereMayBe) {
  Counts counts(2, std::vector<uint64_t>(kMaxPatternCells, 5));
  const Options options{.max_rows = uint64_t{1} << 20};
  EXPECT_TRUE(Told(options, counts, 5));
  counts[1].back() = 4;
  EXPECT_FALSE(Told(options, counts, 5));
}

// A steward may ask for more than there can be rows: nothing but empty cells passes.
TEST(PatternCells, TakesAnyMinimum) {
  EXPECT_FALSE(Told({}, Counts{{3, 0}, {4, 0}}, uint64_t{1} << 62));
  EXPECT_TRUE(Told({.max_rows = 10}, Counts{{0, 0}, {0, 0}}, uint64_t{1} << 62));
  EXPECT_TRUE(Told({}, Counts{{1, 0}, {2, 0}}, 1));
}

// Rounds as the header counts them, whatever the table and the minimum.
TEST(PatternCells, CostsTheSameWhateverTheAnswer) {
  std::vector<uint64_t> passing, failing, other_minimum;
  const Options options{.max_rows = 200};
  EXPECT_TRUE(Told(options, Counts{{50, 20}, {30, 20}}, 5, &passing));
  EXPECT_FALSE(Told(options, Counts{{50, 2}, {30, 1}}, 5, &failing));
  EXPECT_FALSE(Told(options, Counts{{50, 20}, {30, 20}}, 100, &other_minimum));
  EXPECT_EQ(passing, failing);
  EXPECT_EQ(passing, other_minimum);
  // Inputs take no round on this engine; counts within 403 take 10 bits, the sum of six failures 5.
  EXPECT_EQ(passing[0], (1u + 4) + 1 + (1 + 2) + 1);
}

// Columns split: two columns of two and three values at two holders, one of two at a third.
const std::vector<size_t> kParts = {2, 3, 2};

struct Split {
  std::vector<std::vector<size_t>> columns, blocks;
  size_t holders() const { return columns.size(); }
};

// Every holder has every row.
const Split kTwoHolders{{{0, 2}, {1}}, {{0, 1}}};
const Split kThreeHolders{{{0}, {1}, {2}}, {{0, 1, 2}}};
// A fourth one has no column of the table, but knows whose rows they are.
const Split kFourHolders{{{2}, {1}, {}, {0}}, {{0, 1, 2, 3}}};
// Rows of a holder of its own in two blocks, and a block in which it has none.
const Split kBoth{{{0, 1, 2}, {1}, {0, 2}}, {{0}, {1, 2}, {0}}};
// Two blocks that different holders split.
const Split kTwoPairs{{{0, 1}, {2}, {1, 2}, {0}}, {{0, 1}, {2, 3}}};

// Mostly no rows or enough in every cell and block; sometimes few, and sometimes one value only of a
// column.
Table RandomTable(std::mt19937_64& random, const Split& split, uint64_t minimum) {
  Table table{kParts, split.columns, split.blocks, {}};
  const size_t cells = 12, empty = 1 + random() % 12;
  std::vector<Row> patterns;
  for (size_t k = 0; k < cells; ++k) patterns.push_back({k / 6, k / 2 % 3, k % 2});
  std::vector<bool> occurs;
  for (size_t k = 0; k < cells; ++k) occurs.push_back(random() % 12 >= empty / 2);
  for (size_t b = 0; b < split.blocks.size(); ++b) {
    std::vector<Row>& rows = table.rows.emplace_back();
    for (size_t k = 0; k < cells; ++k) {
      if (occurs[k]) rows.insert(rows.end(), minimum + random() % 4, patterns[k]);
    }
  }
  if (random() % 3 == 0) {
    const Row few = patterns[random() % cells];
    for (std::vector<Row>& rows : table.rows) {
      std::erase(rows, few);
      rows.insert(rows.end(), random() % minimum, few);
    }
  }
  for (std::vector<Row>& rows : table.rows) {
    if (rows.empty()) rows.push_back(patterns.front());
    std::shuffle(rows.begin(), rows.end(), random);
  }
  return table;
}

void ExpectPlain(const Options& options, const Split& split, size_t tables) {
  SCOPED_TRACE(options.kind);
  std::mt19937_64 random(split.holders());
  for (size_t t = 0; t < tables; ++t) {
    SCOPED_TRACE(t);
    const uint64_t minimum = 2 + random() % 5;
    const Table table = RandomTable(random, split, minimum);
    EXPECT_EQ(Told(options, table, minimum), PlainPasses(table, minimum));
  }
}

TEST(SplitPatternCells, AnswersThatOfPlainCode) {
  ExpectPlain({.kind = "dealer", .parties = 2}, kTwoHolders, 16);
  ExpectPlain({.kind = "dealer", .parties = 4}, kThreeHolders, 12);
  ExpectPlain({.kind = "dealer", .parties = 4}, kFourHolders, 12);
  ExpectPlain({.kind = "dealer", .parties = 3}, kBoth, 12);
  ExpectPlain({.kind = "dealer", .parties = 4}, kTwoPairs, 12);
  ExpectPlain({.kind = "replicated", .parties = 3}, kThreeHolders, 12);
  ExpectPlain({.kind = "replicated", .parties = 3}, kTwoHolders, 12);
  ExpectPlain({.kind = "replicated", .parties = 3}, kBoth, 12);
  ExpectPlain({.kind = "shamir", .parties = 3}, kThreeHolders, 6);
  ExpectPlain({.kind = "shamir", .parties = 4}, kFourHolders, 6);
  ExpectPlain({.kind = "ot", .parties = 2}, kTwoHolders, 3);
}

TEST(SplitPatternCells, TablesOfTheTestAreOfAllKinds) {
  std::mt19937_64 random(5);
  for (const Split& split : {kTwoHolders, kThreeHolders, kFourHolders, kBoth, kTwoPairs}) {
    size_t pass = 0, few = 0, only_follows = 0, few_others = 0;
    for (int t = 0; t < 200; ++t) {
      const Table table = RandomTable(random, split, 4);
      bool nothing_follows = true, others_pass = true;
      for (size_t h = 0; h < split.holders(); ++h) {
        nothing_follows = nothing_follows && NothingFollows(table, h);
        others_pass = others_pass && OthersPass(table, 4, h);
      }
      const bool pooled = PooledPasses(table, 4);
      pass += pooled && others_pass && nothing_follows ? 1 : 0;
      few += !pooled ? 1 : 0;
      only_follows += pooled && others_pass && !nothing_follows ? 1 : 0;
      few_others += pooled && !others_pass ? 1 : 0;
    }
    EXPECT_GT(pass, 20u);
    EXPECT_GT(few, 20u);
    EXPECT_GT(only_follows, 5u);
    EXPECT_EQ(few_others > 0, split.blocks.size() > 1);
  }
}

// Two columns of two values at two holders: rows of 00, 01, 10, 11.
Table TwoByTwo(const std::vector<size_t>& counts) {
  Table table{{2, 2}, {{0}, {1}}, {{0, 1}}, {{}}};
  for (size_t k = 0; k < counts.size(); ++k)
    table.rows[0].insert(table.rows[0].end(), counts[k], {k / 2, k % 2});
  return table;
}

TEST(SplitPatternCells, HoldsAtTheEdges) {
  for (const auto& [kind, parties] : std::vector<std::pair<std::string, size_t>>{
           {"dealer", 2}, {"replicated", 3}, {"shamir", 3}, {"ot", 2}}) {
    SCOPED_TRACE(kind);
    const Options options{.kind = kind, .parties = parties};
    EXPECT_TRUE(Told(options, TwoByTwo({5, 5, 5, 5}), 5));
    EXPECT_FALSE(Told(options, TwoByTwo({5, 5, 5, 4}), 5));
    // All who have a 1 in the first column have a 0 in the second, and their holder knows them.
    EXPECT_FALSE(Told(options, TwoByTwo({9, 9, 9, 0}), 5));
    EXPECT_FALSE(Told(options, TwoByTwo({9, 0, 9, 9}), 5));
    // The second column is all 0.
    EXPECT_FALSE(Told(options, TwoByTwo({9, 0, 9, 0}), 5));
  }
}

// Of three values of a column one may be missing under a pattern, two may not.
TEST(SplitPatternCells, OneOfThreeValuesMayBeMissing) {
  Table table{{2, 3}, {{0}, {1}}, {{0, 1}}, {{}}};
  const auto add = [&](size_t first, size_t second) {
    table.rows[0].insert(table.rows[0].end(), 5, {first, second});
  };
  for (const size_t first : {0, 1}) {
    for (const size_t second : {0, 1}) add(first, second);
  }
  EXPECT_TRUE(Told({}, table, 5));
  // A third value occurs, and tells the first column of all who have it.
  add(0, 2);
  EXPECT_FALSE(Told({}, table, 5));
  add(1, 2);
  EXPECT_TRUE(Told({}, table, 5));
}

// A pattern that nobody has promises nothing, also not of other columns.
TEST(SplitPatternCells, NothingIsAskedOfPatternsThatNobodyHas) {
  Table table{{3, 2}, {{0}, {1}}, {{0, 1}}, {{}}};
  for (const size_t first : {0, 2}) {
    for (const size_t second : {0, 1})
      table.rows[0].insert(table.rows[0].end(), 5, {first, second});
  }
  EXPECT_TRUE(Told({}, table, 5));
  table.rows[0].insert(table.rows[0].end(), 5, {1, 0});
  EXPECT_FALSE(Told({}, table, 5));
}

// Cells that pass may be found in full: by them and its own columns a holder cannot tell of any
// group of persons that it can point at what value they have of another column, and counts fewer
// than the minimum nowhere.
TEST(SplitPatternCells, WhatPassesPointsAtNobody) {
  std::mt19937_64 random(11);
  size_t passed = 0;
  for (int t = 0; t < 60; ++t) {
    const uint64_t minimum = 3;
    const Table table = RandomTable(random, kThreeHolders, minimum);
    if (!Told({.kind = "replicated", .parties = 3}, table, minimum)) continue;
    ++passed;
    for (size_t h = 0; h < 3; ++h) {
      for (size_t part = 0; part < 3; ++part) {
        if (part == h) continue;
        for (size_t own = 0; own < kParts[h]; ++own) {
          for (size_t value = 0; value < kParts[part]; ++value) {
            uint64_t with = 0, without = 0;
            for (const Row& row : table.rows[0]) {
              if (row[h] == own) ++(row[part] == value ? with : without);
            }
            EXPECT_TRUE(with == 0 || (with >= minimum && without >= minimum));
          }
        }
      }
    }
  }
  EXPECT_GT(passed, 5u);
}

// As the header counts them: a round of products for every holder but one, then the comparisons.
TEST(SplitPatternCells, RoundsAreThoseOfTheHeader) {
  const auto depth = [](const Split& split, size_t parties, bool passes) {
    Table table{kParts, split.columns, split.blocks, {}};
    for (size_t b = 0; b < split.blocks.size(); ++b) {
      std::vector<Row>& rows = table.rows.emplace_back();
      for (size_t k = 0; k < 12; ++k) rows.insert(rows.end(), 10, {k / 6, k / 2 % 3, k % 2});
      if (!passes) rows.back() = rows.front();
    }
    std::vector<uint64_t> depths;
    EXPECT_EQ(Told({.parties = parties}, table, 10, &depths), passes);
    return depths[0];
  };
  for (const bool passes : {true, false}) {
    // Counts of 120 rows take 8 bits. 12 cells, 4 x 3 under the first one's patterns and
    // 3 x (2 + 2) under the other's: the sum of 36 failures takes 7, as that of 44 and of 51.
    EXPECT_EQ(depth(kTwoHolders, 2, passes), 1u + (1 + 3) + 1 + (1 + 3) + 1);
    EXPECT_EQ(depth(kThreeHolders, 3, passes), 2u + (1 + 3) + 1 + (1 + 3) + 1);
    EXPECT_EQ(depth(kFourHolders, 4, passes), 2u + (1 + 3) + 1 + (1 + 3) + 1);
  }
}

// Four holders with columns, and as many cells as there may be.
TEST(SplitPatternCells, HoldsForManyCellsAndHolders) {
  std::mt19937_64 random(2);
  Table table{{2, 4, 2, 3}, {{0}, {1}, {2}, {3}}, {{0, 1, 2, 3}}, {{}}};
  for (size_t k = 0; k < 48; ++k)
    table.rows[0].insert(table.rows[0].end(), 5, {k / 24, k / 6 % 4, k / 3 % 2, k % 3});
  for (const auto& [kind, parties] :
       std::vector<std::pair<std::string, size_t>>{{"dealer", 4}, {"shamir", 5}}) {
    SCOPED_TRACE(kind);
    std::shuffle(table.rows[0].begin(), table.rows[0].end(), random);
    EXPECT_TRUE(Told({.kind = kind, .parties = parties}, table, 5));
    Table other = table;
    other.rows[0].pop_back();
    EXPECT_FALSE(Told({.kind = kind, .parties = parties}, other, 5));
  }
  Table wide{{64, 64}, {{0}, {1}}, {{0, 1}}, {{}}};
  for (size_t k = 0; k < kMaxPatternCells; ++k)
    wide.rows[0].insert(wide.rows[0].end(), 3, {k / 64, k % 64});
  EXPECT_TRUE(Told({}, wide, 3));
  wide.rows[0].front() = wide.rows[0].back();
  EXPECT_FALSE(Told({}, wide, 3));
}

}  // namespace
}  // namespace partita::methods::mle::pattern_cells_test
