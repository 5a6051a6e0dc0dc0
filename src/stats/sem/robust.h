// Huber-White standard errors and the scaled test statistic of Yuan and Bentler, in the form that
// Mplus and lavaan (estimator = "MLR", complete data) use; with clusters, lavaan's cluster = "...".
//
// Everything that depends on the rows is linear in
//   Q_g = sum over units u of group g of t_u t_u',   t_u = sum over the rows of u of t,
//   t = (1, r, r_a r_b for a <= b),  r = L^-1 (y - mu),  L L' = Sigma,
// where a unit is a row, or a cluster, and mu, Sigma are any reference point: with that of the
// fitted model r is of order 1. For a casewise score s = A_g t of the parameters
//   meat  B = 1/N sum_g c_g A_g Q_g A_g',        c_g = 1, or C_g / (C_g - 1) with C_g clusters,
//   covariance of the estimates = 1/N H B H,      H = Z (Z' I Z)^-1 Z', I the observed information,
// Z spanning the constraints' tangent space. The scaling factor of the test statistic is
//   c = (sum_g tr(A1_g^-1 B1_g) - tr(H B)) / df,
// where A1, B1 belong to the saturated model at the sample moments of group g. Its casewise scores
// are quadratic in y too, so tr(A1_g^-1 B1_g) = c_g / n_g <G_g, Q_g> with a matrix G_g that only
// the sample moments enter; the same holds for the baseline model. So the rows are needed for two
// numbers only beyond the meat, and each is a weighted sum of the entries of Q.
//   Yuan & Bentler (2000), Sociological Methodology 30; Asparouhov & Muthen (2005) for the form;
//   lavaan 0.6-14, lav_test_yuan_bentler_mplus_trace.
#pragma once

#include <Eigen/Core>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "stats/sem/fit.h"
#include "stats/sem/linear_statistics.h"
#include "stats/sem/moments.h"
#include "stats/sem/parameter_table.h"
#include "stats/sem/ram.h"

namespace partita::stats {

// The model in units that everybody knows (those of StatisticsScale) and a point in it. Covariates
// of fixed.x stand at public values instead of sample ones: scores of the other parameters do not
// depend on them. mean: of the rows, per group, natural units; used without a mean structure only.
struct ScorePoint {
  RamModel model;
  Eigen::VectorXd x;
  std::vector<Eigen::VectorXd> mean;
};

// Depends on the table and the scale alone.
RamModel PublicModel(const ParameterTable& table, const StatisticsScale& scale);
// The point of a fit, and the sample means if the scores need them.
ScorePoint PointOf(const ParameterTable& table, const StatisticsScale& scale, const SemFit& fit,
                   const std::vector<GroupMoments>& moments);

// The reference point of the features of one group.
struct FeatureFrame {
  Eigen::VectorXd mean;  // natural units
  Eigen::MatrixXd root;  // L, natural units
};
// Throws kBadInput where Sigma is not positive definite.
FeatureFrame FrameOf(const ScorePoint& point, std::size_t group);

inline Eigen::Index NumFeatures(Eigen::Index p) { return 1 + p + p * (p + 1) / 2; }

// Adds rows up to Q. Without clusters every row is a unit of its own. O(D^2) per row.
class FeatureProducts {
 public:
  explicit FeatureProducts(FeatureFrame frame);
  // One row of natural values that counts `weight` times; cluster: of its group, any number.
  void AddRow(const Eigen::VectorXd& row, double weight = 1);
  void AddClusteredRow(const Eigen::VectorXd& row, std::uint64_t cluster, double weight = 1);

  std::size_t num_clusters() const { return clusters_.size(); }
  // Q of all rows so far, symmetric.
  Eigen::MatrixXd Products();

 private:
  Eigen::VectorXd Features(const Eigen::VectorXd& row) const;
  void AddUnit(const Eigen::VectorXd& features);
  void Flush();

  FeatureFrame frame_;
  std::map<std::uint64_t, Eigen::VectorXd> clusters_;
  Eigen::MatrixXd pending_;  // columns waiting for the next rank update
  Eigen::Index num_pending_ = 0;
  Eigen::MatrixXd products_;  // lower triangle
};

// A_g: parameters x features, with respect to x; score of a row = A_g t.
Eigen::MatrixXd ScoreMap(const ScorePoint& point, std::size_t group);

// (0,0), (0,1), ..., (1,1), ...: UpperWeights(G).dot(UpperTriangle(Q)) = <G, Q>, both symmetric.
Eigen::VectorXd UpperTriangle(const Eigen::MatrixXd& symmetric);
Eigen::VectorXd UpperWeights(const Eigen::MatrixXd& symmetric);

// c_g of the header: 1 without clusters. One cluster says nothing about variances between clusters:
// kBadInput.
double ClusterFactor(std::size_t num_clusters);

// G_g of the saturated and of the baseline model at these sample moments (natural units, in which
// the frame is as well), such that tr(A^-1 B) = c_g / n_g <G_g, Q_g>.
struct TraceForms {
  Eigen::MatrixXd saturated, baseline;
};
TraceForms TraceFormsOf(const ParameterTable& table, const FeatureFrame& frame,
                        const GroupMoments& moments);

// What the rows contribute, summed over everybody.
struct RobustSums {
  Eigen::MatrixXd meat;        // sum_g c_g A_g Q_g A_g', with respect to the x of PublicModel
  double saturated_trace = 0;  // sum_g c_g / n_g <G_g, Q_g>
  double baseline_trace = 0;
  // How far off these may be: entry (i, j) of the meat by doubt_i doubt_j, each trace by
  // trace_doubt. Empty and 0: not at all.
  Eigen::VectorXd meat_doubt = {};
  double trace_doubt = 0;
};

struct RobustFit {
  std::vector<ParameterEstimate> estimates;  // as SemFit::estimates, with robust standard errors
  Eigen::MatrixXd vcov;                      // robust, as SemFit::vcov
  double scaling_factor = 0;                 // NaN with 0 degrees of freedom
  // lavaan's names: chisq.scaled, df.scaled, pvalue.scaled, chisq.scaling.factor,
  // baseline.chisq.scaled, baseline.df.scaled, baseline.pvalue.scaled,
  // baseline.chisq.scaling.factor, cfi.scaled, tli.scaled, cfi.robust, tli.robust, rmsea.scaled,
  // rmsea.ci.lower.scaled, rmsea.ci.upper.scaled, rmsea.pvalue.scaled, rmsea.robust,
  // rmsea.ci.lower.robust, rmsea.ci.upper.robust, rmsea.pvalue.robust.
  std::map<std::string, double> fit_measures;
  std::vector<std::string> warnings;
  // No standard error of a parameter and no scaling factor is farther off, for the doubts of the
  // sums.
  double relative_error = 0;
};

// RobustFit::fit_measures from those of the fit. trace: of U Gamma, df times the scaling factor;
// baseline_trace: the same of the baseline model.
std::map<std::string, double> ScaledMeasures(const SemFit& fit, double num_groups, double trace,
                                             double baseline_trace);

inline constexpr double kMostRobustError = 1e-3;

// fit: of the same table and moments, converged. public_model: the one that `sums.meat` refers to.
// Throws kBadInput where the doubts of the sums leave more than kMostRobustError.
RobustFit MakeRobust(const ParameterTable& table, const std::vector<GroupMoments>& moments,
                     const SemFit& fit, const RamModel& public_model, const RobustSums& sums,
                     double confidence_level = 0.95);

// Everything in the clear: the twin of the protocol. rows: per group n x p, natural units;
// clusters: per group one number per row, or empty.
RobustSums PlaintextRobustSums(const ParameterTable& table,
                               const std::vector<GroupMoments>& moments, const SemFit& fit,
                               const StatisticsScale& scale,
                               const std::vector<Eigen::MatrixXd>& rows,
                               const std::vector<std::vector<std::uint64_t>>& clusters);

}  // namespace partita::stats
