// Common bounds for variables whose parameters are equal: a sealed fit works in units of the
// half-widths of the bounds, where equal parameters of unequal half-widths would not be equal.
#pragma once

#include <string>
#include <vector>

#include "methods/mle/fit/analysis.h"

namespace partita::methods::mle {

struct CommonBounds {
  std::vector<std::string> variables;
  double lower = 0, upper = 0;  // the narrowest that enclose those of all
};

// Of the analyses of one study: gives the variables of each set its bounds. Sets of one, or of
// equal bounds already, are left out; so are those with a 0/1 variable among others, whose values
// are counted by their bounds.
std::vector<CommonBounds> ShareBounds(const std::vector<MleAnalysis*>& analyses);

}  // namespace partita::methods::mle
