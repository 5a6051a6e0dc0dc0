#include "mpc/plan_engine.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "mpc/dealer_schedule.h"
#include "mpc/ot/ot_engine.h"
#include "mpc/release_ok.h"
#include "mpc/replicated_schedule.h"
#include "mpc/shamir_schedule.h"

namespace partita::mpc {
namespace {

EngineFacts FactsOf(const CostModel& costs) { return {costs.num_parties(), {}, costs.ring_bits()}; }

}  // namespace

std::unique_ptr<CostModel> MakeCostModel(std::string_view kind, size_t num_parties) {
  if (kind == "dealer") return MakeDealerCostModel(num_parties, 128);
  if (kind == "replicated") return replicated::MakeReplicatedCostModel(num_parties, 128);
  if (kind == "ot") return MakeOtCostModel(num_parties, 128);
  if (kind == "shamir") return shamir::MakeShamirCostModel(num_parties, 127);
  throw Error(ErrorCode::kBadInput, fmt::format("there is no engine '{}'", kind),
              "choose the engine dealer, replicated, ot or shamir");
}

LinkCost PhaseCost::Total() const {
  LinkCost total;
  for (const auto& row : links) {
    for (const LinkCost& link : row) {
      total.messages += link.messages;
      total.bytes += link.bytes;
    }
  }
  return total;
}

PlanEngine::PlanEngine(std::string_view kind, size_t num_parties, ReleaseGate* gate)
    : PlanEngine(MakeCostModel(kind, num_parties), gate) {}

PlanEngine::PlanEngine(std::unique_ptr<CostModel> costs, ReleaseGate* gate)
    : ShapeEngine(FactsOf(*costs)),
      costs_(std::move(costs)),
      gate_(gate),
      depth_(costs_->num_processes()) {
  StartPhase("start");
  AddSteps(costs_->Setup());
}

void PlanEngine::StartAt(std::vector<uint64_t> depths) {
  if (depths.size() != depth_.size()) {
    throw Error(ErrorCode::kUsage,
                "the plan engine was given depths for another number of processes");
  }
  depth_ = std::move(depths);
  phases_.clear();
  StartPhase("start");
  AddSteps(costs_->Setup());
}

void PlanEngine::Join(const PlanEngine& beside) {
  PhaseCost& phase = phases_.back();
  for (const PhaseCost& other : beside.phases_) {
    for (size_t from = 0; from < phase.links.size(); ++from) {
      for (size_t to = 0; to < phase.links.size(); ++to) {
        phase.links[from][to].messages += other.links[from][to].messages;
        phase.links[from][to].bytes += other.links[from][to].bytes;
      }
    }
    phase.requirements.insert(phase.requirements.end(), other.requirements.begin(),
                              other.requirements.end());
  }
  for (size_t i = 0; i < depth_.size(); ++i) {
    if (beside.depth_[i] <= depth_[i]) continue;
    phase.rounds[i] += beside.depth_[i] - depth_[i];
    depth_[i] = beside.depth_[i];
  }
}

void PlanEngine::BeginPhase(std::string_view name) {
  if (phases_.size() == 1 && !named_ && phases_[0].Total().messages == 0) phases_.clear();
  named_ = true;
  StartPhase(name);
}

std::vector<PhaseCost> PlanEngine::phases() const {
  if (!named_ && phases_[0].Total().messages == 0) return {};
  return phases_;
}

void PlanEngine::StartPhase(std::string_view name) {
  size_t n = costs_->num_processes();
  PhaseCost phase{std::string(name),
                  std::vector<uint64_t>(n),
                  std::vector<std::vector<LinkCost>>(n, std::vector<LinkCost>(n)),
                  {}};
  phases_.push_back(std::move(phase));
}

FixedOperand PlanEngine::Register(PrivateMatrix matrix) {
  CheckPrivate(matrix, facts());
  FixedOperand operand{std::move(matrix), ++num_registered_};
  costs_->Register(operand);
  return operand;
}

void PlanEngine::AgreeToOpen() {
  if (gate_ == nullptr) return;
  const Bytes ok = gate_->Commit();
  if (ok.empty()) return;
  BeginPhase(kReleaseOkPhase);
  ExecutionCost cost{1, {}, {}};
  for (PartyIndex from = 0; from < num_parties(); ++from) {
    for (PartyIndex to = 0; to < num_parties(); ++to) {
      if (from != to) cost.parts.push_back({0, from, to, ok.size()});
    }
  }
  AddSteps(cost);
  gate_->Agreed();
}

void PlanEngine::AddStep(const ExecutionCost& cost, size_t step) {
  PhaseCost& phase = phases_.back();
  // Parts with the same link are one message.
  std::map<std::pair<PartyIndex, PartyIndex>, uint64_t> messages;
  for (const MessagePart& part : cost.parts) {
    if (part.step == step && part.bytes > 0) messages[{part.from, part.to}] += part.bytes;
  }
  std::vector<uint64_t> before = depth_;
  for (const auto& [link, bytes] : messages) {
    auto [from, to] = link;
    ++phase.links[from][to].messages;
    phase.links[from][to].bytes += bytes;
    depth_[to] = std::max(depth_[to], before[from] + 1);
  }
  for (size_t i = 0; i < depth_.size(); ++i) phase.rounds[i] += depth_[i] - before[i];
}

void PlanEngine::Execute(std::span<Operation> operations) {
  for (Operation& operation : operations) RunOnShapes(operation);
  if (gate_ != nullptr) AskGate(*gate_, operations);
  for (Operation& operation : operations) {
    if (auto* reveal = std::get_if<RevealOperation>(&operation)) ++openings_[reveal->release_id];
    if (auto* bits = std::get_if<RevealBitsOperation>(&operation)) ++openings_[bits->release_id];
  }
  ExecutionCost cost = costs_->Execute(operations);
  AddSteps(cost);
}

OracleUse PlanEngine::RunOracle(const Shared& values, const OracleTask& task,
                                const OracleQueries&) {
  CheckOracle(values, task, facts());
  const OracleCost& cost = oracles_.emplace_back(costs_->Oracle(values.shape, task));
  AddSteps(cost.setup);
  OracleChunks chunks(cost.rows_per_chunk, cost.num_chunks);
  OracleUse use;
  for (size_t k = 0; k < task.kinds.size(); ++k) {
    const OracleKind& kind = task.kinds[k];
    for (uint64_t i = 0; i < kind.max_count; ++i) {
      if (gate_ != nullptr) {
        gate_->Opening(kind.release_id, task.centre, kind.rows * values.shape.cols);
      }
      AddSteps(CostOfEvaluation(cost, k, chunks.Take(kind.rows)));
    }
    openings_[kind.release_id] += kind.max_count;
    use.evaluations.push_back(kind.max_count);
  }
  AddSteps(CostOfStop(cost, chunks.outstanding()));
  return use;
}

void PlanEngine::AddSteps(const ExecutionCost& cost) {
  for (size_t step = 0; step < cost.steps; ++step) AddStep(cost, step);
  Requirements& requirements = phases_.back().requirements;
  requirements.insert(requirements.end(), cost.requirements.begin(), cost.requirements.end());
}

}  // namespace partita::mpc
