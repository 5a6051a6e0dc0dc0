// Disclosure checks answer what the plaintext counts say, exactly at the threshold, and open one
// bit each.
#include "methods/mle/moments/disclosure.h"

#include <gtest/gtest.h>

#include <random>

#include "mpc/dealer_engine.h"
#include "mpc/plan_engine.h"
#include "mpc/replicated_engine.h"
#include "tests/methods/mle/plaintext_moments.h"
#include "tests/net/parties.h"

namespace partita::methods::mle::disclosure_test {
namespace {

// Three holders of one 0/1 column each over the same rows; two cells, the second selected by the
// first holder.
struct Table {
  MomentsTask task;
  std::vector<std::vector<int>> columns;  // by holder and row
  std::vector<int32_t> selector;
};

Table RandomTable(uint64_t seed, size_t rows) {
  std::mt19937_64 random(seed);
  Table table;
  table.task.num_variables = 3;
  table.task.cells = {{}, {"some", {}}};
  table.task.fraction_bits = 50;
  table.task.max_rows = rows;
  table.task.blocks = {{"all", rows, {{0, {0}, {false, true}}, {1, {1}, {}}, {2, {2}, {}}}}};
  for (size_t h = 0; h < 3; ++h) {
    table.columns.emplace_back();
    for (size_t r = 0; r < rows; ++r)
      table.columns.back().push_back(random() % (h + 2) == 0 ? 1 : 0);
  }
  for (size_t r = 0; r < rows; ++r) table.selector.push_back(random() % 2 == 0 ? 1 : 0);
  return table;
}

std::vector<LocalBlock> LocalPart(const Table& table, mpc::PartyIndex party) {
  std::vector<LocalBlock> local(1);
  if (party > 2) return local;
  local[0].num_rows = table.selector.size();
  local[0].values = [&column = table.columns[party]](size_t first, size_t num, Int128* out) {
    for (size_t r = 0; r < num; ++r) out[r] = (column[first + r] == 1 ? 1 : -1) * (Int128{1} << 50);
  };
  if (party == 0) local[0].selectors = {{}, table.selector};
  return local;
}

// By counting rows.
Int128 Count(const Table& table, size_t cell, const std::vector<std::pair<size_t, int>>& values) {
  Int128 count = 0;
  for (size_t r = 0; r < table.selector.size(); ++r) {
    bool all = cell == 0 || table.selector[r] == 1;
    for (const auto& [column, value] : values) all = all && table.columns[column][r] == value;
    count += all ? 1 : 0;
  }
  return count;
}

struct CountedForm {
  CountForm form;
  Int128 count;
};

std::vector<CountedForm> Forms(const Table& table) {
  std::vector<CountedForm> forms;
  for (size_t cell : {0, 1}) {
    forms.push_back({CountRows(cell), Count(table, cell, {})});
    for (size_t i = 0; i < 3; ++i) {
      forms.push_back({CountOnes(cell, i), Count(table, cell, {{i, 1}})});
      forms.push_back({CountZeros(cell, i), Count(table, cell, {{i, 0}})});
    }
    for (int a : {0, 1}) {
      for (int b : {0, 1}) {
        forms.push_back(
            {CountBoth(cell, 1, a == 1, 2, b == 1), Count(table, cell, {{1, a}, {2, b}})});
      }
    }
  }
  forms.push_back(
      {Combine(CountRows(0), CountRows(1), -1), Count(table, 0, {}) - Count(table, 1, {})});
  return forms;
}

// Every form with minima around its count.
std::vector<DisclosureCheck> ChecksAround(const Table& table) {
  std::vector<DisclosureCheck> checks;
  for (const CountedForm& form : Forms(table)) {
    for (int offset : {-1, 0, 1}) {
      const Int128 minimum = form.count + offset;
      if (minimum < 0) continue;
      checks.push_back({"a", "v", "r", form.form, static_cast<uint64_t>(minimum), false});
    }
    checks.push_back({"a", "v", "r", form.form, uint64_t{1} << 62, false});
  }
  return checks;
}

// Counts of ones that also pass where the cell has no row; at least min_cell otherwise.
std::vector<DisclosureCheck> ChecksOrNone(const Table& table, uint64_t minimum) {
  std::vector<DisclosureCheck> checks;
  for (const CountedForm& form : Forms(table)) {
    checks.push_back({"a", "v", "r", form.form, minimum, false});
    checks.back().or_none = CountRows(form.form.terms.front().cell);
    checks.push_back({"a", "v", "r", form.form, minimum, false});
  }
  return checks;
}

std::vector<bool> Protocol(mpc::Engine& engine, const Table& table,
                           const std::vector<DisclosureCheck>& checks,
                           const std::vector<LocalBlock>& local) {
  engine.BeginPhase("moments");
  const std::vector<SharedMoments> cells = ComputeMoments(engine, table.task, local);
  engine.BeginPhase("disclosure");
  return RunDisclosureChecks(engine, checks, {{&table.task, &cells}});
}

std::vector<std::vector<bool>> Answers(const std::string& name, const Table& table,
                                       const std::vector<DisclosureCheck>& checks) {
  const size_t processes = name == "dealer" ? 4 : 3;
  std::vector<std::vector<bool>> answers(processes);
  const auto errors = net::RunChannels(net::MemoryParties(processes), [&](net::Channel& channel) {
    mpc::CountingReleaseGate gate;
    gate.Reserve({{kDisclosureRelease, "bits", "all", "exact", 1, mpc::kEverybody, checks.size()}});
    const auto engine = name == "dealer" ? mpc::MakeDealerEngine(channel, gate)
                                         : mpc::MakeReplicatedEngine(channel, gate);
    answers[channel.self()] = Protocol(*engine, table, checks, LocalPart(table, channel.self()));
  });
  EXPECT_EQ(net::Describe(errors), "");
  answers.resize(3);
  return answers;
}

class DisclosureEngines : public ::testing::TestWithParam<std::string> {};

TEST_P(DisclosureEngines, AnswersAreThoseOfPlainCountsAtEveryThreshold) {
  const size_t processes = GetParam() == "dealer" ? 4 : 3;
  for (uint64_t seed = 0; seed < (net::kSanitized ? 2 : 8); ++seed) {
    SCOPED_TRACE(seed);
    const Table table = RandomTable(seed, 1 + 7 * seed);
    const std::vector<CountedForm> forms = Forms(table);
    const std::vector<DisclosureCheck> checks = ChecksAround(table);
    std::vector<std::vector<bool>> answers(processes);
    std::vector<net::PhaseTraffic> traffic(processes);
    const auto errors = net::RunChannels(net::MemoryParties(processes), [&](net::Channel& channel) {
      mpc::CountingReleaseGate gate;
      gate.Reserve(
          {{kDisclosureRelease, "bits", "all", "exact", 1, mpc::kEverybody, checks.size()}});
      const auto engine = GetParam() == "dealer" ? mpc::MakeDealerEngine(channel, gate)
                                                 : mpc::MakeReplicatedEngine(channel, gate);
      answers[channel.self()] = Protocol(*engine, table, checks, LocalPart(table, channel.self()));
      traffic[channel.self()] = channel.traffic().back();
    });
    ASSERT_EQ(net::Describe(errors), "");
    for (size_t party = 0; party < 3; ++party) {
      ASSERT_EQ(answers[party].size(), checks.size());
      size_t next = 0;
      for (const CountedForm& form : forms) {
        for (; next < checks.size() && checks[next].minimum != uint64_t{1} << 62; ++next)
          EXPECT_EQ(answers[party][next], form.count >= static_cast<Int128>(checks[next].minimum));
        EXPECT_FALSE(answers[party][next++]);
      }
    }
    // As planned.
    mpc::PlanEngine plan(GetParam(), 3);
    Protocol(plan, table, checks, {});
    const mpc::PhaseCost cost = plan.phases().back();
    for (size_t from = 0; from < processes; ++from) {
      for (size_t to = 0; to < processes; ++to) {
        if (from == to) continue;
        EXPECT_EQ(traffic[from].links[to].bytes_sent, cost.links[from][to].bytes);
      }
    }
  }
}

// Still one bit for each check, whatever the two comparisons behind it say.
TEST_P(DisclosureEngines, OfNobodyNothingIsTold) {
  for (uint64_t seed = 0; seed < (net::kSanitized ? 1 : 4); ++seed) {
    SCOPED_TRACE(seed);
    Table table = RandomTable(seed, 12);
    if (seed % 2 == 0) table.selector.assign(12, 0);               // the second cell is empty
    if (seed % 4 == 2) table.selector[1] = table.selector[4] = 1;  // or has few rows
    const std::vector<CountedForm> forms = Forms(table);
    const std::vector<DisclosureCheck> checks = ChecksOrNone(table, 3);
    for (const std::vector<bool>& answers : Answers(GetParam(), table, checks)) {
      ASSERT_EQ(answers.size(), checks.size());
      for (size_t f = 0; f < forms.size(); ++f) {
        const bool none = Count(table, forms[f].form.terms.front().cell, {}) == 0;
        EXPECT_EQ(answers[2 * f], forms[f].count >= 3 || none) << f;
        EXPECT_EQ(answers[2 * f + 1], forms[f].count >= 3) << f;
      }
    }
  }
}

// The negative of a count is at least 0 only where nobody is counted.
TEST_P(DisclosureEngines, NobodyIsOutside) {
  const Table table = RandomTable(3, 12);
  CountForm outside = Combine(CountRows(1), CountRows(0), -1);
  const std::vector<DisclosureCheck> checks = {
      {"a", "v", "r", outside, 0, false},
      {"a", "v", "r", Combine(CountRows(0), CountRows(0), -1), 0, false}};
  ASSERT_LT(Count(table, 1, {}), Count(table, 0, {}));
  for (const std::vector<bool>& answers : Answers(GetParam(), table, checks))
    EXPECT_EQ(answers, (std::vector<bool>{false, true}));
}

INSTANTIATE_TEST_SUITE_P(Engines, DisclosureEngines, ::testing::Values("dealer", "replicated"));

TEST(DisclosureTest, PlaintextFormsCountRows) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    const Table table = RandomTable(seed, 1 + seed);
    std::vector<IntegerMoments> moments;
    for (size_t cell : {0, 1}) {
      std::vector<Int128> values;
      std::vector<int32_t> weights;
      for (size_t r = 0; r < table.selector.size(); ++r) {
        weights.push_back(cell == 0 ? 1 : table.selector[r]);
        for (size_t h = 0; h < 3; ++h)
          values.push_back((table.columns[h][r] == 1 ? 1 : -1) * (Int128{1} << 50));
      }
      moments.push_back(PlaintextMoments(3, {values}, {weights}));
    }
    for (const CountedForm& form : Forms(table))
      EXPECT_TRUE(PlaintextCount(form.form, 50, moments) == form.count);
  }
}

// A column that is not 0/1 gives no count.
TEST(DisclosureTest, OtherColumnsAreNoCounts) {
  const IntegerMoments half{1, {Int128{1} << 48}, {Int128{1} << 96}};
  EXPECT_THROW(PlaintextCount(CountOnes(0, 0), 50, {half}), Error);
}

}  // namespace
}  // namespace partita::methods::mle::disclosure_test
