// Tables on shares against counting in the clear, with every party's noise, on every engine and for
// every way to split a table, with exactly the messages of the plan.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "base/error.h"
#include "methods/marginals/scored_protocol.h"
#include "privacy/sampling/release_statement.h"
#include "stats/marginals/noise.h"
#include "tests/mpc/evaluate.h"
#include "tests/mpc/harness.h"

namespace partita::methods::marginals::protocol_test {
namespace {

using mpc::Engine;
using stats::marginals::Codes;
using stats::marginals::kNoiseGridBits;
using stats::marginals::TableSet;

// Reproducible randomness that cryptography would not accept.
class TestRandom : public crypto::RandomSource {
 public:
  explicit TestRandom(uint64_t seed) : random_(seed) {}
  void Fill(std::span<uint8_t> out) override {
    for (uint8_t& byte : out) byte = static_cast<uint8_t>(random_() >> 32);
  }

 private:
  std::mt19937_64 random_;
};

enum class Split { kColumns, kRows, kBoth };
constexpr const char* kSplitNames[] = {"columns", "rows", "both"};

struct Table {
  Task task;
  std::vector<Codes> blocks;  // by block, by attribute, by row
};

RowBlock SplitBlock(uint64_t rows, size_t parties) {
  RowBlock block = {"split", rows, std::vector<BlockPart>(parties)};
  // Columns in turn, so that no holder's are together.
  for (uint32_t a = 0; a < 5; ++a) block.parts[a % parties].attributes.push_back(a);
  for (size_t p = 0; p < parties; ++p) block.parts[p].party = parties - 1 - p;
  return block;
}

RowBlock WholeBlock(uint64_t rows, size_t party) {
  return {"whole", rows, {{party, {0, 1, 2, 3, 4}}}};
}

Table MakeTable(Split split, size_t parties, uint64_t rows, uint64_t seed) {
  Table table;
  table.task.set = stats::marginals::AllTables({{"a", 2}, {"b", 3}, {"c", 4}, {"d", 2}, {"e", 5}});
  if (split != Split::kRows) table.task.blocks.push_back(SplitBlock(rows, parties));
  if (split == Split::kBoth) table.task.blocks.push_back(WholeBlock(rows + 1, 1));
  for (size_t p = 0; split == Split::kRows && p < parties; ++p) {
    table.task.blocks.push_back(WholeBlock(rows + p, p));
  }
  std::mt19937_64 random(seed);
  for (const RowBlock& block : table.task.blocks) {
    table.blocks.emplace_back(5);
    for (uint32_t a = 0; a < 5; ++a) {
      for (uint64_t n = 0; n < block.rows; ++n) {
        table.blocks.back()[a].push_back(
            static_cast<uint16_t>(random() % table.task.set.attributes[a].levels));
      }
    }
  }
  return table;
}

std::vector<LocalBlock> LocalOf(const Table& table, size_t party) {
  std::vector<LocalBlock> local(table.blocks.size());
  for (size_t b = 0; b < table.blocks.size(); ++b) {
    for (const BlockPart& part : table.task.blocks[b].parts) {
      if (part.party != party) continue;
      for (const uint32_t a : part.attributes) local[b].codes.push_back(table.blocks[b][a]);
    }
  }
  return local;
}

std::vector<double> Truth(const Table& table) {
  std::vector<double> sum(table.task.set.num_cells, 0);
  for (const Codes& codes : table.blocks) {
    const std::vector<double> counts = stats::marginals::Count(table.task.set, codes);
    for (size_t i = 0; i < sum.size(); ++i) sum[i] += counts[i];
  }
  return sum;
}

NoiseDesign DesignOf(const Table& table, size_t parties, uint32_t known_shares = 1) {
  return DesignNoise({1, 1e-5, privacy::Adjacency::kReplace, known_shares, 1}, table.task,
                     static_cast<uint32_t>(parties));
}

mpc::testing::RunOptions OptionsFor(const std::string& engine, size_t parties, const Task& task) {
  mpc::testing::RunOptions options;
  options.kind = engine;
  options.num_parties = parties;
  options.releases = {{kTablesRelease, "tables", "", "", 1, task.to, OpenedLast(task)}};
  return options;
}

// What each party opens; shares: every computing party's noise.
std::vector<std::optional<std::vector<double>>> Open(
    const std::string& engine, const Table& table, const NoiseDesign& design,
    const std::vector<std::vector<Int128>>& shares) {
  const size_t parties = shares.size();
  std::vector<std::optional<std::vector<double>>> opened(parties);
  mpc::testing::RunAndComparePlan(OptionsFor(engine, parties, table.task), [&](Engine& mpc,
                                                                               size_t) {
    const std::optional<size_t> self = mpc.self();
    const mpc::Shared counts =
        CountOnShares(mpc, table.task, self ? LocalOf(table, *self) : std::vector<LocalBlock>{});
    auto cells =
        OpenTables(mpc, table.task, counts, design, self ? shares[*self] : std::vector<Int128>{});
    if (self) opened[*self] = std::move(cells);
  }).ThrowIfFailed();
  return opened;
}

void ExpectTwin(const std::string& engine, const Table& table, size_t parties) {
  const NoiseDesign design = DesignOf(table, parties);
  std::vector<std::vector<Int128>> shares;
  for (size_t p = 0; p < parties; ++p) {
    TestRandom random(100 + p);
    shares.push_back(DrawNoiseShare(design, random));
  }
  std::vector<double> wanted = Truth(table);
  size_t next = 0;  // of the noise
  for (size_t t = 0; t < table.task.set.tables.size(); ++t) {
    const stats::marginals::CountTable& one = table.task.set.tables[t];
    const auto lift =
        table.task.lifts.empty() ? uint64_t{1} << kNoiseGridBits : table.task.lifts[t];
    for (size_t i = one.offset; i < one.offset + one.cells(); ++i) {
      Int128 sum = static_cast<Int128>(wanted[i]) * lift;
      for (const std::vector<Int128>& share : shares) sum += lift > 0 ? share[next] : 0;
      next += lift > 0 ? 1 : 0;
      wanted[i] = lift > 0 ? static_cast<double>(sum) / static_cast<double>(lift) : 0;
    }
  }
  const auto opened = Open(engine, table, design, shares);
  for (size_t p = 0; p < parties; ++p) {
    const bool learns = table.task.to == mpc::kEverybody || table.task.to == p;
    ASSERT_EQ(opened[p].has_value(), learns);
    if (learns) {
      EXPECT_EQ(*opened[p], wanted);
    }
  }
}

TEST(MarginalsProtocol, IsCountingWithNoise) {
  for (const mpc::testing::Setting& setting : mpc::testing::kSettings) {
    for (const Split split : {Split::kColumns, Split::kRows, Split::kBoth}) {
      SCOPED_TRACE(fmt::format("{} {} {}", setting.kind, setting.num_parties,
                               kSplitNames[static_cast<size_t>(split)]));
      Table table = MakeTable(split, setting.num_parties, 30, 1);
      ExpectTwin(setting.kind, table, setting.num_parties);
      table.task.to = 1;
      ExpectTwin(setting.kind, table, setting.num_parties);
    }
  }
}

// Tables of a target column are measured more precisely, on every engine.
TEST(MarginalsProtocol, WeighsTables) {
  for (const mpc::testing::Setting& setting : mpc::testing::kSettings) {
    SCOPED_TRACE(setting.kind);
    Table table = MakeTable(Split::kColumns, setting.num_parties, 30, 1);
    table.task.lifts = LiftsFor(table.task.set, {1});
    ASSERT_EQ(table.task.lifts.size(), 15u);
    EXPECT_GT(table.task.lifts[1], table.task.lifts[0]);
    ExpectTwin(setting.kind, table, setting.num_parties);
  }
}

// Every triple of the five columns whose columns of a split block lie at two holders at the most.
std::vector<stats::marginals::Triple> TriplesOfTwo(size_t parties) {
  std::vector<stats::marginals::Triple> triples;
  for (uint32_t a = 0; a < 5; ++a) {
    for (uint32_t b = a + 1; b < 5; ++b) {
      for (uint32_t c = b + 1; c < 5; ++c) {
        const bool three =
            a % parties != b % parties && b % parties != c % parties && a % parties != c % parties;
        if (!three) triples.push_back({a, b, c});
      }
    }
  }
  return triples;
}

// The column by itself may be the first, the middle or the last of the three, at either holder; all
// three may be at one.
TEST(MarginalsProtocol, CountsTriples) {
  EXPECT_EQ(TriplesOfTwo(2).size(), 10u);
  EXPECT_EQ(TriplesOfTwo(3).size(), 6u);
  for (const mpc::testing::Setting& setting : mpc::testing::kSettings) {
    for (const Split split : {Split::kColumns, Split::kRows, Split::kBoth}) {
      SCOPED_TRACE(fmt::format("{} {} {}", setting.kind, setting.num_parties,
                               kSplitNames[static_cast<size_t>(split)]));
      Table table = MakeTable(split, setting.num_parties, 12, 3);
      const auto triples = TriplesOfTwo(split == Split::kRows ? 1 : setting.num_parties);
      table.task.set = stats::marginals::AllTables(table.task.set.attributes, triples);
      ExpectTwin(setting.kind, table, setting.num_parties);
    }
  }
  // With a target's tables lifted, those of triples with it, too.
  Table table = MakeTable(Split::kColumns, 2, 12, 3);
  table.task.set =
      stats::marginals::AllTables(table.task.set.attributes, std::vector{TriplesOfTwo(2)[3]});
  table.task.lifts = LiftsFor(table.task.set, {4});
  ASSERT_EQ(table.task.lifts.size(), 16u);
  EXPECT_EQ(table.task.lifts[15] == table.task.lifts[4], *table.task.set.Triples()[0].third == 4);
  ExpectTwin("dealer", table, 2);
}

// One row and none, constant columns.
TEST(MarginalsProtocol, CountsTriplesOfFewRows) {
  for (const uint64_t rows : {0, 1, 3}) {
    Table table = MakeTable(Split::kColumns, 2, rows, 4);
    for (std::vector<uint16_t>& column : table.blocks[0]) std::ranges::fill(column, 1);
    table.task.set = stats::marginals::AllTables(table.task.set.attributes, TriplesOfTwo(2));
    ExpectTwin("dealer", table, 2);
  }
}

// Each named triple is a table more: in what opens, in the sensitivity of outsiders and, with a column
// of another, of a party; and a round's products, no round more.
TEST(MarginalsProtocol, TriplesCountInTheSensitivity) {
  Table table = MakeTable(Split::kColumns, 2, 9, 7);
  const NoiseDesign before = DesignOf(table, 2);
  // Of "a", "c", "e" at one holder, and of "a", "c" and "d", which the other has.
  const std::vector<stats::marginals::Triple> triples = {{0, 2, 4}, {0, 2, 3}};
  table.task.set = stats::marginals::AllTables(table.task.set.attributes, triples);
  const NoiseDesign design = DesignOf(table, 2);
  const auto tables = [](const privacy::GridL2Sensitivity& sensitivity) {
    return std::pow(std::ldexp(sensitivity.value(), -kNoiseGridBits), 2) / 2;
  };
  EXPECT_NEAR(tables(before.sensitivity), 15, 1e-9);
  EXPECT_NEAR(tables(design.sensitivity), 17, 1e-9);
  EXPECT_NEAR(tables(design.party_sensitivities[0]), 12 + 2, 1e-9);
  EXPECT_NEAR(tables(design.party_sensitivities[1]), 9 + 1, 1e-9);
  EXPECT_EQ(design.noise.dimension, before.noise.dimension + 2 * 4 * 5 + 2 * 4 * 2);
  for (const mpc::testing::Setting& setting : mpc::testing::kSettings) {
    const Table plain = MakeTable(Split::kColumns, setting.num_parties, 9, 7);
    Table named = plain;
    named.task.set =
        stats::marginals::AllTables(plain.task.set.attributes, TriplesOfTwo(setting.num_parties));
    const auto rounds = [&](const Table& of) {
      return mpc::testing::PlannedRounds(setting, [&](Engine& engine) {
        engine.BeginPhase("tables");
        OpenTables(engine, of.task, CountOnShares(engine, of.task, {}),
                   DesignOf(of, setting.num_parties), {});
      });
    };
    EXPECT_EQ(rounds(named), rounds(plain)) << setting.kind;
  }
}

TEST(MarginalsProtocol, RefusesTriplesOfThreeHolders) {
  Table table = MakeTable(Split::kColumns, 3, 9, 7);
  const std::vector<stats::marginals::Triple> triples = {{0, 1, 2}};
  table.task.set = stats::marginals::AllTables(table.task.set.attributes, triples);
  EXPECT_NE(TripleOfThreeParts(table.task.set, table.task.blocks[0]), nullptr);
  EXPECT_THROW(DesignOf(table, 3), Error);
}

// What each party opens where pairs are chosen by scores.
std::vector<std::optional<ScoredOpening>> OpenScored(
    const std::string& engine, const Table& table, std::optional<uint64_t> rows,
    const NoiseDesign& design, const std::vector<std::vector<Int128>>& shares) {
  const size_t parties = shares.size();
  const TableSet& set = table.task.set;
  std::vector<std::optional<ScoredOpening>> opened(parties);
  mpc::testing::RunOptions options = OptionsFor(engine, parties, table.task);
  options.releases = {
      {kOneWayRelease, "", "", "", 1, mpc::kEverybody, stats::marginals::OneWayCells(set)},
      {kScoresRelease, "", "", "", 1, mpc::kEverybody, stats::marginals::NumPairs(set)},
      {kTablesRelease, "", "", "", 1, mpc::kEverybody, OpenedLast(table.task)}};
  mpc::testing::RunAndComparePlan(options, [&](Engine& mpc, size_t) {
    const std::optional<size_t> self = mpc.self();
    const mpc::Shared counts =
        CountOnShares(mpc, table.task, self ? LocalOf(table, *self) : std::vector<LocalBlock>{});
    auto opening = OpenByScores(mpc, table.task, rows, counts, design,
                                self ? shares[*self] : std::vector<Int128>{});
    EXPECT_EQ(opening.has_value(), self.has_value());
    if (self) opened[*self] = std::move(opening);
  }).ThrowIfFailed();
  return opened;
}

// The same in the clear, from counts and all parties' noise.
ScoredOpening ScoredTwin(const Table& table, std::optional<uint64_t> rows,
                         const NoiseDesign& design,
                         const std::vector<std::vector<Int128>>& shares) {
  const TableSet& set = table.task.set;
  const ScoredPairs& scored = *table.task.scored;
  const std::vector<double> truth = Truth(table);
  size_t used = 0;
  const auto open = [&](double exact, uint64_t lift) {
    Int128 sum = static_cast<Int128>(exact) * lift;
    for (const std::vector<Int128>& share : shares) sum += share[used];
    ++used;
    return static_cast<double>(sum) / static_cast<double>(lift);
  };
  ScoredOpening twin{std::vector<double>(set.num_cells, 0), {}, {}};
  std::vector<int64_t> one_way, scores;
  for (size_t i = 0; i < stats::marginals::OneWayCells(set); ++i) {
    twin.cells[i] = open(truth[i], scored.one_way_lift);
    one_way.push_back(std::llround(twin.cells[i]));
  }
  uint64_t most = 0;
  for (const RowBlock& block : table.task.blocks) most += block.rows;
  const auto independent = stats::marginals::IndependentCounts(set, one_way, rows, most);
  for (const double score : stats::marginals::ScoresOf(set, truth, independent)) {
    twin.scores.push_back(open(score, scored.score_lift));
    scores.push_back(std::llround(twin.scores.back()));
  }
  twin.chosen = stats::marginals::ChoosePairs(
      set, scores, design.noise_stddev() / SelectionOf(table.task).pair, scored.pairs);
  for (const size_t t : twin.chosen) {
    const stats::marginals::CountTable& one = set.tables[t];
    for (size_t i = one.offset; i < one.offset + one.cells(); ++i)
      twin.cells[i] = open(truth[i], scored.pair_lift);
  }
  return twin;
}

void ExpectScoredTwin(const std::string& engine, const Table& table, size_t parties,
                      std::optional<uint64_t> rows, double quiet = 1) {
  const NoiseDesign design = DesignOf(table, parties);
  std::vector<std::vector<Int128>> shares;
  for (size_t p = 0; p < parties; ++p) {
    TestRandom random(100 + p);
    shares.push_back(DrawNoiseShare(design, random));
    for (Int128& share : shares.back())
      share = static_cast<Int128>(static_cast<double>(share) * quiet);
  }
  const ScoredOpening twin = ScoredTwin(table, rows, design, shares);
  for (const std::optional<ScoredOpening>& opened :
       OpenScored(engine, table, rows, design, shares)) {
    ASSERT_TRUE(opened);
    EXPECT_EQ(opened->cells, twin.cells);
    EXPECT_EQ(opened->scores, twin.scores);
    EXPECT_EQ(opened->chosen, twin.chosen);
  }
}

uint64_t RowsOf(const Table& table) {
  uint64_t rows = 0;
  for (const RowBlock& block : table.task.blocks) rows += block.rows;
  return rows;
}

TEST(MarginalsScores, AreThoseInTheClear) {
  for (const mpc::testing::Setting& setting : mpc::testing::kSettings) {
    for (const Split split : {Split::kColumns, Split::kRows, Split::kBoth}) {
      SCOPED_TRACE(fmt::format("{} {} {}", setting.kind, setting.num_parties,
                               kSplitNames[static_cast<size_t>(split)]));
      Table table = MakeTable(split, setting.num_parties, 30, 1);
      table.task.scored = ScoredPairsFor(table.task.set, 4, privacy::Adjacency::kReplace);
      ExpectScoredTwin(setting.kind, table, setting.num_parties, RowsOf(table));
      // Next to no noise: scores are those of the rows.
      ExpectScoredTwin(setting.kind, table, setting.num_parties, RowsOf(table), 1e-3);
    }
  }
}

// The number of rows is estimated from the first opening; blocks may be empty.
TEST(MarginalsScores, OfAHiddenNumberOfRows) {
  Table table = MakeTable(Split::kRows, 2, 40, 3);
  table.task.scored = ScoredPairsFor(table.task.set, 1, privacy::Adjacency::kAddRemove);
  ExpectScoredTwin("dealer", table, 2, {}, 1e-2);
  table.blocks[0] = Codes(5);
  ExpectScoredTwin("dealer", table, 2, {});
  ExpectScoredTwin("ot", table, 2, {});
}

// All columns constant, one row, all pairs but one: edges of sizes and of scores.
TEST(MarginalsScores, EdgesOfSizesAndScores) {
  for (const size_t rows : {1, 7}) {
    Table table = MakeTable(Split::kColumns, 2, rows, 2);
    for (std::vector<uint16_t>& column : table.blocks[0]) std::ranges::fill(column, 1);
    for (const uint32_t pairs : {1, 9}) {
      table.task.scored = ScoredPairsFor(table.task.set, pairs, privacy::Adjacency::kReplace);
      ExpectScoredTwin("dealer", table, 2, rows, 1e-3);
      ExpectScoredTwin("dealer", table, 2, rows);
    }
  }
}

TEST(MarginalsScores, EverybodyLearnsThem) {
  Table table = MakeTable(Split::kColumns, 2, 9, 2);
  table.task.scored = ScoredPairsFor(table.task.set, 2, privacy::Adjacency::kReplace);
  const NoiseDesign design = DesignOf(table, 2);
  TestRandom random(1);
  const std::vector<std::vector<Int128>> shares(2, DrawNoiseShare(design, random));
  table.task.to = 0;
  try {
    OpenScored("dealer", table, 9, design, shares);
    FAIL() << "chose pairs by what one party alone knows";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kInternal);
  }
}

// What one curator needs against a change of `tables` tables, in counts.
double Curator(size_t tables, privacy::Adjacency adjacency) {
  return privacy::AnalyticGaussianStddev(stats::marginals::TablesSensitivity(tables, adjacency, 1),
                                         privacy::Epsilon(1), privacy::Delta(1e-5));
}

void ExpectShare(const NoiseDesign& design, double wanted) {
  EXPECT_NEAR(stats::marginals::NoiseStddev(design.noise.share_variance), wanted, 1e-7 * wanted);
}

// Of pairs those with one column alone: the others' cells neither open nor have noise.
TEST(MarginalsProtocol, CountsPairsWithAGroup) {
  for (const mpc::testing::Setting& setting : mpc::testing::kSettings) {
    for (const Split split : {Split::kColumns, Split::kBoth}) {
      SCOPED_TRACE(setting.kind);
      Table table = MakeTable(split, setting.num_parties, 30, 1);
      table.task.lifts = LiftsOfGroup(table.task.set, 2);
      EXPECT_EQ(std::ranges::count(table.task.lifts, 0u), 6);
      EXPECT_EQ(OpenedLast(table.task), 16u + 4u * 12u);
      EXPECT_EQ(NoiseDimension(table.task), 16u + 4u * 12u);
      ExpectTwin(setting.kind, table, setting.num_parties);
    }
  }
  Table table = MakeTable(Split::kRows, 2, 9, 7);
  table.task.lifts = LiftsOfGroup(table.task.set, 2);
  ExpectShare(DesignOf(table, 2), Curator(9, privacy::Adjacency::kReplace));
}

TEST(MarginalsProtocol, OneRowAndNoRows) {
  ExpectTwin("dealer", MakeTable(Split::kColumns, 2, 1, 2), 2);
  ExpectTwin("dealer", MakeTable(Split::kBoth, 3, 1, 3), 3);
  // Blocks of rows may turn out to be empty: only their bounds are public.
  Table table = MakeTable(Split::kRows, 2, 4, 4);
  table.blocks[0] = Codes(5);
  ExpectTwin("dealer", table, 2);
}

// One attribute at each holder, and rows that are all alike.
TEST(MarginalsProtocol, ConstantColumns) {
  Table table;
  table.task.set = stats::marginals::AllTables({{"a", 2}, {"b", 3}});
  table.task.blocks = {{"split", 7, {{0, {0}}, {1, {1}}}}};
  table.blocks = {{std::vector<uint16_t>(7, 1), std::vector<uint16_t>(7, 2)}};
  ExpectTwin("dealer", table, 2);
  ExpectTwin("ot", table, 2);
}

TEST(MarginalsProtocol, APartyWithoutNoiseStopsTheRelease) {
  const Table table = MakeTable(Split::kColumns, 2, 10, 5);
  const NoiseDesign design = DesignOf(table, 2);
  TestRandom random(1);
  std::vector<std::vector<Int128>> shares = {DrawNoiseShare(design, random), {}};
  try {
    Open("dealer", table, design, shares);
    FAIL() << "opened without a party's noise";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kInternal);
  }
}

TEST(MarginalsProtocol, RefusesWhatDoesNotTile) {
  const auto is_refused = [](std::vector<BlockPart> parts) {
    Table table = MakeTable(Split::kColumns, 2, 3, 6);
    table.task.blocks[0].parts = std::move(parts);
    try {
      CheckTask(table.task);
    } catch (const Error& error) {
      return error.code() == ErrorCode::kInternal;
    }
    return false;
  };
  EXPECT_FALSE(is_refused({{0, {0, 1, 2}}, {1, {3, 4}}}));
  EXPECT_TRUE(is_refused({{0, {0, 1, 2}}, {1, {3}}}));
  EXPECT_TRUE(is_refused({{0, {0, 1, 2}}, {1, {2, 3, 4}}}));
  EXPECT_TRUE(is_refused({{0, {0, 1, 2}}, {1, {3, 5}}}));
  EXPECT_TRUE(is_refused({{0, {1, 0, 2}}, {1, {3, 4}}}));
  EXPECT_TRUE(is_refused({{0, {0, 1, 2, 3, 4}}, {1, {}}}));
}

// 2e5 draws of one share against the designed variance, with a fixed seed: five standard errors of a
// mean and of a variance.
TEST(MarginalsNoise, ASharesVarianceIsTheDesigned) {
  Table table;
  table.task.set = stats::marginals::AllTables({{"a", 300}, {"b", 290}});
  table.task.blocks = {{"split", 9, {{0, {0}}, {1, {1}}}}};
  const NoiseDesign design = DesignOf(table, 2);
  const double stddev = stats::marginals::NoiseStddev(design.noise.share_variance);
  double sum = 0, squares = 0, count = 0;
  for (uint64_t seed = 0; seed < 3; ++seed) {
    TestRandom random(seed);
    for (const Int128 unit : DrawNoiseShare(design, random)) {
      const double noise = std::ldexp(static_cast<double>(unit), -kNoiseGridBits) / stddev;
      sum += noise;
      squares += noise * noise;
      count += 1;
    }
  }
  ASSERT_GT(count, 2e5);
  EXPECT_NEAR(sum / count, 0, 5 / std::sqrt(count));
  EXPECT_NEAR(squares / count, 1, 5 * std::sqrt(2 / count));
}

// Fifteen tables; of two holders of columns the worse faces twelve with a column of the other, of three
// fourteen.
TEST(MarginalsNoise, IsTheLargerOfWhatOutsidersAndPartiesNeed) {
  constexpr auto kReplace = privacy::Adjacency::kReplace;
  const Table two = MakeTable(Split::kColumns, 2, 9, 7),
              three = MakeTable(Split::kColumns, 3, 9, 7);
  ExpectShare(DesignOf(two, 2), Curator(12, kReplace));
  ExpectShare(DesignOf(three, 3), Curator(14, kReplace) / std::sqrt(2.0));
  ExpectShare(DesignOf(three, 3, 2), Curator(14, kReplace));
  // Somebody without columns, rows split, both.
  ExpectShare(DesignOf(two, 3), Curator(15, kReplace) / std::sqrt(2.0));
  ExpectShare(DesignOf(MakeTable(Split::kRows, 2, 9, 7), 2), Curator(15, kReplace));
  ExpectShare(DesignOf(MakeTable(Split::kBoth, 2, 9, 7), 2), Curator(15, kReplace));
  // A promise to outsiders only.
  ExpectShare(DesignOf(two, 2, 0), Curator(15, kReplace) / std::sqrt(2.0));
  // Others' rows are replaced whatever outsiders are promised.
  const NoiseDesign added =
      DesignNoise({1, 1e-5, privacy::Adjacency::kAddRemove, 1, 1}, two.task, 2);
  ExpectShare(added, Curator(12, kReplace));
  ExpectShare(DesignNoise({1, 1e-5, kReplace, 1, 3}, two.task, 2), 3 * Curator(12, kReplace));
  EXPECT_THROW(DesignOf(two, 2, 2), Error);
}

// Each party is told what others' records change of the tables with a column of theirs, not what
// they change for whom they change most: of five columns "a", "c", "e" and "b", "d" at two holders,
// "a", "d" and "b", "e" and "c" at three.
TEST(MarginalsNoise, EveryPartyFacesItsOwnForeignTables) {
  const auto tables = [](const privacy::GridL2Sensitivity& sensitivity) {
    return std::pow(std::ldexp(sensitivity.value(), -kNoiseGridBits), 2) / 2;
  };
  const auto expect = [&](const NoiseDesign& design, const std::vector<double>& wanted,
                          std::optional<double> of_two) {
    ASSERT_EQ(design.party_sensitivities.size(), wanted.size());
    for (size_t p = 0; p < wanted.size(); ++p)
      EXPECT_NEAR(tables(design.party_sensitivities[p]), wanted[p], 1e-9) << p;
    EXPECT_EQ(design.replace_sensitivity.value(),
              std::ranges::max(design.party_sensitivities, {}, &privacy::GridL2Sensitivity::value)
                  .value());
    ASSERT_EQ(design.two_parties_sensitivity.has_value(), of_two.has_value());
    if (of_two) {
      EXPECT_NEAR(tables(*design.two_parties_sensitivity), *of_two, 1e-9);
    }
  };
  const Table two = MakeTable(Split::kColumns, 2, 9, 7),
              three = MakeTable(Split::kColumns, 3, 9, 7);
  // The first part is at the last party.
  expect(DesignOf(two, 2), {12, 9}, {});
  expect(DesignOf(three, 3), {14, 12, 12}, 9);
  expect(DesignOf(two, 3), {12, 9, 15}, 12);  // the third holds none
  expect(DesignOf(MakeTable(Split::kRows, 2, 9, 7), 2), {15, 15}, 15);
  expect(DesignOf(MakeTable(Split::kBoth, 2, 9, 7), 2), {15, 15}, 15);
}

// Weights move noise between tables: the squared sensitivity stays that of tables of weight 1, of
// which those with a
// target have their share, and what a holder can learn follows its foreign tables' weights.
TEST(MarginalsNoise, WeightsKeepTheSensitivity) {
  Table table = MakeTable(Split::kColumns, 2, 9, 7);
  const NoiseDesign equal = DesignOf(table, 2);
  table.task.lifts = LiftsFor(table.task.set, {0});
  const NoiseDesign weighted = DesignOf(table, 2);
  EXPECT_NEAR(weighted.sensitivity.value(), equal.sensitivity.value(),
              1e-5 * equal.sensitivity.value());
  // Lifts are rounded down.
  EXPECT_LE(weighted.sensitivity.value(), equal.sensitivity.value());
  double with = 0, all = 0;
  for (size_t t = 0; t < table.task.set.tables.size(); ++t) {
    const double square = std::pow(WeightsOf(table.task)[t], 2);
    all += square;
    with += table.task.set.tables[t].first == 0 ? square : 0;
  }
  EXPECT_NEAR(with / all, kTargetShare, 1e-5);
  // "a", "c" and "e" are at one holder, "b" and "d" at the other.
  double most = 0;
  for (const std::vector<size_t>& holders :
       {std::vector<size_t>{0, 1, 0, 1, 0}, std::vector<size_t>{1, 0, 1, 0, 1}}) {
    double foreign = 0;
    for (size_t t = 0; t < table.task.set.tables.size(); ++t) {
      const auto& one = table.task.set.tables[t];
      const bool is_foreign = holders[one.first] != 0 || holders[one.second] != 0;
      foreign += is_foreign ? std::pow(WeightsOf(table.task)[t], 2) : 0;
    }
    most = std::max(most, foreign);
  }
  EXPECT_NEAR(weighted.replace_sensitivity.value(), std::ldexp(std::sqrt(2 * most), kNoiseGridBits),
              1e-5 * weighted.replace_sensitivity.value());
  EXPECT_TRUE(LiftsFor(table.task.set, {}).empty());
  EXPECT_TRUE(LiftsFor(table.task.set, {0, 1, 2, 3}).empty());
}

// Ten pairs of five columns. Shares of the squared sensitivity are those that the study states, and
// what a holder faces has one-way tables, scores and pairs of others.
TEST(MarginalsNoise, ScoresTakeTheirShares) {
  Table table = MakeTable(Split::kColumns, 2, 9, 7);
  for (const auto adjacency : {privacy::Adjacency::kReplace, privacy::Adjacency::kAddRemove}) {
    for (const uint32_t pairs : {1u, 4u, 9u}) {
      const ScoredPairs scored = ScoredPairsFor(table.task.set, pairs, adjacency);
      table.task.scored = scored;
      const bool replace = adjacency == privacy::Adjacency::kReplace;
      const auto squares = [](double count, uint64_t lift) {
        return count * static_cast<double>(lift) * static_cast<double>(lift);
      };
      const double cells = replace ? 2 : 1, score = replace ? 4 : 1;
      const double one_way = cells * squares(5, scored.one_way_lift),
                   scores = score * squares(10, scored.score_lift),
                   chosen = cells * squares(pairs, scored.pair_lift);
      const double all = one_way + scores + chosen;
      EXPECT_NEAR(one_way / all, 0.2, 1e-5);
      EXPECT_NEAR(scores / all, 0.2, 1e-5);
      EXPECT_NEAR(chosen / all, 0.6, 1e-5);
      const NoiseDesign design = DesignNoise({1, 1e-5, adjacency, 1, 1}, table.task, 2);
      EXPECT_NEAR(design.sensitivity.value(), std::sqrt(all), 1e-9 * std::sqrt(all));
      EXPECT_EQ(design.noise.dimension,
                16 + 10 + stats::marginals::MostCells(table.task.set, pairs));
      // "a", "c" and "e" at one holder, "b" and "d" at the other: to the latter three one-way tables
      // and all pairs but its own are foreign.
      const double foreign = 2 * squares(3, scored.one_way_lift) +
                             4 * squares(9, scored.score_lift) +
                             2 * squares(pairs, scored.pair_lift);
      EXPECT_NEAR(design.replace_sensitivity.value(), std::sqrt(foreign),
                  1e-9 * std::sqrt(foreign));
    }
  }
}

// The statement that goes with it: the promise holds against outsiders and every party, and no
// epsilon is said of more.
TEST(MarginalsNoise, IsStatedAsPromised) {
  for (const size_t parties : {2, 3}) {
    const Table table = MakeTable(Split::kColumns, parties, 9, 8);
    const NoiseDesign design = DesignOf(table, parties);
    std::vector<std::string> names = {"north", "south", "west"};
    names.resize(parties);
    const privacy::Statement statement = privacy::StateRelease(
        {names, design.noise, privacy::EngineStructure::kDealer, privacy::Adjacency::kReplace,
         design.sensitivity, design.replace_sensitivity, privacy::Delta(1e-5)});
    size_t held = 0, unlimited = 0;
    for (const privacy::StatementRow& row : statement.rows) {
      held += !row.loss.infinite && row.loss.epsilon_upper <= 1 ? 1 : 0;
      unlimited += row.loss.infinite ? 1 : 0;
      if (row.adversary.kind == privacy::AdversaryKind::kCoalition && row.adversary.size == 2 &&
          parties == 3 && !row.adversary.with_dealer) {
        EXPECT_GT(row.loss.epsilon_upper, 1);
      }
    }
    // Outsiders, the parties, the dealer alone.
    EXPECT_EQ(held, parties + 2);
    EXPECT_GE(unlimited, 1u);
  }
}

// One round of products with the inputs, the noise, one opening.
TEST(MarginalsProtocol, TakesFewRounds) {
  const std::vector<size_t> wanted = {2, 2, 4, 6, 4};
  for (size_t i = 0; i < wanted.size(); ++i) {
    const mpc::testing::Setting& setting = mpc::testing::kSettings[i];
    const Table table = MakeTable(Split::kColumns, setting.num_parties, 30, 9);
    const NoiseDesign design = DesignOf(table, setting.num_parties);
    EXPECT_EQ(mpc::testing::PlannedRounds(setting,
                                          [&](Engine& engine) {
                                            engine.BeginPhase("tables");
                                            OpenTables(engine, table.task,
                                                       CountOnShares(engine, table.task, {}),
                                                       design, {});
                                          }),
              wanted[i])
        << setting.kind << " " << setting.num_parties;
  }
}

}  // namespace
}  // namespace partita::methods::marginals::protocol_test
