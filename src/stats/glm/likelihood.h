// Log-likelihoods as R's glm takes them for AIC, from numbers that do not depend on single rows.
#pragma once

#include "stats/glm/sums.h"

namespace partita::stats::glm {

// A sum over rows that the log-likelihood needs beside the deviance: poisson, the log-likelihood of
// the saturated model, sum of y log y - y - log y!; negative binomial, the same at law.theta; gamma,
// the sum of log y; 0 for the others.
bool HasConstant(const Law& law);
double OwnConstant(const Law& law, const Rows& rows);

// With a dispersion of deviance / rows where there is one. The constant is that of all rows.
struct LikelihoodNumbers {
  double rows = 0, deviance = 0, constant = 0;
};
double LogLikelihood(const Law& law, const LikelihoodNumbers& numbers);

}  // namespace partita::stats::glm
