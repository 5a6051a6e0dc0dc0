// Whole runs under secure computation against runs in the clear; stopping and resuming; statements.
#include "methods/mixture/run.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <map>
#include <mutex>

#include "crypto/kdf.h"
#include "crypto/prg.h"
#include "crypto/state_file.h"
#include "methods/mixture/statement.h"
#include "privacy/sampling/discrete_gaussian.h"
#include "stats/mixture/dpvi.h"
#include "stats/mixture/predictive.h"
#include "tests/data/expect_error.h"
#include "tests/mpc/evaluate.h"
#include "tests/net/parties.h"

namespace partita::methods::mixture::run_test {
namespace {

using Eigen::ArrayXXd;
using Eigen::Index;
using mpc::testing::Setting;
using stats::mixture::BatchMode;
using stats::mixture::Family;

constexpr uint32_t kRows = 60;

crypto::Key KeyOf(uint8_t seed) {
  std::array<uint8_t, 32> bytes{};
  bytes[0] = seed;
  return crypto::Key(bytes);
}

RunRequest SmallRequest(uint64_t steps, BatchMode mode = BatchMode::kPoisson) {
  RunRequest request;
  request.layout = stats::mixture::MakeLayout({{"a", Family::kCategorical, 4, 1, 0},
                                               {"b", Family::kBeta, 0, 1, 0},
                                               {"c", Family::kCategorical, 3, 1, 1},
                                               {"d", Family::kGaussian, 0, 1, 1}});
  request.party_index = {0, 1};
  request.num_rows = kRows;
  request.components = 3;
  request.variational.steps = steps;
  request.variational.learning_rate = 0.05;
  request.batch_mode = mode;
  request.batch_size = 12;
  request.noise_multiplier = 1.5;
  request.noise_parties = {0, 1};
  request.checkpoint_every = 4;
  return request;
}

stats::mixture::Rows SmallRows(const stats::mixture::Layout& layout) {
  std::mt19937_64 random(11);
  const auto unit = [&] { return static_cast<double>(random() >> 11) * 0x1p-53; };
  std::vector<std::vector<double>> values(4);
  for (uint32_t n = 0; n < kRows; ++n) {
    values[0].push_back(static_cast<double>(random() % 4));
    values[1].push_back(0.01 + 0.98 * unit());
    values[2].push_back(static_cast<double>(random() % 3));
    values[3].push_back(2 * unit() - 1);
  }
  return stats::mixture::MakeRows(layout, values);
}

// What each process did.
struct Outcome {
  std::vector<RunResult> results;
  std::vector<std::vector<Checkpoint>> stored;      // by process
  std::vector<std::vector<uint64_t>> marked;        // by process
  std::vector<std::map<uint64_t, ArrayXXd>> means;  // by process, after every opening
  std::vector<std::exception_ptr> errors;
};

struct Way {
  Setting setting{"dealer", 2};
  std::vector<std::optional<Checkpoint>> start;  // by process; empty: from the beginning
  uint64_t stop_after = UINT64_MAX;              // party 1 stops after so many openings
  uint64_t no_mark = UINT64_MAX;                 // party 1 cannot mark this one
};

Outcome RunAll(const RunPlan& plan, const Way& way) {
  const stats::mixture::Rows rows = SmallRows(plan.request.layout);
  const size_t processes = way.setting.num_parties + 1;
  Outcome outcome;
  outcome.results.resize(processes);
  outcome.stored.resize(processes);
  outcome.marked.resize(processes);
  outcome.means.resize(processes);
  mpc::testing::RunOptions options = mpc::testing::OptionsOf(way.setting);
  options.releases = {GradientRelease(plan)};
  const crypto::Key batch_key = KeyOf(1), public_key = KeyOf(2);
  const mpc::testing::RunResult result =
      mpc::testing::RunAll(options, [&](mpc::Engine& engine, size_t self) {
        // Noise of a test is a stream, so that the clear run has the same.
        crypto::Prg noise = net::TestRandom(static_cast<uint8_t>(50 + self));
        stats::mixture::Rows own;
        RunInputs inputs;
        for (size_t p : {0, 1}) {
          if (engine.self() != p) continue;
          own = stats::mixture::PartyRows(plan.request.layout, p, rows);
          inputs.rows = &own;
        }
        inputs.batch_key = &batch_key;
        inputs.public_key = &public_key;
        inputs.random = &noise;
        if (!way.start.empty()) inputs.start = way.start[self];
        inputs.store = [&](const Checkpoint& checkpoint) {
          outcome.stored[self].push_back(checkpoint);
        };
        inputs.mark = [&](uint64_t openings) {
          if (self == 1 && openings == way.no_mark)
            throw Error(ErrorCode::kStorage, "no room, says the test");
          EXPECT_EQ(outcome.means[self].count(openings), 0u);
          outcome.marked[self].push_back(openings);
        };
        inputs.after_opening = [&](const RunProgress& progress) {
          if (progress.state != nullptr) {
            outcome.means[self][progress.openings] = progress.state->mean;
          }
          if (engine.self() == mpc::PartyIndex{1} && progress.openings == way.stop_after) {
            throw Error(ErrorCode::kCancelled, "stopped by the test");
          }
        };
        outcome.results[self] = RunSecureDpvi(engine, plan, inputs);
      });
  outcome.errors = result.errors;
  return outcome;
}

void ThrowIfFailed(const Outcome& outcome) {
  for (const std::exception_ptr& error : outcome.errors) {
    if (error) std::rethrow_exception(error);
  }
}

// The same batches, eta and noise in the clear.
stats::mixture::VariationalState RunInTheClear(const RunPlan& plan, size_t parties) {
  const stats::mixture::Layout& layout = plan.request.layout;
  const stats::mixture::Rows rows = SmallRows(layout);
  crypto::Prg batch_prg(crypto::DeriveKey(KeyOf(1), "dpvi batches"));
  stats::mixture::Batches batches(
      plan.request.batch_mode, kRows, plan.request.batch_size,
      plan.request.batch_mode == BatchMode::kPoisson ? plan.max_batch : 0, batch_prg);
  std::vector<crypto::Prg> sources;
  for (size_t p = 0; p < parties; ++p)
    sources.push_back(net::TestRandom(static_cast<uint8_t>(50 + p)));
  const privacy::DiscreteGaussian law(plan.noise.share_variance);
  stats::mixture::VariationalState state = FirstState(plan, KeyOf(2));
  for (uint64_t i = 0; i < plan.request.variational.steps; ++i) {
    ByteWriter number;
    number.U64(i);
    crypto::Prg eta_prg(crypto::DeriveKey(KeyOf(2), "dpvi eta", {number.bytes()}));
    stats::blr::Variates variates(eta_prg);
    const ArrayXXd eta = stats::mixture::DrawEta(state, variates);
    const ArrayXXd theta = stats::mixture::ThetaAt(state, eta);
    ArrayXXd sum = stats::mixture::ClippedGradientSum(layout, rows, batches.Next(), theta,
                                                      plan.request.clip * (1 - 0x1p-17));
    ArrayXXd noise = ArrayXXd::Zero(sum.rows(), sum.cols());
    std::vector<Int128> share(plan.step.num_values());
    for (crypto::Prg& source : sources) {
      law.Sample(source, share);
      for (size_t j = 0; j < share.size(); ++j) {
        noise(static_cast<Index>(j) / sum.cols(), static_cast<Index>(j) % sum.cols()) +=
            std::ldexp(static_cast<double>(share[j]), -kGridBits);
      }
    }
    sum += InModelOrder(plan.holders, noise);
    stats::mixture::Advance(layout, plan.request.variational, kRows, plan.sampling_rate, eta, theta,
                            sum, state);
  }
  return state;
}

// Adam divides by the root of second moments: differences of 1e-7 of a sum stay of that order.
TEST(DpviRunTest, RunsAreThoseInTheClear) {
  for (const BatchMode mode : {BatchMode::kPoisson, BatchMode::kDisjoint, BatchMode::kFull}) {
    SCOPED_TRACE(stats::mixture::BatchModeName(mode));
    const RunPlan plan = PlanRun(SmallRequest(12, mode));
    const stats::mixture::VariationalState expected = RunInTheClear(plan, 2);
    const Outcome outcome = RunAll(plan, {});
    ThrowIfFailed(outcome);
    for (size_t party : {0, 1}) {
      const RunResult& result = outcome.results[party];
      EXPECT_EQ(result.openings, 12u);
      EXPECT_EQ(result.state.step, 12u);
      EXPECT_LT((result.state.mean - expected.mean).abs().maxCoeff(), 1e-5);
      EXPECT_LT((result.state.log_scale - expected.log_scale).abs().maxCoeff(), 1e-5);
      EXPECT_TRUE((result.state.mean == outcome.results[0].state.mean).all());
    }
    // Not by chance: the run moved.
    EXPECT_GT((expected.mean - FirstState(plan, KeyOf(2)).mean).abs().maxCoeff(), 0.05);
  }
}

TEST(DpviRunTest, OtherEngines) {
  RunRequest request = SmallRequest(3);
  for (const Setting& setting : {Setting{"replicated", 3}, Setting{"dealer", 3}}) {
    request.noise_parties = {0, 1, 2};
    const RunPlan plan = PlanRun(request);
    Way way;
    way.setting = setting;
    const Outcome outcome = RunAll(plan, way);
    ThrowIfFailed(outcome);
    EXPECT_LT((outcome.results[2].state.mean - RunInTheClear(plan, 3).mean).abs().maxCoeff(), 1e-5);
  }
}

// Where all go on, by what parties left: the newest state, behind the last mark.
std::vector<std::optional<Checkpoint>> GoOn(const Outcome& outcome) {
  Checkpoint best;
  for (size_t party : {0, 1}) {
    const Checkpoint& last = outcome.stored[party].back();
    const uint64_t openings =
        std::max({best.openings, last.openings, outcome.marked[party].back()});
    if (last.state.step >= best.state.step) best.state = last.state;
    best.openings = openings;
  }
  Checkpoint dealer{best.openings, {}};
  dealer.state.step = best.state.step;
  return {best, best, dealer};
}

// Party 1 stops in the second block of four. Every party marks each opening before it happens, and
// leaves the state where it stopped, so that nothing is lost: as many openings as planned, none of
// a batch that was used.
TEST(DpviRunTest, StopsAndResumes) {
  const RunPlan plan = PlanRun(SmallRequest(12));
  Way interrupted;
  interrupted.stop_after = 6;
  const Outcome first = RunAll(plan, interrupted);
  ASSERT_TRUE(first.errors[0]);
  ASSERT_TRUE(first.errors[1]);
  EXPECT_EQ(first.marked[1], (std::vector<uint64_t>{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(first.marked[0], first.marked[1]);
  ASSERT_EQ(first.stored[1].size(), 2u);
  EXPECT_EQ(first.stored[1][0].openings, 4u);
  EXPECT_EQ(first.stored[1][0].state.step, 4u);
  EXPECT_EQ(first.stored[1][1].openings, 6u);
  EXPECT_EQ(first.stored[1][1].state.step, 6u);
  EXPECT_TRUE(first.stored[2].empty());  // the dealer has nothing to go on from
  EXPECT_TRUE(first.marked[2].empty());

  Way resumed;
  resumed.start = GoOn(first);
  const Outcome second = RunAll(plan, resumed);
  ThrowIfFailed(second);
  for (size_t party : {0, 1}) {
    EXPECT_EQ(second.results[party].openings, 12u);
    EXPECT_EQ(second.results[party].state.step, 12u);
    EXPECT_EQ(second.means[party].begin()->first, 7u);
    EXPECT_EQ(second.stored[party].back().state.step, 12u);
  }
  EXPECT_EQ(second.results[2].state.step, 12u);
  // Uses of records are counted over both attempts.
  const Outcome whole = RunAll(plan, {});
  EXPECT_EQ(second.results[0].max_uses, whole.results[0].max_uses);
}

// An opening that was marked and that nobody has is lost: to the training, or to the reserve.
TEST(DpviRunTest, LostOpeningsComeOutOfTheReserve) {
  for (const uint64_t reserve : {0, 1, 3}) {
    RunRequest request = SmallRequest(12);
    request.reserve = reserve;
    const RunPlan plan = PlanRun(request);
    EXPECT_EQ(GradientRelease(plan).max_count, 12 + reserve);
    Way interrupted;
    interrupted.no_mark = 6;
    const Outcome first = RunAll(plan, interrupted);
    ASSERT_TRUE(first.errors[1]);
    EXPECT_EQ(first.marked[1].back(), 5u);
    EXPECT_EQ(first.means[0].count(6), 0u);  // party 1 sent no share
    Way resumed;
    resumed.start = GoOn(first);
    EXPECT_EQ(resumed.start[0]->state.step, 5u);
    // Party 0, which could not know, marked it; or had heard of the stop before.
    EXPECT_EQ(resumed.start[0]->openings, first.marked[0].back());
    for (auto& start : resumed.start) start->openings = 6;
    const Outcome second = RunAll(plan, resumed);
    ThrowIfFailed(second);
    for (size_t process : {0, 1, 2}) {
      EXPECT_EQ(second.results[process].openings, reserve == 0 ? 12u : 13u);
      EXPECT_EQ(second.results[process].state.step, reserve == 0 ? 11u : 12u);
    }
    EXPECT_EQ(second.means[0].begin()->first, 7u);
  }
}

// Long runs mark several openings at once: 20000 of them take few syncs, and a kill loses at most a
// thousandth of what was made, which is what a study keeps in reserve.
TEST(DpviRunTest, LongRunsMarkAhead) {
  uint64_t made = 0, syncs = 0;
  for (; made < 20000; ++syncs) {
    const uint64_t ahead = crypto::StepsToCount(made);
    EXPECT_LE(ahead, std::max<uint64_t>(1, made / 1000));
    made += ahead;
  }
  // The first 1000 one by one, then k at once from k thousand on, the last rounded up.
  uint64_t expected = 1000;
  for (uint64_t k = 1; k < 20; ++k) expected += (1000 + k - 1) / k;
  EXPECT_LE(syncs, expected);
  EXPECT_GT(syncs, expected - 20);
}

// An undisturbed run leaves the reserve alone.
TEST(DpviRunTest, TheReserveIsForLostOpeningsOnly) {
  RunRequest request = SmallRequest(3);
  request.reserve = 2;
  const Outcome outcome = RunAll(PlanRun(request), {});
  ThrowIfFailed(outcome);
  EXPECT_EQ(outcome.results[0].openings, 3u);
  EXPECT_EQ(outcome.results[0].state.step, 3u);
}

TEST(DpviRunTest, CheckpointsSurviveTheDisk) {
  const RunPlan plan = PlanRun(SmallRequest(5));
  const auto folder =
      std::filesystem::temp_directory_path() / ("partita-dpvi-" + std::to_string(::getpid()));
  std::filesystem::create_directories(folder);
  crypto::Digest binding{};
  binding[3] = 9;
  const CheckpointFiles files(folder, binding);
  const stats::mixture::VariationalState first = FirstState(plan, KeyOf(2));
  EXPECT_FALSE(HasRunFiles(folder));
  crypto::Digest before = binding;
  before[1] = 1;
  CheckpointFiles(folder, before).Load(first);  // marked nothing: other keys may come
  const Checkpoint nothing = files.Load(first);
  EXPECT_EQ(nothing.openings, 0u);
  EXPECT_TRUE((nothing.state.mean == first.mean).all());
  EXPECT_TRUE(std::filesystem::exists(folder / "openings"));
  files.Mark(1);
  files.Mark(3);
  EXPECT_EQ(files.Load(first).openings, 3u);
  files.Mark(7);
  files.Mark(3);  // what was not begun is taken back
  EXPECT_EQ(files.Load(first).openings, 3u);
  EXPECT_EQ(files.Load(first).state.step, 0u);
  Checkpoint two{2, first};
  two.state.step = 2;
  two.state.mean(1, 2) += 1;
  files.Store(two);
  const Checkpoint loaded = files.Load(first);
  EXPECT_EQ(loaded.openings, 3u);
  EXPECT_EQ(loaded.state.step, 2u);
  EXPECT_TRUE((loaded.state.mean == two.state.mean).all());
  EXPECT_TRUE((loaded.state.log_scale == two.state.log_scale).all());
  crypto::Digest other = binding;
  other[0] = 1;
  ExpectError(ErrorCode::kRefused, "belongs to another study", "",
              [&] { CheckpointFiles(folder, other).Load(first); });
  std::filesystem::remove(folder / "checkpoint");
  ExpectError(ErrorCode::kRefused, "belongs to another study", "",
              [&] { CheckpointFiles(folder, other).Load(first); });
  std::filesystem::resize_file(folder / "openings", 20);
  ExpectError(ErrorCode::kBadInput, "count of openings is damaged", "", [&] { files.Load(first); });
  std::filesystem::remove_all(folder);

  const Bytes bytes = EncodeCheckpoint(two, binding);
  for (size_t i = 0; i < bytes.size(); i += 7) {
    Bytes damaged = bytes;
    damaged[i] ^= 4;
    ExpectError(ErrorCode::kBadInput, "damaged", "", [&] { DecodeCheckpoint(damaged, binding); });
  }
  for (size_t size : {size_t{0}, size_t{31}, bytes.size() - 1}) {
    ExpectError(ErrorCode::kBadInput, "damaged", "",
                [&] { DecodeCheckpoint(ByteView(bytes).first(size), binding); });
  }
}

Checkpoint AtStep(const RunPlan& plan, uint64_t openings, uint64_t step, double mark = 0) {
  Checkpoint checkpoint{openings, FirstState(plan, KeyOf(2))};
  checkpoint.state.step = step;
  checkpoint.state.mean(0, 1) += static_cast<double>(step) + mark;
  return checkpoint;
}

TEST(DpviRunTest, PartiesAgreeWhereToGoOn) {
  const RunPlan plan = PlanRun(SmallRequest(12));
  const crypto::Digest run{7};
  const auto agree = [&](const std::vector<Checkpoint>& held, std::vector<Checkpoint>& agreed) {
    agreed.resize(held.size());
    return net::RunChannels(net::MemoryParties(held.size()), [&](net::Channel& channel) {
      agreed[channel.self()] = AgreeOnCheckpoint(channel, plan, 3, held[channel.self()], run);
      EXPECT_LE(channel.depth(), 2u);  // who lacks the newest state is sent it
    });
  };
  // Parties 1 and 2 hold the newest state, party 0 marked most; process 3 is the dealer.
  std::vector<Checkpoint> agreed;
  auto errors = agree({AtStep(plan, 9, 4), AtStep(plan, 7, 6), AtStep(plan, 6, 6), {}}, agreed);
  EXPECT_EQ(net::Describe(errors), "");
  for (size_t process = 0; process < 4; ++process) {
    EXPECT_EQ(agreed[process].openings, 9u);
    EXPECT_EQ(agreed[process].state.step, 6u);
    if (process < 3) {
      EXPECT_EQ(DigestOf(agreed[process].state), DigestOf(AtStep(plan, 0, 6).state));
    }
  }
  // From the beginning.
  errors = agree({AtStep(plan, 0, 0), AtStep(plan, 0, 0), AtStep(plan, 0, 0), {}}, agreed);
  EXPECT_EQ(net::Describe(errors), "");
  EXPECT_EQ(agreed[3].openings, 0u);
  // The same step, other states: noticed by everybody, if it is the newest.
  errors = agree({AtStep(plan, 8, 4), AtStep(plan, 8, 4, 1), AtStep(plan, 8, 4), {}}, agreed);
  for (const auto& error : errors) {
    ASSERT_TRUE(error);
    EXPECT_EQ(error->code(), ErrorCode::kPeerFault);
  }
  errors = agree({AtStep(plan, 8, 4), AtStep(plan, 8, 4, 1), AtStep(plan, 8, 5), {}}, agreed);
  EXPECT_EQ(net::Describe(errors), "");
  EXPECT_EQ(DigestOf(agreed[1].state), DigestOf(AtStep(plan, 0, 5).state));
  // What no run of this plan can say.
  for (const Checkpoint& impossible :
       {AtStep(plan, 13, 4), AtStep(plan, 4, 5), AtStep(plan, UINT64_MAX, 4)}) {
    errors = agree({impossible, AtStep(plan, 8, 4), AtStep(plan, 8, 4), {}}, agreed);
    ASSERT_TRUE(errors[1]);
    EXPECT_EQ(errors[1]->code(), ErrorCode::kPeerFault);
    EXPECT_NE(errors[1]->message().find("cannot be"), std::string::npos);
  }
}

// A party, or the dealer, with another key of the batches: nobody goes on.
TEST(DpviRunTest, OtherKeysAreNoticedByEverybody) {
  const RunPlan plan = PlanRun(SmallRequest(12));
  const Checkpoint first = AtStep(plan, 0, 0);
  for (size_t stranger = 0; stranger < 3; ++stranger) {
    const auto faults = net::RunChannels(net::MemoryParties(3), [&](net::Channel& channel) {
      crypto::Digest run{7};
      if (channel.self() == stranger) run[31] = 1;
      AgreeOnCheckpoint(channel, plan, 2, first, run);
    });
    // Nobody hears the dealer's; it sees by itself.
    for (size_t process = stranger == 2 ? 2 : 0; process < 3; ++process) {
      ASSERT_TRUE(faults[process]) << process;
      EXPECT_EQ(faults[process]->code(), ErrorCode::kPeerFault);
      EXPECT_NE(faults[process]->message().find("other keys"), std::string::npos);
    }
  }
}

Audience TwoParties() { return {{"north", "south"}, {}, "", privacy::EngineStructure::kDealer}; }

const privacy::StatementRow& RowOf(const privacy::Statement& statement,
                                   privacy::AdversaryKind kind) {
  for (const privacy::StatementRow& row : statement.rows) {
    if (row.adversary.kind == kind) return row;
  }
  throw Error(ErrorCode::kInternal, "no such row");
}

// The experiment of the paper: add/remove 0.909, replace 1.8215 (methods.md, correction 10).
TEST(DpviStatementTest, ThePapersSetting) {
  RunRequest request = SmallRequest(20000);
  request.num_rows = 30162;
  request.batch_size = 100;
  request.noise_multiplier = 2.042;
  const RunPlan plan = PlanRun(request);
  Audience audience = TwoParties();
  audience.delta = 1e-5;
  const privacy::Statement before = StateRun(plan, audience, {20000, {}});
  const privacy::StatementRow& outside = RowOf(before, privacy::AdversaryKind::kOutsideAnalyst);
  EXPECT_GT(outside.loss.epsilon_upper, 0.90);
  EXPECT_LT(outside.loss.epsilon_upper, 0.93);
  const privacy::StatementRow& party = RowOf(before, privacy::AdversaryKind::kParty);
  EXPECT_EQ(party.adjacency, privacy::Adjacency::kReplace);
  EXPECT_GT(party.loss.epsilon_upper, 26);
  // A run's own uses, of which there are fewer.
  const privacy::Statement after = StateRun(plan, audience, {20000, 101});
  const privacy::StatementRow& realised = RowOf(after, privacy::AdversaryKind::kParty);
  EXPECT_LT(realised.loss.epsilon_upper, party.loss.epsilon_upper);
  EXPECT_EQ(realised.uses_realised, 101u);
  // The dealer knows the batches: nothing amplifies, but all noise is unknown to it.
  const privacy::StatementRow& dealer = RowOf(before, privacy::AdversaryKind::kDealer);
  EXPECT_EQ(dealer.adjacency, privacy::Adjacency::kReplace);
  EXPECT_GT(dealer.loss.epsilon_upper, 5 * outside.loss.epsilon_upper);
  EXPECT_LT(dealer.loss.epsilon_upper, party.loss.epsilon_upper);
  const privacy::Statement shorter = StateRun(plan, audience, {1000, {}});
  EXPECT_LT(shorter.rows[0].loss.epsilon_upper, outside.loss.epsilon_upper);
}

TEST(DpviStatementTest, DisjointBatchesCountEpochs) {
  RunRequest request = SmallRequest(25, BatchMode::kDisjoint);
  request.noise_multiplier = 6;
  const RunPlan plan = PlanRun(request);  // 5 batches of 12: 5 epochs
  const privacy::NoisySteps steps = StepsOf(plan, TwoParties(), {25, {}});
  EXPECT_EQ(steps.steps, 5u);
  EXPECT_EQ(steps.max_uses, 5u);
  EXPECT_EQ(steps.sampling_rate, 1);
}

TEST(DpviStatementTest, ChargesCoverThePlan) {
  const RunPlan plan = PlanRun(SmallRequest(20));
  const std::vector<privacy::ledger::Charge> charges = ChargesOf(plan, TwoParties(), 1);
  ASSERT_EQ(charges.size(), 4u);  // outside, each party, dealer
  for (const privacy::ledger::Charge& charge : charges) {
    EXPECT_EQ(charge.release, kGradientRelease);
    EXPECT_GT(std::get<privacy::ledger::ApproximateDp>(charge.mechanism).epsilon, 0);
  }
  Audience replicated = TwoParties();
  replicated.parties = {"a", "b", "c"};
  replicated.engine = privacy::EngineStructure::kReplicated;
  ExpectError(ErrorCode::kRefused, "nothing limits", "", [&] { ChargesOf(plan, replicated, 2); });
  // Whoever adds all of the noise knows it: no budget against single parties covers that.
  Audience third = TwoParties();
  third.others = third.parties;
  third.parties = {"west"};
  EXPECT_EQ(ChargesOf(plan, third, 0).size(), 2u);
  ExpectError(ErrorCode::kRefused, "nothing limits", "", [&] { ChargesOf(plan, third, 1); });
}

TEST(DpviRunTest, RequestsThatCannotBe) {
  RunRequest request = SmallRequest(5);
  request.components = kRows + 1;
  ExpectError(ErrorCode::kBadInput, "61 components for 60 rows", "", [&] { PlanRun(request); });
  request = SmallRequest(5);
  request.noise_parties.clear();
  ExpectError(ErrorCode::kBadInput, "nobody adds noise", "", [&] { PlanRun(request); });
  request = SmallRequest(5);
  request.batch_size = kRows + 1;
  EXPECT_THROW(PlanRun(request), Error);
}

}  // namespace
}  // namespace partita::methods::mixture::run_test
