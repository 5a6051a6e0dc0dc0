// Table 1 of noisy counts: every column by the levels of a group, and over all rows.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "methods/marginals/study.h"

namespace partita::methods::marginals {

// Of a study with a group (spec.group). Levels as counts and shares of the counts of their column,
// numbers as quartiles with bounds that hold with 95 % over the noise. Shares are not negative and
// have no interval of their own.
study::DocumentSection TableOneSection(const MarginalsStudy& study, const OpenedTables& opened);

// The same numbers: an entry for each column and level of the group, with counts by level, their
// noise's standard deviation, and quartiles of numbers.
nlohmann::ordered_json TableOneJson(const MarginalsStudy& study, const OpenedTables& opened);

}  // namespace partita::methods::marginals
