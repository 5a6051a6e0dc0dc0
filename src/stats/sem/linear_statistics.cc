#include "stats/sem/linear_statistics.h"

#include <Eigen/Cholesky>
#include <cmath>
#include <numbers>

#include "stats/sem/propagate.h"

namespace partita::stats {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

// What a group implies, in z.
struct ImpliedZ {
  Propagated all;  // internal units
  VectorXd ratio;  // variable unit / half_width
  MatrixXd sigma;  // p x p
  VectorXd mean;   // zero without a mean structure
  bool finite = false;
};

ImpliedZ ImplyZ(const RamModel& model, const StatisticsScale& scale, std::size_t g,
                const VectorXd& x) {
  const Index p = model.num_observed;
  ImpliedZ out;
  out.all = Propagate(model.groups[g], x);
  out.ratio = model.variable_unit.head(p).cwiseQuotient(scale.half_width);
  out.finite = out.all.covariance.allFinite() && out.all.mean.allFinite();
  out.sigma =
      out.ratio.asDiagonal() * out.all.covariance.topLeftCorner(p, p) * out.ratio.asDiagonal();
  out.mean = VectorXd::Zero(p);
  if (model.meanstructure) {
    out.mean =
        out.ratio.cwiseProduct(out.all.mean.head(p)) - scale.centre.cwiseQuotient(scale.half_width);
  }
  return out;
}

// One row of weights of one group.
class GroupWeights {
 public:
  GroupWeights(const StatisticsLayout& layout, std::size_t g, MatrixXd& weights)
      : layout_(layout),
        at_(static_cast<Index>(g) * layout.per_group()),
        p_(layout.num_variables),
        weights_(weights) {}

  void AddSums(Index row, const VectorXd& v) {
    if (layout_.means) weights_.row(row).segment(at_, p_) += v.transpose();
  }
  // factor * tr(matrix sum z z').
  void AddCross(Index row, double factor, const MatrixXd& matrix) {
    Index to = at_ + layout_.num_sums();
    for (Index i = 0; i < p_; ++i) {
      weights_(row, to++) += factor * matrix(i, i);
      for (Index j = i + 1; j < p_; ++j) weights_(row, to++) += 2 * factor * matrix(i, j);
    }
  }

 private:
  const StatisticsLayout& layout_;
  Index at_, p_;
  MatrixXd& weights_;
};

void AddGradient(const RamGroup& group, const ImpliedZ& implied, const MatrixXd& precision,
                 double n, GroupWeights& weights, LinearRows& rows) {
  const MatrixXd z = implied.ratio.asDiagonal() * DirectionColumns(implied.all, precision.rows());
  const MatrixXd a = precision * z;
  const VectorXd on_mean = a.transpose() * implied.mean;
  for (const RamCell& cell : group.cells) {
    const CellDirection d = DirectionOf(cell, implied.all);
    const auto left = a.col(d.left), right = a.col(d.right);
    const Index row = 1 + cell.parameter;
    const double half = cell.factor * d.half, pull = cell.factor * d.pull;
    // M m and m'Mm for M = half (left right' + right left').
    const VectorXd m_mean = half * (left * on_mean[d.right] + right * on_mean[d.left]);
    rows.constants[row] += n * (half * on_mean[d.left] * on_mean[d.right] -
                                half * z.col(d.left).dot(right) - pull * on_mean[d.left]);
    weights.AddSums(row, pull * left - m_mean);
    if (half != 0) {
      weights.AddCross(row, 0.5 * half, left * right.transpose() + right * left.transpose());
    }
  }
}

}  // namespace

StatisticsLayout LayoutOf(const RamModel& model) {
  return {model.num_observed, static_cast<Index>(model.groups.size()), model.meanstructure};
}

LinearRows LikelihoodRows(const RamModel& model, const StatisticsScale& scale,
                          const std::vector<double>& n, const VectorXd& x, bool with_gradient) {
  const StatisticsLayout layout = LayoutOf(model);
  const double p = static_cast<double>(layout.num_variables);
  const double log_scale =
      p * std::log(2 * std::numbers::pi) + 2 * scale.half_width.array().log().sum();
  LinearRows rows;
  const Index num_rows = with_gradient ? 1 + model.num_parameters : 1;
  rows.weights = MatrixXd::Zero(num_rows, layout.size());
  rows.constants = VectorXd::Zero(num_rows);
  for (std::size_t g = 0; g < model.groups.size(); ++g) {
    const ImpliedZ implied = ImplyZ(model, scale, g, x);
    if (!implied.finite) return {};
    const Eigen::LLT<MatrixXd> llt(implied.sigma);
    const VectorXd pivots = llt.matrixLLT().diagonal();
    if (llt.info() != Eigen::Success || !(pivots.minCoeff() > 0)) return {};
    const MatrixXd precision =
        llt.solve(MatrixXd::Identity(layout.num_variables, layout.num_variables));
    const VectorXd on_sums = precision * implied.mean;
    rows.constants[0] -=
        0.5 * n[g] * (log_scale + 2 * pivots.array().log().sum() + implied.mean.dot(on_sums));
    GroupWeights weights(layout, g, rows.weights);
    weights.AddSums(0, on_sums);
    weights.AddCross(0, -0.5, precision);
    if (with_gradient) AddGradient(model.groups[g], implied, precision, n[g], weights, rows);
  }
  if (!rows.weights.allFinite() || !rows.constants.allFinite()) return {};
  return rows;
}

VectorXd ImpliedStatistics(const RamModel& model, const StatisticsScale& scale,
                           const std::vector<double>& n, const VectorXd& x) {
  const StatisticsLayout layout = LayoutOf(model);
  VectorXd out(layout.size());
  Index at = 0;
  for (std::size_t g = 0; g < model.groups.size(); ++g) {
    const ImpliedZ implied = ImplyZ(model, scale, g, x);
    for (Index i = 0; i < layout.num_sums(); ++i) out[at++] = n[g] * implied.mean[i];
    for (Index i = 0; i < layout.num_variables; ++i) {
      for (Index j = i; j < layout.num_variables; ++j) {
        out[at++] = n[g] * (implied.sigma(i, j) + implied.mean[i] * implied.mean[j]);
      }
    }
  }
  return out;
}

}  // namespace partita::stats
