// The model of a formula and the dictionary.
#pragma once

#include <span>
#include <string>

#include "methods/mixed/spec.h"

namespace partita::methods::mixed {

// Throws kBadInput with a hint: what random_term.h and data/model_columns.h refuse; an outcome that is
// not one number, of another family not 0 or 1, or no count; sites as groups of such a one; offsets; a slope that is no column of the model,
// of another family, or of sites; a group that is no variable with repeated values.
Spec ModelOf(const stats::glm::Law& law, const std::string& formula, const data::Schema& dictionary,
             std::span<const data::DerivedVariable> derived);

}  // namespace partita::methods::mixed
