// What opened, as a file: the columns with their public bounds, the noisy cells and their noise, and
// the privacy statement that they opened under. Generator and rows are functions of it, so that
// anybody who has it draws without another charge.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "methods/marginals/columns.h"
#include "stats/marginals/generator.h"

namespace partita::methods::marginals {

// Where pairs were chosen by scores.
struct OpenedScores {
  std::vector<double> scores;  // by pair; else empty
  double noise_stddev = 0;     // in rows
};

struct OpenedTables {
  std::vector<LevelColumn> columns;
  std::vector<stats::marginals::Triple> triples;
  stats::marginals::NoisyTables noisy;
  std::string privacy;  // a privacy statement as JSON
  OpenedScores scores = {};
};

stats::marginals::TableSet TablesOf(const OpenedTables& opened);

std::string TablesJson(const OpenedTables& opened);
// The inverse. Throws kBadInput, naming what is wrong, for anything that TablesJson does not write:
// other JSON, columns that are refused, another number of cells, cells beyond +-1e12.
OpenedTables ParseTablesJson(const std::string& json);

// Empty for a JSON file of another kind. Throws kBadInput if the file cannot be read, is above 64 MB, or as
// ParseTablesJson does.
std::optional<OpenedTables> ReadTablesFile(const std::filesystem::path& file);

// The same for everybody who has the tables: fresh numbers come from a digest of them. About a second for
// fifteen columns.
stats::marginals::Choice ChooseFor(const OpenedTables& opened);

// What synthetic rows are for, in whole sentences; printed wherever they are made.
extern const char* const kRowsPurpose;
extern const char* const kIndependentPurpose;  // of a choice that relates no columns

// Levels by column, by row; none has a pair of levels that is declared impossible.
stats::marginals::Codes DrawLevels(const OpenedTables& opened,
                                   const stats::marginals::Choice& choice, size_t rows,
                                   crypto::RandomSource& source);

// What tables for intervals are for.
extern const char* const kIntervalsPurpose;

// Tables of some columns, of as many rows as were counted, whose estimates combine to intervals
// (stats/marginals/intervals.h).
// Throws kBadInput, naming what is wrong: a column that is not there or stands twice, 2e8 cells in
// all or more, and as
// stats::marginals::DrawForIntervals.
std::vector<data::Table> DrawForIntervals(const OpenedTables& opened,
                                          const std::vector<std::string>& columns, size_t sets,
                                          crypto::RandomSource& source);

std::vector<data::Table> DrawTables(const OpenedTables& opened,
                                    const stats::marginals::Choice& choice, size_t rows,
                                    size_t sets, crypto::RandomSource& source);

}  // namespace partita::methods::marginals
