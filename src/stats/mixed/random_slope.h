// Linear mixed models with a random intercept and a random slope that may be correlated, y = X b + u_0 + u_1 z + e
// within a group, z a column of X, in the clear: from sums of groups, which rows are needed for once.
//
// Model      (u_0, u_1) normal with deviances s_0, s_1 and correlation rho, e with sigma; psi = (log s_0, log s_1,
//            atanh rho, log sigma). A point is b, then psi.
// Sums       S = Z'Z, Z'X and Z'y of a group, Z = (1, z), and X'X, X'y, y'y of all rows are sufficient: with G the
//            covariance over sigma^2 and L its root, H = I + Z G Z' has the inverse I - Z K Z', K = L (I + L'S L)^-1 L',
//            and the determinant of I + L'S L.
// Score      With r = y - X b, u = Z'H^-1 r, M = Z'H^-1 Z, T = Z'H^-1 X, and G_k the derivative of G, of l:
//
//              X'H^-1 r / sigma^2     (u'G_k u / sigma^2 - tr M G_k) / 2     r'H^-1 r / sigma^2 - n
//
// Information  observed, minus the second derivatives of l, or expected; closed forms of the same sums.
// REML       maximises l - log |A| / 2, A = X'V^-1 X, over b and psi at once, which is the same as with b at its
//            maximum since A is of psi alone. With M_k = A^-1 A_k this adds to the score -tr M_k / 2, and to the information
//
//              observed  (tr A^-1 A_kl - tr M_k M_l) / 2     expected  (tr A^-1 C_kl + tr M_k M_l) / 2
//
//            with C_kl = -X'V^-1 (V_k V^-1 V_l + V_l V^-1 V_k) V^-1 X.
// Criterion  as R's lme4 prints it: -2 log-likelihood, of REML n - p instead of n in its constant.
//
// Sources    D. Bates, M. Maechler, B. Bolker, S. Walker, J. Statistical Software 67 (2015); M. Lindstrom, D. Bates,
//            JASA 83 (1988); A. Gilmour, R. Thompson, B. Cullis, Biometrics 51 (1995); C. Luo and others (DLMM), Nature
//            Communications 13 (2022).
#pragma once

#include <Eigen/Core>
#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "stats/mixed/laplace.h"
#include "stats/mixed/random_intercept.h"

namespace partita::stats::mixed {

inline constexpr Eigen::Index kDeviations = 4;  // numbers in psi
inline constexpr size_t kPairs = 10;            // k <= l, row by row

// Of a holder's rows; groups lie within one holder.
struct GroupMoments {
  double rows = 0;
  Eigen::Matrix2d zz;
  Eigen::Matrix2Xd zx;
  Eigen::Vector2d zy;
};
struct SlopeSums {
  Eigen::MatrixXd xx;
  Eigen::VectorXd xy;
  double yy = 0, rows = 0;
  std::vector<GroupMoments> groups;
};
// clusters: of every row, any numbers. slope: the column of x that is z.
SlopeSums SumSlopes(const Eigen::MatrixXd& x, const Eigen::VectorXd& y,
                    std::span<const uint32_t> clusters, Eigen::Index slope);

// At a point; all of it is linear in holders.
struct SlopeAt {
  Eigen::VectorXd score;
  Eigen::MatrixXd information;
  double log_likelihood = 0;
  // Of REML: A_k; A_kl of the observed, C_kl of the expected information.
  std::vector<Eigen::MatrixXd> first, second;

  SlopeAt& operator+=(const SlopeAt& other);
};
// Without REML's matrices for ML. No rows: zeros.
SlopeAt SlopesAt(const SlopeSums& sums, const Eigen::VectorXd& point, Criterion criterion,
                 Information information);
// What REML adds, once all holders are added up.
void AddReml(SlopeAt& at, Information information);

// What steps keep within: deviations of an outcome and a slope's column in [-1, 1].
inline constexpr double kLeastDeviationLog = -7, kMostDeviationLog = 1, kMostScoredZ = 2,
                        kMostZ = 3;
// The point after one whose scored step is opened - at: the deviations and the correlation move as variances and the
// covariance would by that step, each variance to a sixteenth at least and 16 times at most, psi on a grid of 2^-20.
Eigen::VectorXd AfterScoring(const Eigen::VectorXd& at, const Eigen::VectorXd& opened);
// psi within its limits.
bool WithinLimits(const Eigen::VectorXd& point);

// psi of a holder's own rows, roughly, by maximum likelihood and within limits, to begin from; none where rows or groups are
// too few to tell.
std::optional<Eigen::Vector4d> OwnDeviations(const SlopeSums& sums);

struct SlopeFit {
  bool converged = false;
  Eigen::VectorXd point;
  // Of b as lme4's, of A at the estimates; of psi as nlme's, of the observed information with b at its maximum.
  Eigen::VectorXd standard_errors;
  Eigen::MatrixXd covariance;  // of b
  double criterion = 0;
};
// By sites; at least one has rows. The maximum to 1e-9 standard errors. No convergence where it lies at the edge: a
// deviation of 0, or a correlation of 1.
SlopeFit FitSlopes(std::span<const SlopeSums> sites, Criterion criterion);

}  // namespace partita::stats::mixed
