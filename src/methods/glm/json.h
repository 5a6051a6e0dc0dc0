// The result as JSON (docs/schemas/result-glm.json).
#pragma once

#include <string>

#include "methods/glm/result.h"

namespace partita::methods::glm {

// factors: of the study (data::FactorsOf).
std::string RegressionJson(const Task& task, const data::Schema& factors,
                           const Regression& regression);

}  // namespace partita::methods::glm
