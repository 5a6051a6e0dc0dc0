// How a table is checked for a study before it runs.
#pragma once

#include "data/table_check.h"
#include "runtime/study.h"

namespace partita::runtime {

// Format, what missing cells are to the study, and whose patterns are counted.
data::TableCheckOptions TableCheckOptionsOf(const Study& study);

}  // namespace partita::runtime
