// A lasso as a result: estimates without errors, and the penalties that were compared.
#pragma once

#include "methods/glm/result.h"
#include "study/plan/document.h"

namespace partita::methods::glm {

// Of a fit that converged for a penalty: into a document that has its title and JSON.
void AddLasso(const Spec& spec, const Regression& regression, study::Document& document);

}  // namespace partita::methods::glm
