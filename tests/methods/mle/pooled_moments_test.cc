// The secure moments equal their plaintext twin exactly, for every way of splitting a table and of
// selecting its rows.
#include "methods/mle/moments/pooled_moments.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "methods/mle/moments/stripes.h"
#include "mpc/plan_engine.h"
#include "mpc/share_sum.h"
#include "tests/methods/mle/mle_parties.h"
#include "tests/methods/mle/plaintext_moments.h"
#include "tests/net/parties.h"

namespace partita::methods::mle::pooled_moments_test {
namespace {

// A task with the whole table, from which every party's part is cut.
struct Case {
  MomentsTask task;
  MomentsRelease release;
  size_t num_parties = 2;
  size_t stripes = 1;
  std::vector<size_t> num_rows;             // by block
  std::vector<std::vector<Int128>> values;  // by block: rows x variables
  // By block, holder and cell: the holder's weights; empty where it does not select.
  std::vector<std::vector<std::vector<std::vector<int32_t>>>> selectors;
};

std::vector<Int128> RandomValues(std::mt19937_64& random, size_t size, int bits, bool extremes) {
  const Int128 one = Int128{1} << bits;
  std::vector<Int128> values(size);
  for (Int128& value : values) {
    value = extremes ? (random() % 2 == 0 ? one : -one)
                     : static_cast<Int128>(random() % static_cast<uint64_t>(2 * one + 1)) - one;
  }
  return values;
}

// Random holders with a random part of the variables each; random holders select in every cell, and
// in a weighted case the first of each block has weights up to 3.
RowBlock RandomBlock(std::mt19937_64& random, Case& test, const std::string& name, size_t rows) {
  std::vector<BlockHolder> holders(test.num_parties);
  for (size_t i = 0; i < test.num_parties; ++i) holders[i].party = i;
  const size_t used = 1 + random() % test.num_parties;
  std::shuffle(holders.begin(), holders.end(), random);
  holders.resize(used);
  std::sort(holders.begin(), holders.end(),
            [](const auto& a, const auto& b) { return a.party < b.party; });
  for (size_t v = 0; v < test.task.num_variables; ++v)
    holders[random() % used].variables.push_back(v);
  std::vector<std::vector<std::vector<int32_t>>> by_holder(used);
  for (size_t h = 0; h < used; ++h) {
    holders[h].selects.resize(test.task.cells.size());
    by_holder[h].resize(test.task.cells.size());
    for (size_t c = 0; c < test.task.cells.size(); ++c) {
      if (test.task.cells[c].difference || random() % 3 == 0) continue;
      holders[h].selects[c] = true;
      const auto top = static_cast<uint64_t>(h == 0 ? test.task.max_weight : 1);
      for (size_t r = 0; r < rows; ++r)
        by_holder[h][c].push_back(static_cast<int32_t>(random() % (top + 1)));
    }
  }
  test.selectors.push_back(std::move(by_holder));
  return {name, rows, std::move(holders)};
}

Case RandomCase(uint64_t seed, size_t num_parties, bool extremes) {
  std::mt19937_64 random(seed);
  Case test;
  test.num_parties = num_parties;
  test.task.num_variables = 1 + random() % 5;
  test.task.fraction_bits = 50;
  test.task.max_weight = seed % 3 == 0 ? 3 : 1;
  test.task.cells.assign(1 + random() % 3, {});
  const size_t num_blocks = 1 + random() % 3;
  for (size_t b = 0; b < num_blocks; ++b) {
    const size_t rows = 1 + random() % 20;
    test.task.blocks.push_back(RandomBlock(random, test, "block" + std::to_string(b), rows));
    test.num_rows.push_back(rows);
    test.values.push_back(
        RandomValues(random, rows * test.task.num_variables, test.task.fraction_bits, extremes));
    test.task.max_rows += rows * static_cast<size_t>(test.task.max_weight);
  }
  test.release.id = "moments";
  test.release.receiver = random() % num_parties;
  for (size_t c = 0; c < test.task.cells.size(); ++c) test.release.cells.push_back(c);
  for (size_t v = 0; v < test.task.num_variables; ++v) {
    if (v == 0 || random() % 4 != 0) test.release.variables.push_back(v);
  }
  test.release.pairs = AllPairs(test.release.variables);
  if (test.release.pairs.size() > 1 && random() % 2 == 0)
    test.release.pairs.erase(test.release.pairs.begin() + 1);
  return test;
}

// Of some cells only the count is wanted, or not all variables.
Case RandomCaseWithAbsentVariables(uint64_t seed, size_t num_parties) {
  Case test = RandomCase(seed, num_parties, false);
  std::mt19937_64 random(seed);
  for (RowCell& cell : test.task.cells) {
    cell.only_count = random() % 3 == 0;
    test.release.absent.emplace_back();
    for (size_t v : test.release.variables) {
      if (cell.only_count || random() % 3 == 0) test.release.absent.back().push_back(v);
    }
  }
  return test;
}

std::vector<LocalBlock> LocalPart(const Case& test, mpc::PartyIndex party) {
  std::vector<LocalBlock> local(test.task.blocks.size());
  for (size_t b = 0; b < local.size(); ++b) {
    const RowBlock& block = test.task.blocks[b];
    for (size_t h = 0; h < block.holders.size(); ++h) {
      if (block.holders[h].party != party) continue;
      local[b].num_rows = test.num_rows[b];
      local[b].values = [&test, &holder = block.holders[h], b](size_t first, size_t num,
                                                               Int128* out) {
        for (size_t r = first; r < first + num; ++r) {
          for (size_t v : holder.variables)
            *out++ = test.values[b][r * test.task.num_variables + v];
        }
      };
      local[b].selectors = test.selectors[b][h];
    }
  }
  return local;
}

// Product of all holders' weights, by block and row.
std::vector<std::vector<int32_t>> WeightsOf(const Case& test, size_t cell) {
  std::vector<std::vector<int32_t>> weights;
  for (size_t b = 0; b < test.task.blocks.size(); ++b) {
    weights.emplace_back(test.num_rows[b], 1);
    for (size_t h = 0; h < test.task.blocks[b].holders.size(); ++h) {
      if (!test.task.blocks[b].holders[h].Selects(cell)) continue;
      for (size_t r = 0; r < test.num_rows[b]; ++r) weights[b][r] *= test.selectors[b][h][cell][r];
    }
  }
  return weights;
}

// What the release lets through of the plaintext moments.
std::vector<IntegerMoments> Expected(const Case& test) {
  std::vector<IntegerMoments> expected;
  const size_t p = test.task.num_variables;
  for (size_t entry = 0; entry < test.release.cells.size(); ++entry) {
    const size_t c = test.release.cells[entry];
    IntegerMoments all;
    if (const auto& difference = test.task.cells[c].difference) {
      all = PlaintextMoments(p, test.values, WeightsOf(test, difference->total));
      for (size_t other : difference->others) {
        const IntegerMoments less = PlaintextMoments(p, test.values, WeightsOf(test, other));
        all.n -= less.n;
        for (size_t i = 0; i < p; ++i) all.sum[i] -= less.sum[i];
        for (size_t i = 0; i < p * p; ++i) all.cross[i] -= less.cross[i];
      }
    } else {
      all = PlaintextMoments(p, test.values, WeightsOf(test, c));
    }
    IntegerMoments opened{all.n, std::vector<Int128>(p), std::vector<Int128>(p * p)};
    const auto opens = [&](size_t v) {
      if (test.release.absent.empty()) return true;
      const std::vector<size_t>& absent = test.release.absent[entry];
      return std::find(absent.begin(), absent.end(), v) == absent.end();
    };
    for (size_t v : test.release.variables) opened.sum[v] = opens(v) ? all.sum[v] : 0;
    for (const auto& pair : test.release.pairs) {
      if (!opens(pair.first) || !opens(pair.second)) continue;
      for (const size_t at : {pair.first * p + pair.second, pair.second * p + pair.first})
        opened.cross[at] = all.cross[at];
    }
    expected.push_back(std::move(opened));
  }
  return expected;
}

// The sums over `stripes` stripes.
std::vector<SharedMoments> SumOfStripes(mpc::Engine& engine, const Case& test,
                                        const std::vector<LocalBlock>& local) {
  std::vector<mpc::Shared> sum;
  for (size_t stripe = 0; stripe < test.stripes; ++stripe) {
    std::optional<StripeLocal> cut;
    if (engine.self()) cut = StripeLocalOf(test.task, *engine.self(), local, stripe, test.stripes);
    std::vector<mpc::Shared> part;
    AppendMoments(ComputeStripe(engine, test.task, stripe, test.stripes, cut ? &*cut : nullptr),
                  part);
    if (stripe == 0) {
      sum = std::move(part);
    } else {
      mpc::AddShares(sum, part);
    }
  }
  auto at = sum.cbegin();
  return TakeMoments(test.task.cells.size(), at);
}

std::vector<IntegerMoments> Protocol(mpc::Engine& engine, const Case& test,
                                     const std::vector<LocalBlock>& local) {
  engine.BeginPhase("moments");
  const std::vector<SharedMoments> shared = test.stripes == 1
                                                ? ComputeMoments(engine, test.task, local)
                                                : SumOfStripes(engine, test, local);
  return OpenMoments(engine, test.task, shared, test.release);
}

struct MomentsRun {
  std::vector<std::vector<IntegerMoments>> results;  // by party
  std::vector<std::vector<net::PhaseTraffic>> traffic;
  std::vector<uint64_t> openings;
};

MomentsRun RunCase(const Case& test, const std::string& engine_name) {
  const size_t processes = test.num_parties + (engine_name == "dealer" ? 1 : 0);
  MomentsRun run;
  run.results.resize(processes);
  run.traffic.resize(processes);
  run.openings.resize(processes);
  const auto errors = net::RunChannels(net::MemoryParties(processes), [&](net::Channel& channel) {
    mpc::CountingReleaseGate gate;
    gate.Reserve({{"moments", "moments", "receiver", "exact", 1}});
    const std::unique_ptr<mpc::Engine> engine = testing::MakeEngine(engine_name, channel, gate);
    run.results[channel.self()] = Protocol(*engine, test, LocalPart(test, channel.self()));
    run.traffic[channel.self()] = channel.traffic();
    run.openings[channel.self()] = gate.counts()[0].opened;
  });
  EXPECT_EQ(net::Describe(errors), "");
  return run;
}

void ExpectEqual(const std::vector<IntegerMoments>& secure,
                 const std::vector<IntegerMoments>& plain) {
  ASSERT_EQ(secure.size(), plain.size());
  for (size_t g = 0; g < plain.size(); ++g) {
    EXPECT_TRUE(secure[g].n == plain[g].n) << "cell " << g;
    EXPECT_TRUE(secure[g].sum == plain[g].sum) << "cell " << g;
    EXPECT_TRUE(secure[g].cross == plain[g].cross) << "cell " << g;
  }
}

void ExpectPlanned(const Case& test, const std::string& engine_name, const MomentsRun& run) {
  mpc::PlanEngine plan(engine_name, test.num_parties);
  Protocol(plan, test, {});
  const mpc::PhaseCost cost = plan.phases().back();
  for (size_t from = 0; from < run.traffic.size(); ++from) {
    const net::PhaseTraffic& traffic = run.traffic[from].back();
    EXPECT_EQ(traffic.rounds, cost.rounds[from]) << "party " << from;
    for (size_t to = 0; to < run.traffic.size(); ++to) {
      if (from == to) continue;
      EXPECT_EQ(traffic.links[to].bytes_sent, cost.links[from][to].bytes) << from << "->" << to;
      EXPECT_EQ(traffic.links[to].messages_sent, cost.links[from][to].messages)
          << from << "->" << to;
    }
  }
}

void Check(const Case& test, const std::string& engine_name) {
  const MomentsRun run = RunCase(test, engine_name);
  if (::testing::Test::HasFailure()) return;
  for (size_t party = 0; party < run.results.size(); ++party) {
    if (party == test.release.receiver) {
      ExpectEqual(run.results[party], Expected(test));
    } else {
      EXPECT_TRUE(run.results[party].empty()) << "party " << party << " learned something";
    }
    EXPECT_EQ(run.openings[party], party < test.num_parties ? 1u : 0u);  // the dealer opens nothing
  }
  ExpectPlanned(test, engine_name, run);
}

TEST(PooledMomentsTest, DealerEqualsPlaintextOnRandomPartitions) {
  for (uint64_t seed = 0; seed < (net::kSanitized ? 10 : 60); ++seed) {
    SCOPED_TRACE(seed);
    Check(RandomCase(seed, 2 + seed % 4, seed % 5 == 0), "dealer");
    if (HasFailure()) return;
  }
}

TEST(PooledMomentsTest, ReplicatedEqualsPlaintextOnRandomPartitions) {
  for (uint64_t seed = 0; seed < (net::kSanitized ? 10 : 60); ++seed) {
    SCOPED_TRACE(seed);
    Check(RandomCase(1000 + seed, 3, seed % 5 == 0), "replicated");
    if (HasFailure()) return;
  }
}

// [engine] stripes: whatever the number of ranges, who selects and how blocks are split.
TEST(PooledMomentsTest, StripesAddUpToTheSame) {
  const std::pair<const char*, size_t> engines[] = {
      {"dealer", 3}, {"replicated", 3}, {"shamir", 3}, {"ot", 2}};
  for (const auto& [engine, parties] : engines) {
    size_t cut = 0;
    for (uint64_t seed = 0; seed < (net::kSanitized ? 6 : 24); ++seed) {
      SCOPED_TRACE(engine + std::to_string(seed));
      Case test = RandomCase(3000 + seed, parties, seed % 5 == 0);
      if (std::string(engine) == "shamir") test.task.fraction_bits = 49;  // of a field of 127 bits
      for (auto& values : test.values)
        for (Int128& value : values) value = std::clamp(value, -(Int128{1} << 49), Int128{1} << 49);
      test.stripes = 2 + seed % 4;
      bool splits = false;
      for (size_t b = 0; b < test.num_rows.size(); ++b) {
        if (test.task.blocks[b].holders.size() < 2) continue;
        test.stripes = std::min(test.stripes, test.num_rows[b]);
        splits = true;
      }
      cut += splits && test.stripes > 1 ? 1 : 0;
      Check(test, engine);
      if (HasFailure()) return;
    }
    EXPECT_GE(cut, net::kSanitized ? 2u : 8u) << engine;
  }
}

// Patterns of missing values: what no row of a cell has is not opened, and counts cost no products.
TEST(PooledMomentsTest, OpensOfEveryCellWhatItsRowsHave) {
  for (uint64_t seed = 0; seed < (net::kSanitized ? 10 : 40); ++seed) {
    SCOPED_TRACE(seed);
    Check(RandomCaseWithAbsentVariables(2000 + seed, 3), seed % 2 == 0 ? "dealer" : "replicated");
    if (HasFailure()) return;
  }
}

// A grouping factor: the last group is the total without the others, selected by one holder.
TEST(PooledMomentsTest, TheLastGroupIsADifference) {
  for (const std::string engine : {"dealer", "replicated"}) {
    for (uint64_t seed = 0; seed < 12; ++seed) {
      SCOPED_TRACE(engine + std::to_string(seed));
      std::mt19937_64 random(seed);
      Case test;
      test.num_parties = 3;
      test.task.num_variables = 4;
      test.task.cells = {{}, {"a", {}}, {"b", {}}, {"c", RowCell::Difference{0, {1, 2}}}};
      const size_t rows = 15, grouping = seed % 3;
      test.num_rows = {rows};
      test.task.max_rows = rows;
      test.task.blocks = {{"all", rows, {{0, {0, 3}, {}}, {1, {1}, {}}, {2, {2}, {}}}}};
      test.task.blocks[0].holders[grouping].selects = {false, true, true, false};
      test.selectors = {{{{}, {}, {}}, {{}, {}, {}}, {{}, {}, {}}}};
      test.selectors[0][grouping].resize(4);
      for (size_t r = 0; r < rows; ++r) {
        const uint64_t group = random() % 3;
        test.selectors[0][grouping][1].push_back(group == 0 ? 1 : 0);
        test.selectors[0][grouping][2].push_back(group == 1 ? 1 : 0);
      }
      test.values = {RandomValues(random, rows * 4, 50, false)};
      test.release = {"moments", seed % 2, {1, 2, 3}, {0, 1, 2, 3}, AllPairs({0, 1, 2, 3})};
      Check(test, engine);
      if (HasFailure()) return;
    }
  }
}

// All values at the bounds and sums of exactly 2^125: the largest that f_in allows, and no
// wrap-around.
TEST(PooledMomentsTest, ExtremeValuesDoNotWrap) {
  for (const auto& [fraction_bits, rows] : {std::pair<int, size_t>{61, 8}, {62, 2}}) {
    for (const std::string engine : {"dealer", "replicated"}) {
      SCOPED_TRACE(engine + std::to_string(fraction_bits));
      Case test;
      test.num_parties = 3;
      test.task.num_variables = 2;
      test.task.fraction_bits = fraction_bits;
      test.num_rows = {rows};
      test.task.blocks = {{"all", rows, {{0, {0}, {}}, {1, {1}, {}}}}};
      test.selectors = {{{}, {}}};
      const Int128 one = Int128{1} << fraction_bits;
      test.values = {std::vector<Int128>(2 * rows, one)};
      for (size_t r = 0; r < rows; ++r) test.values[0][2 * r + 1] = -one;
      test.task.max_rows = rows;
      test.release = {"moments", 2, {0}, {0, 1}, AllPairs({0, 1})};  // party 2 holds nothing
      Check(test, engine);
    }
  }
}

// The comparison notices a single cell, and a single row that is selected or not.
TEST(PooledMomentsTest, OneChangedCellOrSelectorChangesTheResult) {
  const auto differs = [](const Case& changed, const std::vector<IntegerMoments>& before) {
    const MomentsRun run = RunCase(changed, "dealer");
    for (size_t c = 0; c < before.size(); ++c) {
      const IntegerMoments& after = run.results[changed.release.receiver][c];
      if (after.n != before[c].n || after.sum != before[c].sum || after.cross != before[c].cross)
        return true;
    }
    return false;
  };
  std::mt19937_64 random(5);
  Case test;
  test.num_parties = 3;
  test.task.num_variables = 3;
  test.task.max_rows = 4;
  test.task.blocks = {{"all", 4, {{0, {0}, {true}}, {1, {1}, {true}}, {2, {2}, {}}}}};
  test.num_rows = {4};
  test.selectors = {{{{1, 1, 0, 1}}, {{1, 0, 1, 1}}, {{}}}};
  test.values = {RandomValues(random, 12, 50, false)};
  test.release = {"moments", 1, {0}, {0, 1, 2}, AllPairs({0, 1, 2})};
  const std::vector<IntegerMoments> before = Expected(test);
  EXPECT_TRUE(before[0].n == 2);
  EXPECT_FALSE(differs(test, before));
  Case value = test;
  value.values[0][0] += 1;
  EXPECT_TRUE(differs(value, before));
  Case dropped = test;
  dropped.values[0][3] += 1;  // row 1 is dropped by the second holder
  EXPECT_FALSE(differs(dropped, before));
  Case selector = test;
  selector.selectors[0][0][0][3] = 0;
  EXPECT_TRUE(differs(selector, before));
}

// A party that only receives: no cells, no blocks of its own.
TEST(PooledMomentsTest, AReceiverWithoutData) {
  for (const std::string engine : {"dealer", "replicated"}) {
    for (uint64_t seed = 0; seed < 10; ++seed) {
      SCOPED_TRACE(engine + std::to_string(seed));
      Case test = RandomCase(500 + seed, 2, false);
      test.num_parties = 3;
      test.release.receiver = 2;
      Check(test, engine);
    }
  }
}

// Opening more than the plan says, or to somebody else, is refused by every party's own gate before
// anything is sent.
TEST(PooledMomentsTest, TheGateKnowsRecipientAndSize) {
  const Case test = RandomCase(11, 2, false);
  const auto run = [&](size_t to_party, uint64_t num_values) {
    mpc::CountingReleaseGate gate;
    gate.Reserve({{"moments", "moments", "receiver", "exact", 1, to_party, num_values}});
    mpc::PlanEngine plan("dealer", 2, &gate);
    Protocol(plan, test, {});
  };
  const uint64_t values = NumReleasedValues(test.release);
  EXPECT_EQ(values, test.release.cells.size() *
                        (1 + test.release.variables.size() + test.release.pairs.size()));
  EXPECT_THROW(run(1 - test.release.receiver, values), Error);
  EXPECT_THROW(run(mpc::kEverybody, values), Error);
  EXPECT_THROW(run(test.release.receiver, values - 1), Error);
  EXPECT_NO_THROW(run(test.release.receiver, values));
}

TEST(PooledMomentsTest, ASharedBlockNeedsACount) {
  mpc::PlanEngine plan("dealer", 2);
  MomentsTask task;
  task.num_variables = 2;
  task.max_rows = 10;
  task.blocks = {{"all", std::nullopt, {{0, {0}, {}}, {1, {1}, {}}}}};
  EXPECT_THROW(ComputeMoments(plan, task, {}), Error);
  task.blocks[0].count = 10;
  EXPECT_NO_THROW(ComputeMoments(plan, task, {}));
  task.cells[0].difference = RowCell::Difference{0, {}};
  EXPECT_THROW(ComputeMoments(plan, task, {}), Error);
}

uint64_t RoundsOf(const std::vector<std::vector<bool>>& selects, bool only_count = false) {
  mpc::PlanEngine plan("dealer", selects.size());
  MomentsTask task;
  task.num_variables = selects.size();
  task.max_rows = 100;
  task.cells[0].only_count = only_count;
  task.blocks = {{"all", 100, {}}};
  for (size_t h = 0; h < selects.size(); ++h)
    task.blocks[0].holders.push_back({h, {h}, selects[h]});
  plan.BeginPhase("moments");
  ComputeMoments(plan, task, {});
  const mpc::PhaseCost cost = plan.phases().back();
  return *std::max_element(cost.rounds.begin(), cost.rounds.end());
}

TEST(PooledMomentsTest, SelectorsCostTheRoundsTheyDeclare) {
  EXPECT_EQ(RoundsOf({{}, {}, {}}), 1u);
  EXPECT_EQ(RoundsOf({{true}, {}, {}}), 2u);
  EXPECT_EQ(RoundsOf({{true}, {true}, {}}), 3u);
  EXPECT_EQ(RoundsOf({{true}, {true}, {true}}), 4u);
  // Where only the count is wanted, the products of the weights are all; one holder needs none.
  EXPECT_EQ(RoundsOf({{true}, {}, {}}, true), 0u);
  EXPECT_EQ(RoundsOf({{true}, {true}, {true}}, true), 2u);
}

// What no row has is not opened: a count, and of two of three variables two sums and three
// products.
TEST(PooledMomentsTest, AbsentVariablesAreNotOpened) {
  MomentsRelease release{"moments", 0, {0, 1}, {0, 1, 2}, AllPairs({0, 1, 2})};
  EXPECT_EQ(NumReleasedValues(release), 2u * (1 + 3 + 6));
  release.absent = {{}, {1}};
  EXPECT_EQ(NumReleasedValues(release), 1u + 3 + 6 + 1 + 2 + 3);
}

// The receiver only: with n rows and p + p columns the products cost one round.
TEST(PooledMomentsTest, OneCellCostsOneRoundAndOneOpening) {
  mpc::PlanEngine plan("dealer", 2);
  Case test;
  test.task.num_variables = 20;
  test.task.max_rows = 1000;
  test.task.blocks = {{"all", 1000, {{0, {}, {}}, {1, {}, {}}}}};
  for (size_t v = 0; v < 20; ++v) {
    test.task.blocks[0].holders[v / 10].variables.push_back(v);
    test.release.variables.push_back(v);
  }
  test.release.id = "moments";
  test.release.cells = {0};
  test.release.pairs = AllPairs(test.release.variables);
  Protocol(plan, test, {});
  const mpc::PhaseCost cost = plan.phases().back();
  EXPECT_EQ(*std::max_element(cost.rounds.begin(), cost.rounds.end()), 2u);
  // Party 0 receives the result. Each masks its ten columns for the other; party 1 also sends its
  // share of the opening: one count, 20 sums, 210 products, and no more.
  EXPECT_EQ(cost.links[0][1].bytes, 1000u * 10 * 16);
  EXPECT_EQ(cost.links[1][0].bytes, (1000u * 10 + 1 + 20 + 210) * 16);
}

}  // namespace
}  // namespace partita::methods::mle::pooled_moments_test
