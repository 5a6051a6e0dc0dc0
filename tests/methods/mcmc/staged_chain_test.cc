// Chains with delayed acceptance between parties: decision for decision those of a plaintext chain
// with the same thresholds, at the planned cost; stopped and continued; which rows decide first.
#include <gtest/gtest.h>

#include "methods/mcmc/spec.h"
#include "mpc/functions/variates.h"
#include "stats/mcmc/stages.h"
#include "tests/methods/mcmc/chain_parties.h"

namespace partita::methods::mcmc::staged_chain_test {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using mpc::Engine;
using stats::mcmc::Acceptance;

ChainPlan StagedPlan(size_t chains, size_t decisions) {
  ChainPlan plan = BirthwtPlan(chains, decisions, Acceptance::kBarker);
  plan.staged = true;
  return plan;
}

constexpr EngineCase kEngines[] = {{"dealer", 2}, {"replicated", 3}, {"shamir", 3}};

TEST(StagedChain, IsThePlaintextChainDecisionForDecision) {
  constexpr size_t kChains = 20, kDecisions = 25;
  for (const EngineCase& engine_case : kEngines) {
    const ChainPlan plan = StagedPlan(kChains, kDecisions);
    auto options = OptionsFor(engine_case, {ReleaseOf(plan), {"variates", "", "all", "exact", 1}});
    Parties parties(engine_case.parties);
    mpc::IntMatrix opened;
    mpc::testing::RunAll(options, [&](Engine& engine, size_t process) {
      crypto::SystemRandom random;
      const mpc::Shared all =
          mpc::LogisticVariates(engine, {2 * kDecisions, kChains}, random, kDecisionBits);
      auto here = engine.Reveal("variates", std::span(&all, 1), mpc::kEverybody).front();
      if (engine.self() == mpc::PartyIndex{0}) opened = std::move(here);
      std::vector<mpc::Shared> variates;
      for (size_t b = 0; b < 2 * kDecisions; ++b)
        variates.push_back(engine.Slice(all, b, 0, {1, kChains}));
      parties.Run(engine, process, plan, std::move(variates));
    }).ThrowIfFailed();

    // The pooled rows of each stage, and the thresholds in the order of their use.
    const StageTarget first(parties.registry(), engine_case.parties, 0);
    const StageTarget second(parties.registry(), engine_case.parties, 1);
    stats::mcmc::Differences differences(first);
    stats::mcmc::LaterDifferences later(second);
    size_t t = 0, passed_in_all = 0, accepted_in_all = 0;
    const stats::mcmc::Decide replay = [&](const MatrixXd& current,
                                           const std::vector<MatrixXd>& steps) {
      const auto decide = [&](const MatrixXd& log_ratio) {
        std::vector<bool> bits;
        for (size_t c = 0; c < kChains; ++c) {
          const double value = log_ratio(0, static_cast<Index>(c)) +
                               mpc::DecodeFixed(opened.values[t * kChains + c], kDecisionBits);
          EXPECT_GT(std::abs(value), 0x1p-30);  // so near 0 once in 2^30
          bits.push_back(value >= 0);
        }
        ++t;
        return bits;
      };
      const std::vector<bool> passed =
          decide(differences.Of(current, steps) + PriorDifferences(plan.priors, current, steps));
      const std::vector<bool> accepted =
          stats::mcmc::Both(passed, decide(later.Of(current, steps.front(), passed)));
      passed_in_all += static_cast<size_t>(std::count(passed.begin(), passed.end(), true));
      accepted_in_all += static_cast<size_t>(std::count(accepted.begin(), accepted.end(), true));
      EXPECT_EQ(accepted, parties.results[0].record.decisions[t / 2 - 1].accepted);
      differences.Replace({accepted});
      later.Replace(accepted);
      return Bits{accepted};
    };
    crypto::Prg proposals(crypto::DeriveKey(parties.key(), "chain proposals"));
    SilentProgress progress;
    const auto draws = RunChains(plan.start, plan.options, replay, proposals, progress);
    for (const ChainResult& result : parties.results) {
      for (size_t c = 0; c < kChains; ++c)
        ASSERT_EQ(draws.chains[c], result.draws.chains[c]) << engine_case.kind;
    }
    EXPECT_GT(accepted_in_all, 20u);
    EXPECT_GT(passed_in_all, accepted_in_all + 20);
  }
}

TEST(StagedChain, CostsAreAsPlanned) {
  for (const EngineCase& engine_case : kEngines) {
    ChainPlan plan = StagedPlan(3, 8);
    plan.ahead = 3;
    EXPECT_EQ(ReleaseOf(plan).max_count, 16u);
    EXPECT_EQ(ReleaseOf(plan, 5).max_count, 6u);
    Parties parties(engine_case.parties);
    mpc::testing::RunAndComparePlan(
        OptionsFor(engine_case, {ReleaseOf(plan)}),
        [&](Engine& engine, size_t process) { parties.Run(engine, process, plan); });
  }
}

// A party's rows fail between the two bits of a decision: it is skipped, and no bit opens twice.
TEST(StagedChain, GoesOnAfterAStopBetweenStages) {
  ChainPlan plan = StagedPlan(4, 40);
  plan.stretch = 4;
  Parties parties(3);
  parties.later_fails_after[1] = 6;
  const auto first = mpc::testing::RunAll(
      OptionsFor({"replicated", 3}, {ReleaseOf(plan)}),
      [&](Engine& engine, size_t process) { parties.Run(engine, process, plan); });
  ASSERT_TRUE(first.errors[1]);
  EXPECT_EQ(CodeOf(first.errors[1]), ErrorCode::kBadData);
  std::vector<ChainRecord> before;
  for (size_t party = 0; party < 3; ++party) before.push_back(parties.stored[party].back());
  parties.later_fails_after[1] = SIZE_MAX;
  auto options = OptionsFor({"replicated", 3}, {});
  const ChainRecord agreed = parties.AgreeOn(before, options);
  ASSERT_LT(agreed.decisions.size(), 40u);
  options = OptionsFor({"replicated", 3}, {ReleaseOf(plan, agreed.decisions.size())});
  for (auto& record : parties.records) record = agreed;
  mpc::testing::RunAll(options, [&](Engine& engine, size_t process) {
    parties.Run(engine, process, plan);
  }).ThrowIfFailed();
  for (size_t party = 0; party < 3; ++party) {
    const ChainResult& result = parties.results[party];
    EXPECT_EQ(result.record.decisions.size(), 40u);
    EXPECT_GE(result.skipped, 1u);
    EXPECT_LE(result.skipped, 4u);
    for (size_t c = 0; c < 4; ++c)
      EXPECT_EQ(result.draws.chains[c], parties.results[0].draws.chains[c]);
  }
}

// A row's stage depends on the row alone, so that whoever joins or leaves moves nobody else.
TEST(StagedChain, ARowsStageIsItsOwn) {
  const auto registry = stats::mcmc::testing::Lung();
  const ChainRows rows{registry.x, registry.y, registry.event};
  const StagedRows stages = SplitStages(rows, 0.25);
  const Index n = rows.outcome.size();
  EXPECT_EQ(stages.first.outcome.size() + stages.later.outcome.size(), n);
  EXPECT_NEAR(stages.first.outcome.sum() + stages.later.outcome.sum(), rows.outcome.sum(), 1e-6);
  EXPECT_EQ(stages.first.event.size(), stages.first.outcome.size());
  // Binomial: 0.25 n within six standard deviations.
  const auto share = static_cast<double>(stages.first.outcome.size());
  EXPECT_NEAR(share, 0.25 * static_cast<double>(n), 6 * std::sqrt(0.1875 * static_cast<double>(n)));
  const ChainRows fewer{rows.predictors.topRows(n - 40), rows.outcome.head(n - 40),
                        rows.event.head(n - 40)};
  const StagedRows of_fewer = SplitStages(fewer, 0.25);
  const Index kept = of_fewer.first.outcome.size();
  EXPECT_EQ(of_fewer.first.outcome, stages.first.outcome.head(kept));
  EXPECT_EQ(of_fewer.first.predictors, stages.first.predictors.topRows(kept));
  ChainRows changed = rows;
  changed.outcome(3) += 1;
  const StagedRows of_changed = SplitStages(changed, 0.25);
  EXPECT_LE(std::abs(of_changed.first.outcome.size() - stages.first.outcome.size()), 1);
  // No rows.
  EXPECT_EQ(SplitStages({MatrixXd(0, 2), Eigen::VectorXd(0), {}}, 0.5).first.outcome.size(), 0);
}

}  // namespace
}  // namespace partita::methods::mcmc::staged_chain_test
