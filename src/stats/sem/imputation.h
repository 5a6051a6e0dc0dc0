// Proper multiple imputation of multivariate normal rows (Rubin 1987; data augmentation, Schafer
// 1997, chapter 5) on the moments of patterns, without the rows: what a fit needs of an imputed
// table are its moments, and their law given the observed values depends on these through n, means
// and covariances of every pattern. So the work does not depend on the number of rows.
//
// A pattern with n rows, k - 1 observed and m missing variables, [1 X] = Q R the observed values
// with a column of ones. At (mu, Sigma) of p variables the missing values are [1 X] D + Z L', D the
// regression of missing on observed variables, L L' its residual covariance, L m x p, Z n x p
// standard normal. With U = R D + (Q'Z) L' the completed cross-products are
//
//     [1 X Y]'[1 X Y] = [R U]'[R U] + L W L' in the last block,
//
// where Q'Z is k x p standard normal and W, of Z's part orthogonal to Q, Wishart(n - k, I), the two
// independent. The parameters are drawn given completed data: Sigma = S^1/2 W^-1 S^1/2' with W
// Wishart(nu, I), S = n times the covariances, mu normal around the mean with covariance Sigma / n.
// With symmetric roots Sigma^-1 = H'H for H = W^1/2 S^-1/2, whose columns of the missing variables,
// H_m, give L = (H_m'H_m)^-1 H_m' and the slopes -L H_o.
// Of m variables given the others Sigma has the mean S_m.o / (nu - m - 1). Under Jeffreys' prior,
// |Sigma|^-(p+1)/2, nu is n - 1: residual variances are drawn (m + 2) / n too large, and with a
// fraction g of the rows missing what is imputed feeds that back, g / (1 - g) (m + 2) / sqrt(2 n)
// standard errors above full information. nu = n + 1 + m, m the average of the incomplete rows,
// puts that mean at the maximum-likelihood estimate (von Hippel 2013, Sociological Methods &
// Research 42, of one variable).
#pragma once

#include <Eigen/Core>
#include <cmath>
#include <cstddef>
#include <string>
#include <vector>

#include "base/progress.h"
#include "crypto/random.h"
#include "stats/blr/variates.h"
#include "stats/sem/fiml.h"

namespace partita::stats {

struct ImputationOptions {
  std::size_t imputations = 20;
  // Of a chain of its own for every imputation, from the moments of what is there.
  std::size_t iterations = 50;
};

// nu: of n rows, and of those that miss something how many there are and how many values they miss
// together. A whole number.
inline double PosteriorDegrees(double n, double incomplete_rows, double missing_values) {
  return n + 1 + (incomplete_rows > 0 ? std::round(missing_values / incomplete_rows) : 0);
}

// Where the randomness comes from.
class ImputationTape {
 public:
  virtual ~ImputationTape() = default;
  virtual Eigen::MatrixXd Normals(Eigen::Index rows, Eigen::Index columns) = 0;
  // Z'Z of a `degrees` x size matrix of standard normals; degrees may be below size, or 0.
  virtual Eigen::MatrixXd Wishart(double degrees, Eigen::Index size) = 0;
};

// Moments (divisor n) of one group's rows, completed once for each imputation. The patterns are of
// that group. Throws kBadInput: for a variable that no row or only equal values have, naming it;
// for not more rows than variables; for a covariance that becomes singular.
std::vector<GroupMoments> ImputeMoments(const ParameterTable& table,
                                        const std::vector<PatternMoments>& patterns,
                                        const ImputationOptions& options, ImputationTape& tape,
                                        Progress& progress);

// Independent normals and Bartlett's decomposition.
class VariateTape final : public ImputationTape {
 public:
  explicit VariateTape(crypto::RandomSource& source) : variates_(source) {}
  Eigen::MatrixXd Normals(Eigen::Index rows, Eigen::Index columns) override;
  Eigen::MatrixXd Wishart(double degrees, Eigen::Index size) override;

 private:
  blr::Variates variates_;
};

// One parameter over m imputations, Rubin's rules: the mean estimate; the variance W + (1 + 1/m) B
// of the mean variance W and the variance B between; the degrees of freedom of Barnard and Rubin
// (1999) for `complete_degrees` with complete data; the fraction of missing information.
struct CombinedEstimate {
  double estimate = 0, standard_error = 0, degrees = 0, missing_information = 0;
  double p_value = 0, lower = 0, upper = 0;
};
// Throws kUsage for fewer than two imputations.
CombinedEstimate CombineImputations(const std::vector<double>& estimates,
                                    const std::vector<double>& standard_errors,
                                    double complete_degrees, double confidence_level);

// Chi-square statistics of one hypothesis over m imputations: D2 of Li, Meng, Raghunathan and Rubin
// (Statistica Sinica 1991), which needs the statistics alone and is exact only roughly.
struct ChiSquareTest {
  double f = 0, numerator_degrees = 0, denominator_degrees = 0, p_value = 0;
};
// Throws kUsage for fewer than two statistics, and degrees that are not above 0.
ChiSquareTest CombineChiSquares(const std::vector<double>& statistics, double degrees);

}  // namespace partita::stats
