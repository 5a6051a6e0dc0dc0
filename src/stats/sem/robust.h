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

// num_parameters: what a ScorePoint's x has. Depends on the table and the scale alone.
RamModel PublicModel(const ParameterTable& table, const StatisticsScale& scale);
// Natural estimates (one per table row) as x of PublicModel.
Eigen::VectorXd PublicPoint(const RamModel& model, const std::vector<double>& row_values);

// The reference point of the features of one group.
struct FeatureFrame {
  Eigen::VectorXd mean;  // natural units
  Eigen::MatrixXd root;  // L, natural units
};
// Throws kBadInput where Sigma is not positive definite.
FeatureFrame FrameOf(const ScorePoint& point, std::size_t group);

inline Eigen::Index NumFeatures(Eigen::Index p) { return 1 + p + p * (p + 1) / 2; }

// Adds rows up to Q. Without clusters every row is a unit of its own.
class FeatureProducts {
 public:
  explicit FeatureProducts(FeatureFrame frame);
  // One row of natural values.
  void AddRow(const Eigen::VectorXd& row);
  void AddRow(const Eigen::VectorXd& row, std::uint64_t cluster);
  // Q, symmetric; and the number of clusters (0 without).
  Eigen::MatrixXd Products() const;
  std::size_t num_clusters() const { return clusters_.size(); }

 private:
  void Flush() const;
  Eigen::VectorXd Features(const Eigen::VectorXd& row) const;

  FeatureFrame frame_;
  std::map<std::uint64_t, Eigen::VectorXd> clusters_;
  mutable Eigen::MatrixXd pending_;  // rows waiting for the next rank update
  mutable Eigen::Index num_pending_ = 0;
  mutable Eigen::MatrixXd products_;
};

// A_g: parameters x features, with respect to x; score of a row = A_g t.
Eigen::MatrixXd ScoreMap(const ScorePoint& point, std::size_t group);

// <form, Q> as weights of the upper triangle of Q, (0,0), (0,1), ...
Eigen::VectorXd UpperWeights(const Eigen::MatrixXd& form);
Eigen::VectorXd UpperTriangle(const Eigen::MatrixXd& symmetric);

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
};

// fit: of the same table and moments, converged. public_model: the one that `sums.meat` refers to.
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
