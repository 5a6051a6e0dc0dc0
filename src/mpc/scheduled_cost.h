// The costs of an engine whose schedule decides what every party does: cost = code.
#pragma once

#include <memory>
#include <utility>

#include "mpc/cost.h"
#include "mpc/oracle_schedule.h"

namespace partita::mpc {

struct ScheduledEngine {
  const Capabilities& capabilities;
  size_t num_parties = 0, num_processes = 0;
  int ring_bits = 0;
  ExecutionCost setup = {};
};

template <typename Scheduler>
class ScheduledCostModel : public CostModel {
 public:
  ScheduledCostModel(ScheduledEngine engine, Scheduler scheduler)
      : engine_(std::move(engine)), scheduler_(std::move(scheduler)) {}

  const Capabilities& capabilities() const override { return engine_.capabilities; }
  size_t num_parties() const override { return engine_.num_parties; }
  size_t num_processes() const override { return engine_.num_processes; }
  int ring_bits() const override { return engine_.ring_bits; }
  ExecutionCost Setup() const override { return engine_.setup; }
  void Register(const FixedOperand& operand) override { scheduler_.Register(operand); }
  ExecutionCost Execute(std::span<const Operation> operations) override {
    return scheduler_.Next(operations).cost;
  }
  OracleCost Oracle(Shape values, const OracleTask& task) override {
    return scheduler_.NextOracle(values, task).cost;
  }

 private:
  ScheduledEngine engine_;
  Scheduler scheduler_;
};

template <typename Scheduler>
std::unique_ptr<CostModel> MakeScheduledCostModel(ScheduledEngine engine, Scheduler scheduler) {
  return std::make_unique<ScheduledCostModel<Scheduler>>(std::move(engine), std::move(scheduler));
}

}  // namespace partita::mpc
