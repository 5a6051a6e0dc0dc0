// The variables of a study and what the run told about them, for the report's data section.
#pragma once

#include <vector>

#include "methods/mle/study/protocol.h"
#include "run/party/outcome.h"

namespace partita::methods::mle {

// One entry per design column that an analysis uses, in the order of first use. Means and standard
// deviations (divisor n) come from the first analysis without a subset of its own that opened them.
std::vector<run::VariableSummary> SummariseVariables(const MleStudy& study,
                                                     const ProtocolResult& result);

}  // namespace partita::methods::mle
