// Negative binomial regression with the size theta estimated, as MASS' glm.nb: counts with mean mu and
// variance mu + mu^2 / theta (W. N. Venables, B. D. Ripley, "Modern Applied Statistics with S", 4th
// ed., 2002, section 7.4; J. F. Lawless, Canadian Journal of Statistics 15 (1987)).
//
// A point has the coefficients and then tau = log(theta). The information of the coefficients is
// expected at theta, that of tau observed, and 0 between them, which is its expectation; so standard
// errors are those of MASS, the one of theta being theta times the one of tau. log(theta) beyond
// kLeastLogTheta and kMostLogTheta counts as that: all rows are beyond the limits.
#pragma once

#include "stats/glm/sums.h"

namespace partita::stats::glm {

inline constexpr double kLeastLogTheta = -7, kMostLogTheta = 10;

// law: of kNegativeBinomial. point: p + 1.
PointSums NegativeBinomialSums(const Law& law, const Rows& rows, const Eigen::VectorXd& point,
                               const Limits& limits);

// The law with its theta at a point; others as they are.
Law AtPoint(const Law& law, const Rows& rows, const Eigen::VectorXd& point);

// coefficients: p, of a Poisson model; with them the moment estimate that MASS' theta.ml begins with.
Eigen::VectorXd NegativeBinomialStart(const Rows& rows, const Limits& limits,
                                      const Eigen::VectorXd& coefficients);

}  // namespace partita::stats::glm
