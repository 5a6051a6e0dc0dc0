// Tables of split columns against their twin in plain code, on every engine, with exactly the messages
// of the plan: the group and what it is crossed with at two parties, rows that are left out, and what
// would say something of persons whom a party knows by name.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <numeric>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "methods/describe/protocol.h"
#include "privacy/release_rule.h"
#include "tests/methods/describe/tables.h"
#include "tests/methods/describe/twin.h"
#include "tests/mpc/harness.h"
#include "tests/thorough.h"

namespace partita::methods::describe::split_protocol_test {
namespace {

using mpc::Engine;
using testing::ClinicRow;
using testing::ClinicSpec;
using testing::ClinicTable;
using testing::DrawRows;
using testing::ExpectTable;
using testing::Seen;

constexpr size_t kAge = 0, kScore = 1, kSmoker = 2, kStage = 3;

// Rows of some parties; those without an arm do not take part.
struct Block {
  std::vector<ClinicRow> rows;
  std::vector<Part> parts;  // none: whole rows of `party`
  size_t selecting = 0;
  size_t party = 0;
};

struct Options {
  std::string kind = "dealer";
  size_t parties = 2;
  uint64_t min_cell = 5;
  bool selects = true;
};

Task TaskOf(const Spec& spec, const std::vector<Block>& blocks, const Options& options) {
  Task task;
  task.spec = spec;
  task.grid_bits = testing::kGridBits;
  task.to = mpc::kEverybody;
  for (const Block& block : blocks) {
    Rows rows;
    rows.party = block.parts.empty() ? block.party : block.parts.front().party;
    rows.max_rows = block.rows.size();
    rows.parts = block.parts;
    rows.selecting = block.selecting;
    rows.selects = !block.parts.empty() && options.selects;
    task.named = task.named || !block.parts.empty();
    task.holders.push_back(rows);
  }
  return task;
}

struct Own {
  OwnNumbers numbers;
  OwnColumns columns;
};

// What a party brings, as study.cc makes it of its columns.
Own OwnOf(const Task& task, const std::vector<Block>& blocks, size_t party) {
  Own own;
  for (size_t b = 0; b < blocks.size(); ++b) {
    const data::Table table = ClinicTable(blocks[b].rows);
    std::vector<size_t> all(table.num_rows), taken;
    std::iota(all.begin(), all.end(), size_t{0});
    std::vector<uint8_t> takes_part;
    for (const ClinicRow& row : blocks[b].rows) takes_part.push_back(row.arm >= 0 ? 1 : 0);
    for (const size_t row : all) {
      if (takes_part[row] != 0) taken.push_back(row);
    }
    const Rows& rows = task.holders[b];
    if (rows.parts.empty() && rows.party == party) own.numbers = CountOwn(task.spec, table, taken);
    for (size_t p = 0; p < rows.parts.size(); ++p) {
      if (rows.parts[p].party != party) continue;
      const bool selects = rows.selects && p == rows.selecting;
      const Spec spec = PartSpec(task.spec, rows.parts[p], selects);
      if (rows.selects && !selects) {
        own.columns = DescribedColumns(spec, table, all);
        continue;
      }
      own.numbers = CountOwn(spec, table, rows.selects ? taken : all);
      if (selects) own.columns = SelectingColumns(task.spec, table, all, takes_part);
    }
  }
  return own;
}

OpenedTable Open(const Spec& spec, const std::vector<Block>& blocks, const Options& options,
                 std::vector<uint64_t>* depth = nullptr) {
  const Task task = TaskOf(spec, blocks, options);
  std::vector<Own> own;
  for (size_t p = 0; p < options.parties; ++p) own.push_back(OwnOf(task, blocks, p));
  mpc::testing::RunOptions run;
  run.kind = options.kind;
  run.num_parties = options.parties;
  run.releases = {{kTableRelease, "the table", "all", "exact", 1, task.to, NumOpened(task)}};
  std::vector<std::optional<OpenedTable>> opened(options.parties);
  const Own none;
  const auto result = mpc::testing::RunAndComparePlan(run, [&](Engine& engine, size_t) {
    const Own& mine = engine.self() ? own[*engine.self()] : none;
    const SharedTable shared = ShareTable(engine, task, mine.numbers, mine.columns);
    const std::optional<OpenedTable> table = OpenTable(engine, task, shared, options.min_cell);
    if (engine.self()) opened[*engine.self()] = table;
  });
  result.ThrowIfFailed();
  if (depth != nullptr) *depth = result.depth;
  return opened.front().value();
}

Seen ExpectTwin(Spec spec, const std::vector<Block>& blocks, const Options& options) {
  SCOPED_TRACE(fmt::format("{} of {}", options.kind, options.parties));
  spec.most_cells = kMaxSplitCells;
  const Task task = TaskOf(spec, blocks, options);
  std::vector<data::Table> taken, left_out;
  std::vector<std::vector<uint8_t>> crossed;
  for (size_t b = 0; b < blocks.size(); ++b) {
    std::vector<ClinicRow> rows, others;
    for (const ClinicRow& row : blocks[b].rows)
      (row.arm >= 0 || !options.selects ? rows : others).push_back(row);
    if (blocks[b].parts.empty()) others.clear();
    taken.push_back(ClinicTable(rows));
    left_out.push_back(ClinicTable(others));
    crossed.push_back(task.Crossed(task.holders[b]));
  }
  PlainTable twin(spec, taken, options.min_cell);
  twin.HoldToNames(crossed, left_out);
  return ExpectTable(spec, Open(spec, blocks, options), twin);
}

std::vector<ClinicRow> Draw(uint64_t seed, size_t rows, double missing, double without_arm = 0) {
  std::mt19937_64 random(seed);
  std::vector<ClinicRow> drawn = DrawRows(random, rows, missing);
  std::uniform_real_distribution<double> uniform;
  for (ClinicRow& row : drawn) {
    if (uniform(random) < without_arm) row.arm = -1;
  }
  return drawn;
}

// The group with smoker and score at the second party, age and stage at the first.
std::vector<Part> TwoParts() { return {{0, {kAge, kStage}}, {1, {kScore, kSmoker}}}; }

TEST(DescribeSplitProtocol, OpensTheTableOnEveryEngine) {
  Spec spec = ClinicSpec(true, true);
  spec.compared.ranks = true;
  const Seen seen = ExpectTwin(spec, {{Draw(1, 500, 0.2, 0.3), TwoParts(), 1}}, {.kind = "dealer"});
  EXPECT_EQ(seen.by_group, 4u);
  EXPECT_EQ(seen.ranks, 2u);
  EXPECT_GT(seen.quantiles, 0u);
  for (const char* engine : {"replicated", "shamir"}) {
    // The third party has the group and describes nothing; of two others each describes something.
    const std::vector<Part> parts = {{0, {kScore, kStage}}, {1, {kAge, kSmoker}}, {2, {}}};
    EXPECT_EQ(ExpectTwin(spec, {{Draw(2, 400, 0.2, 0.3), parts, 2}}, {.kind = engine, .parties = 3})
                  .by_group,
              4u);
  }
}

TEST(DescribeSplitProtocol, OpensTheTableByTransfers) {
  Spec spec = ClinicSpec(true, false);
  spec.variables.erase(spec.variables.begin());
  spec.quantiles.clear();
  const std::vector<Part> parts = {{0, {0, 2}}, {1, {1}}};
  EXPECT_EQ(ExpectTwin(spec, {{Draw(3, 120, 0), parts, 1}}, {.kind = "ot"}).by_group, 3u);
}

// Without a group everybody counts alone; where rows are left out by one, the others do not.
TEST(DescribeSplitProtocol, OpensTheTableWithoutGroups) {
  const Spec spec = ClinicSpec(false, true);
  std::vector<ClinicRow> rows = Draw(4, 300, 0.1, 0.2);
  EXPECT_EQ(ExpectTwin(spec, {{rows, TwoParts(), 1}}, {}).only_all, 4u);
  EXPECT_EQ(ExpectTwin(spec, {{rows, TwoParts(), 1}}, {.selects = false}).only_all, 4u);
}

// Blocks of split columns beside each other, and beside whole rows.
TEST(DescribeSplitProtocol, AddsUpRowsOfOtherHolders) {
  const Spec spec = ClinicSpec(true, true);
  const std::vector<Part> others = {{2, {kStage, kSmoker}}, {3, {kAge, kScore}}};
  Seen seen = ExpectTwin(
      spec, {{Draw(5, 300, 0.2, 0.3), TwoParts(), 1}, {Draw(6, 250, 0.2, 0.3), others, 0}},
      {.parties = 4});
  EXPECT_EQ(seen.by_group, 4u);
  seen = ExpectTwin(spec, {{Draw(7, 300, 0.2, 0.3), TwoParts(), 1}, {Draw(8, 250, 0.2), {}, 0, 2}},
                    {.parties = 3});
  EXPECT_EQ(seen.by_group, 4u);
}

// Of thirty tables of few rows some pass, some by all rows only, some not at all.
TEST(DescribeSplitProtocol, WithholdsWhatIsSmall) {
  Seen total;
  Spec spec = ClinicSpec(true, true);
  spec.variables.erase(spec.variables.begin());
  const std::vector<Part> parts = {{0, {0, 2}}, {1, {1}}};
  for (uint64_t seed = 0; seed < (Thorough() ? 24 : 10); ++seed) {
    SCOPED_TRACE(seed);
    const size_t rows = 40 + 25 * (seed % 5);
    const Seen seen = ExpectTwin(
        spec, {{Draw(100 + seed, rows, 0.12, seed % 2 == 0 ? 0 : 0.1), parts, 1}}, {.min_cell = 4});
    total.by_group += seen.by_group;
    total.only_all += seen.only_all;
    total.nothing += seen.nothing;
  }
  EXPECT_GT(total.by_group, 3u);
  EXPECT_GT(total.only_all, 3u);
  EXPECT_GT(total.nothing, 3u);
}

// Two arms of 30 rows, every variable with two values in each of them.
std::vector<ClinicRow> Balanced() {
  std::vector<ClinicRow> rows(60);
  for (size_t i = 0; i < rows.size(); ++i) {
    rows[i].age = 30 + static_cast<double>(i % 15);
    rows[i].score = static_cast<double>(i % 5);
    rows[i].smoker = i / 2 % 2 == 0 ? 0 : 1;
    rows[i].stage = static_cast<int32_t>(i / 3 % 3);
    rows[i].arm = static_cast<int32_t>(i % 2);
  }
  return rows;
}

std::vector<std::vector<bool>> Withheld(const std::vector<ClinicRow>& rows, const Spec& of) {
  Spec spec = of;
  spec.most_cells = kMaxSplitCells;
  ExpectTwin(spec, {{rows, TwoParts(), 1}}, {});
  const DescribedTable table = Summarise(spec, Open(spec, {{rows, TwoParts(), 1}}, {}));
  std::vector<std::vector<bool>> withheld;
  for (const std::vector<Summary>& columns : table.variables) {
    withheld.emplace_back();
    for (const Summary& summary : columns) withheld.back().push_back(summary.withheld);
  }
  return withheld;
}

const std::vector<bool> kOpen = {false, false, false}, kOnlyAll = {true, true, false},
                        kNothing = {true, true, true};

TEST(DescribeSplitProtocol, NothingOfAllPersonsThatAPartyKnowsOpens) {
  const Spec spec = ClinicSpec(true, false);
  std::vector<std::vector<bool>> withheld = Withheld(Balanced(), spec);
  for (size_t v = 0; v < 4; ++v) EXPECT_EQ(withheld[v], kOpen) << v;

  // All of one arm have one stage: who has the arm knows who they are.
  std::vector<ClinicRow> rows = Balanced();
  for (ClinicRow& row : rows) row.stage = row.arm == 0 ? 1 : row.stage;
  withheld = Withheld(rows, spec);
  EXPECT_EQ(withheld[kStage], kOnlyAll);
  EXPECT_EQ(withheld[kSmoker], kOpen);

  // All of one stage are of one arm: who has the stages knows who they are.
  rows = Balanced();
  for (ClinicRow& row : rows) row.stage = row.arm == 0 && row.stage == 2 ? 0 : row.stage;
  EXPECT_EQ(Withheld(rows, spec)[kStage], kOnlyAll);

  // The same of smokers, who are with the arm: nobody knows who they are.
  rows = Balanced();
  for (ClinicRow& row : rows) row.smoker = row.arm == 0 ? 0 : row.smoker;
  EXPECT_EQ(Withheld(rows, spec)[kSmoker], kOpen);

  // All persons have one value, which the others do not know.
  rows = Balanced();
  for (ClinicRow& row : rows) row.smoker = row.stage = 1;
  withheld = Withheld(rows, spec);
  EXPECT_EQ(withheld[kSmoker], kNothing);
  EXPECT_EQ(withheld[kStage], kNothing);

  // All persons are of one arm.
  rows = Balanced();
  for (ClinicRow& row : rows) row.arm = 0;
  withheld = Withheld(rows, spec);
  for (size_t v = 0; v < 4; ++v) EXPECT_EQ(withheld[v], kOnlyAll) << v;

  // Whose stage is missing, all of them in one arm.
  Spec missing = ClinicSpec(true, true);
  rows = Balanced();
  for (size_t i = 0; i < 20; i += 2) rows[i].stage = -1;
  EXPECT_EQ(Withheld(rows, missing)[kStage], kOnlyAll);
  for (size_t i = 1; i < 20; i += 2) rows[i].stage = -1;
  EXPECT_EQ(Withheld(rows, missing)[kStage], kOpen);
}

// A holder of crossed variables subtracts the groups from all of its rows.
TEST(DescribeSplitProtocol, FewRowsWithoutAGroupAreNotLeftOver) {
  const Spec spec = ClinicSpec(true, false);
  std::vector<ClinicRow> rows = Balanced();
  for (size_t i = 0; i < 3; ++i) {
    rows.emplace_back(rows[i]);
    rows.back().arm = -1;
  }
  std::vector<std::vector<bool>> withheld = Withheld(rows, spec);
  EXPECT_EQ(withheld[kAge], kNothing);
  EXPECT_EQ(withheld[kStage], kNothing);
  EXPECT_EQ(withheld[kSmoker], kOpen);  // with the arm
  for (size_t i = 3; i < 30; ++i) {
    rows.emplace_back(rows[i]);
    rows.back().arm = -1;
  }
  withheld = Withheld(rows, spec);
  EXPECT_EQ(withheld[kAge], kOpen);
  EXPECT_EQ(withheld[kStage], kOpen);
}

// A quantile says what all values are where they do not vary.
TEST(DescribeSplitProtocol, QuantilesOfOneValueAreWithheld) {
  Spec spec = ClinicSpec(true, false);
  spec.most_cells = kMaxSplitCells;
  std::vector<ClinicRow> rows = Balanced();
  for (ClinicRow& row : rows) row.score = row.arm == 0 ? 7 : row.score;
  for (ClinicRow& row : rows) row.age = 40;
  ExpectTwin(spec, {{rows, TwoParts(), 1}}, {});
  const DescribedTable table = Summarise(spec, Open(spec, {{rows, TwoParts(), 1}}, {}));
  for (size_t arm = 0; arm < 3; ++arm) {
    EXPECT_EQ(table.variables[kAge][arm].n, arm == 2 ? 60u : 30u);
    EXPECT_FALSE(table.variables[kAge][arm].quantiles[1].has_value());
    EXPECT_EQ(table.variables[kScore][arm].quantiles[1].has_value(), arm != 0);
  }
}

// The order in which rows, parts and variables stand changes nothing but who has what.
TEST(DescribeSplitProtocol, SplittingChangesNoNumber) {
  Spec spec = ClinicSpec(true, true);
  spec.most_cells = kMaxSplitCells;
  const std::vector<ClinicRow> rows = Draw(9, 400, 0.2, 0.3);
  const OpenedTable two = Open(spec, {{rows, TwoParts(), 1}}, {});
  const std::vector<Part> parts = {{1, {kAge, kStage}}, {0, {kScore, kSmoker}}};
  const OpenedTable turned = Open(spec, {{rows, parts, 0}}, {});
  EXPECT_EQ(two.counts, turned.counts);
  EXPECT_EQ(two.mean, turned.mean);
  EXPECT_EQ(two.deviation, turned.deviation);
  EXPECT_EQ(two.cells, turned.cells);
}

TEST(DescribeSplitProtocol, CostsTheSameWhateverIsWithheld) {
  Spec spec = ClinicSpec(true, true);
  spec.most_cells = kMaxSplitCells;
  const std::vector<Block> blocks = {{Draw(10, 200, 0.1, 0.1), TwoParts(), 1}};
  std::vector<uint64_t> strict, open;
  const OpenedTable none = Open(spec, blocks, {.min_cell = 1000}, &strict);
  Open(spec, blocks, {.min_cell = 1}, &open);
  EXPECT_EQ(strict, open);
  for (const uint64_t count : none.counts) EXPECT_EQ(count, 0u);
}

// min_rows is asked of the rows that take part.
TEST(DescribeSplitProtocol, CountsRowsThatTakePart) {
  Spec spec = ClinicSpec(true, true);
  std::vector<ClinicRow> rows = Draw(11, 50, 0.1);
  for (size_t i = 0; i < 9; ++i) rows[i].arm = -1;
  const std::vector<Block> blocks = {{rows, TwoParts(), 1}};
  const Task task = TaskOf(spec, blocks, {});
  for (const uint64_t min_rows : {41, 42}) {
    mpc::testing::RunOptions run;
    run.releases = {{kDisclosureRelease, "one bit", "all", "exact", 1, mpc::kEverybody, 1}};
    mpc::testing::RunAndComparePlan(run, [&](Engine& engine, size_t) {
      const Own own = engine.self() ? OwnOf(task, blocks, *engine.self()) : Own();
      const SharedTable shared = ShareTable(engine, task, own.numbers, own.columns);
      const std::optional<bool> answer = EnoughRows(engine, task, shared, min_rows);
      if (answer) {
        EXPECT_EQ(*answer, min_rows == 41);
      }
    }).ThrowIfFailed();
  }
}

TEST(DescribeSplitProtocol, RefusesAnotherNumberOfRows) {
  const Spec spec = ClinicSpec(true, true);
  const std::vector<Block> blocks = {{Draw(12, 30, 0.1), TwoParts(), 1}};
  Task task = TaskOf(spec, blocks, {});
  task.holders.front().max_rows = 31;
  mpc::testing::RunOptions run;
  const auto result = mpc::testing::RunAll(run, [&](Engine& engine, size_t) {
    const Own own = engine.self() ? OwnOf(task, blocks, *engine.self()) : Own();
    ShareTable(engine, task, own.numbers, own.columns);
  });
  EXPECT_ANY_THROW(result.ThrowIfFailed());
}

// ---- who could be in a group (group_bits.h)

// Mean and deviation of some of the values as they open.
struct OnGrid {
  double mean = 0, deviation = 0, step = 0;
  bool operator==(const OnGrid&) const = default;
};
OnGrid OnItsGrid(const std::vector<double>& values) {
  const auto n = static_cast<double>(values.size());
  double mean = 0, squares = 0;
  for (const double value : values) mean += value / n;
  for (const double value : values) squares += (value - mean) * (value - mean);
  const double deviation = std::sqrt(squares / (n - 1));
  const int exponent =
      privacy::GridExponent(std::max(deviation, 1e-3) / std::sqrt(n), testing::kGridBits);
  return {privacy::OnGrid(mean, exponent), privacy::OnGrid(deviation, exponent),
          std::ldexp(1, exponent)};
}

// Over all groups of 4 in 24 persons.
template <typename Fits>
size_t GroupsThatFit(Fits fits) {
  size_t count = 0;
  for (uint32_t group = 0; group < uint32_t{1} << 24; ++group) {
    if (std::popcount(group) == 4 && fits(group)) ++count;
  }
  return count;
}

// Who knows a column of all persons tries them: counts of a factor of three values (3.9 bits of the 13.4
// that say who four of 24 are, within the rule) leave hundreds of groups, mean and deviation of a
// number (18 bits, beyond it) hardly more than one.
TEST(DescribeSplitProtocol, GroupsAreFoundBeyondTheRuleAndNotWithin) {
  std::mt19937_64 random(13);
  double left_by_counts = 0, left_by_numbers = 0;
  constexpr int kDraws = 4;
  for (int draw = 0; draw < kDraws; ++draw) {
    std::vector<uint32_t> factor;
    std::vector<double> number;
    for (int i = 0; i < 24; ++i) {
      factor.push_back(static_cast<uint32_t>(random() % 3));
      number.push_back(static_cast<double>(random() % 10000));
    }
    const auto counts = [&](uint32_t group) {
      std::array<int, 3> of{};
      for (size_t i = 0; i < 24; ++i) of[factor[i]] += static_cast<int>(group >> i & 1);
      return of;
    };
    const auto moments = [&](uint32_t group) {
      std::vector<double> values;
      for (size_t i = 0; i < 24; ++i) {
        if ((group >> i & 1) != 0) values.push_back(number[i]);
      }
      return OnItsGrid(values);
    };
    const uint32_t truth = 0x8421;  // any four
    const auto opened_counts = counts(truth);
    const OnGrid opened = moments(truth);
    left_by_counts += static_cast<double>(
        GroupsThatFit([&](uint32_t group) { return counts(group) == opened_counts; }));
    left_by_numbers += static_cast<double>(
        GroupsThatFit([&](uint32_t group) { return moments(group) == opened; }));
  }
  EXPECT_GT(left_by_counts / kDraws, std::exp2(13.4 / 2));
  EXPECT_LT(left_by_numbers / kDraws, 2.5);
  EXPECT_GE(left_by_numbers / kDraws, 1);
}

}  // namespace
}  // namespace partita::methods::describe::split_protocol_test
