// A site's estimate from its own rows, in the clear at its holder.
//
// What it takes  Rows, and each level of a factor, value of a 0/1 variable and product of 0/1 columns,
//                of an outcome of 0 or 1 by outcome, are counted in the site's own rows; what may open
//                of them is decided when the strictest thresholds of all parties are known (Decide).
// Columns        that are 0 in all rows are left out, as R leaves out levels that do not occur.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "data/table.h"
#include "methods/meta/own_model.h"
#include "methods/meta/task.h"
#include "study/file/study_file.h"

namespace partita::methods::meta {

struct OwnFit {
  SiteEstimate estimate;  // usable: there is one
  std::string reason;     // why not, a clause; for the holder only
  uint64_t rows = 0, columns = 0;
  uint64_t smallest_cell = 0;  // of the counts that are above 0; of outcomes also 0
};

// rows: that take part, of a table with derived columns. largest: of estimates and errors; see
// kLeastError.
OwnFit FitOwn(const OwnModel& model, const data::Schema& factors, double largest,
              const data::Table& table, const std::vector<size_t>& rows);

// The estimate if there are enough rows, and counts: at least min_rows, ten more than columns and three
// for each; min_cell. Else none, with the reason.
OwnFit Decide(OwnFit fit, const study::DisclosureSpec& disclosure);

}  // namespace partita::methods::meta
