// Standardised solutions with lavaan's conventions.
#pragma once

#include <Eigen/Core>
#include <vector>

#include "stats/sem/constraints.h"
#include "stats/sem/parameter_table.h"

namespace partita::stats {

struct StandardizedSolution {
  std::vector<double> latent;  // std.lv: latent variables scaled to variance 1; one per table row
  std::vector<double> all;     // std.all: observed variables as well
};

// estimates: one per table row. covariance: per group, of all variables (observed, then latent) in
// natural units. Covariances are divided by the roots of the two (residual) variances that the
// table lists; := rows are evaluated on the standardised values. NaN where lavaan has NA: a
// negative total variance, or a covariance whose variances the table does not list.
StandardizedSolution Standardize(const ParameterTable& table, const ModelExpressions& expressions,
                                 const std::vector<double>& estimates,
                                 const std::vector<Eigen::MatrixXd>& covariance);

}  // namespace partita::stats
