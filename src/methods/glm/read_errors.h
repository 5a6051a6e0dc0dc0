// What the standard errors are of, from `errors` of [[analysis]] and weights and clusters of [design].
#pragma once

#include <string_view>

#include "methods/glm/spec.h"
#include "study/file/sections.h"

namespace partita::methods::glm {

// Fills in errors, weights and cluster. Sampling weights and family modified-poisson have robust
// errors unless the key says something else. Throws kBadInput with place and hint for what does not
// go together: errors of the model with sampling weights or modified-poisson, precision weights of
// another family than gaussian, clusters without errors = "cluster" and the other way round.
void ReadErrors(const study::TableReader& reader, const study::StudyFile& study, Spec& spec);

// "model", "robust", "HC1", "cluster": as study files and results name them.
std::string_view ErrorsName(Errors errors);
// "frequencies", "sampling weights", "precisions", for people.
std::string_view WeightsName(study::WeightsKind kind);

}  // namespace partita::methods::glm
