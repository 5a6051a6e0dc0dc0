// From the information matrix to standard errors, on the tangent space of the constraints.
#pragma once

#include <Eigen/Core>
#include <vector>

#include "stats/sem/constraints.h"

namespace partita::stats {

// Solves (D M D)(D^-1 z) = D b with D = diag(M)^-1/2 for symmetric positive semidefinite M;
// directions without information are left at 0.
Eigen::VectorXd SolveSemidefinite(const Eigen::MatrixXd& matrix, const Eigen::VectorXd& right);

// Of D M D with D = diag(scale)^-1/2; infinity for an empty matrix.
double SmallestScaledEigenvalue(const Eigen::MatrixXd& matrix, const Eigen::MatrixXd& scale);

struct ParameterCovariance {
  Eigen::MatrixXd covariance;  // of x; NaN in the rows and columns of parameters not identified
  // Directions of x without information, each scaled to a largest |component| of 1 in units of the
  // parameters' own precision; empty for an identified model.
  std::vector<Eigen::VectorXd> flat_directions;
  bool positive_definite = true;  // of the information on the tangent space
};

// information: of one observation. covariance = Z (Z' I Z)^-1 Z' / num_rows, Z = tangent.basis
// (Aitchison & Silvey 1958), which is what the bordered information matrix gives.
ParameterCovariance InvertInformation(const Eigen::MatrixXd& information, const Tangent& tangent,
                                      double num_rows);

}  // namespace partita::stats
