// The part of a fit that complete and incomplete data share: minimise, invert the information,
// describe. Private to the fits.
#pragma once

#include <Eigen/Core>
#include <vector>

#include "base/progress.h"
#include "stats/sem/fit.h"
#include "stats/sem/objective.h"
#include "stats/sem/parameter_table.h"

namespace partita::stats {

struct ObjectiveFit {
  SemFit fit;  // without fit measures
  Eigen::VectorXd x;
  double value = 0;        // of the objective
  int num_parameters = 0;  // after equality constraints
};

// starts: complete moments of every group, for start values.
ObjectiveFit FitObjective(const ParameterTable& table, const SemObjective& objective,
                          const std::vector<GroupSample>& starts, const SemFitOptions& options,
                          Progress& progress);

// A warning for a model with more parameters than moments, and those about the solution.
void AddClosingWarnings(const ParameterTable& table, const RamModel& model,
                        const Eigen::VectorXd& x, SemFit& fit);

}  // namespace partita::stats
