#include "stats/sem/solution.h"

#include <boost/math/distributions/normal.hpp>
#include <cmath>
#include <limits>

#include "base/normal.h"
#include "stats/sem/objective.h"
#include "stats/sem/standardized.h"

namespace partita::stats {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

// Delta method. A parameter without a finite variance spoils only the functions that use it; what
// cancels to rounding is a function that the constraints determine: standard error 0.
double DeltaError(const Eigen::RowVectorXd& gradient, const MatrixXd& covariance) {
  double variance = 0, magnitude = 0;
  for (Index i = 0; i < gradient.size(); ++i) {
    for (Index j = 0; j < gradient.size(); ++j) {
      if (gradient[i] == 0 || gradient[j] == 0) continue;
      const double term = gradient[i] * covariance(i, j) * gradient[j];
      variance += term;
      magnitude += std::abs(term);
    }
  }
  return variance < 1e-13 * magnitude ? 0 : std::sqrt(variance);
}

std::vector<ParameterEstimate> Estimates(const ParameterTable& table, const RamModel& model,
                                         const ModelExpressions& expressions, const VectorXd& x,
                                         const MatrixXd& covariance, double confidence_level) {
  std::vector<ParameterEstimate> estimates(table.rows.size());
  for (std::size_t r = 0; r < table.rows.size(); ++r) {
    const int k = model.row_parameter[r];
    if (table.rows[r].op == ":=" || table.rows[r].op == "==") continue;
    estimates[r].estimate = model.RowValue(static_cast<int>(r), x);
    if (k >= 0) estimates[r].standard_error = model.parameter_unit[k] * std::sqrt(covariance(k, k));
  }
  for (const bool definitions : {true, false}) {
    const ExpressionValues values =
        definitions ? expressions.Definitions(x) : expressions.Constraints(x);
    for (std::size_t i = 0; i < values.rows.size(); ++i) {
      ParameterEstimate& e = estimates[static_cast<std::size_t>(values.rows[i])];
      e.estimate = values.values[static_cast<Index>(i)];
      if (definitions) {
        e.standard_error = DeltaError(values.jacobian.row(static_cast<Index>(i)), covariance);
      }
    }
  }
  for (ParameterEstimate& e : estimates) AddInference(confidence_level, e);
  return estimates;
}

void AddStandardized(const ParameterTable& table, const RamModel& model,
                     const ModelExpressions& expressions, const VectorXd& x,
                     std::vector<ParameterEstimate>& estimates) {
  std::vector<MatrixXd> covariance;
  for (const ImpliedMoments& group : Imply(model, x)) {
    covariance.push_back(model.variable_unit.asDiagonal() * group.covariance *
                         model.variable_unit.asDiagonal());
  }
  std::vector<double> values;
  for (const ParameterEstimate& e : estimates) values.push_back(e.estimate);
  const StandardizedSolution standardized = Standardize(table, expressions, values, covariance);
  for (std::size_t r = 0; r < estimates.size(); ++r) {
    estimates[r].std_lv = standardized.latent[r];
    estimates[r].std_all = standardized.all[r];
  }
}

}  // namespace

void AddInference(double confidence_level, ParameterEstimate& e) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double quantile =
      boost::math::quantile(boost::math::normal(), 0.5 + 0.5 * confidence_level);
  e.ci_lower = e.estimate - quantile * e.standard_error;
  e.ci_upper = e.estimate + quantile * e.standard_error;
  e.z = e.standard_error > 0 ? e.estimate / e.standard_error : nan;
  e.p_value = NormalTails(e.z);
}

MatrixXd FreeCovariance(const ParameterTable& table, const RamModel& model,
                        const MatrixXd& covariance) {
  std::vector<int> parameter(static_cast<std::size_t>(table.num_free), -1);
  for (std::size_t r = 0; r < table.rows.size(); ++r) {
    const int free = table.rows[r].free;
    if (free > 0) parameter[static_cast<std::size_t>(free - 1)] = model.row_parameter[r];
  }
  MatrixXd out = MatrixXd::Zero(table.num_free, table.num_free);
  for (Index i = 0; i < out.rows(); ++i) {
    for (Index j = 0; j < out.cols(); ++j) {
      const int a = parameter[static_cast<std::size_t>(i)];
      const int b = parameter[static_cast<std::size_t>(j)];
      if (a < 0 || b < 0) continue;
      out(i, j) = model.parameter_unit[a] * model.parameter_unit[b] * covariance(a, b);
    }
  }
  return out;
}

std::vector<ParameterEstimate> DescribeEstimates(const ParameterTable& table, const RamModel& model,
                                                 const ModelExpressions& expressions,
                                                 const VectorXd& x, const MatrixXd& covariance,
                                                 double confidence_level) {
  std::vector<ParameterEstimate> estimates =
      Estimates(table, model, expressions, x, covariance, confidence_level);
  AddStandardized(table, model, expressions, x, estimates);
  return estimates;
}

void AddImplied(const RamModel& model, const VectorXd& x, SemFit& fit) {
  const Index p = model.num_observed;
  const VectorXd unit = model.variable_unit.head(p);
  for (const ImpliedMoments& group : Imply(model, x)) {
    fit.implied_covariance.push_back(unit.asDiagonal() * group.covariance.topLeftCorner(p, p) *
                                     unit.asDiagonal());
    fit.implied_mean.push_back(unit.cwiseProduct(group.mean.head(p)));
  }
}

VectorXd PointFromRows(const RamModel& model, const std::vector<ParameterEstimate>& estimates) {
  VectorXd x = VectorXd::Zero(model.num_parameters);
  for (std::size_t r = estimates.size(); r-- > 0;) {
    const int k = model.row_parameter[r];
    if (k >= 0) x[k] = estimates[r].estimate / model.parameter_unit[k];
  }
  return x;
}

}  // namespace partita::stats
