#include "stats/sem/noise.h"

#include <Eigen/Cholesky>
#include <cmath>

#include "base/error.h"
#include "stats/sem/constraints.h"
#include "stats/sem/information.h"
#include "stats/sem/objective.h"
#include "stats/sem/propagate.h"
#include "stats/sem/robust.h"
#include "stats/sem/solution.h"
#include "stats/sem/starts.h"

namespace partita::stats {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

// With weights w of the upper triangle of n S: of sum z, through n S.
VectorXd SumWeights(const VectorXd& upper, const VectorXd& mean) {
  const Index p = mean.size();
  VectorXd out = VectorXd::Zero(p);
  Index at = 0;
  for (Index i = 0; i < p; ++i) {
    for (Index j = i; j < p; ++j, ++at) {
      out[i] -= upper[at] * mean[j];
      out[j] -= upper[at] * mean[i];
    }
  }
  return out;
}

// w' upper(mean mean').
double UpperForm(const VectorXd& upper, const VectorXd& mean) {
  double sum = 0;
  Index at = 0;
  for (Index i = 0; i < mean.size(); ++i) {
    for (Index j = i; j < mean.size(); ++j, ++at) sum += upper[at] * mean[i] * mean[j];
  }
  return sum;
}

// G G' over all groups, with respect to the x of the public model.
MatrixXd ScoreNoise(const ScorePoint& point, const std::vector<GroupMoments>& moments,
                    const MomentNoise& noise) {
  std::vector<double> n;
  for (const GroupMoments& group : moments) n.push_back(group.n);
  const LinearRows rows = LikelihoodRows(point.model, noise.scale, n, point.x, true);
  if (rows.weights.rows() == 0) {
    throw Error(ErrorCode::kBadInput,
                "standard errors need a positive definite model-implied covariance matrix",
                "check the warnings of the fit");
  }
  const StatisticsLayout layout = LayoutOf(point.model);
  const Index p = layout.num_variables, q = point.model.num_parameters;
  MatrixXd total = MatrixXd::Zero(q, q);
  for (std::size_t g = 0; g < moments.size(); ++g) {
    const MatrixXd own = rows.weights.bottomRows(q).middleCols(
        static_cast<Index>(g) * layout.per_group(), layout.per_group());
    const MatrixXd upper = own.rightCols(p * (p + 1) / 2);
    total += upper * upper.transpose();
    const VectorXd mean =
        (moments[g].mean - noise.scale.centre).cwiseQuotient(noise.scale.half_width);
    MatrixXd sums(q, p);
    for (Index k = 0; k < q; ++k) {
      sums.row(k) =
          layout.means ? own.row(k).head(p) : SumWeights(upper.row(k), mean).transpose().eval();
    }
    total += sums * sums.transpose();
    if (!noise.noised_count) continue;
    std::vector<double> one(moments.size(), 0.0);
    one[g] = 1;
    VectorXd count = LikelihoodRows(point.model, noise.scale, one, point.x, true).constants.tail(q);
    for (Index k = 0; k < q && !layout.means; ++k) count[k] += UpperForm(upper.row(k), mean);
    total += count * count.transpose();
  }
  return total;
}

}  // namespace

void AddNoise(const ParameterTable& table, const std::vector<GroupMoments>& moments,
              const MomentNoise& noise, const SemFitOptions& options, SemFit& fit) {
  const RamModel model = BuildRamModel(table, moments);
  const std::vector<GroupSample> samples =
      ScaleMoments(moments, model.variable_unit.head(model.num_observed));
  const VectorXd x = PointFromRows(model, fit.estimates);
  const ModelExpressions expressions(table, model);
  const Tangent tangent = TangentSpace(expressions.Constraints(x).jacobian, model.num_parameters);
  double n = 0;
  for (const GroupMoments& group : moments) n += group.n;
  const MatrixXd observed = ObservedInformation({model, samples}, x);
  const ParameterCovariance bread = InvertInformation(observed, tangent, n);
  const ParameterCovariance sampling =
      options.information == Information::kObserved
          ? bread
          : InvertInformation(ExpectedInformation({model, samples}, x), tangent, n);
  const ScorePoint point = PointOf(table, noise.scale, fit, moments);
  const VectorXd ratio = model.parameter_unit.cwiseQuotient(point.model.parameter_unit);
  const MatrixXd score =
      ratio.asDiagonal() * ScoreNoise(point, moments, noise) * ratio.asDiagonal();
  const MatrixXd covariance = sampling.covariance + noise.variance * (bread.covariance * score *
                                                                      bread.covariance.transpose());
  fit.vcov = FreeCovariance(table, model, covariance);
  fit.estimates =
      DescribeEstimates(table, model, expressions, x, covariance, options.confidence_level);
  if (!bread.positive_definite) {
    fit.warnings.push_back(
        "the observed information is not positive definite: standard errors that contain the "
        "privacy noise are not available for some parameters");
  }
}

std::vector<GroupMoments> PlanningMoments(const ParameterTable& table, const VectorXd& mean,
                                          const VectorXd& sd, double num_rows) {
  const double groups = static_cast<double>(table.groups.size());
  const std::vector<GroupMoments> assumed(
      table.groups.size(), GroupMoments{num_rows / groups, mean, sd.cwiseAbs2().asDiagonal()});
  const RamModel model = BuildRamModel(table, assumed);
  const Index p = model.num_observed;
  const VectorXd start = StartValues(
      table, model, ScaleMoments(assumed, model.variable_unit.head(p)), StartMethod::kSimple);
  std::vector<GroupMoments> moments = assumed;
  for (std::size_t g = 0; g < moments.size(); ++g) {
    const MatrixXd implied = Propagate(model.groups[g], start).covariance.topLeftCorner(p, p);
    if (Eigen::LLT<MatrixXd>(implied).info() != Eigen::Success) continue;
    const VectorXd factor = sd.cwiseQuotient(implied.diagonal().cwiseSqrt());
    moments[g].covariance = factor.asDiagonal() * implied * factor.asDiagonal();
  }
  return moments;
}

}  // namespace partita::stats
