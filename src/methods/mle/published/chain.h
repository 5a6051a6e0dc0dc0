// A normal distribution as a chain of conditionals: of node 1, of node 2 given node 1, and so on.
#pragma once

#include <Eigen/Core>
#include <vector>

#include "methods/mle/published/normal.h"

namespace partita::methods::mle::published {

// Covariances of node k and of those after it (k+), given all nodes before it.
struct ConditionalCovariance {
  Eigen::MatrixXd covariance;  // S_k
  Eigen::MatrixXd precision;   // S_k^-1, exactly symmetric
  Eigen::MatrixXd forward;     // Sigma_k,k+
  Eigen::MatrixXd after;       // Sigma_k+,k+
};
struct ChainConditionals {
  std::vector<ConditionalCovariance> nodes;
};

// Throws kBadInput if the covariance is not positive definite.
ChainConditionals ConditionAlong(const Block& block, const Eigen::MatrixXd& covariance);

// Columns of node k and of all after it.
Eigen::Index ColumnsFrom(const Block& block, size_t k);
// The entries of a vector over the model's variables, node after node.
Eigen::VectorXd ChainOrder(const Block& block, const Eigen::VectorXd& values);

// The joint mean and precision (in the model's order) of the chain with these conditional
// precisions and coefficients c_k = S_k^-1 Sigma_k,k+, and this mean in the order of the chain.
void Unchain(const Block& block, const std::vector<Eigen::MatrixXd>& precision,
             const std::vector<Eigen::MatrixXd>& c, const Eigen::VectorXd& mean,
             BlockAnswer& answer);

}  // namespace partita::methods::mle::published
