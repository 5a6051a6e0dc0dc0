// Warnings about a solution, in words.
#pragma once

#include <Eigen/Core>
#include <string>
#include <vector>

#include "stats/sem/information.h"
#include "stats/sem/objective.h"
#include "stats/sem/parameter_table.h"
#include "stats/sem/ram.h"

namespace partita::stats {

// Heywood cases (negative variances), latent or residual covariance matrices that are not positive
// definite (and the correlation beyond 1 behind it).
std::vector<std::string> SolutionWarnings(const ParameterTable& table, const RamModel& model,
                                          const Eigen::VectorXd& x);

// The Heywood cases alone.
std::vector<std::string> VarianceWarnings(const ParameterTable& table, const RamModel& model,
                                          const Eigen::VectorXd& x);

// For a fit that did not converge or is not identified: the parameter that ran away, if one did.
std::vector<std::string> DriftWarnings(const ParameterTable& table, const RamModel& model,
                                       const Eigen::VectorXd& x);

// One sentence per direction in which the likelihood is flat, naming its parameters.
std::vector<std::string> IdentificationWarnings(const ParameterTable& table, const RamModel& model,
                                                const ParameterCovariance& covariance);

}  // namespace partita::stats
