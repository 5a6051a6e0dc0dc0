// Files of SPSS, Stata and SAS, read by ReadStat.
//
// Cells: a value with a label becomes the label (unless `labels` is false), other numbers the shortest
// text that gives them back (floats of four bytes widened), a system-missing, tagged or
// user-defined missing value nothing. Numbers whose format is a date become ISO 8601 dates, those
// whose format is a date with a time of day "2020-01-31T10:00:00", which no column takes.
// Memory: the whole table as CSV.
#pragma once

#include <filesystem>

#include "data/byte_source.h"

namespace partita::data {

// Whether the name ends as such a file's: .sav .zsav .dta .sas7bdat .xpt
bool IsStatisticsFile(const std::filesystem::path& path);

// Throws kBadInput if the file cannot be read.
ByteSource OpenStatisticsFile(const std::filesystem::path& path, bool labels);

}  // namespace partita::data
