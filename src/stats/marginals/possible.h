// Cells that cannot be: pairs of levels of two attributes that a study declares impossible, as
// "male"
// and "pregnant". A declaration about the world, not about the rows: it is public before anything
// is counted.
//
// Their counts open with noise as all do, and are 0 in every fit. Generators may still give such a
// row now and
// then; what is drawn is mended, so that no row has one.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "crypto/random.h"
#include "stats/marginals/tables.h"

namespace partita::stats::marginals {

inline constexpr size_t kMostImpossible = 1000;

struct ImpossibleCell {
  uint32_t first = 0, first_level = 0, second = 0, second_level = 0;  // first < second: attributes
};

// Of the vector of all cells.
size_t CellOf(const TableSet& set, const ImpossibleCell& impossible);

// Throws kBadInput, naming the attribute, for more than kMostImpossible cells, for cells that are
// not there or stand
// twice, and where a level would be left with no possible level of another attribute.
void CheckImpossible(const TableSet& set, std::span<const ImpossibleCell> impossible);

// Exchanges levels between rows until none is impossible: a row that is takes one level of its pair
// from a row drawn at
// random and gives it its own, if both are possible then. Columns keep their shares. Where no such
// row is
// found, the row becomes a copy of a possible one. Throws kBadInput if no row is possible.
void MendImpossible(std::span<const ImpossibleCell> impossible, Codes& codes,
                    crypto::RandomSource& source);

}  // namespace partita::stats::marginals
