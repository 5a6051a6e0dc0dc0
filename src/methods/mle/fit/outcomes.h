// Outcomes that linear regression is not made for, and which method is.
#pragma once

#include <string>
#include <vector>

#include "data/design.h"
#include "stats/sem/parameter_table.h"

namespace partita::methods::mle {

// What to write instead of a model function that method `mle` does not have: "logistic", "poisson",
// "cox" and other names of theirs, "lm". Empty for other words.
std::string HintForFunction(const std::string& function);

// A sentence for every outcome of a regression (function "regression") that has two values only:
// an integer from 0 to 1, or the column of a factor's level. variables: of the table.
std::vector<std::string> OutcomeWarnings(const std::string& function,
                                         const stats::ParameterTable& table,
                                         const std::vector<data::DesignColumn>& variables);

}  // namespace partita::methods::mle
