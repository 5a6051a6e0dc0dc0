// Chi-square difference tests of nested models fitted to the same rows: lavaan's anova() and
// lavTestLRT().
#pragma once

#include <string>
#include <vector>

#include "stats/sem/fit.h"
#include "stats/sem/robust.h"

namespace partita::stats {

// One fitted model. The numbers are those of SemFit::fit_measures; scaling_factor is that of a
// robust fit (RobustFit), 1 without.
struct ComparedModel {
  std::string name;
  double chisq = 0, df = 0;
  double aic = 0, bic = 0;  // NaN where the fit has none
  double num_rows = 0;
  double num_groups = 1;
  double scaling_factor = 1;
};

// Throws kBadInput where the fit has no chi-square.
ComparedModel ComparedModelOf(const std::string& name, const SemFit& fit, const RobustFit* robust,
                              size_t num_groups);

struct ModelDifference {
  double chisq = 0, df = 0, p_value = 0;  // NaN for models of equal degrees of freedom
  // Of the difference: sqrt(max(chisq - df, 0) / (df n) groups); NaN with scaling factors.
  double rmsea = 0;
};

struct ModelComparison {
  std::vector<ComparedModel> models;         // by degrees of freedom, ascending
  std::vector<ModelDifference> differences;  // of models[i + 1] from models[i]
  bool scaled = false;
};

// With scaling factors the difference is (T0 - T1) / c, c = (df0 c0 - df1 c1) / (df0 - df1)
// (Satorra & Bentler, Psychometrika 2001). That the models are nested is the caller's word. Throws
// kBadInput for fewer than two models, different numbers of rows or groups, some scaled and some
// not; a negative c gives NaN.
ModelComparison CompareNested(std::vector<ComparedModel> models);

}  // namespace partita::stats
