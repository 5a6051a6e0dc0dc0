// The secure moments equal their plaintext twin exactly, for every way of splitting a table.
#include "methods/mle/pooled_moments.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "mpc/dealer_engine.h"
#include "mpc/plan_engine.h"
#include "mpc/replicated_engine.h"
#include "tests/net/parties.h"

namespace partita::methods::mle {
namespace {

// A task with the whole table, from which every party's part is cut.
struct Case {
  MomentsTask task;
  size_t num_parties = 2;
  std::vector<size_t> num_rows;              // by block
  std::vector<std::vector<Int128>> values;   // by block: rows x variables
  std::vector<std::vector<int32_t>> groups;  // by block
};

void FillAtRandom(Case& test, std::mt19937_64& random, bool extremes) {
  const Int128 one = Int128{1} << test.task.fraction_bits;
  for (size_t rows : test.num_rows) {
    std::vector<Int128> values(rows * test.task.num_variables);
    for (Int128& value : values) {
      value = extremes ? (random() % 2 == 0 ? one : -one)
                       : static_cast<Int128>(random() % static_cast<uint64_t>(2 * one + 1)) - one;
    }
    std::vector<int32_t> groups(rows);
    for (int32_t& group : groups) group = static_cast<int32_t>(random() % test.task.num_groups);
    test.values.push_back(std::move(values));
    test.groups.push_back(std::move(groups));
    test.task.max_rows += rows;
  }
}

// Random blocks; in every block the variables are dealt out to a random set of holders.
Case RandomCase(uint64_t seed, size_t num_parties, bool extremes) {
  std::mt19937_64 random(seed);
  Case test;
  test.num_parties = num_parties;
  test.task.num_variables = 1 + random() % 5;
  test.task.num_groups = 1 + random() % 3;
  test.task.fraction_bits = 50;
  test.task.receiver = random() % num_parties;
  const size_t num_blocks = 1 + random() % 3;
  for (size_t b = 0; b < num_blocks; ++b) {
    const size_t rows = 1 + random() % 20;
    std::vector<BlockHolder> holders(num_parties);
    for (size_t i = 0; i < num_parties; ++i) holders[i].party = i;
    const size_t used = 1 + random() % num_parties;
    std::shuffle(holders.begin(), holders.end(), random);
    holders.resize(used);
    std::sort(holders.begin(), holders.end(),
              [](const auto& a, const auto& b2) { return a.party < b2.party; });
    for (size_t v = 0; v < test.task.num_variables; ++v)
      holders[random() % used].variables.push_back(v);
    holders[random() % used].holds_group = true;
    std::erase_if(holders,
                  [](const BlockHolder& h) { return h.variables.empty() && !h.holds_group; });
    test.task.blocks.push_back({"block" + std::to_string(b), rows, std::move(holders)});
    test.num_rows.push_back(rows);
  }
  FillAtRandom(test, random, extremes);
  return test;
}

std::vector<LocalBlock> LocalPart(const Case& test, mpc::PartyIndex party) {
  std::vector<LocalBlock> local(test.task.blocks.size());
  for (size_t b = 0; b < local.size(); ++b) {
    for (const BlockHolder& holder : test.task.blocks[b].holders) {
      if (holder.party != party) continue;
      local[b].num_rows = test.num_rows[b];
      local[b].values = [&test, &holder, b](size_t first, size_t num, Int128* out) {
        for (size_t r = first; r < first + num; ++r) {
          for (size_t v : holder.variables)
            *out++ = test.values[b][r * test.task.num_variables + v];
        }
      };
      if (holder.holds_group) local[b].groups = test.groups[b];
    }
  }
  return local;
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
    gate.Reserve({{kMomentsRelease, "moments", "receiver", "exact", 1}});
    const std::unique_ptr<mpc::Engine> engine = engine_name == "replicated"
                                                    ? mpc::MakeReplicatedEngine(channel, gate)
                                                    : mpc::MakeDealerEngine(channel, gate);
    run.results[channel.self()] =
        PooledMoments(*engine, test.task, LocalPart(test, channel.self()));
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
    EXPECT_TRUE(secure[g].n == plain[g].n) << "group " << g;
    EXPECT_TRUE(secure[g].sum == plain[g].sum) << "group " << g;
    EXPECT_TRUE(secure[g].cross == plain[g].cross) << "group " << g;
  }
}

void ExpectPlanned(const Case& test, const std::string& engine_name, const MomentsRun& run) {
  mpc::PlanEngine plan(engine_name, test.num_parties);
  PooledMoments(plan, test.task, {});
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
    if (party == test.task.receiver) {
      ExpectEqual(run.results[party], PlaintextMoments(test.task, test.values, test.groups));
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
      test.task.blocks = {{"all", rows, {{0, {0}, false}, {1, {1}, false}}}};
      const Int128 one = Int128{1} << fraction_bits;
      test.values = {std::vector<Int128>(2 * rows, one)};
      for (size_t r = 0; r < rows; ++r) test.values[0][2 * r + 1] = -one;
      test.groups = {std::vector<int32_t>(rows, 0)};
      test.task.max_rows = rows;
      test.task.receiver = 2;  // holds nothing
      Check(test, engine);
    }
  }
}

// The comparison notices a single cell.
TEST(PooledMomentsTest, OneChangedCellChangesTheResult) {
  Case test = RandomCase(7, 3, false);
  const std::vector<IntegerMoments> before = PlaintextMoments(test.task, test.values, test.groups);
  test.values[0][0] += 1;
  const MomentsRun run = RunCase(test, "dealer");
  bool same = true;
  for (size_t g = 0; g < before.size(); ++g) {
    same = same && run.results[test.task.receiver][g].cross == before[g].cross;
  }
  EXPECT_FALSE(same);
}

// A party that only receives: no cells, no blocks of its own.
TEST(PooledMomentsTest, AReceiverWithoutData) {
  for (const std::string engine : {"dealer", "replicated"}) {
    for (uint64_t seed = 0; seed < 10; ++seed) {
      SCOPED_TRACE(engine + std::to_string(seed));
      Case test = RandomCase(500 + seed, 2, false);
      test.num_parties = 3;
      test.task.receiver = 2;
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
    gate.Reserve({{kMomentsRelease, "moments", "receiver", "exact", 1, to_party, num_values}});
    mpc::PlanEngine plan("dealer", 2, &gate);
    PooledMoments(plan, test.task, {});
  };
  const uint64_t values = NumReleasedValues(test.task);
  EXPECT_THROW(run(1 - test.task.receiver, values), Error);
  EXPECT_THROW(run(mpc::kEverybody, values), Error);
  EXPECT_THROW(run(test.task.receiver, values - 1), Error);
  EXPECT_NO_THROW(run(test.task.receiver, values));
}

TEST(PooledMomentsTest, ASharedBlockNeedsACountAndAGroupHolder) {
  mpc::PlanEngine plan("dealer", 2);
  MomentsTask task;
  task.num_variables = 2;
  task.max_rows = 10;
  task.blocks = {{"all", std::nullopt, {{0, {0}, false}, {1, {1}, false}}}};
  EXPECT_THROW(PooledMoments(plan, task, {}), Error);
  task.blocks[0].count = 10;
  task.num_groups = 2;
  EXPECT_THROW(PooledMoments(plan, task, {}), Error);
  task.blocks[0].holders[1].holds_group = true;
  EXPECT_NO_THROW(PooledMoments(plan, task, {}));
}

// The receiver only: with n rows and p + p columns the products cost one round.
TEST(PooledMomentsTest, ASingleGroupCostsOneRoundAndOneOpening) {
  mpc::PlanEngine plan("dealer", 2);
  MomentsTask task;
  task.num_variables = 20;
  task.max_rows = 1000;
  task.blocks = {{"all", 1000, {{0, {}, false}, {1, {}, false}}}};
  for (size_t v = 0; v < 20; ++v) task.blocks[0].holders[v / 10].variables.push_back(v);
  PooledMoments(plan, task, {});
  const mpc::PhaseCost cost = plan.phases().back();
  EXPECT_EQ(*std::max_element(cost.rounds.begin(), cost.rounds.end()), 2u);
  // Party 0 receives the result. Each masks its ten columns for the other; party 1 also sends its
  // share of the opening: one count, 20 sums, 20 x 20 products, and no more.
  EXPECT_EQ(cost.links[0][1].bytes, 1000u * 10 * 16);
  EXPECT_EQ(cost.links[1][0].bytes, (1000u * 10 + 1 + 20 + 400) * 16);
}

}  // namespace
}  // namespace partita::methods::mle
