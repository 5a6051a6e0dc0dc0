// The layout of a study at level `sealed`, and what that level does not take.
#pragma once

#include "methods/glm/sealed/layout.h"
#include "methods/glm/study.h"

namespace partita::methods::glm {

inline constexpr uint64_t kMostSealedRows = uint64_t{1} << 18, kMostSealedRowsByTransfers = 2000;

// Throws kBadInput with the place: other families and links than gaussian, binomial with logit, poisson,
// modified-poisson and gamma; effects of sites; what plan_clusters.h refuses; weights of hidden rows; a block without
// a declared count; too many rows; an offset of several holders, or of a gaussian outcome; a derived
// column of two holders' variables.
void RequireSealed(const GlmStudy& study);

// Of a study whose spec, factors and derived variables are there.
SealedLayout LayoutOf(const GlmStudy& study);

// The variables of the dictionary that a party holds.
std::vector<std::string> HeldBy(const GlmStudy& study, size_t party);

}  // namespace partita::methods::glm
