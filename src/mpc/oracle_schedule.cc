#include "mpc/oracle_schedule.h"

#include <algorithm>

namespace partita::mpc {

uint64_t MaxOracleRows(const OracleTask& task) {
  uint64_t rows = 0;
  for (const OracleKind& kind : task.kinds) rows += kind.rows * kind.max_count;
  return rows;
}

uint64_t MaxOracleRowsAtOnce(const OracleTask& task) {
  uint64_t rows = 0;
  for (const OracleKind& kind : task.kinds) rows = std::max<uint64_t>(rows, kind.rows);
  return rows;
}

OracleChunks::OracleChunks(uint64_t rows_per_chunk, uint64_t num_chunks)
    : rows_per_chunk_(rows_per_chunk),
      num_chunks_(num_chunks),
      requested_(std::min(kFirstChunks, num_chunks)),
      delivered_(requested_) {}

OracleChunks::Moves OracleChunks::Take(uint64_t rows) {
  Moves moves;
  next_row_ += rows;
  if (num_chunks_ == 0) return moves;
  const uint64_t last_chunk = (next_row_ - 1) / rows_per_chunk_;
  moves.deliver = last_chunk >= delivered_;
  moves.request = last_chunk + 1 >= requested_ && requested_ < num_chunks_;
  delivered_ += moves.deliver ? 1 : 0;
  requested_ += moves.request ? 1 : 0;
  return moves;
}

ExecutionCost CostOfEvaluation(const OracleCost& cost, size_t kind, OracleChunks::Moves moves) {
  ExecutionCost all = cost.evaluations[kind];
  for (const MessagePart& part : cost.chunk.parts) {
    if (part.step == 0 ? moves.request : moves.deliver) all.parts.push_back(part);
  }
  return all;
}

ExecutionCost CostOfStop(const OracleCost& cost, bool outstanding) {
  ExecutionCost all = cost.stop;
  for (MessagePart part : cost.chunk.parts) {
    if (part.step == 0 || !outstanding) continue;
    part.step = 0;
    all.parts.push_back(part);
  }
  return all;
}

}  // namespace partita::mpc
