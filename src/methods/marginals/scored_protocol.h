// Pairs of columns chosen by noisy scores: three openings with noise instead of one of all pairs.
//
// Ideal function   one-way tables with noise, to everybody -> the whole numbers c that independent
//                  columns would have, in public -> of every pair sum |N - c| with noise, to
//                  everybody -> as many pairs as were agreed, chosen in public -> their tables with
//                  noise, to everybody (stats/marginals/selection.h).
// Method           All counts are on shares (protocol.h). |N - c| is a comparison with 0 and a
//                  product a cell; sums are local. Every opening takes coordinates of its own of one
//                  vector of noise, so that no noise is used twice.
// Exactness        Whole numbers; comparisons are exact.
// Revealed         The three openings. Neither N - c nor its sign, nor any score without noise.
// Shapes           Whichever pairs are chosen, as many numbers open as the largest ones have: what is
//                  left over is 0 and its noise. A dealer, who learns nothing that opens, and the
//                  plan know all sizes.
// Cost             The input of noise, an opening of one-way cells, a comparison (compare.h, of
//                  log2(rows) + 2 bits), a step from bits to ring and a product for every cell of
//                  all pairs, openings of a number a pair and of the last one's cells.
#pragma once

#include <optional>
#include <vector>

#include "methods/marginals/protocol.h"

namespace partita::methods::marginals {

// At computing parties.
struct ScoredOpening {
  std::vector<double> cells;   // of the whole set, in counts; 0 where not measured
  std::vector<double> scores;  // by pair
  std::vector<size_t> chosen;  // numbers of tables, increasing
};

// counts: CountOnShares; task.scored is set. rows: their number where it is public. own_share: as for
// OpenTables. Throws kInternal as that.
std::optional<ScoredOpening> OpenByScores(mpc::Engine& engine, const Task& task,
                                          std::optional<uint64_t> rows, const mpc::Shared& counts,
                                          const NoiseDesign& design,
                                          const std::vector<Int128>& own_share);

}  // namespace partita::methods::marginals
