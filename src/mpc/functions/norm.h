// Euclidean norms of the rows of shared matrices, and clipping to a public norm.
//
// RowNorm
//   Domain  smallest <= norm <= bound, smallest > 0 and public; below smallest (0 included) the
//           result is 0. cols bound^2 2^(2 f) < 2^126 (kBadInput).
//   Error   2^-f + 2^-(f + 3) absolute plus 2^-40 relative, f the fraction bits of the result.
//   Rounds  1 and Root (reciprocal.h).
// ClipRows
//   Result  x min(1, C' / |x|) for every row x, where C' is C (1 - 2^-16) rounded down to 20
//           binary digits. The Euclidean norm of every row of the result is at most C, whatever the
//           rounding (rule R-f: charge C): with d columns it is at most
//           C' (1 + 2^-39) + sqrt(d) 2^-f, and a C for which that may exceed C is refused.
//   Domain  |x_ij| <= bound; sqrt(d) 2^(17 - f) < C; for every list of rows together,
//           max(1, sqrt(d) bound / C) C 2^f < 2^61; sqrt(d) bound < 2^36 C. Else kBadInput, before
//           anything is sent.
//   Error   2^-f absolute plus 2^-39 relative of every entry. Failure probability 0.
//   Method  x C' max(|x|^2, C'^2)^(-1/2): one comparison and one inverse root for each row.
//   Rounds  D = 1 (`dealer`) or 2 (`replicated`), w bits of |x|^2 at 48 fraction bits: after
//           InverseRoot of max(...), 3 D + 4 + ceil(log2(w - 1)), where the first cut is left out
//           if it would add digits.
//   Bytes   two products and a cut for each entry; a comparison and InverseRoot for each row. For
//           rows of 50 the busiest process sends 81 (`dealer`) or 54 (`replicated`) per entry; all
//           together 200 or 163.
//
// Timing  constant in shares; not in shapes and bounds (public). Proved by tests/ctime.
#pragma once

#include <span>
#include <vector>

#include "mpc/engine.h"

namespace partita::mpc {

struct RowsWithNorm {
  Shared rows;
  double norm = 0;  // RowNorm: the smallest; ClipRows: C
};

// rows x 1.
std::vector<Shared> RowNorm(Engine& engine, std::span<const RowsWithNorm> values,
                            int fraction_bits);
// Shapes and fraction bits of the values.
std::vector<Shared> ClipRows(Engine& engine, std::span<const RowsWithNorm> values);

}  // namespace partita::mpc
