// The linear oracle (linear_oracle.h) of the engine `ot`.
//
// The matrix S (d x m) is s_c + s_o, the centre's share and the other party's. Once, the other
// party chooses with the bits of s_o in d m k transfers (k bits of the ring). For an evaluation the
// centre sends, for every row of W and every transfer, that row's weight masked with pads of its
// own for this row (tasks.h); the other party adds up its terms and sends them back, q m elements.
// The centre subtracts its own terms, which leaves W s_o, and adds W s_c.
//   Privacy. The other party sees masked weights: of each pair of pads it knows one. The centre
//   sees W s_o plus its own pads, which W S determines. Every row of every evaluation has pads of
//   its own.
//   Cost. Set-up: (a link, if there is none yet, and) 4 bytes per transfer from the other party,
//   one round. An evaluation, two rounds: 8 bytes + q d m 1088 bytes (in Z_2^128) to the other
//   party, q m elements back. Stop: 8 bytes.
//
// Timing  constant in shares and rows; not in the kinds of evaluations (public). Proved by
//         tests/ctime. The centre checks its own weights.
#pragma once

#include "mpc/oracle_session.h"
#include "mpc/ot/link.h"

namespace partita::mpc::ot {

// link_is_made: nothing but the columns has to be sent first.
OracleCost CostOfOracle(Shape values, const OracleTask& task, size_t ring_bits, bool link_is_made);
// Whether an oracle over so many values needs a link.
inline bool OracleNeedsLink(Shape values) { return values.size() > 0; }

template <typename R>
class Oracle {
 public:
  using Word = typename R::Word;
  // link: null if OracleNeedsLink says so. share: this party's of the values. All are borrowed.
  Oracle(OracleSession& session, Link* link, std::span<const Word> share);
  // Until the centre's queries are done.
  void Run(const OracleQueries& queries);

 private:
  IntMatrix Evaluate(size_t kind, const IntMatrix& weights);
  void Answer(size_t kind);
  void SetUpAtCentre();
  void SetUpElsewhere();

  OracleSession& session_;
  Link* link_;
  std::span<const Word> share_;
  PartyIndex peer_;
  size_t transfers_;  // without padding
  std::vector<crypto::Block> rows_;
  std::vector<uint64_t> choices_;  // not at the centre
  uint64_t first_index_ = 0;
  uint64_t next_row_ = 0;
};

}  // namespace partita::mpc::ot
