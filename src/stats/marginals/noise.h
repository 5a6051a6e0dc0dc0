// What the release of all tables may tell about one person, and its noise in one hand: the law that
// the protocol on shares has to have.
//
// Sensitivity  A row is in one cell of each table. Of T tables under one noise, m rows a person:
//                add/remove  m sqrt(T):   m more in one cell of each;
//                replace     m sqrt(2 T): m fewer in one cell and m more in another;
//                replace of the columns that others hold: m sqrt(2 T'), T' the tables with such a
//                column. All three are attained (tests enumerate them).
//              The whole vector is one Gaussian mechanism: the number of tables stands in the
//              sensitivity, once.
// Weights      Where a table's counts are multiplied by a lift before noise is added, T is the sum
// of squared
//              lifts: the vector is what opens, whatever its tables are worth.
// Grid         Counts are whole, noise is not: it is drawn on multiples of 2^-20. On whole numbers
//              the law of the sum over thousands of cells is not close enough to a Gaussian to be
//              accounted for as one (the gap of discrete_gaussian_mechanism.h is above 1 for Adult
//              at epsilon 3, and 1e-12 on this grid).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "crypto/random.h"
#include "privacy/adjacency.h"
#include "privacy/sampling/discrete_gaussian_mechanism.h"
#include "privacy/sampling/sensitivity.h"
#include "stats/marginals/tables.h"

namespace partita::stats::marginals {

inline constexpr int kNoiseGridBits = 20;

// In counts. tables, rows_per_person >= 1.
privacy::L2Sensitivity TablesSensitivity(size_t tables, privacy::Adjacency adjacency,
                                         uint32_t rows_per_person);
// The same in units of the grid.
privacy::GridL2Sensitivity OnNoiseGrid(privacy::L2Sensitivity sensitivity);

// In units of the grid, of tables whose counts are multiplied by these lifts; rounded up.
privacy::GridL2Sensitivity LiftedSensitivity(std::span<const uint64_t> lifts,
                                             privacy::Adjacency adjacency,
                                             uint32_t rows_per_person);
// Where scores (selection.h) open beside counts: a row is in one cell of a count table and changes a
// score by as much as two of its cells, 1 or 2. The openings follow each other, and later ones
// depend on earlier ones: what each can change is bounded whatever opened before, so their squares
// add up as those of one vector (docs/decisions/0430). Rounded up.
privacy::GridL2Sensitivity ScoredSensitivity(std::span<const uint64_t> count_lifts,
                                             std::span<const uint64_t> score_lifts,
                                             privacy::Adjacency adjacency,
                                             uint32_t rows_per_person);

// Of weight 1.
inline constexpr uint64_t kUnitLift = uint64_t{1} << kNoiseGridBits;

// Whether an attribute of the table is not held by `holder`; holders[a] holds attribute a.
bool HasForeign(const CountTable& table, std::span<const size_t> holders, size_t holder);
// T': tables with an attribute that is not held by `holder`; holders[a] holds attribute a.
size_t TablesWithForeign(const TableSet& set, std::span<const size_t> holders, size_t holder);

// The smallest noise of one curator, on the grid. Throws kUsage for budgets out of range.
privacy::GridVariance CuratorNoise(const TableSet& set, privacy::Adjacency adjacency,
                                   uint32_t rows_per_person, privacy::Epsilon epsilon,
                                   privacy::Delta delta);

// In counts.
double NoiseStddev(const privacy::GridVariance& variance);

// Adds exact noise to every cell.
void AddNoise(const privacy::GridVariance& variance, crypto::RandomSource& source,
              std::span<double> cells);

}  // namespace partita::stats::marginals
