#include "methods/mle/sealed/on_grid.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "methods/mle/moments/public_scale.h"
#include "privacy/release_rule.h"
#include "stats/sem/constraints.h"
#include "stats/sem/fit_measures.h"
#include "stats/sem/robust.h"
#include "stats/sem/solution.h"

namespace partita::methods::mle {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

constexpr double kToldConfidence = 0.95;
constexpr double kNormalQuantile = 1.959963984540054;
constexpr int kFractionExponent = -10;  // of SRMR and of Student's p-values
// Numbers beside those of parameters: steps, how they ended, chi-square, baseline, log-likelihood,
// and two for srmr.
constexpr uint64_t kMeasureNumbers = 7, kScalingFactors = 2;

bool IsPositive(double value) { return std::isfinite(value) && value > 0; }

double RoundLike(double value, double magnitude, int grid_bits) {
  if (!std::isfinite(value) || !IsPositive(magnitude)) return value;
  return privacy::OnGrid(value, privacy::GridExponent(magnitude, grid_bits));
}

bool IsDefined(const stats::Parameter& row) { return row.op == ":="; }

// With the interval and p-value of Student's law where the result has them.
void Infer(const stats::ParameterEstimate& exact, int grid_bits, stats::ParameterEstimate& told) {
  stats::AddInference(kToldConfidence, told);
  const double quantile = (exact.ci_upper - exact.estimate) / exact.standard_error;
  if (!IsPositive(exact.standard_error) || std::abs(quantile - kNormalQuantile) < 1e-6) return;
  const double rounded = privacy::OnGrid(quantile, -grid_bits);
  told.ci_lower = told.estimate - rounded * told.standard_error;
  told.ci_upper = told.estimate + rounded * told.standard_error;
  told.p_value = privacy::OnGrid(exact.p_value, kFractionExponent);
}

std::vector<stats::ParameterEstimate> Told(const MleAnalysis& analysis,
                                           const std::vector<stats::ParameterEstimate>& exact,
                                           int grid_bits) {
  const stats::ParameterTable& table = analysis.table;
  std::vector<stats::ParameterEstimate> rounded = exact;
  for (size_t r = 0; r < rounded.size(); ++r) {
    if (table.rows[r].free == 0) continue;
    const double error = exact[r].standard_error;
    const double size = IsPositive(error) ? error : std::abs(exact[r].estimate);
    rounded[r].estimate = RoundLike(exact[r].estimate, size, grid_bits);
    rounded[r].standard_error = RoundLike(error, error, grid_bits);
  }
  const stats::RamModel model = stats::PublicModel(table, PublicScale(analysis));
  const VectorXd x = stats::PointFromRows(model, rounded);
  MatrixXd variances = MatrixXd::Zero(model.num_parameters, model.num_parameters);
  for (size_t r = 0; r < rounded.size(); ++r) {
    const int k = model.row_parameter[r];
    if (k >= 0) variances(k, k) = std::pow(rounded[r].standard_error / model.parameter_unit[k], 2);
  }
  const stats::ModelExpressions expressions(table, model);
  std::vector<stats::ParameterEstimate> told =
      stats::DescribeEstimates(table, model, expressions, x, variances, kToldConfidence);
  const bool covariates = table.fixed_x && !table.exogenous_covariates.empty();
  for (size_t r = 0; r < told.size(); ++r) {
    if (table.rows[r].free > 0) {
      // To the last bit, without the way through the units of the model.
      told[r].estimate = rounded[r].estimate;
      told[r].standard_error = rounded[r].standard_error;
    }
    // Variances alone do not give those of functions.
    if (IsDefined(table.rows[r]))
      told[r].standard_error =
          RoundLike(exact[r].standard_error, exact[r].standard_error, grid_bits);
    if (covariates) told[r].std_lv = told[r].std_all = std::numeric_limits<double>::quiet_NaN();
    Infer(exact[r], grid_bits, told[r]);
  }
  return told;
}

// What `computed` has of the names of `measures`; the others as they are.
void Replace(const std::map<std::string, double>& computed,
             std::map<std::string, double>& measures) {
  for (auto& [name, value] : measures) {
    const auto found = computed.find(name);
    if (found != computed.end()) value = found->second;
  }
}

void ToldMeasures(const MleAnalysis& analysis, int grid_bits, MleResult& result) {
  std::map<std::string, double>& measures = result.fit.fit_measures;
  const auto parameters = measures.find("npar");
  if (parameters == measures.end()) return;
  const auto step = [&](const char* name) {
    return privacy::OnGrid(measures.at(name), -grid_bits);
  };
  const double n = std::accumulate(result.group_n.begin(), result.group_n.end(), 0.0);
  const int num_parameters = static_cast<int>(parameters->second);
  if (measures.count("unrestricted.logl") > 0 && measures.count("baseline.chisq") > 0) {
    Replace(
        stats::ScalarMeasures(analysis.table,
                              {n, step("chisq"), step("baseline.chisq"), step("unrestricted.logl")},
                              num_parameters),
        measures);
  } else if (measures.count("logl") > 0) {
    Replace(stats::LikelihoodMeasures(analysis.table, n, step("logl"), num_parameters), measures);
  }
  const auto srmr = measures.find("srmr");
  if (srmr != measures.end()) srmr->second = privacy::OnGrid(srmr->second, kFractionExponent);
}

}  // namespace

MleResult OnReleaseGrid(const MleAnalysis& analysis, MleResult result, int grid_bits) {
  result.fit.estimates = Told(analysis, result.fit.estimates, grid_bits);
  result.fit.max_scaled_gradient = std::numeric_limits<double>::quiet_NaN();
  ToldMeasures(analysis, grid_bits, result);
  if (!result.robust) return result;
  stats::RobustFit& robust = *result.robust;
  robust.estimates = Told(analysis, robust.estimates, grid_bits);
  robust.scaling_factor = RoundLike(robust.scaling_factor, robust.scaling_factor, grid_bits);
  const auto factor = robust.fit_measures.find("baseline.chisq.scaling.factor");
  if (factor == robust.fit_measures.end()) return result;
  const double baseline = RoundLike(factor->second, factor->second, grid_bits);
  const auto& measures = result.fit.fit_measures;
  Replace(stats::ScaledMeasures(result.fit, static_cast<double>(result.group_n.size()),
                                robust.scaling_factor * measures.at("df"),
                                baseline * measures.at("baseline.df")),
          robust.fit_measures);
  return result;
}

uint64_t NumOnGrid(const MleAnalysis& analysis) {
  uint64_t numbers = kMeasureNumbers;
  for (const stats::Parameter& row : analysis.table.rows) numbers += IsDefined(row) ? 1 : 0;
  const auto free = static_cast<uint64_t>(analysis.table.num_free);
  numbers += 2 * free;
  // A second standard error of everything.
  if (analysis.options.robust) numbers += numbers - kMeasureNumbers - free + kScalingFactors;
  return numbers;
}

}  // namespace partita::methods::mle
