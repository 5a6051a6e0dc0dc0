// Pattern cells on shares against the same rule in plain code, on random tables and at its edges,
// with exactly the rounds and bytes of the plan, and one bit opened.
#include "methods/mle/moments/pattern_cells.h"

#include <gtest/gtest.h>

#include <random>

#include "tests/mpc/harness.h"

namespace partita::methods::mle::pattern_cells_test {
namespace {

using mpc::Engine;

// By holder and cell.
using Counts = std::vector<std::vector<uint64_t>>;

// Whether every cell is 0 or at least the minimum in the rows of all holders but `left_out`; none
// is left out where it is the number of holders.
bool PlainTablePasses(const Counts& counts, uint64_t minimum, size_t left_out) {
  for (size_t k = 0; k < counts.front().size(); ++k) {
    uint64_t rows = 0;
    for (size_t h = 0; h < counts.size(); ++h) rows += h == left_out ? 0 : counts[h][k];
    if (rows > 0 && rows < minimum) return false;
  }
  return true;
}

bool PooledPasses(const Counts& counts, uint64_t minimum) {
  return PlainTablePasses(counts, minimum, counts.size());
}

bool PlainPasses(const Counts& counts, uint64_t minimum) {
  bool passes = PooledPasses(counts, minimum);
  for (size_t h = 0; h < counts.size() && counts.size() > 1; ++h)
    passes = passes && PlainTablePasses(counts, minimum, h);
  return passes;
}

struct Options {
  std::string kind = "dealer";
  size_t parties = 2;
  uint64_t max_rows = 0;  // of each holder; 0: as many as it has
};

// What all parties are told. Holders are the last of the parties.
bool Told(const Options& options, const Counts& counts, uint64_t minimum,
          std::vector<uint64_t>* depth = nullptr) {
  PatternCellsTask task;
  task.num_cells = counts.front().size();
  for (size_t h = 0; h < counts.size(); ++h) {
    uint64_t rows = options.max_rows;
    if (rows == 0) {
      for (const uint64_t count : counts[h]) rows += count;
    }
    task.holders.push_back({options.parties - counts.size() + h, rows});
  }
  mpc::testing::RunOptions run;
  run.kind = options.kind;
  run.num_parties = options.parties;
  run.releases = {{kPatternCellsRelease, "one bit", "all", "exact", 1, mpc::kEverybody, 1}};
  std::vector<std::optional<bool>> answers(options.parties);
  const auto result = mpc::testing::RunAndComparePlan(run, [&](Engine& engine, size_t) {
    const std::optional<size_t> self = engine.self();
    std::vector<uint64_t> own;
    for (size_t h = 0; h < counts.size(); ++h) {
      if (self == task.holders[h].party) own = counts[h];
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
    const Counts counts = RandomCounts(random, holders, 1 + random() % 70, minimum);
    EXPECT_EQ(Told(options, counts, minimum), PlainPasses(counts, minimum));
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
    const Counts counts = RandomCounts(random, 3, 8, 5);
    const bool passes = PlainPasses(counts, 5);
    ++(passes ? pass : fail);
    only_without_own_rows += !passes && PooledPasses(counts, 5) ? 1 : 0;
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
    EXPECT_TRUE(Told(options, {{5, 0, 7}, {5, 0, 5}}, 5));
    EXPECT_FALSE(Told(options, {{5, 0, 7}, {5, 0, 4}}, 5));
    EXPECT_FALSE(Told(options, {{5, 1, 7}, {5, 0, 5}}, 5));
    EXPECT_TRUE(Told(options, {{0, 0}, {0, 0}}, 5));
    EXPECT_TRUE(Told(options, {{100, 0}, {0, 0}}, 5));
  }
}

// Twelve rows together, nine of which one holder knows: the others' three are what it is left with.
TEST(PatternCells, FindsFewRowsBesideOnesOwn) {
  const Counts counts = {{9, 8}, {3, 8}};
  EXPECT_TRUE(PooledPasses(counts, 5));
  EXPECT_FALSE(Told({}, counts, 5));
  const Counts three = {{3, 8}, {3, 8}, {1, 8}};
  EXPECT_TRUE(PooledPasses(three, 5));
  EXPECT_FALSE(Told({.kind = "replicated", .parties = 3}, three, 5));
}

// A holder that has all rows is left with nothing, and parties without rows subtract nothing.
TEST(PatternCells, OneHolderIsHeldToItsRowsAlone) {
  EXPECT_TRUE(Told({}, {{5, 0, 9}}, 5));
  EXPECT_FALSE(Told({}, {{5, 2, 9}}, 5));
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
  EXPECT_FALSE(Told({}, {{3, 0}, {4, 0}}, uint64_t{1} << 62));
  EXPECT_TRUE(Told({.max_rows = 10}, {{0, 0}, {0, 0}}, uint64_t{1} << 62));
  EXPECT_TRUE(Told({}, {{1, 0}, {2, 0}}, 1));
}

// Rounds as the header counts them, whatever the table and the minimum.
TEST(PatternCells, CostsTheSameWhateverTheAnswer) {
  std::vector<uint64_t> passing, failing, other_minimum;
  const Options options{.max_rows = 200};
  EXPECT_TRUE(Told(options, {{50, 20}, {30, 20}}, 5, &passing));
  EXPECT_FALSE(Told(options, {{50, 2}, {30, 1}}, 5, &failing));
  EXPECT_FALSE(Told(options, {{50, 20}, {30, 20}}, 100, &other_minimum));
  EXPECT_EQ(passing, failing);
  EXPECT_EQ(passing, other_minimum);
  // Inputs take no round on this engine; counts within 403 take 10 bits, the sum of six failures 5.
  EXPECT_EQ(passing[0], (1u + 4) + 1 + (1 + 2) + 1);
}

}  // namespace
}  // namespace partita::methods::mle::pattern_cells_test
