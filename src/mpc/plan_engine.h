// Runs a method's own protocol code on shapes alone and adds up what a run will cost.
//
// The numbers are not estimates: messages, payload bytes per directed link, rounds per process,
// correlations and openings are exactly what the counted channel reports after the run, because
// both come from the engine's one CostModel.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "mpc/cost.h"
#include "mpc/oracle_schedule.h"
#include "mpc/release_gate.h"
#include "mpc/shape_engine.h"

namespace partita::mpc {

// What crosses one directed link. Payload bytes; every message also costs net::kFrameHeaderBytes.
struct LinkCost {
  uint64_t messages = 0, bytes = 0;
  bool operator==(const LinkCost&) const = default;
};

struct PhaseCost {
  std::string phase;
  std::vector<uint64_t> rounds;              // by process: growth of its depth
  std::vector<std::vector<LinkCost>> links;  // [from][to]; the dealer, if any, is the last process
  Requirements requirements;                 // in order of use

  // Summed over all links.
  LinkCost Total() const;
};

// kind: "dealer", "replicated", "ot" or "shamir"; throws kBadInput for another.
std::unique_ptr<CostModel> MakeCostModel(std::string_view kind, size_t num_parties);

class PlanEngine : public ShapeEngine {
 public:
  // kind: as of MakeCostModel. A gate, if given, is asked for every opening, as in a run; it must
  // outlive the engine.
  PlanEngine(std::string_view kind, size_t num_parties, ReleaseGate* gate = nullptr);
  PlanEngine(std::unique_ptr<CostModel> costs, ReleaseGate* gate);

  const Capabilities& capabilities() const override { return costs_->capabilities(); }
  // Depths of all processes before the engine is made, when the engine's phases follow others.
  void StartAt(std::vector<uint64_t> depths);
  const std::vector<uint64_t>& depths() const { return depth_; }
  // Adds to the current phase what another engine of the same processes cost that was to run beside this
  // one, from depths that this one had.
  void Join(const PlanEngine& beside);
  void BeginPhase(std::string_view name) override;
  void AgreeToOpen() override;
  FixedOperand Register(PrivateMatrix matrix) override;
  // Adds every evaluation that the task allows, one kind after the other: an upper limit. What a
  // run with fewer evaluations costs is OracleTraffic of oracles().
  OracleUse RunOracle(const Shared& values, const OracleTask& task,
                      const OracleQueries& queries) override;

  // All phases so far, the current one included. As in a channel, what happens before the first
  // BeginPhase belongs to a phase "start", which is left out if nothing was sent in it.
  std::vector<PhaseCost> phases() const;
  // The costs of every oracle so far, in program order.
  const std::vector<OracleCost>& oracles() const { return oracles_; }
  // How often each release was opened.
  const std::map<std::string, uint64_t, std::less<>>& openings() const { return openings_; }
  // Computing parties, and the dealer if there is one.
  size_t num_processes() const { return costs_->num_processes(); }

 protected:
  void Execute(std::span<Operation> operations) override;

 private:
  void StartPhase(std::string_view name);
  void AddSteps(const ExecutionCost& cost);
  void AddStep(const ExecutionCost& cost, size_t step);

  std::unique_ptr<CostModel> costs_;
  ReleaseGate* gate_;
  uint64_t num_registered_ = 0;
  std::vector<uint64_t> depth_;    // by process
  std::vector<PhaseCost> phases_;  // never empty
  bool named_ = false;             // BeginPhase was called
  std::map<std::string, uint64_t, std::less<>> openings_;
  std::vector<OracleCost> oracles_;
};

}  // namespace partita::mpc
