// The covariance matrix of estimates in a result's JSON: docs/schemas/result-parts.json, `vcov`.
#pragma once

#include <Eigen/Core>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>

namespace partita::report {

// null where the matrix is empty. steps: an entry is a multiple of the product of two of them; empty: it has
// all its digits.
nlohmann::ordered_json CovarianceJson(std::span<const std::string> names,
                                      const Eigen::MatrixXd& covariance,
                                      const Eigen::VectorXd& steps);

}  // namespace partita::report
