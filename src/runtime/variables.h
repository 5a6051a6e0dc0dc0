// The variables of a study and what the run told about them, for the report's data section.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "runtime/protocol.h"

namespace partita::runtime {

struct VariableSummary {
  std::string name, type, unit, held_by;
  std::optional<double> lower, upper;
  uint64_t num_rows = 0;           // behind mean and sd; 0: not known
  std::optional<double> mean, sd;  // over all groups, where the moments were opened
};

// One entry per design column that an analysis uses, in the order of first use. Means and standard
// deviations (divisor n) come from the first analysis without a subset of its own that opened them.
std::vector<VariableSummary> SummariseVariables(const MleStudy& study,
                                                const ProtocolResult& result);

}  // namespace partita::runtime
