// Outcomes drawn from the models of targets.h: for simulations and predictive checks.
#pragma once

#include <Eigen/Core>

#include "stats/blr/variates.h"
#include "stats/mcmc/targets.h"

namespace partita::stats::mcmc {

// x: n by k. theta: the parameters of the target of that name. n outcomes.
Eigen::VectorXd DrawLinear(const Eigen::MatrixXd& x, const Eigen::VectorXd& theta,
                           blr::Variates& variates);
// Means are kept below 1e15.
Eigen::VectorXd DrawPoisson(const Eigen::MatrixXd& x, const Eigen::VectorXd& theta,
                            blr::Variates& variates);
Eigen::VectorXd DrawNegativeBinomial(const Eigen::MatrixXd& x, const Eigen::VectorXd& theta,
                                     blr::Variates& variates);
Eigen::VectorXd DrawLogistic(const Eigen::MatrixXd& x, const Eigen::VectorXd& theta,
                             blr::Variates& variates);
// Observation of a row ends at its entry of `end`, above 0: later times are censored there.
SurvivalRows DrawWeibull(const Eigen::MatrixXd& x, const Eigen::VectorXd& theta,
                         const Eigen::VectorXd& end, blr::Variates& variates);

}  // namespace partita::stats::mcmc
