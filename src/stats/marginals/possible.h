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
#include <optional>
#include <span>
#include <vector>

#include "crypto/random.h"
#include "stats/marginals/tables.h"

namespace partita::stats::marginals {

inline constexpr size_t kMostImpossible = 1000;

struct ImpossibleCell {
  uint32_t first = 0, first_level = 0, second = 0, second_level = 0;  // first < second: attributes
};

// Of the vector of all cells, that of the pair; and it with those of triples that have both levels.
size_t CellOf(const TableSet& set, const ImpossibleCell& impossible);
std::vector<size_t> CellsOf(const TableSet& set, const ImpossibleCell& impossible);

// A row, one level by attribute, that has no impossible cell: `wanted` with as few levels changed as
// a depth-first search changes that asks the wanted ones first. None where there is none, or none
// was found in kMostSearched steps.
inline constexpr size_t kMostSearched = 20'000;
std::optional<std::vector<uint32_t>> PossibleRow(const TableSet& set,
                                                 std::span<const ImpossibleCell> impossible,
                                                 std::vector<uint32_t> wanted);

// Throws kBadInput, naming the attribute, for more than kMostImpossible cells, for cells that are
// not there or stand twice, where a level would be left with no possible level of another
// attribute, and where no possible row was found.
void CheckImpossible(const TableSet& set, std::span<const ImpossibleCell> impossible);

// Exchanges levels between rows until none is impossible: a row that is takes one level of its pair
// from a row drawn at
// random and gives it its own, if both are possible then. Columns keep their shares. Where no such
// row is found, the row becomes a copy of a possible one, and where none was drawn, PossibleRow of
// it; columns' shares change then. Never fails for cells that CheckImpossible takes.
void MendImpossible(const TableSet& set, std::span<const ImpossibleCell> impossible, Codes& codes,
                    crypto::RandomSource& source);

}  // namespace partita::stats::marginals
