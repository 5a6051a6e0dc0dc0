// Inner products of a shared matrix with weights that only one party knows, asked for as often as
// that party likes: what a likelihood over shared moments needs (methods.md 1.2, `likelihood`).
//
// Ideal function    S (d x m) is shared and does not change. Again and again the centre, a
//                   computing party, chooses a kind of evaluation k, which fixes a number of rows
//                   q_k, and W (q_k x d), and learns W S (q_k x m). Nobody else learns anything but
//                   k. The centre stops when it likes.
// Exactness         Integers of the ring, nothing is truncated: W has f_W fraction bits, the result
//                   f_W + f_S. It must fit: (L1 norm of a row of W) * bound(S) * 2^(f_W + f_S) <
//                   2^126, checked before anything is sent.
// Revealed          To every computing party: the kind of every evaluation, hence their number and
//                   order. To the dealer: how many rows were asked for, in steps of a chunk. To the
//                   centre: W S; after enough linearly independent rows it can solve for S (R-k).
// Cost              Set-up: one round, d m elements from every party but the centre (`dealer`), or
//                   nothing (`replicated`). An evaluation: one request and one reply, two rounds,
//                   whatever n is.
//                     dealer      centre -> each other party 8 bytes + q d elements; back q m.
//                     replicated  centre -> one party 8 bytes + q d elements, -> the other 8 bytes;
//                                 back q m elements from each.
//                     shamir      centre -> t parties 8 bytes + q d elements, -> all others 8
//                                 bytes; back q m elements from 2 t; nothing before
//                                 (shamir_oracle.h).
//                     ot          set-up one round and 4 bytes per bit of the values; centre -> the
//                                 other party 8 bytes + q d m 1088 bytes; back q m elements
//                                 (ot/ot_oracle.h).
//                   In `dealer` the dealer sends the centre q m elements for q rows, in chunks that
//                   are asked for one chunk ahead, so that nobody waits for them: 8 bytes there,
//                   (rows of a chunk) m elements back, in no round of its own. Stop: 8 bytes to
//                   every process, one round.
// Release           Every evaluation of kind k is one opening of kinds[k].release_id, of q_k m
//                   values to the centre: every computing party asks its gate before it answers.
//
// Engine `dealer`. The parties i other than the centre c take masks b_i from their tapes with the
// dealer and send e_i = s_i - b_i to the centre; with b_c = 0 and e_c = s_c, e = sum e_i = S - b.
// Per evaluation the centre takes A (q x d) from its tape with the dealer and sends W - A to every
// other party i, which replies (W - A) b_i + C_i, where C_i comes from its tape with the dealer;
// the dealer sends the centre C_c = A b - sum C_i. The centre has
//   W e + sum_i [(W - A) b_i + C_i] + C_c = W e + (W - A) b + A b = W S.
// Every row of A and of all C_i is used once (rule R-c), whatever the kind of the evaluation: the
// dealer only deals rows, from one pool, and is not told which evaluation they are for.
//   Privacy. A party sees W - A, uniform because A is known to centre and dealer only. The centre,
//   also with all parties but one honest party h, sees e_h, hidden by b_h; C_c, hidden by C_h; and
//   (W - A) b_h + C_h, which given the rest is determined by the output W S. If two or more parties
//   are honest, their C_i are uniform but for their sum. The dealer sees nothing but chunk
//   requests.
//
// Engine `replicated`. The centre c holds s_c and s_(c-1); s_(c+1) is held by the parties c + 1 and
// c - 1. W = U + V with U from tape c, which party c + 1 holds too (no bytes); V goes to c - 1.
// They reply U s_(c+1) + z and V s_(c+1) - z with z from tape c + 1, which the centre does not
// hold. The centre has the sum, W s_(c+1), and adds W (s_c + s_(c-1)).
//   Privacy, one corrupted party: c + 1 sees a tape, c - 1 a uniform V; of the replies the centre
//   learns the sum alone, which its output determines, since z is fresh for every row.
//
// Between two evaluations the centre may compute for less than the channel's timeout, and all
// waiting ends after 20 timeouts without a request (net::Channel::SetTimeout).
//
// Views are enumerated exactly over a tiny ring in tests/mpc/linear_oracle_view_test.cc.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "mpc/shape.h"

namespace partita::mpc {

struct IntMatrix;

// One kind of evaluation. All of it is public.
struct OracleKind {
  std::string release_id;  // of the opening that each evaluation is
  size_t rows = 1;         // of W, and of the result
  uint64_t max_count = 1;  // evaluations of this kind, at most
};

struct OracleTask {
  PartyIndex centre = 0;         // a computing party: chooses W, learns W S
  int weight_fraction_bits = 0;  // f_W
  double weight_bound = 0;       // no row of W has a larger sum of magnitudes (real units)
  std::vector<OracleKind> kinds;
};

// How often each kind was evaluated. Empty at the dealer, which does not learn it; the declared
// maximum on the PlanEngine.
struct OracleUse {
  std::vector<uint64_t> evaluations;
};

// W S for one W of task.kinds[kind], at f_W + f_S fraction bits. Throws, before anything is sent,
//   kUsage     kind or shape of `weights` are wrong;
//   kBadInput  a row's sum of magnitudes exceeds the bound: a caller may catch this and ask for
//              other weights;
//   kRefused   the kind's maximum count is reached (by the task or by the gate).
using OracleEvaluate = std::function<IntMatrix(size_t kind, const IntMatrix& weights)>;

// What the centre does with its oracle, e.g. run an optimiser. When it returns, the oracle stops.
// What it throws leaves Engine::RunOracle at the centre; the others learn of it by Channel::Abort.
using OracleQueries = std::function<void(const OracleEvaluate& evaluate)>;

}  // namespace partita::mpc
