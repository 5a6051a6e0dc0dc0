// Way (a) of the release rule (privacy/release_rule.h): every cell of a table of discrete columns
// has no row or at least a minimum, in the rows of all holders and in those of all but each one.
//
// Ideal function   (every holder's number of rows in each of K cells) -> one bit to everybody:
//                  whether each cell is 0 or at least the minimum, over all holders, and with two
//                  holders or more also over all but each one, who can subtract its own rows.
// Method           Holders whose rows are whole count them in the clear and share K numbers; the
//                  sums and differences are local. A cell fails where it is below the minimum and
//                  not below 1, the exclusive or of two secure comparisons; the failures are made
//                  ring elements and added up, and the sum is compared with 1.
// Revealed         The bit, to every party (release `pattern-cells`): not which cell fails, nor
//                  in whose rows, nor how many. Public beforehand: K, the minimum, who holds rows,
//                  and how many at most.
// Cost             M = K cells, (holders + 1) K with two holders or more. One input of K numbers
//                  by each holder; mpc/compare.h IsNegative of 2 M values within the most rows
//                  that there can be and 1; ToRing of M bits; IsNegative of one value within
//                  M + 1; one opening of one bit. The minimum changes none of it. On `dealer`
//                  with 300 to 65000 rows and M from 14 to 250: 5 + 1 + 4 + 1 = 11 rounds, the
//                  input without any.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "mpc/engine.h"

namespace partita::methods::mle {

inline constexpr char kPatternCellsRelease[] = "pattern-cells";
inline constexpr size_t kMaxPatternCells = 4096;

struct CellHolder {
  mpc::PartyIndex party = 0;
  uint64_t max_rows = 0;
};

struct PatternCellsTask {
  size_t num_cells = 0;
  std::vector<CellHolder> holders;  // at least one, each party once
};

// own: at a holder its rows in each cell, together at most its max_rows; not used elsewhere. Empty
// where engine.self() is empty.
std::optional<bool> PatternCellsPass(mpc::Engine& engine, const PatternCellsTask& task,
                                     const std::vector<uint64_t>& own, uint64_t minimum);

}  // namespace partita::methods::mle
