// From the columns of a table to levels that are counted, and from levels back to a table. Public:
// levels, bounds and bins are those of the study's dictionary.
#pragma once

#include <span>
#include <vector>

#include "crypto/random.h"
#include "data/encoding.h"
#include "data/table.h"
#include "methods/marginals/task.h"

namespace partita::methods::marginals {

inline constexpr uint32_t kDefaultBins = 10;
// Of a factor, before rare ones share one.
inline constexpr size_t kMaxFactorLevels = 10000;

struct LevelColumn {
  data::ColumnEncoding encoding;  // of levels, whole numbers or bins
  bool missing = false;           // a cell without a value is the last level
};

// Levels of factors, whole numbers of integers with few values, else ten bins. Throws kBadInput as
// data::DefaultEncoding does, and for more bins than whole numbers.
data::ColumnEncoding DefaultLevels(const data::ColumnSchema& column);

// Levels, whole numbers and bins.
bool CountsLevels(data::EncodingKind kind);

// Throws kBadInput above kMaxFactorLevels.
void CheckFactorLevels(const data::ColumnSchema& column);

// Throws kBadInput as CheckFactorLevels and AllTables do.
stats::marginals::TableSet TablesOfColumns(const std::vector<LevelColumn>& columns,
                                           std::span<const stats::marginals::Triple> triples = {});

// The levels of rows [first, first + count) of a table that a private study has read
// (data/repair.h), one for every row. Where missing cells are a level, all cells of neutral rows are
// missing; where they are not, the table has been filled.
std::vector<uint16_t> LevelsOf(const LevelColumn& column, const data::Table& table, size_t first,
                               size_t count);

// The table of these levels: numbers uniform within their bin, missing cells missing again.
data::Table TableOfLevels(const std::vector<LevelColumn>& columns,
                          const stats::marginals::Codes& codes, crypto::RandomSource& source);

// "no", "[18, 26)", "18 to 25", "41", "missing": by level.
std::vector<std::string> LevelNames(const LevelColumn& column);

}  // namespace partita::methods::marginals
