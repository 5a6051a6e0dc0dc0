// Linear mixed models with a random intercept, y = X b + u_cluster + e, in the clear: from sums of
// clusters, so that rows are needed once, and those of several holders add up.
//
// Sums      lambda = tau^2 / sigma^2, and of a cluster of n rows c = lambda / (1 + n lambda): the rows'
//           covariance over sigma^2 is I + lambda 1 1', its inverse I - c 1 1', its determinant 1 + n
//           lambda. So X' V^-1 X, X' V^-1 y and y' V^-1 y are X'X - c s s', X'y - c s t, y'y - c t^2 with
//           the cluster's column sums s and t, added up over clusters.
// Fit       b = A^-1 a of these, RSS = y' V^-1 y - b' a, sigma^2 = RSS / (n - p) (REML) or RSS / n (ML);
//           lambda by the profiled likelihood: the smallest root at which its derivative falls, or 0.
// Criterion as R's lme4 prints it: -2 log-likelihood, of REML n - p instead of n and log |A| more.
//
// Sources   D. Bates, M. Maechler, B. Bolker, S. Walker, J. Statistical Software 67 (2015), equations 34
//           to 42; C. Luo and others, "DLMM as a lossless one-shot algorithm for collaborative
//           multi-site distributed linear mixed models", Nature Communications 13 (2022).
#pragma once

#include <Eigen/Core>
#include <cstdint>
#include <span>
#include <vector>

namespace partita::stats::mixed {

// Of a holder's rows; clusters lie within one holder.
struct ClusterSums {
  double rows = 0;
  Eigen::VectorXd x;  // s
  double y = 0;       // t
};
struct RowSums {
  Eigen::MatrixXd xx;
  Eigen::VectorXd xy;
  double yy = 0, rows = 0;
  std::vector<ClusterSums> clusters;
};
// clusters: of every row, any numbers. No rows: zeros.
RowSums SumRows(const Eigen::MatrixXd& x, const Eigen::VectorXd& y,
                std::span<const uint32_t> clusters);

// What holders add up at a public lambda; all of it is linear in holders.
struct LambdaSums {
  Eigen::MatrixXd xx;  // A
  Eigen::VectorXd xy;  // a
  double yy = 0, rows = 0;
  double log_determinant = 0;  // sum of log(1 + n lambda)
  // Minus the derivatives of the first three by lambda, and that of the last.
  Eigen::MatrixXd xx_falls;
  Eigen::VectorXd xy_falls;
  double yy_falls = 0, determinant_rises = 0;

  LambdaSums& operator+=(const LambdaSums& other);
};
LambdaSums SumsAt(const RowSums& sums, double lambda);

enum class Criterion { kMl, kReml };

// Given lambda.
struct Profile {
  Eigen::VectorXd estimates, standard_errors;
  Eigen::MatrixXd covariance;  // of the estimates
  double sigma_squared = 0, tau_squared = 0;
  double criterion = 0;  // -2 log-likelihood
  double slope = 0;      // its derivative by lambda
};
// A must be positive definite: columns independent, more rows than columns.
Profile ProfileAt(const LambdaSums& sums, double lambda, Criterion criterion);

// By sites; at least one has rows. lambda to 1e-10 of itself, from 2^-30 to 2^30.
Profile Fit(std::span<const RowSums> sites, Criterion criterion);

// tau^2 / (tau^2 + sigma^2), the correlation of two rows of a cluster.
double IntraclassCorrelation(const Profile& profile);
// Parameters are coefficients and two variances, as lme4 counts them.
double Aic(const Profile& profile);

}  // namespace partita::stats::mixed
