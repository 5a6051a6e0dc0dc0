#include "methods/mle/imputed/imputed_fit.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "stats/sem/imputation.h"

namespace partita::methods::mle {
namespace {

using stats::ParameterEstimate;
using stats::SemFit;

constexpr double kConfidence = 0.95;
std::string RowName(const stats::ParameterTable& table, const stats::Parameter& row) {
  std::string name = row.lhs + " " + row.op + (row.rhs.empty() ? "" : " " + row.rhs);
  if (table.groups.size() < 2 || row.group < 1) return name;
  return fmt::format("{} [{}]", name, table.groups.at(static_cast<size_t>(row.group) - 1));
}

// What is averaged beside the estimate.
void Average(const std::vector<SemFit>& fits, size_t row, ParameterEstimate& combined) {
  const auto m = static_cast<double>(fits.size());
  for (const SemFit& fit : fits) {
    combined.std_lv += fit.estimates[row].std_lv / m;
    combined.std_all += fit.estimates[row].std_all / m;
  }
}

struct Combined {
  std::vector<ParameterEstimate> estimates;
  CellTable table;
};

Combined CombineEstimates(const stats::ParameterTable& table, const std::vector<SemFit>& fits,
                          double complete_degrees) {
  Combined combined;
  combined.table = {"Multiple imputation",
                    {"parameter", "degrees of freedom", "fraction of missing information"},
                    {}};
  for (size_t r = 0; r < table.rows.size(); ++r) {
    std::vector<double> estimates, errors;
    for (const SemFit& fit : fits) {
      estimates.push_back(fit.estimates[r].estimate);
      errors.push_back(fit.estimates[r].standard_error);
    }
    // Where no fit has a standard error the row is fixed: a constant, or a moment of a fixed.x
    // covariate. Where some have none it is not identified in all tables.
    const auto has_error = [](double error) { return error > 0; };
    ParameterEstimate row = fits.front().estimates[r];
    row.std_lv = row.std_all = 0;
    Average(fits, r, row);
    if (!std::all_of(errors.begin(), errors.end(), has_error)) {
      row.estimate = std::accumulate(estimates.begin(), estimates.end(), 0.0) /
                     static_cast<double>(fits.size());
      const bool is_fixed = std::none_of(errors.begin(), errors.end(), has_error);
      if (!is_fixed) row.standard_error = row.z = row.p_value = kNaN;
      row.ci_lower = row.ci_upper = is_fixed ? row.estimate : kNaN;
      combined.estimates.push_back(row);
      continue;
    }
    const stats::CombinedEstimate rubin =
        stats::CombineImputations(estimates, errors, complete_degrees, kConfidence);
    row.estimate = rubin.estimate;
    row.standard_error = rubin.standard_error;
    row.z = rubin.estimate / rubin.standard_error;
    row.p_value = rubin.p_value;
    row.ci_lower = rubin.lower;
    row.ci_upper = rubin.upper;
    combined.estimates.push_back(row);
    combined.table.rows.push_back(
        {RowName(table, table.rows[r]), rubin.degrees, rubin.missing_information});
  }
  return combined;
}

// The free parameters of a fit, in the order of vcov.
Eigen::VectorXd FreeEstimates(const stats::ParameterTable& table, const SemFit& fit) {
  Eigen::VectorXd free = Eigen::VectorXd::Zero(fit.vcov.rows());
  for (size_t r = 0; r < table.rows.size(); ++r) {
    if (table.rows[r].free > 0 && table.rows[r].free <= free.size())
      free(table.rows[r].free - 1) = fit.estimates[r].estimate;
  }
  return free;
}

// Rubin's total covariance of the parameters, and means of what every fit implies.
void CombineMatrices(const stats::ParameterTable& table, const std::vector<SemFit>& fits,
                     SemFit& combined) {
  const auto m = static_cast<double>(fits.size());
  combined.vcov = fits.front().vcov * 0;
  combined.implied_covariance = fits.front().implied_covariance;
  combined.implied_mean = fits.front().implied_mean;
  for (auto& covariance : combined.implied_covariance) covariance *= 0;
  for (auto& mean : combined.implied_mean) mean *= 0;
  Eigen::VectorXd centre = FreeEstimates(table, fits.front()) * 0;
  for (const SemFit& fit : fits) {
    combined.vcov += fit.vcov / m;
    centre += FreeEstimates(table, fit) / m;
    for (size_t g = 0; g < fit.implied_covariance.size(); ++g)
      combined.implied_covariance[g] += fit.implied_covariance[g] / m;
    for (size_t g = 0; g < fit.implied_mean.size(); ++g)
      combined.implied_mean[g] += fit.implied_mean[g] / m;
  }
  for (const SemFit& fit : fits) {
    const Eigen::VectorXd between = FreeEstimates(table, fit) - centre;
    combined.vcov += (1 + 1 / m) / (m - 1) * between * between.transpose();
  }
}

CellTable ModelTest(const stats::ChiSquareTest& test) {
  return {"Test of the model over imputations (D2)",
          {"statistic", "value"},
          {{"F", test.f},
           {"numerator degrees of freedom", test.numerator_degrees},
           {"denominator degrees of freedom", test.denominator_degrees},
           {"p-value", test.p_value}}};
}

CellTable ImputedPatternTable(const MleAnalysis& analysis,
                              const std::vector<std::vector<double>>& counts) {
  CellTable table{"Missing values", {"variable", "rows with a value", "fraction missing"}, {}};
  double rows = 0;
  for (const std::vector<double>& group : counts)
    rows += std::accumulate(group.begin(), group.end(), 0.0);
  for (size_t v = 0; v < analysis.table.observed.size(); ++v) {
    double present = 0;
    for (const std::vector<double>& group : counts) {
      for (size_t k = 0; k < group.size(); ++k) {
        const std::vector<size_t>& observed = analysis.patterns[k];
        if (std::binary_search(observed.begin(), observed.end(), v)) present += group[k];
      }
    }
    table.rows.push_back({analysis.table.observed[v], present, 1 - present / rows});
  }
  return table;
}

}  // namespace

std::string ImputedTablesText(size_t tables) { return fmt::format(", {} imputed tables", tables); }

MleResult FitImputed(const MleAnalysis& analysis,
                     const std::vector<std::vector<stats::GroupMoments>>& moments,
                     const std::vector<std::vector<double>>& counts, Progress& progress) {
  MleResult result = ResultWithoutFit(analysis);
  stats::SemFitOptions options;
  options.information = analysis.options.information;
  std::vector<SemFit> fits;
  for (size_t i = 0; i < moments.size(); ++i) {
    progress.Step(i, moments.size());
    fits.push_back(stats::FitSem(analysis.table, moments[i], options, progress));
  }
  SemFit& fit = result.fit;
  double rows = 0;
  for (const stats::GroupMoments& group : moments.front()) {
    result.group_n.push_back(group.n);
    rows += group.n;
  }
  fit.converged = true;
  fit.optimizer = fits.front().optimizer + ImputedTablesText(fits.size());
  size_t stopped = 0;
  for (const SemFit& one : fits) {
    fit.converged &= one.converged;
    stopped += one.converged ? 0 : 1;
    if (fit.stop == stats::StopReason::kConverged) fit.stop = one.stop;
    fit.iterations = std::max(fit.iterations, one.iterations);
    fit.max_scaled_gradient = std::max(fit.max_scaled_gradient, one.max_scaled_gradient);
    for (const std::string& warning : one.warnings) {
      if (std::find(fit.warnings.begin(), fit.warnings.end(), warning) == fit.warnings.end())
        fit.warnings.push_back(warning);
    }
  }
  if (stopped > 0) {
    fit.warnings.insert(fit.warnings.begin(),
                        fmt::format("{} of {} fits did not converge", stopped, fits.size()));
  }
  const double parameters = fits.front().fit_measures.at("npar");
  Combined combined = CombineEstimates(analysis.table, fits, rows - parameters);
  fit.estimates = std::move(combined.estimates);
  CombineMatrices(analysis.table, fits, fit);
  const double df = fits.front().fit_measures.at("df");
  fit.fit_measures = {{"npar", parameters}, {"ntotal", rows}, {"df", df}};
  result.fit_measures_available = false;
  result.tables = {std::move(combined.table), ImputedPatternTable(analysis, counts)};
  if (df > 0) {
    std::vector<double> chi_squares;
    for (const SemFit& one : fits) chi_squares.push_back(one.fit_measures.at("chisq"));
    result.tables.push_back(ModelTest(stats::CombineChiSquares(chi_squares, df)));
  }
  result.notes.emplace_back(kImputed);
  return result;
}

}  // namespace partita::methods::mle
