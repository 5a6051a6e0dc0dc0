// What the receiver makes of the numbers that a sealed fit opened.
#include <fmt/format.h>

#include <cmath>
#include <numbers>
#include <numeric>

#include "base/error.h"
#include "methods/mle/moments/public_scale.h"
#include "methods/mle/sealed/analysis.h"
#include "stats/sem/constraints.h"
#include "stats/sem/diagnostics.h"
#include "stats/sem/fit_measures.h"
#include "stats/sem/information.h"
#include "stats/sem/objective.h"
#include "stats/sem/solution.h"

namespace partita::methods::mle {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

void RequireRows(const MleAnalysis& analysis, const std::vector<double>& sizes) {
  for (size_t g = 0; g < sizes.size(); ++g) {
    if (sizes[g] > 0) continue;
    throw Error(ErrorCode::kBadInput,
                fmt::format("group '{}' has no rows", analysis.table.groups.at(g)),
                "remove the level from the dictionary, or check with the holders of the data");
  }
}

// All parameters; NaN for those that stay sealed.
VectorXd AllParameters(const SealedModel& model, const VectorXd& opened) {
  VectorXd x = VectorXd::Constant(model.ram.num_parameters, kNaN);
  for (size_t i = 0; i < model.opened.size(); ++i) {
    x(model.opened[i]) = opened(static_cast<Index>(i));
  }
  return x;
}

// Variances that were opened; what is not known is NaN.
MatrixXd OpenedCovariance(const SealedModel& model, const SealedEstimates& estimates, double n) {
  const int k = model.ram.num_parameters;
  MatrixXd covariance = MatrixXd::Constant(k, k, kNaN);
  for (Index i = 0; i < estimates.deviations.size(); ++i) {
    const int parameter = model.opened[static_cast<size_t>(i)];
    const double deviation = estimates.deviations(i);
    covariance(parameter, parameter) = deviation > 0 ? deviation * deviation / n : kNaN;
  }
  return covariance;
}

// From the estimates alone, all of which are known.
MatrixXd ExpectedCovariance(const SealedModel& model, const VectorXd& half_width,
                            const std::vector<double>& sizes, const VectorXd& x, double n,
                            std::vector<std::string>& warnings) {
  std::vector<stats::GroupMoments> units;
  for (const double size : sizes) {
    units.push_back({size, VectorXd::Zero(half_width.size()),
                     half_width.cwiseAbs2().asDiagonal().toDenseMatrix()});
  }
  const std::vector<stats::GroupSample> samples =
      stats::ScaleMoments(units, model.ram.variable_unit.head(model.ram.num_observed));
  const stats::SemObjective objective{model.ram, samples};
  const int k = model.ram.num_parameters;
  if (!std::isfinite(stats::Discrepancy(objective, x))) return MatrixXd::Constant(k, k, kNaN);
  const stats::Tangent tangent = stats::TangentSpace(MatrixXd(0, k), k);
  const stats::ParameterCovariance covariance =
      stats::InvertInformation(stats::ExpectedInformation(objective, x), tangent, n);
  warnings = stats::IdentificationWarnings(model.table, model.ram, covariance);
  for (std::string& warning : stats::SolutionWarnings(model.table, model.ram, x)) {
    warnings.push_back(std::move(warning));
  }
  return covariance.covariance;
}

// Covariates are reported as fixed, at values that are not known here.
void HideCovariates(const stats::ParameterTable& table,
                    std::vector<stats::ParameterEstimate>& estimates) {
  for (size_t r = 0; r < estimates.size(); ++r) {
    if (!table.rows[r].exogenous || table.rows[r].free > 0) continue;
    estimates[r] = {kNaN, 0, kNaN, kNaN, kNaN, kNaN, kNaN, kNaN};
  }
}

void AddMeasures(const MleAnalysis& analysis, const SealedModel& model, const VectorXd& half_width,
                 double n, const SealedEstimates& estimates, MleResult& result) {
  const stats::ParameterTable& table = analysis.table;
  const int num_parameters = static_cast<int>(model.opened.size());
  if (!estimates.scalars) {
    result.fit.fit_measures = {{"npar", num_parameters},
                               {"ntotal", n},
                               {"df", stats::CountMoments(table) - num_parameters}};
    result.fit_measures_available = false;
    result.notes.insert(result.notes.begin(), analysis.patterns.empty()
                                                  ? kSealedWithoutFit
                                                  : kSealedIncompleteWithoutFit);
    return;
  }
  // From half-widths to the units of the data; with fixed.x of all but the covariates.
  double p = 0, units = 0;
  for (Index j = 0; j < half_width.size(); ++j) {
    const bool given = table.fixed_x && std::find(model.covariates.begin(), model.covariates.end(),
                                                  static_cast<size_t>(j)) != model.covariates.end();
    if (given) continue;
    ++p;
    units += 2 * std::log(half_width(j));
  }
  const double per_row = p * (std::log(2 * std::numbers::pi) + 1) + units;
  const SealedScalars& scalars = *estimates.scalars;
  result.fit.fit_measures = stats::ScalarMeasures(
      table,
      {n, std::max(n * scalars.chisq, 0.0), std::max(n * scalars.baseline_chisq, 0.0),
       -0.5 * n * (per_row + scalars.saturated)},
      num_parameters);
  result.notes.insert(result.notes.begin(), kSealedWithoutResiduals);
}

}  // namespace

MleResult DescribeSealed(const MleAnalysis& analysis, const SealedModel& model,
                         const SealedOpenings& openings, const std::vector<double>& group_sizes,
                         const SealedEstimates& estimates) {
  RequireRows(analysis, group_sizes);
  const VectorXd half_width = PublicScale(analysis).half_width;
  const double n = std::accumulate(group_sizes.begin(), group_sizes.end(), 0.0);
  MleResult result = ResultWithoutFit(analysis);
  result.group_n = group_sizes;
  stats::SemFit& fit = result.fit;
  fit.converged = estimates.converged;
  fit.optimizer = "Fisher scoring and Newton steps on shares";
  fit.iterations = static_cast<int>(model.iterations);
  fit.max_scaled_gradient = kNaN;  // stays sealed but for whether it is below the tolerance
  if (!fit.converged) {
    fit.stop = stats::StopReason::kLimit;
    fit.warnings.push_back(
        fmt::format("the fit did not converge in {} steps on shares", model.iterations));
  }
  const bool sealed_covariates = HasSealedCovariates(analysis);
  const bool incomplete = !analysis.patterns.empty();
  const VectorXd x = AllParameters(model, estimates.x);
  std::vector<std::string> warnings;
  const MatrixXd covariance =
      sealed_covariates || incomplete
          ? OpenedCovariance(model, estimates, n)
          : ExpectedCovariance(model, half_width, group_sizes, x, n, warnings);
  fit.warnings.insert(fit.warnings.end(), warnings.begin(), warnings.end());
  const stats::ModelExpressions expressions(model.table, model.ram);
  fit.vcov = stats::FreeCovariance(analysis.table, model.ram, covariance);
  fit.estimates =
      stats::DescribeEstimates(model.table, model.ram, expressions, x, covariance, 0.95);
  if (sealed_covariates) HideCovariates(analysis.table, fit.estimates);
  stats::AddImplied(model.ram, x, fit);
  AddMeasures(analysis, model, half_width, n, estimates, result);
  if (sealed_covariates) {
    result.notes.insert(result.notes.begin(), kSealedWithoutCovariates);
    if (!openings.standard_errors) result.notes.insert(result.notes.begin(), kSealedWithoutErrors);
  }
  if (incomplete) {
    result.notes.insert(result.notes.begin(), kSealedMissingAtRandom);
    result.notes.insert(result.notes.begin(), openings.standard_errors
                                                  ? kSealedIncompleteErrors
                                                  : kSealedIncompleteWithoutErrors);
    for (std::string& warning : stats::SolutionWarnings(model.table, model.ram, x))
      fit.warnings.push_back(std::move(warning));
  }
  return result;
}

}  // namespace partita::methods::mle
