// From a point in the optimiser's units and the covariance of its parameters to what a fit reports.
#pragma once

#include <Eigen/Core>
#include <vector>

#include "stats/sem/constraints.h"
#include "stats/sem/fit.h"
#include "stats/sem/parameter_table.h"
#include "stats/sem/ram.h"

namespace partita::stats {

// Covariance of the free parameters of the table, natural units, in the order of Parameter::free;
// parameters fixed through a label have none.
Eigen::MatrixXd FreeCovariance(const ParameterTable& table, const RamModel& model,
                               const Eigen::MatrixXd& covariance);

// Every row's estimate, standard error (delta method for := rows), z, p-value, interval and
// standardised values. covariance: of x.
std::vector<ParameterEstimate> DescribeEstimates(const ParameterTable& table, const RamModel& model,
                                                 const ModelExpressions& expressions,
                                                 const Eigen::VectorXd& x,
                                                 const Eigen::MatrixXd& covariance,
                                                 double confidence_level);

// z, p-value (normal) and interval from the estimate and its standard error.
void AddInference(double confidence_level, ParameterEstimate& e);

// Implied covariances and means of the observed variables per group, natural units.
void AddImplied(const RamModel& model, const Eigen::VectorXd& x, SemFit& fit);

// The optimiser's point at natural values of the table's rows.
Eigen::VectorXd PointFromRows(const RamModel& model,
                              const std::vector<ParameterEstimate>& estimates);

}  // namespace partita::stats
