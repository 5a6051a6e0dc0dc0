// Tables of rows of which nobody knows which match, against their twin in plain code on the rows that all
// have: on every engine, with exactly the messages of the plan, whatever parties have at other positions;
// and with faults in every message.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <mutex>
#include <numeric>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "methods/describe/hidden_groups.h"
#include "methods/describe/protocol.h"
#include "tests/methods/describe/tables.h"
#include "tests/methods/describe/twin.h"
#include "tests/mpc/harness.h"
#include "tests/net/fault_transport.h"
#include "tests/thorough.h"

namespace partita::methods::describe::hidden_protocol_test {
namespace {

using mpc::Engine;
using testing::ClinicRow;
using testing::ClinicSpec;
using testing::ClinicTable;
using testing::DrawRows;
using testing::ExpectTable;
using testing::Seen;

constexpr size_t kAge = 0, kScore = 1, kSmoker = 2, kStage = 3;

// By part, then position: whether it has a row there that its conditions do not leave out.
using Presence = std::vector<std::vector<uint8_t>>;

struct Positions {
  std::vector<ClinicRow> rows;
  std::vector<Part> parts;
  size_t selecting = 0;
  Presence present;

  bool AllHave(size_t row) const {
    return std::ranges::all_of(present, [row](const auto& own) { return own[row] != 0; });
  }
};

struct Options {
  std::string kind = "dealer";
  size_t parties = 2;
  uint64_t min_cell = 5;
};

Task TaskOf(const Spec& spec, const Positions& positions) {
  Task task;
  task.spec = spec;
  task.grid_bits = testing::kGridBits;
  task.to = mpc::kEverybody;
  task.named = true;
  Rows rows;
  rows.party = positions.parts.front().party;
  rows.max_rows = positions.rows.size();
  rows.parts = positions.parts;
  rows.selecting = positions.selecting;
  rows.selects = spec.group.has_value();
  rows.hidden = true;
  task.holders.push_back(rows);
  return task;
}

// What a party brings, as study.cc makes it of its columns.
OwnColumns ColumnsOf(const Task& task, const Positions& positions, size_t party) {
  const Rows& rows = task.holders.front();
  for (size_t p = 0; p < rows.parts.size(); ++p) {
    if (rows.parts[p].party != party) continue;
    data::Table table = ClinicTable(positions.rows);
    for (const uint8_t present : positions.present[p]) table.absent.push_back(present ? 0 : 1);
    std::vector<size_t> all(table.num_rows);
    std::iota(all.begin(), all.end(), size_t{0});
    const Spec spec = PartSpec(task.spec, rows.parts[p], rows.selects && p == rows.selecting);
    OwnColumns columns = DescribedColumns(spec, table, all);
    columns.groups = SelectingColumns(spec, table, all, positions.present[p]).groups;
    return columns;
  }
  return {};
}

OpenedTable Open(const Spec& spec, const Positions& positions, const Options& options,
                 std::vector<uint64_t>* depth = nullptr) {
  const Task task = TaskOf(spec, positions);
  std::vector<OwnColumns> columns;
  for (size_t p = 0; p < options.parties; ++p) columns.push_back(ColumnsOf(task, positions, p));
  mpc::testing::RunOptions run;
  run.kind = options.kind;
  run.num_parties = options.parties;
  run.releases = {{kTableRelease, "the table", "all", "exact", 1, task.to, NumOpened(task)}};
  std::vector<std::optional<OpenedTable>> opened(options.parties);
  const auto result = mpc::testing::RunAndComparePlan(run, [&](Engine& engine, size_t) {
    const OwnColumns mine = engine.self() ? columns[*engine.self()] : OwnColumns();
    const SharedTable shared = ShareTable(engine, task, {}, mine);
    const std::optional<OpenedTable> table = OpenTable(engine, task, shared, options.min_cell);
    if (engine.self()) opened[*engine.self()] = table;
  });
  result.ThrowIfFailed();
  if (depth != nullptr) *depth = result.depth;
  return opened.front().value();
}

Seen ExpectTwin(Spec spec, const Positions& positions, const Options& options) {
  SCOPED_TRACE(fmt::format("{} of {}", options.kind, options.parties));
  spec.most_cells = kMaxSplitCells;
  std::vector<ClinicRow> joined;
  for (size_t r = 0; r < positions.rows.size(); ++r) {
    const bool grouped = !spec.group || positions.rows[r].arm >= 0;
    if (positions.AllHave(r) && grouped) joined.push_back(positions.rows[r]);
  }
  const std::vector<data::Table> taken = {ClinicTable(joined)}, left_out = {ClinicTable({})};
  const Task task = TaskOf(spec, positions);
  PlainTable twin(spec, taken, options.min_cell);
  twin.HoldToNames({task.Crossed(task.holders.front())}, left_out);
  return ExpectTable(spec, Open(spec, positions, options), twin);
}

// Each part lacks a fifth of the positions, and some rows have no arm.
Positions Draw(uint64_t seed, size_t rows, double missing, std::vector<Part> parts,
               size_t selecting) {
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> uniform;
  Positions positions{DrawRows(random, rows, missing), std::move(parts), selecting, {}};
  for (ClinicRow& row : positions.rows) {
    if (uniform(random) < 0.1) row.arm = -1;
  }
  for (size_t p = 0; p < positions.parts.size(); ++p) {
    positions.present.emplace_back();
    for (size_t r = 0; r < rows; ++r)
      positions.present.back().push_back(uniform(random) < 0.2 ? 0 : 1);
  }
  return positions;
}

std::vector<Part> TwoParts() { return {{0, {kAge, kStage}}, {1, {kScore, kSmoker}}}; }

TEST(DescribeHiddenProtocol, OpensTheTableOfTheJoinOnEveryEngine) {
  Spec spec = ClinicSpec(true, true);
  spec.compared.ranks = true;
  const Seen seen = ExpectTwin(spec, Draw(1, 700, 0.2, TwoParts(), 1), {});
  EXPECT_EQ(seen.by_group, 4u);
  EXPECT_EQ(seen.ranks, 2u);
  EXPECT_GT(seen.quantiles, 0u);
  for (const char* engine : {"dealer", "replicated", "shamir"}) {
    // The first party describes nothing and has no group: its rows restrict the join all the same.
    const std::vector<Part> parts = {{0, {}}, {1, {kScore, kStage}}, {2, {kAge, kSmoker}}};
    EXPECT_EQ(ExpectTwin(spec, Draw(2, 600, 0.2, parts, 2), {engine, 3}).by_group, 4u);
  }
}

TEST(DescribeHiddenProtocol, OpensTheTableByTransfers) {
  Spec spec = ClinicSpec(true, false);
  spec.variables.erase(spec.variables.begin());
  spec.quantiles.clear();
  EXPECT_EQ(ExpectTwin(spec, Draw(3, 150, 0, {{0, {0, 2}}, {1, {1}}}, 1), {"ot"}).by_group, 3u);
}

TEST(DescribeHiddenProtocol, OpensTheTableWithoutGroups) {
  const Spec spec = ClinicSpec(false, true);
  EXPECT_EQ(ExpectTwin(spec, Draw(4, 300, 0.1, TwoParts(), 0), {}).only_all, 4u);
  const std::vector<Part> parts = {{0, {kAge, kSmoker, kStage}}, {1, {}}, {2, {kScore}}};
  EXPECT_EQ(ExpectTwin(spec, Draw(5, 400, 0.1, parts, 0), {"shamir", 3}).only_all, 4u);
}

// Of tables of few rows some pass, some by all rows only, some not at all.
TEST(DescribeHiddenProtocol, WithholdsWhatIsSmallInTheJoin) {
  Seen total;
  Spec spec = ClinicSpec(true, true);
  spec.variables.erase(spec.variables.begin());
  for (uint64_t seed = 0; seed < (Thorough() ? 24 : 10); ++seed) {
    SCOPED_TRACE(seed);
    const Seen seen =
        ExpectTwin(spec, Draw(100 + seed, 40 + 35 * (seed % 5), 0.12, {{0, {0, 2}}, {1, {1}}}, 1),
                   {.min_cell = 4});
    total.by_group += seen.by_group;
    total.only_all += seen.only_all;
    total.nothing += seen.nothing;
  }
  EXPECT_GT(total.by_group, 0u);
  EXPECT_GT(total.only_all, 0u);
  EXPECT_GT(total.nothing, 0u);
}

// Cells at positions where somebody lacks a row change nothing, nor do messages with which rows match.
TEST(DescribeHiddenProtocol, OtherPositionsAddNothing) {
  Spec spec = ClinicSpec(true, true);
  spec.most_cells = kMaxSplitCells;
  Positions positions = Draw(6, 300, 0.1, TwoParts(), 1);
  std::vector<uint64_t> first, second;
  const OpenedTable table = Open(spec, positions, {}, &first);
  for (size_t r = 0; r < positions.rows.size(); ++r) {
    if (!positions.AllHave(r)) positions.rows[r] = {98, 30, 1, 2, 0};
  }
  const OpenedTable changed = Open(spec, positions, {});
  EXPECT_EQ(table.counts, changed.counts);
  EXPECT_EQ(table.mean, changed.mean);
  EXPECT_EQ(table.deviation, changed.deviation);
  EXPECT_EQ(table.cells, changed.cells);
  std::rotate(positions.present[0].begin(), positions.present[0].begin() + 1,
              positions.present[0].end());
  Open(spec, positions, {}, &second);
  EXPECT_EQ(first, second);
}

// All lists of two positions of three parties, of whom the second has the group.
TEST(DescribeHiddenProtocol, GroupsAreThoseOfRowsThatAllHave) {
  const Spec spec = ClinicSpec(true, false);
  std::vector<ClinicRow> rows(2);
  rows[1].arm = 1;
  for (unsigned lists = 0; lists < 64; ++lists) {
    Positions positions{rows, {{0, {kAge}}, {1, {kStage}}, {2, {}}}, 1, {}};
    for (unsigned p = 0; p < 3; ++p) {
      positions.present.push_back({static_cast<uint8_t>(lists >> (2 * p) & 1),
                                   static_cast<uint8_t>(lists >> (2 * p + 1) & 1)});
    }
    const Task task = TaskOf(spec, positions);
    mpc::testing::RunOptions run;
    run.num_parties = 3;
    mpc::testing::RunAll(run, [&](Engine& engine, size_t) {
      const OwnColumns own =
          engine.self() ? ColumnsOf(task, positions, *engine.self()) : OwnColumns();
      const mpc::Shared groups = ShareHiddenGroups(engine, task, task.holders.front(), own);
      const mpc::IntMatrix opened = engine.Reveal("out", {&groups, 1}, mpc::kEverybody).front();
      if (!engine.self()) return;
      const Int128 one = positions.AllHave(0) ? 1 : 0, other = positions.AllHave(1) ? 1 : 0;
      EXPECT_EQ(opened.values, (std::vector<Int128>{one, 0, 0, other})) << lists;
    }).ThrowIfFailed();
  }
}

TEST(DescribeHiddenProtocol, RefusesAnotherNumberOfPositions) {
  const Spec spec = ClinicSpec(true, true);
  const Positions positions = Draw(12, 30, 0.1, TwoParts(), 1);
  Task task = TaskOf(spec, positions);
  task.holders.front().max_rows = 31;
  const auto result = mpc::testing::RunAll({}, [&](Engine& engine, size_t) {
    const OwnColumns own =
        engine.self() ? ColumnsOf(task, positions, *engine.self()) : OwnColumns();
    ShareTable(engine, task, {}, own);
  });
  EXPECT_ANY_THROW(result.ThrowIfFailed());
}

// ---- faults

struct Fault {
  size_t from = 0, to = 0, number = 0;  // of the messages between the two that carry data
  bool repeated = false;                // else the message is another one
};

struct FaultyRun {
  bool opened = false, failed = false;
  std::array<std::array<size_t, 4>, 4> messages{};  // from, to; the dealer is the last
};

std::vector<Bytes> Sent(const std::optional<Fault>& fault, size_t from, size_t to, size_t number,
                        const Bytes& frame) {
  if (!fault || fault->from != from || fault->to != to || fault->number != number) return {frame};
  if (fault->repeated) return {frame, frame};
  Bytes other = frame;
  other.at(32) ^= 1;  // its number
  return {other};
}

// Groups, products and an opening to the last party.
FaultyRun RunWith(const std::string& kind, const std::optional<Fault>& fault) {
  Spec spec = ClinicSpec(true, false);
  spec.variables = {spec.variables[kScore]};
  spec.quantiles.clear();
  const Positions positions = Draw(7, 40, 0, {{0, {0}}, {1, {}}}, 1);
  const Task task = TaskOf(spec, positions);
  FaultyRun run;
  std::mutex mutex;
  mpc::testing::RunOptions options;
  options.kind = kind;
  options.num_parties = 3;
  options.wrap = [&](std::unique_ptr<net::Transport> inner) {
    const size_t from = inner->self();
    return std::make_unique<net::FaultTransport>(
        std::move(inner),
        [&, from](net::PartyIndex to, size_t, const Bytes& frame) -> std::vector<Bytes> {
          if (frame.at(6) != static_cast<uint8_t>(net::FrameType::kData)) return {frame};
          const std::lock_guard<std::mutex> lock(mutex);
          return Sent(fault, from, to, run.messages.at(from).at(to)++, frame);
        });
  };
  const auto result = mpc::testing::RunAll(options, [&](Engine& engine, size_t) {
    const OwnColumns own =
        engine.self() ? ColumnsOf(task, positions, *engine.self()) : OwnColumns();
    const mpc::Shared counts = ShareTable(engine, task, {}, own).by_holder.front().counts;
    if (!engine.Reveal("out", {&counts, 1}, 2).front().values.empty()) run.opened = true;
  });
  run.failed =
      std::ranges::any_of(result.errors, [](const auto& error) { return error != nullptr; });
  return run;
}

// The last message between two may come twice, which nobody reads.
TEST(DescribeHiddenProtocol, FaultsOfEveryMessageStopTheRun) {
  for (const std::string kind : {"dealer", "replicated", "shamir"}) {
    SCOPED_TRACE(kind);
    const FaultyRun without = RunWith(kind, std::nullopt);
    ASSERT_TRUE(without.opened);
    ASSERT_FALSE(without.failed);
    size_t tried = 0;
    for (size_t from = 0; from < 4; ++from) {
      for (size_t to = 0; to < 4; ++to) {
        for (size_t number = 0; number < without.messages[from][to]; ++number) {
          SCOPED_TRACE(fmt::format("{} to {}, message {}", from, to, number));
          ++tried;
          const FaultyRun other = RunWith(kind, Fault{from, to, number});
          EXPECT_TRUE(other.failed);
          EXPECT_TRUE(!other.opened || to != 2);
          if (number + 1 == without.messages[from][to]) continue;
          EXPECT_TRUE(RunWith(kind, Fault{from, to, number, true}).failed);
        }
      }
    }
    EXPECT_GE(tried, 10u);
  }
}

}  // namespace
}  // namespace partita::methods::describe::hidden_protocol_test
