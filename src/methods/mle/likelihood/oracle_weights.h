// Real weights on the grid of a linear oracle.
#pragma once

#include <Eigen/Core>

#include "mpc/engine.h"
#include "stats/sem/oracle_fit.h"

namespace partita::methods::mle {

// No row of weights on the wire has a larger sum of magnitudes.
inline constexpr int kWeightSumBits = 6;
inline constexpr double kWeightSum = 64;

// Divides every row by the power of two that brings its sum of magnitudes below kWeightSum, rounds
// it to weight_bits fraction bits, asks kind 0 (one row) or kind 1 (more) and multiplies the answer
// again; the exponent stays with the asker. statistic_bits: of the oracle's column.
// factor: what every entry of the column is to be multiplied by to be the statistic; positive.
// `evaluate` is borrowed.
stats::LinearOracle RoundedOracle(const mpc::OracleEvaluate& evaluate, int weight_bits,
                                  int statistic_bits, Eigen::VectorXd factor);

}  // namespace partita::methods::mle
