#include "methods/mcmc/chain.h"

#include <algorithm>
#include <memory>

#include "base/error.h"
#include "crypto/kdf.h"
#include "crypto/prg.h"
#include "crypto/state_file.h"
#include "methods/mcmc/noisy_sums.h"
#include "stats/mcmc/diagnostics.h"
#include "stats/mcmc/stages.h"

namespace partita::methods::mcmc {
namespace {

using Eigen::MatrixXd;

// What a party knows of a block of decisions; all empty at the dealer.
struct Block {
  uint64_t number = 0;  // of its first decision
  MatrixXd own;         // differences of the own rows, questions by chains
  MatrixXd prior;       // of the prior
  MatrixXd step;        // the only one, where the rule decides one by one
};

using DecideBlock = std::function<Bits(const Block& block)>;

// The prior's differences count once: with the first party's.
MatrixXd WithPrior(const mpc::Engine& engine, const Block& block) {
  return engine.self() == mpc::PartyIndex{0} ? MatrixXd(block.own + block.prior) : block.own;
}

DecideBlock MakeRule(mpc::Engine& engine, const ChainPlan& plan, const ChainInputs& inputs,
                     crypto::RandomSource& random, const crypto::Key& public_key) {
  const size_t chains = plan.options.chains;
  if (plan.rule == Rule::kBit) {
    const DecisionTask task{chains, plan.options.acceptance, plan.ahead, plan.options.speculation};
    auto rule = std::make_shared<Decisions>(engine, task, random);
    for (const mpc::Shared& variates : inputs.variates) rule->Use(variates);
    return [rule, &engine](const Block& block) { return rule->Decide(WithPrior(engine, block)); };
  }
  if (plan.rule == Rule::kPenalty) {
    auto rule = std::make_shared<PenaltyDecisions>(engine, chains, public_key, random);
    return [rule, &engine, &plan](const Block& block) {
      if (!engine.self()) return rule->Decide({}, {});
      return rule->Decide(block.own, {block.number, block.prior.row(0).transpose(),
                                      ScaleOf(plan.penalty, block.step)});
    };
  }
  auto rule = std::make_shared<NoisySums>(engine, NoisySumTask{chains, plan.rule == Rule::kProduct},
                                          random);
  return [rule, &engine](const Block& block) { return rule->Decide(WithPrior(engine, block)); };
}

// The record while it grows. What may be open is stored before it can be.
class Recorder {
 public:
  Recorder(const ChainPlan& plan, const ChainInputs& inputs)
      : block_(plan.options.speculation),
        stretch_(plan.stretch * block_),
        total_(stats::mcmc::DecisionsOf(plan.options)),
        mark_(inputs.mark),
        store_(inputs.store),
        record_(inputs.record) {
    if (inputs.public_key != nullptr) record_.seed = *inputs.public_key;
  }

  void BeforeBlock() {
    const uint64_t done = record_.decisions.size();
    record_.may_be_open = done + block_;
    if (record_.may_be_open <= marked_) return;
    if (marked_ == 0) Store();  // with the seed, which marks mean nothing without
    const uint64_t blocks = std::max<uint64_t>(1, crypto::StepsToCount(done) / block_);
    marked_ = std::min(done + blocks * block_, total_);
    if (mark_) mark_(marked_);
  }
  void AfterBlock(const Bits& bits) {
    for (const std::vector<bool>& accepted : bits) record_.decisions.push_back({false, accepted});
    if (record_.decisions.size() % stretch_ == 0) Store();
  }
  void Finish() {
    Store();
    if (marked_ > record_.may_be_open && mark_) mark_(record_.may_be_open);
  }
  const ChainRecord& record() const { return record_; }

 private:
  void Store() const {
    if (store_) store_(record_);
  }

  uint64_t block_, stretch_, total_;
  const std::function<void(uint64_t)>& mark_;
  const std::function<void(const ChainRecord&)>& store_;
  ChainRecord record_;
  uint64_t marked_ = 0;
};

// Bits of a block that was decided in an earlier attempt.
Bits Recorded(const ChainRecord& record, uint64_t first, size_t block, size_t chains) {
  Bits bits;
  for (uint64_t t = first; t < first + block; ++t) {
    const Decision& decision = record.decisions[t];
    bits.push_back(decision.skipped ? std::vector<bool>(chains, false) : decision.accepted);
  }
  return bits;
}

void CheckInputs(const mpc::Engine& engine, const ChainPlan& plan, const ChainInputs& inputs) {
  const bool party = engine.self().has_value();
  if (party &&
      (inputs.target == nullptr || inputs.public_key == nullptr || inputs.random == nullptr)) {
    throw Error(ErrorCode::kInternal, "a party of a chain has no rows, seed or randomness");
  }
  if (party && plan.staged != (inputs.later != nullptr)) {
    throw Error(ErrorCode::kInternal, "a party has no rows of a stage");
  }
  if (party && inputs.target->dimension() != static_cast<size_t>(plan.start.rows())) {
    throw Error(ErrorCode::kUsage,
                "the chain begins at another number of parameters than its "
                "target has");
  }
  if (party && inputs.record.may_be_open > 0 &&
      inputs.record.seed.Expose() != inputs.public_key->Expose()) {
    throw Error(ErrorCode::kInternal, "a chain goes on with another seed than it began with");
  }
  const uint64_t decided = inputs.record.decisions.size();
  if (decided % plan.options.speculation != 0 || decided > stats::mcmc::DecisionsOf(plan.options)) {
    throw Error(ErrorCode::kBadInput, "the record of a chain does not fit its plan",
                "resume with the plan that made it");
  }
}

}  // namespace

void CheckPlan(const ChainPlan& plan) {
  const stats::mcmc::ChainOptions& options = plan.options;
  if (plan.rule != Rule::kBit &&
      (options.acceptance != stats::mcmc::Acceptance::kMetropolis || options.speculation != 1)) {
    throw Error(ErrorCode::kUsage,
                "only opened bits can follow Barker's rule or be decided several at a time",
                "use Metropolis's rule without speculation, or open bits");
  }
  if (plan.staged && (plan.rule != Rule::kBit || options.speculation != 1)) {
    throw Error(ErrorCode::kUsage, "only opened bits of single decisions come in two stages",
                "open bits, without speculation");
  }
  if (options.speculation > kMaxBlock || plan.stretch == 0 ||
      !stats::mcmc::HasWholeBlocks(options)) {
    throw Error(ErrorCode::kUsage, "the decisions are not a multiple of those of a block",
                "choose other numbers of warm-up decisions or draws");
  }
  if (plan.priors.size() != static_cast<size_t>(plan.start.rows())) {
    throw Error(ErrorCode::kUsage, "there is not one prior per parameter");
  }
}

mpc::Release ReleaseOf(const ChainPlan& plan, uint64_t decided) {
  const stats::mcmc::ChainOptions& options = plan.options;
  const uint64_t left = stats::mcmc::DecisionsOf(options) - decided;
  if (plan.rule == Rule::kPenalty) return PenaltyReleaseOf(options.chains, left);
  if (plan.rule != Rule::kBit) {
    return ReleaseOf(NoisySumTask{options.chains, plan.rule == Rule::kProduct}, left);
  }
  return ReleaseOf(
      DecisionTask{options.chains, options.acceptance, plan.ahead, options.speculation},
      (plan.staged ? 2 : 1) * left / options.speculation);
}

ChainResult RunSecureChains(mpc::Engine& engine, const ChainPlan& plan, const ChainInputs& inputs,
                            Progress& progress) {
  CheckPlan(plan);
  CheckInputs(engine, plan, inputs);
  const stats::mcmc::ChainOptions& options = plan.options;
  const uint64_t decided = inputs.record.decisions.size();
  crypto::SystemRandom unused;
  const crypto::Key no_key{};
  const bool party = engine.self().has_value();
  const DecideBlock decide = MakeRule(engine, plan, inputs, party ? *inputs.random : unused,
                                      party ? *inputs.public_key : no_key);
  Recorder recorder(plan, inputs);
  ChainResult result;
  if (!party) {
    uint64_t t = decided;
    for (size_t stages = 1;; ++stages) {
      for (; t < stats::mcmc::DecisionsBefore(options, stages); t += options.speculation) {
        decide({});
        if (plan.staged) decide({});
      }
      if (stages == stats::mcmc::StagesOf(options)) return result;
      if (inputs.go_on && !inputs.go_on(std::nullopt)) return result;
    }
  }

  stats::mcmc::Differences differences(*inputs.target);
  std::optional<stats::mcmc::LaterDifferences> later;
  if (plan.staged) later.emplace(*inputs.later);
  uint64_t t = 0;
  const stats::mcmc::Decide in_turn = [&](const MatrixXd& current,
                                          const std::vector<MatrixXd>& steps) {
    const uint64_t first = t;
    t += steps.size();
    if (first < decided) return Recorded(inputs.record, first, steps.size(), options.chains);
    Block block;
    block.number = first;
    block.own = differences.Of(current, steps);
    block.prior = stats::mcmc::PriorDifferences(plan.priors, current, steps);
    block.step = steps.front();
    recorder.BeforeBlock();
    Bits bits = decide(block);
    if (later) {
      Block second;
      second.own = later->Of(current, steps.front(), bits.front());
      second.prior = MatrixXd::Zero(1, current.cols());
      bits = {stats::mcmc::Both(bits.front(), decide(second).front())};
      later->Replace(bits.front());
    }
    recorder.AfterBlock(bits);
    differences.Replace(bits);
    return bits;
  };
  const stats::mcmc::GoOn go_on = [&](const stats::mcmc::Draws& draws) {
    const bool own = !stats::mcmc::HaveConverged(draws);
    return inputs.go_on ? inputs.go_on(own) : own;
  };
  crypto::Prg proposals(crypto::DeriveKey(*inputs.public_key, "chain proposals"));
  try {
    result.draws = stats::mcmc::RunChains(plan.start, options, in_turn, proposals, progress, go_on);
  } catch (...) {
    // What this party knows is all that the others may have to go on with.
    try {
      recorder.Finish();
    } catch (const Error&) {  // the error that ended the run says more
    }
    throw;
  }
  recorder.Finish();
  result.record = recorder.record();
  for (const Decision& decision : result.record.decisions) result.skipped += decision.skipped;
  return result;
}

}  // namespace partita::methods::mcmc
