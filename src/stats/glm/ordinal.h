// Proportional odds (P. McCullagh, JRSS B 42 (1980)), as MASS' polr: with classes 0 .. K - 1 of the
// outcome, the log-odds of a class up to k are z_k - x'b.
//
// A point has the coefficients and then the cut points z_0 < .. < z_(K-2), each times kCutScale. With
// u = z_k - x'b and v = z_(k-1) - x'b the probability of class k is F(u) - F(v) = F(u) (1 - F(v)) (1 -
// exp(v - u)), F the logistic function, and u - v does not depend on x; so the observed information is
//
//   sum of F(u) (1 - F(u)) a a' + F(v) (1 - F(v)) c c' + e^d / (e^d - 1)^2 (a - c) (a - c)',   d = u - v,
//
// a and c the derivatives of u and v: never negative. Standard errors are from it, as polr's. deviance is
// -2 log-likelihood. Of the first class there is no v, of the last no u. Rows whose u or v is beyond the
// limits, or whose cut points are closer than kLeastGap, are beyond the limits and count as there.
#pragma once

#include "stats/glm/row_scores.h"

namespace partita::stats::glm {

inline constexpr double kCutScale = 8, kLeastGap = 0x1p-7;

// y: classes. point: p + K - 1.
PointSums OrdinalSums(const Law& law, const Rows& rows, const Eigen::VectorXd& point,
                      const Limits& limits);

// By Cauchy and Schwarz P of a row is exp(-u) + exp(v) + exp(-d), as far as it has these.
RowScore OrdinalScore(const Law& law, const Rows& rows, const Eigen::VectorXd& point,
                      const Limits& limits);

// The maximum without columns of rows and half a row of each class.
Eigen::VectorXd OrdinalStart(const Law& law, const Rows& rows);

// With half a row more of each class, of columns 0: a class that has no row keeps its cut points apart.
Rows WithRowOfEachClass(const Law& law, const Rows& rows);

}  // namespace partita::stats::glm
