// What the method `mle` hands to the report.
#pragma once

#include <string>
#include <vector>

#include "stats/sem/fit.h"
#include "stats/sem/parameter_table.h"

namespace partita::methods::mle {

struct MleResult {
  std::string name;  // of its analysis; "main" or empty where a study has one without a name
  stats::ParameterTable table;
  stats::SemFit fit;
  stats::Information information = stats::Information::kExpected;
  std::vector<std::string> group_labels;  // one, maybe empty, without groups
  std::vector<double> group_n;            // rows per group, same order
  std::string function;                   // "cfa", "sem", "growth" or "lavaan"
};

}  // namespace partita::methods::mle
