// Chains of several parties: decision for decision those of a plaintext chain with the same
// thresholds; interrupted and resumed without a bit revealed twice; every rule samples the
// posterior.
#include "methods/mcmc/chain.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>

#include "base/error.h"
#include "mpc/functions/variates.h"
#include "mpc/operation.h"
#include "mpc/replicated_engine.h"
#include "mpc/shamir_engine.h"
#include "stats/mcmc/diagnostics.h"
#include "tests/methods/mcmc/chain_parties.h"
#include "tests/mpc/sanitized.h"

namespace partita::methods::mcmc::chain_test {
namespace {

using mpc::Engine;
using stats::mcmc::Acceptance;

constexpr EngineCase kEngines[] = {
    {"dealer", 2}, {"replicated", 3}, {"shamir", 3}, {"shamir", 5}, {"ot", 2}};

TEST(Chain, IsThePlaintextChainDecisionForDecision) {
  for (const EngineCase& engine_case : kEngines) {
    for (const Acceptance acceptance : {Acceptance::kBarker, Acceptance::kMetropolis}) {
      const bool dear = mpc::testing::kSanitized || engine_case.kind == std::string("ot");
      const size_t chains = dear ? 5 : 20, decisions = dear ? 8 : 12;
      ChainPlan plan = BirthwtPlan(chains, decisions, acceptance);
      plan.options.speculation = acceptance == Acceptance::kBarker ? 4 : 1;
      ExpectPlaintextChain(engine_case, plan);
    }
  }
}

// Everything that a party can see is the same at all of them, and what it costs is what was
// planned.
TEST(Chain, CostsAreAsPlanned) {
  for (const EngineCase& engine_case : kEngines) {
    ChainPlan plan = BirthwtPlan(3, 8, Acceptance::kBarker);
    plan.options.speculation = 2;
    plan.ahead = 3;
    Parties parties(engine_case.parties);
    mpc::testing::RunAndComparePlan(
        OptionsFor(engine_case, {ReleaseOf(plan)}),
        [&](Engine& engine, size_t process) { parties.Run(engine, process, plan); });
  }
}

// One party's rows fail in the middle. It learns why, the others only that it stopped; afterwards
// all go on from what they agree on, nothing opens more often than planned, and no bit changes.
TEST(Chain, ResumesWithoutRevealingABitTwice) {
  for (const bool crash : {false, true}) {
    ChainPlan plan = BirthwtPlan(4, 40, Acceptance::kBarker);
    plan.options.speculation = 2;
    plan.stretch = 3;
    Parties parties(3);
    parties.fail_after[1] = 9;  // likelihoods: in the block of the 17th decision
    const auto first = mpc::testing::RunAll(
        OptionsFor({"replicated", 3}, {ReleaseOf(plan)}),
        [&](Engine& engine, size_t process) { parties.Run(engine, process, plan); });
    ASSERT_TRUE(first.errors[1]);
    EXPECT_EQ(CodeOf(first.errors[1]), ErrorCode::kBadData);
    EXPECT_NE(MessageOf(first.errors[1]).find("log likelihood"), std::string::npos);
    ASSERT_TRUE(first.errors[0]);
    EXPECT_EQ(MessageOf(first.errors[0]).find("likelihood"), std::string::npos);
    // The failing party's own last word is lost, as if the machine had stopped.
    if (crash) parties.stored[1].pop_back();

    std::vector<ChainRecord> before;
    for (size_t party = 0; party < 3; ++party) {
      before.push_back(parties.stored[party].back());
      before.back().may_be_open = std::max(before.back().may_be_open, parties.marked[party].back());
    }
    // 16 decisions are known, or 14 at a party that was told before it had seen the last two. Of
    // the next block some party may have begun to open.
    const size_t known = before[0].decisions.size();
    EXPECT_GE(known, 14u);
    EXPECT_LE(known, 16u);
    EXPECT_LE(before[0].may_be_open, 18u);
    parties.fail_after[1] = SIZE_MAX;
    auto options = OptionsFor({"replicated", 3}, {});
    const ChainRecord agreed = parties.AgreeOn(before, options);
    EXPECT_LE(agreed.decisions.size(), 18u);
    EXPECT_GE(agreed.decisions.size(), 16u);
    size_t skipped = 0;
    for (const auto& decision : agreed.decisions) skipped += decision.skipped ? 1 : 0;
    EXPECT_LE(skipped, 4u);
    for (size_t t = 0; t < known; ++t) {
      EXPECT_FALSE(agreed.decisions[t].skipped);
      EXPECT_EQ(agreed.decisions[t].accepted, before[0].decisions[t].accepted);
    }
    // The gate allows what is left of the plan and no more.
    options = OptionsFor({"replicated", 3}, {ReleaseOf(plan, agreed.decisions.size())});
    for (auto& record : parties.records) record = agreed;
    mpc::testing::RunAll(options, [&](Engine& engine, size_t process) {
      parties.Run(engine, process, plan);
    }).ThrowIfFailed();
    for (size_t party = 0; party < 3; ++party) {
      const ChainResult& result = parties.results[party];
      EXPECT_EQ(result.record.decisions.size(), 40u);
      EXPECT_EQ(result.skipped, skipped);
      for (size_t c = 0; c < 4; ++c) {
        EXPECT_EQ(result.draws.chains[c], parties.results[0].draws.chains[c]);
      }
      for (size_t t = 0; t < known; ++t) {
        EXPECT_EQ(result.record.decisions[t].accepted, before[0].decisions[t].accepted);
      }
    }
  }
}

// Whose log density breaks is told what is wrong; the others that it stopped, not why. -infinity is
// an impossible proposal and breaks nothing.
TEST(Chain, BrokenDensitiesAreToldToTheirOwner) {
  const double infinity = std::numeric_limits<double>::infinity();
  const ChainPlan plan = BirthwtPlan(2, 12, Acceptance::kBarker);
  for (const double broken : {std::nan(""), infinity, -infinity}) {
    SCOPED_TRACE(broken);
    Parties parties(3);
    parties.fail_after[1] = 5;
    parties.broken = broken;
    const auto run = mpc::testing::RunAll(
        OptionsFor({"replicated", 3}, {ReleaseOf(plan)}),
        [&](Engine& engine, size_t process) { parties.Run(engine, process, plan); });
    if (broken == -infinity) {
      run.ThrowIfFailed();
      continue;
    }
    for (const auto& error : run.errors) ASSERT_TRUE(error);
    EXPECT_EQ(CodeOf(run.errors[1]), ErrorCode::kBadData);
    EXPECT_NE(MessageOf(run.errors[1]).find("log likelihood"), std::string::npos);
    for (const size_t other : {0, 2}) {
      EXPECT_NE(CodeOf(run.errors[other]), ErrorCode::kBadData);
      EXPECT_EQ(MessageOf(run.errors[other]).find("likelihood"), std::string::npos);
    }
  }
}

// Among seven parties of whom two are tolerated, two lie in every opening of bits: they are
// corrected and named by everybody else, and the chain is the one without them.
class LyingEngine : public mpc::ShamirEngine<mpc::Field127, 3> {
 public:
  static constexpr size_t kThreshold = 2;
  LyingEngine(net::Channel& channel, mpc::ReleaseGate& gate, bool lies)
      : ShamirEngine(channel, gate, mpc::ChannelGroupTapes(channel, kThreshold), 64, kThreshold),
        lies_(lies) {}

 protected:
  void Execute(std::span<mpc::Operation> operations) override {
    for (mpc::Operation& operation : operations) {
      auto* reveal = std::get_if<mpc::RevealBitsOperation>(&operation);
      for (size_t i = 0; lies_ && reveal != nullptr && i < reveal->values.size(); ++i) {
        auto shares = BitsOf(reveal->values[i]);
        for (uint64_t& word : shares[0]) word = ~word;
        reveal->values[i] = WithBits(reveal->values[i], std::move(shares));
      }
    }
    ShamirEngine::Execute(operations);
  }

 private:
  bool lies_;
};

TEST(Chain, TwoLiarsOfSevenAreCorrectedAndNamed) {
  const std::vector<mpc::PartyIndex> liars = {1, 5};
  const auto lies = [&](size_t party) {
    return std::find(liars.begin(), liars.end(), party) != liars.end();
  };
  std::vector<std::vector<mpc::PartyIndex>> named(7);
  ExpectPlaintextChain(
      {"shamir", 7}, BirthwtPlan(3, 8, Acceptance::kBarker),
      [&](net::Channel& channel, mpc::ReleaseGate& gate) {
        return std::make_unique<LyingEngine>(channel, gate, lies(channel.self()));
      },
      [&](Engine& engine, size_t party) { named[party] = mpc::CorrectedParties(engine); });
  for (size_t party = 0; party < 7; ++party) {
    if (!lies(party)) {
      EXPECT_EQ(named[party], liars) << party;
    }
  }
}

// A dropped peer ends the run at everybody, with what was decided stored.
TEST(Chain, StoresBeforeAnythingOpens) {
  ChainPlan plan = BirthwtPlan(2, 12, Acceptance::kBarker);
  plan.stretch = 5;
  Parties parties(2);
  mpc::testing::RunAll(OptionsFor({"dealer", 2}, {ReleaseOf(plan)}), [&](Engine& engine,
                                                                         size_t process) {
    parties.Run(engine, process, plan);
  }).ThrowIfFailed();
  // Every decision is marked before it; the seed is stored before the first, and what fell every
  // stretch and at the end.
  EXPECT_EQ(parties.marked[0], (std::vector<uint64_t>{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}));
  const auto& stored = parties.stored[0];
  ASSERT_EQ(stored.size(), 4u);
  const uint64_t known[] = {0, 5, 10, 12}, open[] = {1, 5, 10, 12};
  for (size_t k = 0; k < 4; ++k) {
    EXPECT_EQ(stored[k].decisions.size(), known[k]);
    EXPECT_EQ(stored[k].may_be_open, open[k]);
    EXPECT_EQ(stored[k].seed.Expose(), parties.key().Expose());
  }
}

TEST(Chain, ContradictingRecordsAreNoticed) {
  Parties parties(3);
  std::vector<ChainRecord> records(3);
  for (ChainRecord& record : records) {
    record.decisions = {{false, {true, false, true, false}}};
    record.may_be_open = 1;
  }
  records[2].decisions[0].accepted[3] = true;
  auto options = OptionsFor({"replicated", 3}, {});
  EXPECT_THROW(parties.AgreeOn(records, options), Error);
  records[2].decisions.clear();
  records[2].may_be_open = 3;
  EXPECT_EQ(parties.AgreeOn(records, options).decisions.size(), 3u);
  records[2].may_be_open = 1001;  // more than are planned
  EXPECT_THROW(parties.AgreeOn(records, options), Error);
}

TEST(Record, FilesAreBoundAndChecked) {
  const auto folder = std::filesystem::path(::testing::TempDir());
  const std::string path = (folder / "accept_chain_record").string();
  std::filesystem::remove(path);
  const crypto::Digest binding = crypto::Sha256Of(AsBytes("study"));
  const RecordFile file(path, 9, binding);
  std::filesystem::remove(path + ".marks");
  EXPECT_FALSE(file.Exists());
  EXPECT_EQ(file.LoadOrMake().may_be_open, 0u);
  EXPECT_TRUE(file.Exists());
  ChainRecord record;
  record.decisions = {{false, {true, false, true, true, false, false, false, true, true}},
                      {true, {}}};
  record.may_be_open = 5;
  file.Store(record);
  EXPECT_EQ(file.LoadOrMake().may_be_open, 5u);
  file.Mark(8);
  file.Mark(6);
  const ChainRecord read = file.LoadOrMake();
  EXPECT_EQ(read.may_be_open, 6u);
  ASSERT_EQ(read.decisions.size(), 2u);
  EXPECT_EQ(read.decisions[0].accepted, record.decisions[0].accepted);
  EXPECT_TRUE(read.decisions[1].skipped);
  const Bytes bytes = EncodeRecord(record, 9, binding);
  try {
    DecodeRecord(bytes, 9, crypto::Sha256Of(AsBytes("another")));
    ADD_FAILURE() << "accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kRefused);
  }
  for (size_t k = 0; k < bytes.size(); ++k) {
    Bytes changed = bytes;
    changed[k] ^= 1;
    EXPECT_THROW(DecodeRecord(changed, 9, binding), Error) << k;
    EXPECT_THROW(DecodeRecord(ByteView(bytes).first(k), 9, binding), Error) << k;
  }
  std::filesystem::remove(path);
}

TEST(Chain, PlansThatDoNotFitAreRefused) {
  const auto refused = [](const std::function<void(ChainPlan&)>& change) {
    ChainPlan plan = BirthwtPlan(2, 12, Acceptance::kMetropolis);
    change(plan);
    EXPECT_THROW(CheckPlan(plan), Error);
  };
  CheckPlan(BirthwtPlan(2, 12, Acceptance::kMetropolis));
  refused([](ChainPlan& plan) { plan.options.speculation = 5; });
  refused([](ChainPlan& plan) { plan.options.speculation = 0; });
  refused([](ChainPlan& plan) {
    plan.rule = Rule::kSum;
    plan.options.speculation = 2;
  });
  refused([](ChainPlan& plan) {
    plan.rule = Rule::kPenalty;
    plan.options.acceptance = Acceptance::kBarker;
  });
  refused([](ChainPlan& plan) { plan.priors.pop_back(); });
}

// Parties who share nothing but what opens walk the same chain, and it is the posterior's: means
// within 5.5 standard errors for 6 parameters and 4 rules, a false alarm below 1e-6. Standard errors
// are below a tenth of a standard deviation: means that are off by 0.8 of it are seen with a power
// above 0.98.
TEST(Chain, EveryRuleSamplesThePosterior) {
  if (mpc::testing::kSanitized) GTEST_SKIP() << "many decisions";
  const auto reference = BirthwtReference();
  for (const Rule rule : {Rule::kBit, Rule::kSum, Rule::kProduct, Rule::kPenalty}) {
    const Acceptance acceptance =
        rule == Rule::kBit ? Acceptance::kBarker : Acceptance::kMetropolis;
    ChainPlan plan = BirthwtPlan(40, 0, acceptance);
    plan.rule = rule;
    plan.options.warmup = 300;
    plan.options.draws = 200;
    plan.options.thin = 4;
    plan.ahead = 100;
    // s = 0.8: not so large that hardly anything is accepted.
    plan.penalty = {0.8, 0, 1, 1, 0};
    Parties parties(2);
    mpc::testing::RunAll(OptionsFor({"dealer", 2}, {ReleaseOf(plan)}), [&](Engine& engine,
                                                                           size_t process) {
      parties.Run(engine, process, plan);
    }).ThrowIfFailed();
    const auto& draws = parties.results[0].draws;
    for (size_t c = 0; c < 40; ++c) {
      ASSERT_EQ(draws.chains[c], parties.results[1].draws.chains[c]);
    }
    const auto summaries = stats::mcmc::Summarise(draws);
    for (size_t j = 0; j < 6; ++j) {
      EXPECT_NEAR(summaries[j].mean, reference["mean"][j], 5.5 * summaries[j].mcse_mean);
      EXPECT_LT(summaries[j].mcse_mean, 0.1 * reference["sd"][j].get<double>());
    }
  }
}

}  // namespace
}  // namespace partita::methods::mcmc::chain_test
