// Parameters from their priors, and outcomes of single rows from parameters: what prior predictive
// draws are made of (methods/mcmc/prior_predictive.h). No data, nothing revealed.
#pragma once

#include <Eigen/Core>
#include <vector>

#include "methods/mcmc/spec.h"
#include "stats/blr/variates.h"
#include "stats/mcmc/priors.h"

namespace partita::methods::mcmc {

// Parameters by draws. Those behind the first `coefficients` are logarithms of scales or sizes and
// cut to +-300: models are the same beyond it, doubles are not. Throws kUsage for a flat prior.
Eigen::MatrixXd DrawFromPriors(const std::vector<stats::mcmc::Prior>& priors, size_t draws,
                               Eigen::Index coefficients, stats::blr::Variates& variates);

// The mean, of 0/1 the chance of 1, of survival the median time. Both throw kInternal for Cox's
// model, which leaves times open.
double ExpectedOutcome(ChainModel model, double predictor, const Eigen::VectorXd& theta);
// row: 1 by coefficients. Times are not censored.
double DrawOutcome(ChainModel model, const Eigen::MatrixXd& row, const Eigen::VectorXd& theta,
                   stats::blr::Variates& variates);

}  // namespace partita::methods::mcmc
