// The bits are the decisions' law: frequencies at given ratios, paths of blocks, costs as planned,
// and impossible or broken values.
#include "methods/mcmc/decisions.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "base/error.h"
#include "mpc/functions/variates.h"
#include "mpc/replicated_engine.h"
#include "stats/blr/variates.h"
#include "tests/mpc/harness.h"
#include "tests/mpc/sanitized.h"
#include "tests/stats/blr/random.h"

namespace partita::methods::mcmc::decisions_test {
namespace {

using mpc::Engine;
using mpc::testing::RunAll;
using mpc::testing::RunAndComparePlan;
using mpc::testing::RunOptions;
using stats::blr::TestRandom;
using stats::mcmc::Acceptance;

struct EngineCase {
  const char* kind;
  size_t parties;
};
constexpr EngineCase kEngines[] = {
    {"dealer", 2}, {"dealer", 3}, {"replicated", 3}, {"shamir", 3}, {"ot", 2}};

RunOptions OptionsFor(const EngineCase& engine_case, const mpc::Release& release) {
  RunOptions options;
  options.kind = engine_case.kind;
  options.num_parties = engine_case.parties;
  options.releases = {release};
  if (options.kind == "replicated") options.make = mpc::MakeReplicatedEngine;
  return options;
}

double Chance(Acceptance acceptance, double log_ratio) {
  if (acceptance == Acceptance::kMetropolis) return std::min(1.0, std::exp(log_ratio));
  return 1 / (1 + std::exp(-log_ratio));
}

// 2000 decisions on the first engine, 400 on the others (`ot`: 100), at each of 7 ratios:
// frequencies within 6 standard errors. By the binomial law all tests together raise a false alarm
// with less than 1e-6. Frequencies that are off by 0.1, 0.22 on the others and 0.42 on `ot` are seen
// with a power above 0.99.
TEST(Decisions, FrequenciesAreThoseOfTheRule) {
  const std::vector<double> ratios = {-40, -2, -0.5, 0, 0.3, 2, 40};
  for (const EngineCase& engine_case : kEngines) {
    // Transfers make variates dear, and so do sanitizers.
    const bool dear = mpc::testing::kSanitized || engine_case.kind == std::string("ot");
    const bool first = &engine_case == kEngines;
    const size_t copies = dear ? 50 : first ? 250 : 100;
    const size_t repeats = dear ? 2 : first ? 8 : 4;
    for (const Acceptance acceptance : {Acceptance::kMetropolis, Acceptance::kBarker}) {
      const DecisionTask task{ratios.size() * copies, acceptance, repeats / 2};
      std::vector<double> accepted(ratios.size(), 0);
      RunAll(OptionsFor(engine_case, ReleaseOf(task, repeats)), [&](Engine& engine, size_t) {
        crypto::SystemRandom random;
        Decisions decisions(engine, task, random);
        Eigen::MatrixXd own(1, static_cast<Eigen::Index>(task.chains));
        for (size_t c = 0; engine.self() && c < task.chains; ++c) {
          // Shares of the ratio that are themselves far apart.
          const double share = *engine.self() == 0 ? 1000.25 : -1000.25;
          double& mine = own(0, static_cast<Eigen::Index>(c));
          mine = *engine.self() < 2 ? share : 0;
          if (*engine.self() == 1) mine += ratios[c % ratios.size()];
        }
        for (size_t repeat = 0; repeat < repeats; ++repeat) {
          const Bits bits = decisions.Decide(own);
          if (engine.self() != 0u) continue;
          for (size_t c = 0; c < task.chains; ++c) {
            accepted[c % ratios.size()] += bits[0][c] ? 1 : 0;
          }
        }
      }).ThrowIfFailed();
      for (size_t k = 0; k < ratios.size(); ++k) {
        const double n = static_cast<double>(copies * repeats), p = Chance(acceptance, ratios[k]);
        EXPECT_NEAR(accepted[k] / n, p, 6 * std::sqrt(p * (1 - p) / n) + 1e-9)
            << engine_case.kind << " " << ratios[k];
      }
    }
  }
}

TEST(Decisions, CostsAreAsPlanned) {
  for (const EngineCase& engine_case : kEngines) {
    for (const size_t block : {1, 3}) {
      const DecisionTask task{3, Acceptance::kBarker, 2, block};
      RunAndComparePlan(OptionsFor(engine_case, ReleaseOf(task, 3)), [&](Engine& engine, size_t) {
        crypto::SystemRandom random;
        Decisions decisions(engine, task, random);
        const Eigen::MatrixXd own = Eigen::MatrixXd::Constant(block == 1 ? 1 : 7, 3, 0.1);
        for (int i = 0; i < 3; ++i) decisions.Decide(own);
      });
    }
  }
}

// Online: the rounds of the header, on every engine; and the path of a block of k costs
// ceil(log2 k); on `replicated`, where messages go around a ring of three, three for three and
// four.
TEST(Decisions, RoundsOnline) {
  const auto rounds = [](const char* kind, size_t parties, size_t block) {
    mpc::PlanEngine plan = mpc::testing::OnlinePlan(kind, parties);
    crypto::SystemRandom random;
    const DecisionTask task{5, Acceptance::kBarker, 2, block};
    Decisions decisions(plan, task, random);
    decisions.Prepare(2);
    decisions.Decide({});
    plan.BeginPhase("online");
    decisions.Decide({});
    // How much longer the longest chain of messages is than it was after the decision before.
    std::vector<uint64_t> before(parties, 0), after(parties, 0);
    for (const mpc::PhaseCost& phase : plan.phases()) {
      for (size_t p = 0; p < parties; ++p) {
        if (phase.phase != "online") before[p] += phase.rounds[p];
        after[p] += phase.rounds[p];
      }
    }
    return *std::max_element(after.begin(), after.end()) -
           *std::max_element(before.begin(), before.end());
  };
  // Inputs cost nothing, six levels of carries, an opening.
  EXPECT_EQ(rounds("dealer", 3, 1), 1 + 6 + 1u);
  EXPECT_EQ(rounds("replicated", 3, 1), 2 + 6 + 1u);
  struct Level {
    size_t block;
    uint64_t more, more_in_ring;
  };
  for (const Level& level : {Level{2, 1, 1}, {3, 2, 3}, {4, 2, 3}, {5, 3, 3}, {8, 3, 3}}) {
    for (const char* kind : {"dealer", "shamir"}) {
      EXPECT_EQ(rounds(kind, 3, level.block), rounds(kind, 3, 1) + level.more)
          << kind << " " << level.block;
    }
    EXPECT_EQ(rounds("replicated", 3, level.block), rounds("replicated", 3, 1) + level.more_in_ring)
        << level.block;
  }
}

// With variates that the test opens beside, every path of a block is the one that the numbers say.
TEST(Decisions, PathsAreThoseOfTheThresholds) {
  for (const EngineCase& engine_case : kEngines) {
    constexpr size_t kBlock = 3, kQuestions = 7, kChains = 40;
    const DecisionTask task{kChains, Acceptance::kBarker, 1, kBlock};
    RunOptions options = OptionsFor(engine_case, ReleaseOf(task, 1));
    options.releases.push_back({"variates", "thresholds", "all", "exact", 1});
    std::vector<bool> seen(8, false);
    RunAll(options, [&](Engine& engine, size_t) {
      crypto::SystemRandom random;
      Decisions decisions(engine, task, random);
      const mpc::Shared v = mpc::LogisticVariates(engine, {kQuestions, kChains}, random, 40);
      decisions.Use(v);
      const auto opened = engine.Reveal("variates", std::span(&v, 1), mpc::kEverybody)[0];
      Eigen::MatrixXd own(kQuestions, kChains), total = Eigen::MatrixXd::Zero(kQuestions, kChains);
      for (size_t party = 0; party < engine.num_parties(); ++party) {
        TestRandom values(party + 10);
        stats::blr::Variates variates(values);
        Eigen::MatrixXd part(kQuestions, kChains);
        for (double& value : part.reshaped()) value = variates.Normal();
        if (engine.self() == party) own = part;
        total += part;
      }
      const Bits bits = decisions.Decide(engine.self() ? own : Eigen::MatrixXd());
      if (!engine.self()) return;
      for (size_t c = 0; c < kChains; ++c) {
        std::vector<bool> expected;
        for (size_t k = 0; k < kBlock; ++k) {
          const size_t question = stats::mcmc::QuestionAfter(expected);
          const double threshold = mpc::DecodeFixed(opened.values[question * kChains + c], 40);
          const double value =
              total(static_cast<Eigen::Index>(question), static_cast<Eigen::Index>(c)) + threshold;
          ASSERT_GT(std::abs(value), 0x1p-30);
          expected.push_back(value >= 0);
          EXPECT_EQ(bits[k][c], expected[k]) << engine_case.kind << " " << k << " " << c;
        }
        if (engine.self() == 0u) seen[stats::mcmc::QuestionAfter(expected) - 7] = true;
      }
    }).ThrowIfFailed();
    // Random enough to take every path: the chance that 40 chains leave out one is below 1e-2, but
    // six of eight certainly.
    EXPECT_GE(std::count(seen.begin(), seen.end(), true), 5);
  }
}

TEST(Decisions, ImpossibleProposalsAreRejectedAndBrokenOnesNamedToTheirOwner) {
  const DecisionTask task{2, Acceptance::kBarker, 1};
  const auto run_with = [&](double value) {
    return RunAll(OptionsFor({"dealer", 2}, ReleaseOf(task, 1)), [&](Engine& engine, size_t) {
      crypto::SystemRandom random;
      Decisions decisions(engine, task, random);
      Eigen::MatrixXd own;
      if (engine.self()) {
        own.resize(1, 2);
        own << (*engine.self() == 1 ? value : 300.0), 300;
      }
      const Bits bits = decisions.Decide(own);
      if (engine.self()) {
        EXPECT_FALSE(bits[0][0]);
        EXPECT_TRUE(bits[0][1]);
      }
    });
  };
  run_with(-std::numeric_limits<double>::infinity()).ThrowIfFailed();
  for (const double broken : {std::nan(""), std::numeric_limits<double>::infinity()}) {
    const auto run = run_with(broken);
    ASSERT_TRUE(run.errors[1]);
    try {
      std::rethrow_exception(run.errors[1]);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kBadData);
    }
    try {
      std::rethrow_exception(run.errors[0]);
    } catch (const Error& error) {
      EXPECT_EQ(error.message().find("log"), std::string::npos);  // the others learn nothing of it
    }
  }
}

}  // namespace
}  // namespace partita::methods::mcmc::decisions_test
