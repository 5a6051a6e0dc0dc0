// Wald's test of several coefficients at once: b' V^-1 b of their estimates b and covariance V, which
// does not depend on how the columns are scaled (A. Wald, Trans. Amer. Math. Soc. 54 (1943)).
#pragma once

#include <Eigen/Core>
#include <optional>
#include <span>

namespace partita::stats::glm {

// Of these columns; none where a combination of them has no variance (a correlation of the estimates
// whose smallest pivot is below 2^-20).
std::optional<double> WaldStatistic(const Eigen::VectorXd& estimates,
                                    const Eigen::MatrixXd& covariance,
                                    std::span<const size_t> columns);

}  // namespace partita::stats::glm
