// The costs of a linear oracle and the order in which its dealt rows travel: what every process and
// the PlanEngine compute alike, from shapes and counts alone. Protocol: linear_oracle.h.
#pragma once

#include <cstdint>
#include <vector>

#include "mpc/cost.h"
#include "mpc/linear_oracle.h"

namespace partita::mpc {

// The head of a request: 0 to stop, 1 + kind to evaluate; to the dealer 1 for one more chunk.
inline constexpr size_t kOracleHeadBytes = 8;
// Chunks that the dealer sends without being asked, with the set-up.
inline constexpr uint64_t kFirstChunks = 2;

struct OracleCost {
  ExecutionCost setup;                     // one step, or none
  std::vector<ExecutionCost> evaluations;  // by kind: request in step 0, reply in step 1
  ExecutionCost chunk;                     // a further one: request in step 0, delivery in step 1
  ExecutionCost stop;
  uint64_t rows_per_chunk = 0, num_chunks = 0;  // 0: the engine has no dealer
};

// Rows of all evaluations that a task allows.
uint64_t MaxOracleRows(const OracleTask& task);
// Rows of the largest evaluation.
uint64_t MaxOracleRowsAtOnce(const OracleTask& task);

// When chunks of rows are asked for and delivered. A chunk is delivered with the first evaluation
// that uses a row of it, which also asks for the next; the first ones are there from the start.
class OracleChunks {
 public:
  OracleChunks(uint64_t rows_per_chunk, uint64_t num_chunks);

  struct Moves {
    bool request = false, deliver = false;
  };
  // An evaluation takes the next `rows` rows, at most a chunk's.
  Moves Take(uint64_t rows);
  // A chunk was asked for and not delivered: it comes with the stop.
  bool outstanding() const { return requested_ > delivered_; }
  // The next row that is taken.
  uint64_t next_row() const { return next_row_; }

 private:
  uint64_t rows_per_chunk_, num_chunks_;
  uint64_t next_row_ = 0, requested_ = 0, delivered_ = 0;
};

// One evaluation: its own parts and those of the chunks that move with it.
ExecutionCost CostOfEvaluation(const OracleCost& cost, size_t kind, OracleChunks::Moves moves);
// The stop and the delivery of a chunk that is still outstanding.
ExecutionCost CostOfStop(const OracleCost& cost, bool outstanding);

}  // namespace partita::mpc
