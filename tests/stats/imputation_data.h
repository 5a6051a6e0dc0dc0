// A table of variables and no model, which is all that imputation takes of one.
#pragma once

#include <string>

#include "stats/sem/parameter_table.h"

namespace partita::stats::testing {

inline ParameterTable Saturated(int variables) {
  ParameterTable table;
  for (int v = 0; v < variables; ++v) table.observed.push_back("v" + std::to_string(v));
  table.groups = {""};
  return table;
}

}  // namespace partita::stats::testing
