// From a formula and the dictionary to the columns of a model.
#pragma once

#include <span>

#include "data/schema.h"
#include "methods/glm/spec.h"
#include "stats/glm/formula.h"

namespace partita::methods::glm {

inline constexpr size_t kMostColumns = 40;

// Everything of the spec but errors, weights, clusters, steps, confidence and who is told. Throws kBadInput with a hint:
// variables that are not there or of another type; an outcome that the family does not have; an
// interaction without its main effects, or a factor without an intercept, whose columns R would code
// in another way; the link log of a binomial outcome without an intercept; too many columns; bounds so far from zero that a column is all but constant.
Spec ModelOf(const stats::glm::Law& law, const std::string& formula, const data::Schema& dictionary,
             std::span<const data::DerivedVariable> derived);

// Intercepts of `sites` holders' own take the place of the one. Throws kBadInput where there is none,
// or no column beside it.
void TakeSiteEffects(Spec& spec, uint64_t sites);

}  // namespace partita::methods::glm
