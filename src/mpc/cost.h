// What operations cost, as data: the one description of messages that the PlanEngine adds up and
// that the real engines check themselves against in every step.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "mpc/correlation.h"
#include "mpc/engine.h"
#include "mpc/operation.h"

namespace partita::mpc {

// A part of a message. All parts of one step between the same two processes travel as one message,
// in the order in which they are listed; parts of no bytes are not sent.
struct MessagePart {
  size_t step = 0;  // 0, 1, ...: all messages of one step leave before any of the next
  PartyIndex from = 0, to = 0;
  uint64_t bytes = 0;
};

// One Engine::Execute.
struct ExecutionCost {
  size_t steps = 0;
  std::vector<MessagePart> parts;
  Requirements requirements;
};

struct OracleCost;  // oracle_schedule.h

// The cost declarations of one engine. Keeps what decides later costs (which masked openings a peer
// already holds), so every Execute, Register and Oracle must pass through it, in program
// order.
class CostModel {
 public:
  virtual ~CostModel() = default;
  virtual const Capabilities& capabilities() const = 0;
  virtual size_t num_parties() const = 0;    // computing parties
  virtual size_t num_processes() const = 0;  // and the dealer, if there is one
  virtual int ring_bits() const = 0;
  // What making the engine costs, before its first operation.
  virtual ExecutionCost Setup() const { return {}; }
  // Called for a new fixed operand; ids count from 1 in program order.
  virtual void Register(const FixedOperand& operand) = 0;
  // The operations have passed CheckOperation.
  virtual ExecutionCost Execute(std::span<const Operation> operations) = 0;
  // The task has passed CheckOracle.
  virtual OracleCost Oracle(Shape values, const OracleTask& task) = 0;
};

}  // namespace partita::mpc
