// Which pairs of columns are measured where not all are: those whose counts are furthest from
// independence, by scores that open with noise.
//
// Steps       1. One-way tables open with noise. 2. From them whole numbers c_ab(i, j) =
//             round(w_a(i) w_b(j) n / (W_a W_b)), w the counts rounded and not negative, W their
//             sums: what independent columns would have. The score of a pair is
//             s_ab = sum_ij |N_ab(i, j) - c_ab(i, j)|, and the vector of ALL scores opens with
//             noise. 3. ChoosePairs, a function of what opened, names as many pairs as were agreed;
//             their tables open with noise.
// Change      For any c of whole numbers a row that is added or removed changes a score by 1, one
//             that is replaced by 0 or 2; of P scores the vector by sqrt(P) or 2 sqrt(P), attained.
// Whole numbers everywhere: every party must choose the same pairs from the same openings, on any
// machine.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "privacy/adjacency.h"
#include "stats/marginals/generator.h"
#include "stats/marginals/tables.h"

namespace partita::stats::marginals {

// How many pairs are measured, and what counts and scores are multiplied by before noise of weight 1
// is added.
struct Selection {
  uint32_t pairs = 0;
  double one_way = 1, score = 1, pair = 1;
};

// Shares of the squared sensitivity, of this adjacency, that one-way tables, scores and chosen pairs
// take.
inline constexpr double kOneWayShare = 0.2, kScoreShare = 0.2, kPairShare = 0.6;
// Weights with these shares and the squared sensitivity of as many tables of weight 1 as are counted.
Selection SelectionFor(const TableSet& set, uint32_t pairs, privacy::Adjacency adjacency);

// Of a set of d attributes: num_pairs tables, all but the first d; and their cells.
inline size_t NumPairs(const TableSet& set) { return set.NumPairs(); }
size_t OneWayCells(const TableSet& set);
inline size_t PairCells(const TableSet& set) { return set.num_cells - OneWayCells(set); }
// Cells of the `pairs` largest pairs.
size_t MostCells(const TableSet& set, size_t pairs);

// c by cell of all pairs, from 0 to `most`. one_way: opened counts, rounded. rows: their number where
// it is public; else the sum of the first of the smallest one-way tables, 1 at least.
std::vector<int64_t> IndependentCounts(const TableSet& set, std::span<const int64_t> one_way,
                                       std::optional<uint64_t> rows, uint64_t most);

// By pair. counts: num_cells whole numbers.
std::vector<double> ScoresOf(const TableSet& set, std::span<const double> counts,
                             std::span<const int64_t> independent);

// Numbers of tables, increasing. By what measuring a pair gains: its score less the L1 norm of the
// noise that its table would have, sqrt(2/pi) pair_stddev cells (the rule of AIM; McKenna et al.,
// VLDB 2022), both rounded. First the strongest forest whose junction tree has at most kTreeCells
// cells, then others that leave it so small, in the end any others, each by their gain. scores: opened, rounded. pairs <= NumPairs.
std::vector<size_t> ChoosePairs(const TableSet& set, std::span<const int64_t> scores,
                                double pair_stddev, size_t pairs);

// 0 for pairs that were not chosen.
TableWeights WeightsOfChosen(const TableSet& set, const Selection& selection,
                             std::span<const size_t> chosen);

// All three steps by a curator with Gaussian noise: what a study opens, for forecasts.
// noise_stddev: of weight 1. counts: of whole rows.
NoisyTables MeasureByScores(const TableSet& set, std::span<const double> counts,
                            const Selection& selection, double noise_stddev,
                            std::optional<double> rows, crypto::RandomSource& source);

}  // namespace partita::stats::marginals
