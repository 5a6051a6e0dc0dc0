// From a formula and the dictionary to the columns of a model.
#pragma once

#include <span>

#include "data/schema.h"
#include "methods/glm/spec.h"

namespace partita::methods::glm {

// Everything of the spec but errors, weights, clusters, steps, confidence and who is told. Throws
// kBadInput with a hint: what data/model_columns.h refuses; an outcome that the family does not have;
// the link log of a binomial outcome without an intercept.
// dropped: terms of the formula that are left out.
Spec ModelOf(const stats::glm::Law& law, const std::string& formula, const data::Schema& dictionary,
             std::span<const data::DerivedVariable> derived,
             std::span<const std::string> dropped = {});

// From columns, law and outcome.
void SetParameters(Spec& spec);

// Intercepts of `sites` holders' own take the place of the one. Throws kBadInput where there is none,
// or no column beside it.
void TakeSiteEffects(Spec& spec, uint64_t sites);

}  // namespace partita::methods::glm
