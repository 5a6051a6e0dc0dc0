// The linear oracle of the engine `dealer` at a computing party. Protocol: linear_oracle.h.
//
// Timing  constant in shares and tapes; not in the kinds of evaluations (public). Proved by
//         tests/ctime. The centre checks its own weights.
#pragma once

#include <vector>

#include "mpc/correlation_source.h"
#include "mpc/dealer_schedule.h"
#include "mpc/kernels.h"
#include "mpc/oracle_session.h"

namespace partita::mpc {

template <typename R>
class DealerOracle {
 public:
  using Word = typename R::Word;
  // share: this party's of the values. has_dealer: the channel's last process deals rows while they
  // are used; otherwise the source has all of them. All are borrowed.
  DealerOracle(OracleSession& session, CorrelationSource<R>& source,
               const DealerOracleLayout& layout, size_t num_parties, bool has_dealer,
               ConstWords<R> share);
  // Until the centre's queries are done.
  void Run(const OracleQueries& queries);

 private:
  using Vector = std::vector<Word>;

  void OpenAtCentre();
  // The dealt rows that are there from the start; the dealer's arrive with the messages.
  Vector FirstRows(StepMessages& messages);
  void SendOpening();
  IntMatrix Evaluate(size_t kind, const IntMatrix& weights);
  void Answer(size_t kind);
  // Rows [row, row + shape.rows) of what begins at `offset` of the tape with the dealer.
  Vector Mask(uint64_t offset, uint64_t row, Shape shape);
  void KeepChunk(Vector chunk, uint64_t first_needed);

  OracleSession& session_;
  CorrelationSource<R>& source_;
  const DealerOracleLayout& layout_;
  PartyIndex dealer_;  // the number of parties, also where there is no dealer
  bool has_dealer_;
  ConstWords<R> share_;
  OracleChunks chunks_;
  Vector operand_;  // at the centre e, elsewhere b_i
  Vector dealt_;    // at the centre: rows of C_c from first_dealt_row_ on
  uint64_t first_dealt_row_ = 0;
  uint64_t next_row_ = 0;  // elsewhere
};

}  // namespace partita::mpc
