// Sample moments: what a fit needs from the data, and the checks that come before it.
#pragma once

#include <Eigen/Core>
#include <vector>

#include "stats/sem/parameter_table.h"

namespace partita::stats {

// Sufficient statistics of one group: covariance with divisor n, order of ParameterTable::observed.
struct GroupMoments {
  double n = 0;
  Eigen::VectorXd mean;
  Eigen::MatrixXd covariance;
};

// Throws kBadInput, naming group and variables: wrong shapes, not finite, not symmetric, a constant
// column, linearly dependent columns, not more rows than columns, fewer rows than parameters.
void CheckMoments(const ParameterTable& table, const std::vector<GroupMoments>& moments);

// Moments of one group in internal units (see ram.h), or of those of its rows in which the same
// variables are observed.
struct GroupSample {
  std::size_t group = 0;      // of the model
  std::vector<int> observed;  // the variables that the moments are of, ascending; empty: all
  double n = 0;
  double weight = 0;  // n / total n
  Eigen::VectorXd mean;
  Eigen::MatrixXd covariance;
  double log_det = 0;  // of covariance
};

// unit: of the observed variables.
std::vector<GroupSample> ScaleMoments(const std::vector<GroupMoments>& moments,
                                      const Eigen::VectorXd& unit);

}  // namespace partita::stats
