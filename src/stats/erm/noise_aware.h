// Intervals for the coefficients of a logistic regression under differential privacy.
//
// Around any classifier w that is already public, the sums g = sum of gradients and H = sum of
// Hessians of the loss at w are released with Gaussian noise. One Newton step from there,
//   w1 = w - H~^-1 g~,
// is a one-step estimator of the unpenalised maximum: whatever bias penalty or noise gave w is
// removed to first order. To first order its error is -H^-1 (g(w0) + e), and
//   Cov(w1) = H^-1 (H + s_g^2 I + s_H^2 / 2 (|v|^2 I + v v')) H^-1,   v = w1 - w,
// where g(w0) has the covariance H (the model holds), e = noise of g, and the noise E of H moves
// the step by H^-1 E v: for independent noise of standard deviation s_H on the diagonal and
// s_H/sqrt(2) off it (the upper triangle is released with off-diagonal entries times sqrt(2), so
// that its norm is the Frobenius norm), Cov(E v) = s_H^2 / 2 (|v|^2 I + v v').
//
// Valid if w is near the truth (second-order terms are left out) and the noise does not hide the
// curvature. The second is checked; the first shows in the length of the step.
#pragma once

#include <Eigen/Core>
#include <optional>

#include "stats/erm/minimize.h"

namespace partita::stats::erm {

// Released with noise, of all rows together.
struct NewtonSums {
  Eigen::VectorXd gradient;    // d
  Eigen::MatrixXd hessian;     // d by d, symmetric
  double gradient_stddev = 0;  // of every entry's noise
  double hessian_stddev = 0;   // of a diagonal entry's; off the diagonal 1/sqrt(2) of it
};

struct CoefficientIntervals {
  Eigen::VectorXd estimate, lower, upper;
  Eigen::MatrixXd covariance;
  double step =
      0;  // |w1 - w| in standard errors of the estimate (root of the quadratic form over d)
};

// Empty if the noise hides the curvature: the smallest eigenvalue of H~ is below 4 s_H sqrt(d).
// level in (0, 1): of the intervals. Throws kUsage for sizes that differ.
std::optional<CoefficientIntervals> NoiseAwareIntervals(const Eigen::VectorXd& w,
                                                        const NewtonSums& sums, double level);

}  // namespace partita::stats::erm
