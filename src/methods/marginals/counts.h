// What opened, as a result in itself: counts of single columns and of pairs with the noise's
// intervals, quartiles of
// numbers, and pairs of levels that are declared impossible.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "methods/marginals/study.h"

namespace partita::methods::marginals {

inline constexpr char kCountsFile[] = "counts.csv";

// Of the noise of a table's cells, in rows.
double StddevOf(const MarginalsStudy& study, size_t table);

// Counts and quartiles of every column.
study::DocumentSection CountSection(const MarginalsStudy& study, const std::vector<double>& cells);
study::DocumentSection ImpossibleSection(const MarginalsStudy& study,
                                         const std::vector<double>& cells);

// An entry for each quartile of each column of numbers or dates: column, probability, estimate,
// lower, upper; dates as days
// since 1970-01-01.
nlohmann::ordered_json QuartilesJson(const MarginalsStudy& study, const std::vector<double>& cells);

// column,level,with,with_level,count,lower,upper: a line for each cell of all tables; `with` is
// empty for single
// columns. Intervals of the noise at 95 % each.
std::string CountsCsv(const MarginalsStudy& study, const std::vector<double>& cells);

}  // namespace partita::methods::marginals
