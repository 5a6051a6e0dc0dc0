// Way (a) of the release rule (privacy/release_rule.h): every cell of a table of discrete columns
// has no row or at least a minimum, and stays so for a holder that knows its own rows and columns.
//
// Ideal function   (who has which rows and columns of a table with K cells) -> one bit to
//                  everybody, whether all of this holds:
//                  - each cell is 0 or at least the minimum, over all rows;
//                  - for every holder, of the rows that it does not hold each pattern of its own
//                    columns is 0 or at least the minimum: it can subtract its own rows. Where it
//                    has all columns, patterns are cells;
//                  - for every holder, under each pattern of its own columns that has rows, each
//                    column that it lacks takes two values at least: it knows who has the pattern,
//                    and one value would be that of all of them.
// Method           Counts of all cells on shares (pattern_counts.h). All that is compared are sums
//                  and differences of them, so local. Something fails where a number is below what
//                  it must be though rows occur, the exclusive or of two secure comparisons;
//                  failures are made ring elements and added up, and the sum compared with 1.
// Revealed         The bit, to every party (release `pattern-cells`): not what fails, nor in whose
//                  rows, nor how many. Public beforehand: the columns and their values, the
//                  minimum, who holds what, and how many rows at most.
// Cost             That of pattern_counts.h; then with A_h patterns of a holder's own columns
//                  M = K + A_h for each holder h that lacks rows + A_h v for each column of v
//                  values that h lacks: (holders + 1) K of two holders or more with whole rows.
//                  mpc/compare.h IsNegative of 2 M values within the most rows that there can be
//                  and 1; ToRing of M bits; IsNegative of one value within M + 1; one opening of
//                  one bit. The minimum changes none of it. On `dealer` with 300 to 65000 rows and
//                  M from 14 to 250: 5 + 1 + 4 + 1 = 11 rounds after the counts, which take none
//                  for whole rows.
#pragma once

#include <cstdint>
#include <optional>

#include "methods/mle/moments/pattern_counts.h"
#include "mpc/engine.h"

namespace partita::methods::mle {

inline constexpr char kPatternCellsRelease[] = "pattern-cells";
inline constexpr size_t kMaxPatternCells = 4096;

// own: as for CountPatterns. Empty where engine.self() is empty.
std::optional<bool> PatternCellsPass(mpc::Engine& engine, const PatternTask& task,
                                     const OwnPatterns& own, uint64_t minimum);

}  // namespace partita::methods::mle
