// The random term of a formula as R's lme4 writes it, (1 | group) or (1 + x | group), apart from what is left.
#pragma once

#include <string>

namespace partita::methods::mixed {

struct SplitFormula {
  std::string fixed;  // without the random term
  std::string group;
  std::string slope;  // empty: none
};

// Throws kBadInput with a hint: no random term, several, several slopes, a slope without an intercept or
// not correlated with it, groups within groups.
SplitFormula SplitRandomTerm(const std::string& formula);

}  // namespace partita::methods::mixed
