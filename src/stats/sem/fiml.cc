#include "stats/sem/fiml.h"

#include <fmt/format.h>

#include <Eigen/Cholesky>
#include <algorithm>
#include <cmath>
#include <numbers>

#include "base/error.h"
#include "stats/sem/fit_measures.h"
#include "stats/sem/fit_objective.h"

namespace partita::stats {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

// Log-likelihood of a pattern's rows at these moments of all variables.
double LogLikelihood(const PatternMoments& pattern, const GroupMoments& at) {
  const MatrixXd covariance = at.covariance(pattern.observed, pattern.observed);
  const Eigen::LLT<MatrixXd> llt(covariance);
  const VectorXd deviation = pattern.moments.mean - at.mean(pattern.observed);
  const MatrixXd second = pattern.moments.covariance + deviation * deviation.transpose();
  const double log_det = 2 * llt.matrixLLT().diagonal().array().log().sum();
  const double p = static_cast<double>(pattern.observed.size());
  return -0.5 * pattern.moments.n *
         (p * std::log(2 * std::numbers::pi) + log_det + llt.solve(second).trace());
}

double LogLikelihood(const std::vector<PatternMoments>& patterns,
                     const std::vector<GroupMoments>& at) {
  double sum = 0;
  for (const PatternMoments& pattern : patterns) sum += LogLikelihood(pattern, at[pattern.group]);
  return sum;
}

// Free means and variances of everything, no covariances: every variable by itself.
double BaselineLogLikelihood(const ParameterTable& table,
                             const std::vector<PatternMoments>& patterns) {
  double sum = 0;
  for (std::size_t g = 0; g < table.groups.size(); ++g) {
    for (Index v = 0; v < static_cast<Index>(table.observed.size()); ++v) {
      double n = 0, total = 0, square = 0;
      for (const PatternMoments& pattern : patterns) {
        const auto found =
            std::find(pattern.observed.begin(), pattern.observed.end(), static_cast<int>(v));
        if (pattern.group != g || found == pattern.observed.end()) continue;
        const Index own = found - pattern.observed.begin();
        n += pattern.moments.n;
        total += pattern.moments.n * pattern.moments.mean[own];
        square += pattern.moments.n *
                  (pattern.moments.covariance(own, own) + std::pow(pattern.moments.mean[own], 2));
      }
      const double variance = square / n - std::pow(total / n, 2);
      sum -= 0.5 * n * (std::log(2 * std::numbers::pi * variance) + 1);
    }
  }
  return sum;
}

void RequireSupported(const ParameterTable& table, const std::vector<PatternMoments>& patterns) {
  if (!table.meanstructure) {
    throw Error(ErrorCode::kBadInput, "incomplete rows need a model of the means",
                "set meanstructure = true");
  }
  if (table.fixed_x && !table.exogenous_covariates.empty()) {
    throw Error(ErrorCode::kBadInput,
                "covariates cannot be fixed where rows are incomplete: their moments are unknown",
                "set fixed_x = false, which models them as well");
  }
  for (std::size_t g = 0; g < table.groups.size(); ++g) {
    const bool any = std::any_of(patterns.begin(), patterns.end(),
                                 [g](const PatternMoments& p) { return p.group == g; });
    if (any) continue;
    throw Error(ErrorCode::kBadInput, fmt::format("group '{}' has no rows", table.groups[g]),
                "remove the level from the dictionary");
  }
}

std::vector<GroupSample> ScalePatterns(const std::vector<PatternMoments>& patterns,
                                       const VectorXd& unit) {
  double total = 0;
  for (const PatternMoments& pattern : patterns) total += pattern.moments.n;
  std::vector<GroupSample> samples;
  for (const PatternMoments& pattern : patterns) {
    const VectorXd inverse = unit(pattern.observed).cwiseInverse();
    GroupSample sample;
    sample.group = pattern.group;
    sample.observed = pattern.observed;
    sample.n = pattern.moments.n;
    sample.weight = sample.n / total;
    sample.mean = inverse.cwiseProduct(pattern.moments.mean);
    sample.covariance = inverse.asDiagonal() * pattern.moments.covariance * inverse.asDiagonal();
    // Patterns may have fewer rows than variables; only the likelihood of the rest is a constant.
    sample.log_det = 0;
    samples.push_back(std::move(sample));
  }
  return samples;
}

}  // namespace

SemFit FitFiml(const ParameterTable& table, const std::vector<PatternMoments>& patterns,
               const SemFitOptions& options, Progress& progress) {
  RequireSupported(table, patterns);
  progress.Phase("moments of incomplete rows");
  std::vector<GroupMoments> saturated;
  for (std::size_t g = 0; g < table.groups.size(); ++g) {
    saturated.push_back(SaturatedMoments(table, patterns, g));
  }
  CheckMoments(table, saturated);
  const RamModel model = BuildRamModel(table, saturated);
  const VectorXd unit = model.variable_unit.head(model.num_observed);
  const std::vector<GroupSample> starts = ScaleMoments(saturated, unit);
  const std::vector<GroupSample> samples = ScalePatterns(patterns, unit);
  ObjectiveFit out = FitObjective(table, {model, samples}, starts, options, progress);
  SemFit& fit = out.fit;

  std::vector<GroupMoments> implied;
  double n = 0;
  for (std::size_t g = 0; g < saturated.size(); ++g) {
    implied.push_back({saturated[g].n, fit.implied_mean[g], fit.implied_covariance[g]});
    n += saturated[g].n;
  }
  const double best = LogLikelihood(patterns, saturated);
  const double chisq = std::max(2 * (best - LogLikelihood(patterns, implied)), 0.0);
  const double baseline = std::max(2 * (best - BaselineLogLikelihood(table, patterns)), 0.0);
  fit.fit_measures = ScalarMeasures(table, {n, chisq, baseline, best}, out.num_parameters);
  // Residuals of the saturated moments.
  fit.fit_measures["srmr"] =
      ComputeFitMeasures({table, saturated, fit.implied_covariance, fit.implied_mean,
                          0.5 * chisq / n, out.num_parameters})["srmr"];
  AddClosingWarnings(table, model, out.x, fit);
  return fit;
}

}  // namespace partita::stats
