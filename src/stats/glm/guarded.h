// Newton's method with a guard, in as many trials as are asked for: the twin in the clear of fits of
// which nothing opens on the way (methods/glm/sealed/fitter.h, which says why it descends).
#pragma once

#include "stats/glm/sums.h"

namespace partita::stats::glm {

struct Guarded {
  Eigen::VectorXd point;
  bool converged = false;
  int rejected = 0;      // trials that were not taken
  double decrement = 0;  // U' I^-1 U at the point
  // The most that -loglik rose by when a trial was taken.
  double most_rise = 0;
};

// slack: what is tried at b + t d is taken where U' d >= -slack and no coordinate is beyond `most`, else t is halved. Converged: the
// decrement is below `decrement` and no row is beyond the limits.
struct Guard {
  int trials = 10;
  double slack = 0x1p-4, decrement = 0x1p-28, most = 1024;
};
// Gamma models begin at least squares of log y, and take the information as it is observed, but at the end.
// ridge: p, or none: the log-likelihood is less half the sum of ridge_j b_j^2.
Guarded FitGuarded(const Law& law, const Rows& rows, const Limits& limits, bool intercept,
                   const Guard& guard, const Eigen::VectorXd& ridge = {});

}  // namespace partita::stats::glm
