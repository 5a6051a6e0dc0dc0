// Generalised linear models in the clear: the oracle of method `glm`, and what a holder does with
// its own rows before anything is shared.
#pragma once

#include <Eigen/Core>

#include "stats/glm/sums.h"

namespace partita::stats::glm {

struct Maximum {
  Eigen::VectorXd point;
  int iterations = 0;
  bool converged = false;
};
// Of the log-likelihood less half the sum of ridge_j b_j^2, by Fisher scoring from FirstPredictor; a step that
// raises the deviance is halved. Of families with more parameters than columns by Newton's method with
// what SumsAt says is their information. Converged where a step is shorter than 1e-9 in the norm of the
// information, within 50 steps. A binomial outcome with the link log begins at the share of ones, and
// a step after which more rows are beyond the limits is halved as well, as of ordinal models.
Maximum Maximise(const Law& law, const Rows& rows, const Limits& limits,
                 const Eigen::VectorXd& ridge);
Maximum Maximise(const Law& law, const Rows& rows, const Limits& limits);  // without a ridge

// As R's summary.glm says it, or those of MASS' glm.nb and polr and nnet's multinom; aic only where there
// is a likelihood, null_deviance of HasNull. `intercept`: the first column is one of ones.
struct Fit {
  Maximum maximum;
  Eigen::VectorXd standard_errors;
  double dispersion = 1;
  double deviance = 0, null_deviance = 0, aic = 0;
};
Fit FitRows(const Law& law, const Rows& rows, const Limits& limits, bool intercept);

}  // namespace partita::stats::glm
