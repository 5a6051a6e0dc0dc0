// What protocols of robust standard errors share: how real numbers travel, and units of scores.
#pragma once

#include <Eigen/Core>

#include "mpc/engine.h"
#include "stats/sem/linear_statistics.h"
#include "stats/sem/robust.h"

namespace partita::methods::mle {

// A matrix of real numbers that one party knows, row by row; values empty elsewhere.
mpc::PrivateMatrix PrivateNumbers(mpc::PartyIndex owner, mpc::Shape shape, int bits, double bound,
                                  const Eigen::VectorXd& values);

Eigen::VectorXd DecodeOpened(const mpc::IntMatrix& opened, int bits);

// n x n from (0,0), (0,1), ..., (1,1), ...
Eigen::MatrixXd FromUpper(const Eigen::VectorXd& upper, Eigen::Index n);

// Makes scores of order 1: roots of the expected information of one row, groups weighted alike, so
// that it follows from the point alone.
Eigen::VectorXd ScoreUnits(const stats::ScorePoint& point, const stats::StatisticsScale& scale);

}  // namespace partita::methods::mle
