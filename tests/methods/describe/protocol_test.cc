// The table on shares against its twin in plain code, on every engine, with exactly the messages of
// the plan: counts, means and deviations on their grid, cells of quantiles, and what is withheld.
#include "methods/describe/protocol.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "methods/describe/plain_table.h"
#include "methods/describe/result.h"
#include "mpc/functions/release_grid.h"
#include "privacy/release_rule.h"
#include "tests/methods/describe/tables.h"
#include "tests/methods/describe/twin.h"
#include "tests/mpc/harness.h"
#include "tests/thorough.h"

namespace partita::methods::describe::protocol_test {
namespace {

using mpc::Engine;
using testing::ClinicRow;
using testing::ClinicSpec;
using testing::ClinicTable;
using testing::DrawRows;
using testing::kGridBits;
using testing::kRounding;
using testing::Seen;

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

struct Options {
  std::string kind = "dealer";
  uint64_t min_cell = 5;
  uint64_t max_rows = 0;  // of each holder; 0: as many as it has
  bool to_all = false;
};

struct Ran {
  std::optional<OpenedTable> opened;
  std::vector<uint64_t> depth;
};

Task TaskOf(const Spec& spec, const std::vector<data::Table>& tables, const Options& options) {
  Task task;
  task.spec = spec;
  task.grid_bits = kGridBits;
  task.to = options.to_all ? mpc::kEverybody : 1;
  for (size_t h = 0; h < tables.size(); ++h) {
    const uint64_t rows = std::max<uint64_t>(tables[h].num_rows, 1);
    task.holders.push_back({{h, options.max_rows == 0 ? rows : options.max_rows}});
  }
  return task;
}

Ran RunTable(const Spec& spec, const std::vector<data::Table>& tables, const Options& options) {
  const Task task = TaskOf(spec, tables, options);
  std::vector<OwnNumbers> own;
  for (const data::Table& table : tables) {
    std::vector<size_t> rows(table.num_rows);
    std::iota(rows.begin(), rows.end(), size_t{0});
    own.push_back(CountOwn(spec, table, rows, own.size()));
  }
  mpc::testing::RunOptions run;
  run.kind = options.kind;
  run.num_parties = tables.size();
  run.releases = {{kTableRelease, "the table", "one", "exact", 1, task.to, NumOpened(task)}};
  std::vector<std::optional<OpenedTable>> opened(tables.size());
  const OwnNumbers none;
  const auto result = mpc::testing::RunAndComparePlan(run, [&](Engine& engine, size_t) {
    const std::optional<size_t> self = engine.self();
    const SharedTable shared = ShareTable(engine, task, self ? own[*self] : none);
    const std::optional<OpenedTable> table = OpenTable(engine, task, shared, options.min_cell);
    if (self) opened[*self] = table;
  });
  result.ThrowIfFailed();
  for (size_t p = 0; p < opened.size(); ++p)
    EXPECT_EQ(opened[p].has_value(), options.to_all || p == 1) << p;
  return {opened[1], result.depth};
}

Seen ExpectTwin(const Spec& spec, const std::vector<data::Table>& tables, const Options& options) {
  SCOPED_TRACE(fmt::format("{} of {}", options.kind, tables.size()));
  const Ran ran = RunTable(spec, tables, options);
  return testing::ExpectTable(spec, ran.opened.value(), PlainTable(spec, tables, options.min_cell));
}

std::vector<data::Table> DrawTables(uint64_t seed, const std::vector<size_t>& rows,
                                    double missing) {
  std::mt19937_64 random(seed);
  std::vector<data::Table> tables;
  for (const size_t n : rows) tables.push_back(ClinicTable(DrawRows(random, n, missing)));
  return tables;
}

TEST(DescribeProtocol, OpensTheTableOnEveryEngine) {
  const Spec grouped = ClinicSpec(true, true);
  Seen seen = ExpectTwin(grouped, DrawTables(1, {300, 260}, 0.1), {.kind = "dealer"});
  EXPECT_EQ(seen.by_group, 4u);
  EXPECT_GT(seen.quantiles, 0u);
  ExpectTwin(grouped, DrawTables(2, {120, 200, 90}, 0.1), {.kind = "dealer"});
  ExpectTwin(grouped, DrawTables(3, {150, 100, 120}, 0.1), {.kind = "replicated"});
  ExpectTwin(grouped, DrawTables(4, {150, 100, 120}, 0.1), {.kind = "shamir", .to_all = true});
}

// Transfers are slow: integers and counts, without the cells of a number.
TEST(DescribeProtocol, OpensTheTableByTransfers) {
  Spec spec = ClinicSpec(true, false);
  spec.variables.erase(spec.variables.begin());
  ExpectTwin(spec, DrawTables(5, {60, 70}, 0), {.kind = "ot"});
}

TEST(DescribeProtocol, OpensTheTableOfOneGroup) {
  const Seen seen = ExpectTwin(ClinicSpec(false, false), DrawTables(6, {200, 220, 180, 240}, 0),
                               {.kind = "shamir"});
  EXPECT_EQ(seen.only_all, 4u);
  Spec counts = ClinicSpec(false, true);
  counts.variables.erase(counts.variables.begin(), counts.variables.begin() + 2);
  ExpectTwin(counts, DrawTables(7, {90, 80}, 0.2), {});
  Spec plain = ClinicSpec(true, false);
  plain.quantiles.clear();
  ExpectTwin(plain, DrawTables(8, {90, 80}, 0), {});
}

Spec RankedSpec(bool missing) {
  Spec spec = ClinicSpec(true, missing);
  spec.compared.ranks = true;
  return spec;
}

TEST(DescribeProtocol, OpensTheRankStatisticOnEveryEngine) {
  Spec spec = RankedSpec(true);
  const Seen seen = ExpectTwin(spec, DrawTables(15, {120, 200, 90}, 0.1), {.kind = "dealer"});
  EXPECT_EQ(seen.ranks, 2u);
  spec.quantiles.clear();
  ExpectTwin(spec, DrawTables(16, {150, 100, 120}, 0.1), {.kind = "replicated"});
  // Three groups, and a variable that is of one.
  spec.group = Variable{testing::Factor("stage", {"one", "two", "three"}), "stage"};
  spec.variables.erase(spec.variables.begin() + 2, spec.variables.end());
  spec.missing = false;
  ExpectTwin(spec, DrawTables(17, {150, 100, 120}, 0), {.kind = "shamir", .to_all = true});
  spec.variables.erase(spec.variables.begin());
  ExpectTwin(spec, DrawTables(18, {60, 70}, 0), {.kind = "ot"});
}

// Groups that differ by much, by little, by nothing; groups of one row; ties; a group without rows.
TEST(DescribeProtocol, RanksHoldAtTheEdges) {
  Spec spec = RankedSpec(false);
  spec.quantiles.clear();
  spec.variables.erase(spec.variables.begin() + 1, spec.variables.end());
  const auto ages = [](const std::vector<std::pair<double, int32_t>>& values) {
    std::vector<ClinicRow> rows;
    for (const auto& [age, arm] : values) {
      rows.push_back({});
      rows.back().age = age;
      rows.back().arm = arm;
    }
    return ClinicTable(rows);
  };
  const auto expect = [&](const std::vector<data::Table>& tables, size_t ranks) {
    const Seen seen = ExpectTwin(spec, tables, {.min_cell = 1});
    EXPECT_EQ(seen.ranks, ranks);
  };
  expect({ages({{20, 0}}), ages({{30, 1}})}, 1);
  expect({ages({{20, 0}}), ages({{20, 1}})}, 0);
  expect({ages({{20, 0}, {20, 1}, {20, 0}}), ages({{20, 1}, {20.2, 1}, {70, 0}})}, 1);
  expect({ages({{20, 0}, {40, 0}}), ages({{30, 0}, {60, 0}})}, 1);
  expect({ages({{18, 0}, {98, 1}}), ages({{98, 0}, {18, 1}})}, 1);
  std::vector<std::pair<double, int32_t>> apart;
  for (int i = 0; i < 200; ++i) apart.emplace_back(20 + i * 0.3, i < 77 ? 0 : 1);
  expect({ages(apart), ages(apart)}, 1);
  std::vector<std::pair<double, int32_t>> one_differs(300, {50, 0});
  for (int i = 0; i < 150; ++i) one_differs[static_cast<size_t>(i)].second = 1;
  one_differs.front().first = 51;
  expect({ages(one_differs), ages({{50, 0}})}, 1);
}

TEST(DescribeProtocol, TakesAnyQuantiles) {
  Spec spec = ClinicSpec(false, false);
  spec.quantiles = {1, 25, 333, 999};
  ExpectTwin(spec, DrawTables(9, {400, 500}, 0), {.min_cell = 1});
}

// As many rows as nobody declared, and far more than there are.
TEST(DescribeProtocol, IsAsPreciseForAnyBoundOfRows) {
  Spec spec = ClinicSpec(false, false);
  spec.quantiles.clear();
  for (const uint64_t most : Cases<uint64_t>({uint64_t{1} << 31}, {uint64_t{1} << 20}))
    ExpectTwin(spec, DrawTables(10, {60, 50}, 0), {.max_rows = most});
  Spec ranked = RankedSpec(false);
  ranked.quantiles.clear();
  for (const uint64_t most : Cases<uint64_t>({uint64_t{1} << 31}, {uint64_t{1} << 20}))
    ExpectTwin(ranked, DrawTables(10, {60, 50}, 0), {.max_rows = most});
}

// Of 60 small tables, or 30, some pass, some by all rows only, some not at all; some quantiles open.
TEST(DescribeProtocol, WithholdsWhatIsSmall) {
  Seen total;
  Spec spec = RankedSpec(true);
  spec.variables.erase(spec.variables.begin());
  for (uint64_t seed = 0; seed < (Thorough() ? 20 : 10); ++seed) {
    SCOPED_TRACE(seed);
    const size_t rows = 12 + 12 * (seed % 5);
    const Seen seen =
        ExpectTwin(spec, DrawTables(100 + seed, {rows, rows, rows + 9}, 0.12), {.min_cell = 4});
    total.by_group += seen.by_group;
    total.only_all += seen.only_all;
    total.nothing += seen.nothing;
    total.ranks += seen.ranks;
    total.ranks_withheld += seen.ranks_withheld;
    total.quantiles += seen.quantiles;
    total.quantiles_withheld += seen.quantiles_withheld;
  }
  EXPECT_GT(total.by_group, 5u);
  EXPECT_GT(total.only_all, 5u);
  EXPECT_GT(total.nothing, 5u);
  EXPECT_GT(total.ranks, 2u);
  EXPECT_GT(total.ranks_withheld, 2u);
  EXPECT_GT(total.quantiles, 20u);
  EXPECT_GT(total.quantiles_withheld, Thorough() ? 20u : 10u);
}

std::vector<ClinicRow> Repeat(const ClinicRow& row, size_t times) {
  return std::vector<ClinicRow>(times, row);
}

// Seven smokers, five of whom one holder has: the other two are what it is left with.
TEST(DescribeProtocol, WithholdsWhatIsSmallBesideOnesOwn) {
  std::vector<ClinicRow> north = Repeat({}, 20), south = Repeat({}, 20);
  for (size_t i = 0; i < 5; ++i) north[i].smoker = 1;
  for (size_t i = 0; i < 2; ++i) south[i].smoker = 1;
  const Spec spec = ClinicSpec(false, false);
  const std::vector<data::Table> tables = {ClinicTable(north), ClinicTable(south)};
  const Ran ran = RunTable(spec, tables, {});
  const DescribedTable table = Summarise(spec, ran.opened.value());
  EXPECT_TRUE(table.variables[2][0].withheld);
  EXPECT_FALSE(table.variables[3][0].withheld);
  ExpectTwin(spec, tables, {});
}

// No rows at a site, one row, a level that a site lacks, a variable that nobody has, values that
// are all the same, and values at both bounds.
TEST(DescribeProtocol, HoldsAtTheEdges) {
  std::mt19937_64 random(12);
  const Spec spec = ClinicSpec(true, true);
  std::vector<ClinicRow> north = DrawRows(random, 200, 0.1), south = DrawRows(random, 150, 0.1);
  const auto none = std::vector<ClinicRow>{};
  ExpectTwin(spec, {ClinicTable(north), ClinicTable(none), ClinicTable(south)}, {});
  ExpectTwin(spec, {ClinicTable(north), ClinicTable(none)}, {});
  ExpectTwin(spec, {ClinicTable(north), ClinicTable(Repeat({}, 1)), ClinicTable(south)}, {});

  std::vector<ClinicRow> one_level = north;
  for (ClinicRow& row : one_level) row.stage = std::min(row.stage, 1);
  ExpectTwin(spec, {ClinicTable(one_level), ClinicTable(south)}, {});
  std::vector<ClinicRow> one_arm = north;
  for (ClinicRow& row : one_arm) row.arm = 0;
  ExpectTwin(spec, {ClinicTable(one_arm), ClinicTable(one_arm)}, {});

  std::vector<ClinicRow> lost = north;
  for (ClinicRow& row : lost) row.age = row.score = kNone;
  ExpectTwin(spec, {ClinicTable(lost), ClinicTable(lost)}, {});

  const std::vector<data::Table> same = {ClinicTable(Repeat({}, 30)), ClinicTable(Repeat({}, 40))};
  ExpectTwin(spec, same, {});
  const DescribedTable constant = Summarise(spec, RunTable(spec, same, {}).opened.value());
  EXPECT_EQ(constant.variables[0][0].n, 70u);
  EXPECT_FALSE(constant.variables[0][0].mean.has_value());

  std::vector<ClinicRow> bounds = Repeat({}, 60);
  for (size_t i = 0; i < bounds.size(); ++i) {
    bounds[i].age = i % 2 == 0 ? 18 : 98;
    bounds[i].score = i % 2 == 0 ? 0 : 30;
    bounds[i].arm = static_cast<int32_t>(i / 2 % 2);
  }
  ExpectTwin(spec, {ClinicTable(bounds), ClinicTable(bounds)}, {});
}

// The messages tell nothing of what is withheld.
TEST(DescribeProtocol, CostsTheSameWhateverIsWithheld) {
  const Spec spec = ClinicSpec(true, true);
  const std::vector<data::Table> tables = DrawTables(13, {60, 60}, 0.1);
  const Ran strict = RunTable(spec, tables, {.min_cell = 1000});
  const Ran open = RunTable(spec, tables, {.min_cell = 1});
  EXPECT_EQ(strict.depth, open.depth);
  EXPECT_TRUE(std::all_of(strict.opened->counts.begin(), strict.opened->counts.end(),
                          [](uint64_t count) { return count == 0; }));
  EXPECT_TRUE(std::any_of(open.opened->counts.begin(), open.opened->counts.end(),
                          [](uint64_t count) { return count > 0; }));
}

Spec SiteSpec(size_t holders, bool missing) {
  Spec spec = ClinicSpec(false, missing);
  std::vector<std::string> names;
  for (size_t h = 0; h < holders; ++h) names.push_back(fmt::format("site {}", h));
  spec.group = Variable{testing::Factor(kSite, names), ""};
  spec.by_site = true;
  return spec;
}

// A column for every holder, also of one without rows; all of a variable is withheld where a count
// of one holder is small.
TEST(DescribeProtocol, OpensColumnsOfHolders) {
  Seen seen = ExpectTwin(SiteSpec(3, true), DrawTables(21, {300, 260, 200}, 0.2), {});
  EXPECT_EQ(seen.by_group, 4u);
  ExpectTwin(SiteSpec(3, true), DrawTables(22, {300, 260, 0}, 0.2), {.kind = "replicated"});
  Spec ranked = SiteSpec(3, false);
  ranked.compared.ranks = true;
  seen = ExpectTwin(ranked, DrawTables(23, {60, 70, 80}, 0), {.kind = "shamir", .to_all = true});
  EXPECT_EQ(seen.ranks, 2u);
  seen = ExpectTwin(SiteSpec(3, false), DrawTables(24, {200, 150, 9}, 0), {.min_cell = 8});
  EXPECT_GT(seen.only_all, 0u);
}

// ---- odds ratios within holders

struct Clinic {
  // With the event and without: treated, then control.
  size_t treated_events = 0, treated = 0, control_events = 0, control = 0;
};
data::Table TableOf(const Clinic& clinic) {
  std::vector<ClinicRow> rows;
  const auto add = [&](size_t count, double smoker, int32_t arm) {
    for (size_t i = 0; i < count; ++i) {
      rows.push_back({});
      rows.back().smoker = smoker;
      rows.back().arm = arm;
    }
  };
  add(clinic.treated_events, 1, 1);
  add(clinic.treated, 0, 1);
  add(clinic.control_events, 1, 0);
  add(clinic.control, 0, 0);
  return ClinicTable(rows);
}

Spec StrataSpec() {
  Spec spec = ClinicSpec(true, false);
  spec.compared.mantel_haenszel = true;
  spec.variables.erase(spec.variables.begin());
  return spec;
}

stats::tables::MantelHaenszel Within(const std::vector<data::Table>& tables,
                                     const Options& options) {
  const Spec spec = StrataSpec();
  const Ran ran = RunTable(spec, tables, options);
  EXPECT_EQ(ran.opened->strata.size(), 1u);  // smoker
  ExpectTwin(spec, tables, options);
  return OverStrata(ran.opened->strata.front());
}

void ExpectWithin(const std::vector<Clinic>& clinics, const Options& options = {}) {
  SCOPED_TRACE(options.kind);
  std::vector<data::Table> tables;
  for (const Clinic& clinic : clinics) tables.push_back(TableOf(clinic));
  const stats::tables::MantelHaenszel within = Within(tables, options);
  const Spec spec = StrataSpec();
  const stats::tables::MantelHaenszel plain =
      PlainTable(spec, tables, options.min_cell).OverTables(1);
  ASSERT_EQ(within.odds_ratio.lower.has_value(), plain.odds_ratio.lower.has_value());
  ASSERT_EQ(within.test.has_value(), plain.test.has_value());
  if (plain.odds_ratio.lower) {
    const double error =
        std::log(*plain.odds_ratio.upper / *plain.odds_ratio.lower) / (2 * 1.959964);
    const double step = std::ldexp(error, -kGridBits);
    EXPECT_NEAR(std::log(*within.odds_ratio.estimate), std::log(*plain.odds_ratio.estimate),
                kRounding * step);
    EXPECT_NEAR(std::log(*within.odds_ratio.lower), std::log(*plain.odds_ratio.lower), 3 * step);
    EXPECT_NEAR(std::log(*within.odds_ratio.upper), std::log(*plain.odds_ratio.upper), 3 * step);
  }
  if (plain.test) {
    EXPECT_NEAR(std::sqrt(within.test->statistic), std::sqrt(plain.test->statistic),
                2 * std::ldexp(kRounding, -kGridBits));
  }
}

TEST(DescribeProtocol, OpensOddsRatiosWithinHolders) {
  const std::vector<Clinic> clinics = {{30, 70, 20, 80}, {45, 75, 25, 95}, {12, 88, 18, 62}};
  for (const char* engine : {"dealer", "replicated", "shamir"})
    ExpectWithin(clinics, {.kind = engine, .to_all = true});
  ExpectWithin({clinics[0], clinics[1]}, {.kind = "ot"});
  // R's mantelhaen.test of these three tables: 1.43762131639 from 0.993626954093 to 2.080011055290,
  // chi-square 3.44388585562, p 0.0634862114986.
  std::vector<data::Table> tables;
  for (const Clinic& clinic : clinics) tables.push_back(TableOf(clinic));
  const stats::tables::MantelHaenszel within = Within(tables, {});
  // Half a step of 2^-6 of the error 0.188; of the ends 1.96 half steps more.
  EXPECT_NEAR(std::log(*within.odds_ratio.estimate), std::log(1.43762131639), 0.0015);
  EXPECT_NEAR(std::log(*within.odds_ratio.lower), std::log(0.993626954093), 0.0045);
  EXPECT_NEAR(std::log(*within.odds_ratio.upper), std::log(2.080011055290), 0.0045);
  EXPECT_NEAR(std::sqrt(within.test->statistic), std::sqrt(3.44388585562), 0.016);
  EXPECT_NEAR(within.test->p_value, 0.0634862114986, 0.002);
}

// Zeros in a holder's table, in all; a holder with one group only, with nobody; no event anywhere;
// far more rows than are there.
TEST(DescribeProtocol, OddsRatiosWithinHoldersHoldAtTheEdges) {
  const Options all{.min_cell = 1};
  ExpectWithin({{0, 20, 6, 14}, {9, 11, 5, 15}}, all);
  ExpectWithin({{0, 20, 6, 14}, {0, 30, 7, 9}}, all);
  ExpectWithin({{5, 20, 0, 14}, {6, 30, 0, 9}}, all);
  ExpectWithin({{0, 20, 0, 14}, {0, 30, 0, 9}}, all);
  ExpectWithin({{5, 20, 0, 0}, {0, 0, 6, 9}}, all);
  ExpectWithin({{5, 20, 0, 0}, {8, 12, 6, 9}, {0, 0, 0, 0}}, all);
  ExpectWithin({{1, 0, 0, 0}, {8, 12, 6, 9}}, all);
  ExpectWithin({{400, 20, 30, 500}, {600, 10, 5, 700}}, all);
  ExpectWithin({{30, 70, 20, 80}, {45, 75, 25, 95}}, {.max_rows = uint64_t{1} << 31});
  std::mt19937_64 random(25);
  for (int draw = 0; draw < (Thorough() ? 20 : 6); ++draw) {
    std::vector<Clinic> clinics;
    for (int h = 0; h < 2 + draw % 2; ++h)
      clinics.push_back({random() % 40, random() % 60, random() % 30, random() % 90});
    ExpectWithin(clinics, all);
  }
}

// Where the groups are withheld so is what is within holders.
TEST(DescribeProtocol, OddsRatiosOfSmallCellsAreWithheld) {
  const std::vector<data::Table> tables = {TableOf({2, 70, 20, 80}), TableOf({1, 75, 25, 95})};
  const Spec spec = StrataSpec();
  const Ran ran = RunTable(spec, tables, {});
  EXPECT_EQ(ran.opened->strata.front().error, 0);
  EXPECT_EQ(ran.opened->strata.front().root, 0);
  EXPECT_EQ(ran.opened->strata.front().correction, 0);
  EXPECT_FALSE(Summarise(spec, *ran.opened).strata[1].has_value());
}

// Of each holder.
TEST(DescribeProtocol, CountsRowsOfHolders) {
  const std::vector<data::Table> tables = DrawTables(26, {15, 10}, 0.3);
  const Spec spec = SiteSpec(2, true);
  const Task task = TaskOf(spec, tables, {});
  for (const uint64_t min_rows : {10, 11}) {
    mpc::testing::RunOptions run;
    run.releases = {{kDisclosureRelease, "one bit", "all", "exact", 1, mpc::kEverybody, 1}};
    mpc::testing::RunAndComparePlan(run, [&](Engine& engine, size_t) {
      OwnNumbers own;
      if (engine.self()) {
        std::vector<size_t> rows(tables[*engine.self()].num_rows);
        std::iota(rows.begin(), rows.end(), size_t{0});
        own = CountOwn(spec, tables[*engine.self()], rows, *engine.self());
      }
      const SharedTable shared = ShareTable(engine, task, own);
      const std::optional<bool> answer = EnoughRows(engine, task, shared, min_rows);
      if (answer) {
        EXPECT_EQ(*answer, min_rows == 10);
      }
    }).ThrowIfFailed();
  }
}

TEST(DescribeProtocol, NumbersOfPiecesAddUp) {
  Spec spec = ClinicSpec(true, true);
  spec.compared.mantel_haenszel = true;
  const data::Table table = DrawTables(27, {40}, 0.3).front();
  std::vector<size_t> rows(table.num_rows);
  std::iota(rows.begin(), rows.end(), size_t{0});
  const OwnNumbers whole = CountOwn(spec, table, rows);
  for (const size_t of_piece : {1, 7, 39, 40}) {
    SCOPED_TRACE(of_piece);
    OwnNumbers own = NoNumbers(spec);
    for (size_t first = 0; first < rows.size(); first += of_piece) {
      const std::vector<size_t> piece(
          rows.begin() + static_cast<std::ptrdiff_t>(first),
          rows.begin() + static_cast<std::ptrdiff_t>(std::min(first + of_piece, rows.size())));
      AddNumbers(spec, CountOwn(spec, table, piece), own);
    }
    EXPECT_TRUE(own.counts == whole.counts);
    EXPECT_TRUE(own.sums == whole.sums);
    EXPECT_TRUE(own.squares == whole.squares);
    EXPECT_TRUE(own.histograms == whole.histograms);
    EXPECT_FALSE(own.stratum.empty());
    EXPECT_TRUE(own.stratum == whole.stratum);
  }
}

// Exactly min_rows rows are enough; everybody hears so.
TEST(DescribeProtocol, CountsRows) {
  const Spec spec = ClinicSpec(true, true);
  const std::vector<data::Table> tables = DrawTables(14, {15, 10}, 0.3);
  const Task task = TaskOf(spec, tables, {});
  for (const auto& [rows_asked, expected] : std::vector<std::pair<uint64_t, bool>>{
           {1, true}, {25, true}, {26, false}, {uint64_t{1} << 60, false}}) {
    const uint64_t min_rows = rows_asked;
    const bool enough = expected;
    mpc::testing::RunOptions run;
    run.releases = {{kDisclosureRelease, "one bit", "all", "exact", 1, mpc::kEverybody, 1}};
    const auto result = mpc::testing::RunAndComparePlan(run, [&](Engine& engine, size_t) {
      OwnNumbers own;
      if (engine.self()) {
        std::vector<size_t> rows(tables[*engine.self()].num_rows);
        std::iota(rows.begin(), rows.end(), size_t{0});
        own = CountOwn(spec, tables[*engine.self()], rows, *engine.self());
      }
      const SharedTable shared = ShareTable(engine, task, own);
      const std::optional<bool> answer = EnoughRows(engine, task, shared, min_rows);
      EXPECT_EQ(answer.has_value(), engine.self().has_value());
      if (answer) {
        EXPECT_EQ(*answer, enough) << min_rows;
      }
    });
    result.ThrowIfFailed();
  }
}

TEST(DescribeCells, CoverTheBounds) {
  const Cells age = CellsOf(testing::Number("age", data::ColumnType::kNumeric, 18, 98));
  EXPECT_EQ(age.count, kMaxCells);
  EXPECT_EQ(age.Of(18), 0u);
  EXPECT_EQ(age.Of(98), kMaxCells - 1);
  EXPECT_GE(static_cast<double>(2 * age.neighbours + 1), kMaxCells / 64.0);
  const Cells score = CellsOf(testing::Number("score", data::ColumnType::kInteger, 0, 30));
  EXPECT_EQ(score.count, 31u);
  EXPECT_EQ(score.neighbours, 0u);
  for (size_t value = 0; value <= 30; ++value) {
    EXPECT_EQ(score.Of(static_cast<double>(value)), value);
    EXPECT_EQ(score.Middle(value), static_cast<double>(value));
  }
  const Cells many = CellsOf(testing::Number("many", data::ColumnType::kInteger, -5000, 5000));
  EXPECT_EQ(many.width, 3);
  EXPECT_EQ(many.count, 3334u);
  EXPECT_EQ(many.Of(-5000), 0u);
  EXPECT_EQ(many.Of(-4998), 0u);
  EXPECT_EQ(many.Of(-4997), 1u);
  EXPECT_EQ(many.Of(5000), 3333u);
  EXPECT_EQ(many.Middle(0), -4999);
}

}  // namespace
}  // namespace partita::methods::describe::protocol_test
