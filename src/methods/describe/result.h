// What the table says, from what was opened.
#pragma once

#include <optional>
#include <vector>

#include "methods/describe/protocol.h"

namespace partita::methods::describe {

// A variable in one column of the table.
struct Summary {
  bool withheld = false;  // a check withheld it; all else is 0 then
  uint64_t n = 0, missing = 0;
  std::vector<uint64_t> counts;  // by value, of a variable that is described by counts
  // Of numbers, in units of the variable. None where there are no values or they do not vary.
  std::optional<double> mean, sd;
  double step = 0;  // of the grid that mean and sd are on; over groups the coarsest
  std::vector<std::optional<double>> quantiles;  // none: withheld, or no values
};

struct DescribedTable {
  std::vector<std::vector<Summary>> variables;  // by variable and column: the groups, then all rows
  // By variable: the root of the rank statistic of numbers; none: withheld, or not asked for.
  std::vector<std::optional<double>> rank_roots;
  // By variable, of two values; none: withheld. Empty where they are not asked for.
  std::vector<std::optional<OpenedStrata>> strata;
};

// What the release leaves to follow is computed: all rows together from the groups, where these
// opened.
DescribedTable Summarise(const Spec& spec, const OpenedTable& opened);

}  // namespace partita::methods::describe
