// Softmax and log-sum-exp over the rows of shared matrices.
//
// Domain    Any |x| <= bound(x), with 1 to 2^16 columns (else kBadInput). Of x log2(e) an entry of
//           every row that is the largest to +-1/2 is subtracted first (extremes.h, of entries cut to
//           halves), unless bound(x) <= 10: then the exponentials have digits enough as they are, and
//           the comparisons are saved.
// Error     RowSoftmax: 2^-f + 2^-42 absolute, plus 2^-37.5 relative, f at most 50. RowLogSumExp:
//           2^(1-f) + 2^-38 absolute. Failure probability 0; the cuts round at random.
// Method    BinaryExponential (exponential.h) with as many more fraction bits as the sums need; every sum
//           lies in a public range. Up to 99 columns (where the largest entry was subtracted)
//           ReciprocalInRange (inverse.h), else Reciprocal; Log of it needs few marks.
// Rounds    with D = 1 (`dealer`) or 2 (`replicated`): a cut, RowMax where needed, BinaryExponential (of
//           integer bits at least), the reciprocal and 2, or Log and a cut where needed. For 1000 x 20
//           in [-11, 11] 42 (`dealer`) and 44 (`replicated`).
// Bytes     those of BinaryExponential and one product with its cut for every entry, of Reciprocal
//           or Log for every row: for rows of 20 in [-11, 11] at f = 40 the busiest process sends
//           740 (`dealer`) or 550 (`replicated`) per entry; all together 2010 or 1600.
// Timing    constant in shares; not in shapes and bounds (public). Proved by tests/ctime.
#pragma once

#include <span>
#include <vector>

#include "mpc/engine.h"

namespace partita::mpc {

// e^x_ij / sum_k e^x_ik, of the same shape.
std::vector<Shared> RowSoftmax(Engine& engine, std::span<const Shared> values, int fraction_bits);

// log sum_k e^x_ik, rows x 1, at the fraction bits of the values, which are all the same (kUsage).
std::vector<Shared> RowLogSumExp(Engine& engine, std::span<const Shared> values);

}  // namespace partita::mpc
