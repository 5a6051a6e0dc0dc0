// The linear oracle of the engine `shamir` at one process; linear_oracle.h says what it computes.
//
// Every party holds a share of S. Per evaluation the centre c deals W: the t parties after it read
// their shares from their tapes with it, the next t get theirs in the request, 8 bytes + q d
// elements; all others get the 8 bytes alone. The centre and those 2 t parties form the products of
// their shares, points on polynomials of degree 2 t, weigh them with Lagrange's coefficients at 0,
// and the 2 t reply with q m elements each: the product plus terms that every two of them have in
// common on their tape, which cancel in the sum. Two rounds, no set-up.
//   Privacy, t parties. Without the centre: t shares of a fresh dealing of W. With it and t - 1
//   others: at least t + 1 >= 2 of those who reply are honest, whose replies are uniform but for
//   their sum, which the output determines. Lies in replies are NOT noticed.
//
// Timing  constant in shares and tapes; not in the kinds of evaluations (public). Proved by
//         tests/ctime. The centre checks its own weights.
#pragma once

#include <vector>

#include "mpc/oracle_session.h"
#include "mpc/shamir_schedule.h"
#include "mpc/shamir_transfers.h"

namespace partita::mpc {

template <typename F, size_t kSlices>
class ShamirOracle {
 public:
  using Word = typename F::Word;
  using Vector = std::vector<Word>;

  // `shares`: this party's of the oracle's matrix. Everything is borrowed.
  ShamirOracle(OracleSession& session, const ShamirParty<F, kSlices>& party,
               const shamir::OracleLayout& layout, const Vector& shares);
  // Until the centre stops. `queries` is called at the centre only.
  void Run(const OracleQueries& queries);

 private:
  IntMatrix Evaluate(size_t kind, const IntMatrix& weights);
  void Answer(size_t kind);
  // The parties whose replies determine a result, the centre first: it and the 2 t after it.
  PartyIndex Evaluator(size_t i) const;
  // This party's share of W S, times its coefficient, in the sum that the centre forms.
  Vector Part(const Vector& weights, size_t rows) const;
  Vector Read(PartyIndex peer, uint64_t offset, size_t num_rows, size_t cols) const;

  OracleSession& session_;
  const ShamirParty<F, kSlices>& party_;
  const shamir::OracleLayout& layout_;
  const Vector& shares_;
  size_t position_;  // of this party, counted from the centre
  Word coefficient_{};
  uint64_t next_row_ = 0;
};

}  // namespace partita::mpc
