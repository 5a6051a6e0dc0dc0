#include "stats/sem/fit.h"

#include <fmt/format.h>

#include <boost/math/distributions/normal.hpp>
#include <cmath>
#include <limits>

#include "stats/sem/constraints.h"
#include "stats/sem/diagnostics.h"
#include "stats/sem/fit_measures.h"
#include "stats/sem/information.h"
#include "stats/sem/objective.h"
#include "stats/sem/optimize.h"
#include "stats/sem/ram.h"
#include "stats/sem/standardized.h"
#include "stats/sem/starts.h"

namespace partita::stats {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

struct Attempt {
  StartMethod start;
  bool slsqp;
};

struct Solution {
  Optimum optimum;
  std::string optimizer;
};

// Attempts in turn until one converges; otherwise the best of the points reached.
Solution MinimizeFromAnyStart(const ParameterTable& table, const SemObjective& objective,
                              const ModelExpressions& expressions, int max_iterations,
                              Progress& progress) {
  constexpr Attempt kAttempts[] = {{StartMethod::kFabin, false},    {StartMethod::kFabin, true},
                                   {StartMethod::kSimple, false},   {StartMethod::kSimple, true},
                                   {StartMethod::kCautious, false}, {StartMethod::kCautious, true}};
  Solution best;
  best.optimum.value = std::numeric_limits<double>::infinity();
  for (const Attempt& attempt : kAttempts) {
    OptimizeOptions options;
    options.slsqp_first = attempt.slsqp;
    options.max_iterations = max_iterations;
    const VectorXd start = StartValues(table, objective.model, objective.samples, attempt.start);
    Solution found{Minimize(objective, expressions, start, options, progress),
                   attempt.slsqp ? "NLopt SLSQP, then Fisher scoring" : "Fisher scoring"};
    if (found.optimum.converged) return found;
    if (best.optimizer.empty() || found.optimum.value < best.optimum.value) best = std::move(found);
  }
  return best;
}

// Covariance of the free parameters of the table, natural units; parameters fixed through a label
// have none.
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

void AddInference(double confidence_level, ParameterEstimate& e) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double quantile =
      boost::math::quantile(boost::math::normal(), 0.5 + 0.5 * confidence_level);
  e.ci_lower = e.estimate - quantile * e.standard_error;
  e.ci_upper = e.estimate + quantile * e.standard_error;
  e.z = e.standard_error > 0 ? e.estimate / e.standard_error : nan;
  e.p_value = std::erfc(std::abs(e.z) / std::sqrt(2.0));
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
                     const ModelExpressions& expressions,
                     const std::vector<ImpliedMoments>& implied,
                     std::vector<ParameterEstimate>& estimates) {
  std::vector<MatrixXd> covariance;
  for (const ImpliedMoments& group : implied) {
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

void AddImplied(const RamModel& model, const std::vector<GroupMoments>& moments,
                const std::vector<ImpliedMoments>& implied, SemFit& fit) {
  const VectorXd unit = model.variable_unit.head(model.num_observed);
  for (std::size_t g = 0; g < implied.size(); ++g) {
    fit.implied_covariance.push_back(
        unit.asDiagonal() *
        implied[g].covariance.topLeftCorner(model.num_observed, model.num_observed) *
        unit.asDiagonal());
    // Without a mean structure the means are saturated.
    fit.implied_mean.push_back(
        model.meanstructure ? VectorXd(unit.cwiseProduct(implied[g].mean.head(model.num_observed)))
                            : moments[g].mean);
  }
}

void Append(std::vector<std::string>& to, std::vector<std::string> from) {
  to.insert(to.end(), std::make_move_iterator(from.begin()), std::make_move_iterator(from.end()));
}

}  // namespace

SemFit FitSem(const ParameterTable& table, const std::vector<GroupMoments>& moments,
              const SemFitOptions& options, Progress& progress) {
  CheckMoments(table, moments);
  const RamModel model = BuildRamModel(table, moments);
  const std::vector<GroupSample> samples =
      ScaleMoments(moments, model.variable_unit.head(model.num_observed));
  const SemObjective objective{model, samples};
  const ModelExpressions expressions(table, model);
  progress.Phase("fit");
  const auto [optimum, optimizer] =
      MinimizeFromAnyStart(table, objective, expressions, options.max_iterations, progress);

  SemFit fit;
  fit.converged = optimum.converged;
  fit.optimizer = optimizer;
  fit.iterations = optimum.iterations;
  fit.max_scaled_gradient = optimum.scaled_gradient;
  if (!optimum.converged) {
    fit.warnings.push_back(fmt::format("the optimiser did not converge: {}", optimum.reason));
  }
  const Tangent tangent =
      TangentSpace(expressions.Constraints(optimum.x).jacobian, model.num_parameters);
  ParameterCovariance covariance;
  double total = 0;
  for (const GroupMoments& group : moments) total += group.n;
  if (std::isfinite(optimum.value)) {
    const MatrixXd information = options.information == Information::kExpected
                                     ? ExpectedInformation(objective, optimum.x)
                                     : ObservedInformation(objective, optimum.x);
    covariance = InvertInformation(information, tangent, total);
    Append(fit.warnings, IdentificationWarnings(table, model, covariance));
    // A gradient that vanishes only because a parameter is on its way to infinity is no optimum.
    if (!optimum.converged || !covariance.positive_definite) {
      const std::vector<std::string> drift = DriftWarnings(table, model, optimum.x);
      if (!drift.empty()) fit.converged = false;
      Append(fit.warnings, drift);
    }
  } else {
    covariance.covariance = MatrixXd::Constant(model.num_parameters, model.num_parameters,
                                               std::numeric_limits<double>::quiet_NaN());
  }
  fit.vcov = FreeCovariance(table, model, covariance.covariance);
  fit.estimates = Estimates(table, model, expressions, optimum.x, covariance.covariance,
                            options.confidence_level);
  const std::vector<ImpliedMoments> implied = Imply(model, optimum.x);
  AddStandardized(table, model, expressions, implied, fit.estimates);
  AddImplied(model, moments, implied, fit);
  fit.fit_measures = ComputeFitMeasures({table, moments, fit.implied_covariance, fit.implied_mean,
                                         optimum.value, model.num_parameters - tangent.rank});
  if (fit.fit_measures["df"] < 0) {
    fit.warnings.push_back(fmt::format(
        "the model has {} more parameters than the data have moments (df = {}); it cannot be "
        "identified",
        -fit.fit_measures["df"], fit.fit_measures["df"]));
  }
  Append(fit.warnings, SolutionWarnings(table, model, optimum.x));
  return fit;
}

}  // namespace partita::stats
