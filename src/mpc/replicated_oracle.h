// The linear oracle of the engine `replicated` at one party. Protocol: linear_oracle.h.
//
// Timing  constant in shares and tapes; not in the kinds of evaluations (public). Proved by
//         tests/ctime. The centre checks its own weights.
#pragma once

#include <array>
#include <vector>

#include "mpc/kernels.h"
#include "mpc/oracle_session.h"
#include "mpc/replicated_schedule.h"
#include "mpc/tape.h"

namespace partita::mpc {

template <typename R>
class ReplicatedOracle {
 public:
  using Vector = std::vector<typename R::Word>;
  // shares: own and previous component of the values. All are borrowed.
  ReplicatedOracle(OracleSession& session, Tape& own_tape, Tape& previous_tape,
                   const replicated::OracleLayout& layout, const std::array<Vector, 2>& shares);
  // Until the centre's queries are done.
  void Run(const OracleQueries& queries);

 private:
  IntMatrix Evaluate(size_t kind, const IntMatrix& weights);
  void AnswerFromTape(size_t kind);
  void AnswerFromMessage(size_t kind);
  void Reply(const Vector& reply);
  // Rows [next_row_, next_row_ + num_rows) of `cols` elements of what begins at `offset`.
  Vector Read(Tape& tape, uint64_t offset, size_t num_rows, size_t cols) const;

  OracleSession& session_;
  Tape &own_tape_, &previous_tape_;
  const replicated::OracleLayout& layout_;
  const std::array<Vector, 2>& shares_;
  Vector sum_;  // at the centre: of its two components
  uint64_t next_row_ = 0;
};

}  // namespace partita::mpc
