// Modification indices: by how much chi-square would fall about if a parameter that is fixed to
// zero were free (Sorbom, Psychometrika 1989); lavaan's modindices().
#pragma once

#include <string>
#include <vector>

#include "stats/sem/fit.h"
#include "stats/sem/moments.h"
#include "stats/sem/parameter_table.h"

namespace partita::stats {

struct ModificationIndex {
  std::string lhs, op, rhs;
  int group = 1;
  double index = 0;   // score test, chi-square with one degree of freedom
  double change = 0;  // expected parameter change, natural units
  // The change in units of the latent variables' standard deviations, and of all variables'.
  double change_lv = 0, change_all = 0;
};

// Of all parameters that the model does not have: loadings of observed variables that measure
// something, covariances of residuals of observed indicators, covariances of latent variables.
// Uses the expected information at the fit. Sorted by index, largest first; those whose index is
// not defined (the freed model is not identified) are left out. `fit` must have converged.
std::vector<ModificationIndex> ModificationIndices(const ParameterTable& table,
                                                   const std::vector<GroupMoments>& moments,
                                                   const SemFit& fit);

}  // namespace partita::stats
