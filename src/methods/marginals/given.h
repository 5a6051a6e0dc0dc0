// Synthetic rows given levels of some columns: those of one group.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "methods/marginals/model_file.h"
#include "methods/marginals/spec.h"

namespace partita::methods::marginals {

// Levels by their names, "column=level". Throws kBadInput, naming what there is, for a column or
// level that is
// not there, and for a column twice.
std::vector<ColumnLevel> ParseGiven(const OpenedTables& opened,
                                    const std::vector<std::string>& conditions);

// What a reader of such rows has to know, in whole sentences: of every column that is given, with which
// others no pair was counted, so that those follow it by chance or by way of other columns alone. Empty
// where all were counted.
std::string GivenNote(const OpenedTables& opened, const std::vector<ColumnLevel>& given);

// Rows are drawn from the generator, and those with these levels kept: their other columns follow
// the
// generator's law given them. Throws kBadInput where 2e7 rows have fewer than were asked for.
data::Table DrawGiven(const OpenedTables& opened, const stats::marginals::Choice& choice,
                      const std::vector<ColumnLevel>& given, size_t rows,
                      crypto::RandomSource& source);

}  // namespace partita::methods::marginals
