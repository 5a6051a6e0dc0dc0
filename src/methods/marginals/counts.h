// What opened, as a result in itself: counts of single columns and of pairs with the noise's
// intervals, quartiles of
// numbers, and pairs of levels that are declared impossible.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "methods/marginals/study.h"

namespace partita::methods::marginals {

inline constexpr char kCountsFile[] = "counts.csv", kTriplesFile[] = "triples.csv";
inline constexpr double kTwoSided = 1.96;  // of the normal law, 95 %

struct Quartile {
  double probability = 0, estimate = 0, lower = 0, upper = 0;  // dates as days since 1970-01-01
};
// The bounds of a level of numbers or dates; a whole number is both.
std::pair<double, double> BoundsOfLevel(const data::ColumnEncoding& encoding, size_t level);
// Of rows counted by the levels of a column of numbers or dates, cells without a value left out; bounds
// hold with 95 % over the noise. Empty for others.
std::vector<Quartile> QuartilesOf(const LevelColumn& column, std::span<const double> counts,
                                  double noise_stddev);

// Counts and quartiles of every column.
study::DocumentSection CountSection(const MarginalsStudy& study, const OpenedTables& opened);
study::DocumentSection ImpossibleSection(const MarginalsStudy& study, const OpenedTables& opened);
// Where pairs were chosen by scores: those that were, with the scores' intervals.
study::DocumentSection ScoreSection(const MarginalsStudy& study, const OpenedTables& opened);

// An entry for each quartile of each column of numbers or dates: column, probability, estimate,
// lower, upper; dates as days
// since 1970-01-01.
nlohmann::ordered_json QuartilesJson(const MarginalsStudy& study, const OpenedTables& opened);

// column,level,with,with_level,count,lower,upper: a line for each cell of all measured tables but
// triples; `with` is empty for single columns. Intervals of the noise at 95 % each.
std::string CountsCsv(const MarginalsStudy& study, const OpenedTables& opened);
// column,level,with,with_level,and,and_level,count,lower,upper: of triples.
std::string TriplesCsv(const MarginalsStudy& study, const OpenedTables& opened);

}  // namespace partita::methods::marginals
