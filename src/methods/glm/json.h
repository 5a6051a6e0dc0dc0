// The result as JSON (docs/schemas/result-glm.json).
#pragma once

#include <string>

#include "methods/glm/result.h"

namespace partita::methods::glm {

std::string RegressionJson(const Task& task, const Regression& regression);

}  // namespace partita::methods::glm
