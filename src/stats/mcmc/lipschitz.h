// Bounds of single rows without cutting them: chains whose steps are short (methods.md 5.7).
//
// Bound    The log likelihood of a logistic row changes by at most |x_i d| <= sum_j reach_j |d_j| =
//          |d| over a step d, reach_j a public bound of |x_ij|: its derivative by the linear
//          predictor lies within [-1, 1]. With steps of |d| <= L one row moves the log ratio of a
//          decision by at most LipschitzSensitivity.
// Exact    A step is shortened to length L by a map s with s(-d) = -s(d), and its law is symmetric,
//          so proposals stay symmetric and the chain keeps the posterior itself. Only states
//          further than kFarthest from where it begins count as impossible, which is public.
// Rounding Rows are rounded to 2^-40 and summed exactly, and differences are taken of the exact
//          sums (grid_sums.h): of up to kMostSummedRows rows they are off by 2^-23 L at most, and a
//          row's own rounding is below kLipschitzRounding. No table is refused for its length: that
//          would tell the number of rows.
#pragma once

#include <Eigen/Core>

#include "privacy/adjacency.h"
#include "stats/mcmc/targets.h"

namespace partita::stats::mcmc {

inline constexpr double kFarthest = 0x1p10;
inline constexpr double kLipschitzRounding = 0x1p-30;

// |d|, one per column.
Eigen::VectorXd ReachOf(const Eigen::MatrixXd& steps, const Eigen::VectorXd& reach);
// Columns longer than `longest` are shortened to it.
void Shorten(const Eigen::VectorXd& reach, double longest, Eigen::MatrixXd& steps);

// `rows` less its value where the chain begins. Throws kUsage for another dimension, kRefused for a
// likelihood that is no sum over rows.
TargetPtr LipschitzTarget(TargetPtr rows, const Eigen::VectorXd& start,
                          const Eigen::VectorXd& reach);

double LipschitzSensitivity(double longest, privacy::Adjacency adjacency);

}  // namespace partita::stats::mcmc
