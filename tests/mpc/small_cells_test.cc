// Small cells on shares against the same rule in plain code: several tables at once, with and
// without cells of nobody, and what few rows beside a holder's own do. With the cost of the plan.
#include "mpc/functions/small_cells.h"

#include <gtest/gtest.h>

#include <numeric>
#include <random>

#include "tests/mpc/harness.h"

namespace partita::mpc::small_cells_test {
namespace {

using Counts = std::vector<std::vector<uint64_t>>;  // by holder and cell

bool PlainCellPasses(const Counts& counts, size_t cell, uint64_t minimum, bool none_passes) {
  uint64_t all = 0;
  for (const std::vector<uint64_t>& own : counts) all += own[cell];
  const auto small = [&](uint64_t rows) { return rows < minimum && !(none_passes && rows == 0); };
  if (small(all)) return false;
  for (const std::vector<uint64_t>& own : counts) {
    if (counts.size() > 1 && small(all - own[cell])) return false;
  }
  return true;
}

void ExpectPlain(const std::string& kind, const Counts& counts, const std::vector<size_t>& sizes,
                 uint64_t minimum, bool none_passes) {
  SCOPED_TRACE(kind);
  testing::RunOptions options;
  options.kind = kind;
  options.num_parties = counts.size();
  const auto run = testing::RunAndComparePlan(options, [&](Engine& engine, size_t) {
    std::vector<PrivateMatrix> inputs;
    std::vector<IntMatrix> own;
    for (const std::vector<uint64_t>& cells : counts)
      own.push_back({{cells.size(), 1}, {cells.begin(), cells.end()}});
    for (size_t h = 0; h < own.size(); ++h)
      inputs.push_back(testing::Private(engine, h, own[h], 100));
    const CellTables tables{engine.Input(inputs), sizes, 100 * counts.size()};
    const std::vector<SharedBits> passes = {NoSmallCells(engine, tables, minimum, none_passes)};
    const auto opened = engine.RevealBits("out", passes, kEverybody);
    if (!engine.self()) return;
    size_t first = 0;
    for (size_t t = 0; t < sizes.size(); ++t) {
      bool all = true;
      for (size_t k = first; k < first + sizes[t]; ++k)
        all = all && PlainCellPasses(counts, k, minimum, none_passes);
      EXPECT_EQ(GetBit(opened.front(), 0, t), all) << t;
      first += sizes[t];
    }
  });
  run.ThrowIfFailed();
}

TEST(SmallCells, AnswersForEveryTable) {
  std::mt19937_64 random(4);
  for (const auto& [kind, holders] : std::vector<std::pair<std::string, size_t>>{
           {"dealer", 2}, {"dealer", 3}, {"replicated", 3}, {"shamir", 4}, {"ot", 2}}) {
    const std::vector<size_t> sizes = {1, 4, 2, 1, 3, 2};
    Counts counts(holders, std::vector<uint64_t>(13));
    for (std::vector<uint64_t>& own : counts) {
      for (uint64_t& rows : own) rows = random() % 4 == 0 ? 0 : 1 + random() % 12;
    }
    ExpectPlain(kind, counts, sizes, 6, true);
    ExpectPlain(kind, counts, sizes, 6, false);
  }
}

TEST(SmallCells, FindsFewRowsBesideOnesOwn) {
  ExpectPlain("dealer", {{9, 9, 9, 0}, {3, 0, 5, 0}}, {1, 1, 1, 1}, 5, true);
  ExpectPlain("dealer", {{9, 9, 9, 0}, {3, 0, 5, 0}}, {1, 1, 1, 1}, 5, false);
  ExpectPlain("replicated", {{3, 4, 0}, {3, 4, 0}, {1, 1, 0}}, {2, 1}, 5, true);
}

// Of no minimum that there can be nothing is known about cells without rows.
TEST(SmallCells, TakesAnyMinimum) {
  for (const uint64_t minimum : {uint64_t{0}, uint64_t{1}, uint64_t{1} << 62})
    ExpectPlain("dealer", {{0, 7}, {0, 100}}, {1, 1}, minimum, true);
}

}  // namespace
}  // namespace partita::mpc::small_cells_test
