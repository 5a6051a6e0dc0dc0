#include "stats/sem/fit.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "stats/sem/constraints.h"
#include "stats/sem/diagnostics.h"
#include "stats/sem/fit_measures.h"
#include "stats/sem/fit_objective.h"
#include "stats/sem/information.h"
#include "stats/sem/objective.h"
#include "stats/sem/optimize.h"
#include "stats/sem/ram.h"
#include "stats/sem/solution.h"
#include "stats/sem/starts.h"

namespace partita::stats {
namespace {

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
                              const std::vector<GroupSample>& starts,
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
    const VectorXd start = StartValues(table, objective.model, starts, attempt.start);
    Solution found{Minimize(objective, expressions, start, options, progress),
                   attempt.slsqp ? "NLopt SLSQP, then Fisher scoring" : "Fisher scoring"};
    if (found.optimum.converged) return found;
    if (best.optimizer.empty() || found.optimum.value < best.optimum.value) best = std::move(found);
  }
  return best;
}

void Append(std::vector<std::string>& to, std::vector<std::string> from) {
  to.insert(to.end(), std::make_move_iterator(from.begin()), std::make_move_iterator(from.end()));
}

}  // namespace

ObjectiveFit FitObjective(const ParameterTable& table, const SemObjective& objective,
                          const std::vector<GroupSample>& starts, const SemFitOptions& options,
                          Progress& progress) {
  const RamModel& model = objective.model;
  const ModelExpressions expressions(table, model);
  progress.Phase("fit");
  const auto [optimum, optimizer] =
      MinimizeFromAnyStart(table, objective, starts, expressions, options.max_iterations, progress);

  ObjectiveFit out;
  SemFit& fit = out.fit;
  fit.converged = optimum.converged;
  fit.stop = optimum.stop;
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
  for (const GroupSample& sample : objective.samples) total += sample.n;
  if (std::isfinite(optimum.value)) {
    const MatrixXd information = options.information == Information::kExpected
                                     ? ExpectedInformation(objective, optimum.x)
                                     : ObservedInformation(objective, optimum.x);
    covariance = InvertInformation(information, tangent, total);
    Append(fit.warnings, IdentificationWarnings(table, model, covariance));
    // A gradient that vanishes only because a parameter is on its way to infinity is no optimum.
    if (!optimum.converged || !covariance.positive_definite) {
      const std::vector<std::string> drift = DriftWarnings(table, model, optimum.x);
      if (!drift.empty()) {
        fit.converged = false;
        fit.stop = StopReason::kRanAway;
      }
      Append(fit.warnings, drift);
    }
  } else {
    covariance.covariance = MatrixXd::Constant(model.num_parameters, model.num_parameters,
                                               std::numeric_limits<double>::quiet_NaN());
  }
  fit.vcov = FreeCovariance(table, model, covariance.covariance);
  fit.estimates = DescribeEstimates(table, model, expressions, optimum.x, covariance.covariance,
                                    options.confidence_level);
  AddImplied(model, optimum.x, fit);
  out.x = optimum.x;
  out.value = optimum.value;
  out.num_parameters = model.num_parameters - tangent.rank;
  return out;
}

void AddClosingWarnings(const ParameterTable& table, const RamModel& model, const VectorXd& x,
                        SemFit& fit) {
  if (fit.fit_measures["df"] < 0) {
    fit.warnings.push_back(fmt::format(
        "the model has {} more parameters than the data have moments (df = {}); it cannot be "
        "identified",
        -fit.fit_measures["df"], fit.fit_measures["df"]));
  }
  Append(fit.warnings, SolutionWarnings(table, model, x));
}

SemFit FitSem(const ParameterTable& table, const std::vector<GroupMoments>& moments,
              const SemFitOptions& options, Progress& progress) {
  CheckMoments(table, moments);
  const RamModel model = BuildRamModel(table, moments);
  const std::vector<GroupSample> samples =
      ScaleMoments(moments, model.variable_unit.head(model.num_observed));
  ObjectiveFit out = FitObjective(table, {model, samples}, samples, options, progress);
  SemFit& fit = out.fit;
  // Without a mean structure the means are saturated.
  for (std::size_t g = 0; g < moments.size() && !model.meanstructure; ++g) {
    fit.implied_mean[g] = moments[g].mean;
  }
  fit.fit_measures = ComputeFitMeasures(
      {table, moments, fit.implied_covariance, fit.implied_mean, out.value, out.num_parameters});
  AddClosingWarnings(table, model, out.x, fit);
  return fit;
}

}  // namespace partita::stats
