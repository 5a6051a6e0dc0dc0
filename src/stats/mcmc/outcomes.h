// Outcomes drawn from the models of targets.h: for simulations.
#pragma once

#include <Eigen/Core>

#include "stats/blr/variates.h"
#include "stats/mcmc/targets.h"

namespace partita::stats::mcmc {

// x: n by k. theta: the parameters of the target of that name. n outcomes.
Eigen::VectorXd DrawLogistic(const Eigen::MatrixXd& x, const Eigen::VectorXd& theta,
                             blr::Variates& variates);
// Observation ends at `end` > 0: later times are censored there.
SurvivalRows DrawWeibull(const Eigen::MatrixXd& x, const Eigen::VectorXd& theta, double end,
                         blr::Variates& variates);

}  // namespace partita::stats::mcmc
