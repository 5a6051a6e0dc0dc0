// Maximum likelihood of a target, as a party fits its own rows.
#pragma once

#include <optional>

#include "stats/mcmc/targets.h"

namespace partita::stats::mcmc {

struct Maximum {
  Eigen::VectorXd at;
  Eigen::MatrixXd covariance;  // inverse of the observed information
};

// By BOBYQA within `reach` of the start in every parameter, then differences of second order. Empty
// if the likelihood has no maximum there: it grows towards the border, or the information is
// singular, as with few events.
std::optional<Maximum> MaximumLikelihood(const LocalTarget& target, const Eigen::VectorXd& start,
                                         double reach);

}  // namespace partita::stats::mcmc
