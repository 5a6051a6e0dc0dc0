#include "methods/mle/fit/told_warnings.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "methods/mle/moments/public_scale.h"
#include "stats/sem/diagnostics.h"
#include "stats/sem/fit_objective.h"
#include "stats/sem/robust.h"
#include "stats/sem/solution.h"

namespace partita::methods::mle {
namespace {

constexpr size_t kMostNames = 8;

// Of free parameters that have an estimate.
std::vector<std::string> WithoutError(const stats::ParameterTable& table,
                                      const std::vector<stats::ParameterEstimate>& estimates) {
  std::vector<std::string> names;
  for (size_t r = 0; r < table.rows.size(); ++r) {
    if (table.rows[r].free > 0 && !std::isfinite(estimates[r].standard_error))
      names.push_back(stats::RowName(table, static_cast<int>(r)));
  }
  return names;
}

std::string Listed(std::vector<std::string> names) {
  const bool more = names.size() > kMostNames;
  if (more) names.resize(kMostNames);
  return fmt::format("{}{}", fmt::join(names, ", "), more ? " and others" : "");
}

bool Has(const MleResult& result, const char* note) {
  return std::find(result.notes.begin(), result.notes.end(), note) != result.notes.end();
}

void WarnOfErrors(MleResult& result) {
  const std::vector<std::string> names = WithoutError(result.table, result.fit.estimates);
  // Standard errors that the study does not open are no fault.
  const bool sealed =
      Has(result, kSealedWithoutErrors) || Has(result, kSealedIncompleteWithoutErrors);
  if (names.empty() || sealed) return;
  result.fit.warnings.push_back(fmt::format(
      "there are no standard errors of {}: the model may not be identified, or the information is "
      "not positive definite where the fit stopped",
      Listed(names)));
}

void WarnOfRobustErrors(MleResult& result) {
  const std::vector<std::string> names = WithoutError(result.table, result.robust->estimates);
  if (names.empty()) return;
  result.robust->warnings.push_back(
      fmt::format("the observed information is not positive definite: there are no robust standard "
                  "errors of {}",
                  Listed(names)));
}

}  // namespace

void AddToldWarnings(const MleAnalysis& analysis, MleResult& result) {
  const stats::ParameterTable& table = analysis.table;
  stats::SemFit& fit = result.fit;
  if (!fit.converged) {
    fit.warnings.push_back(
        fmt::format("the optimiser did not converge: {}", stats::StopReasonText(fit.stop)));
  }
  WarnOfErrors(result);
  if (result.robust) WarnOfRobustErrors(result);
  const stats::RamModel model = stats::PublicModel(table, PublicScale(analysis));
  const Eigen::VectorXd x = stats::PointFromRows(model, fit.estimates);
  if (!x.allFinite()) return;
  if (fit.stop == stats::StopReason::kRanAway) {
    for (std::string& warning : stats::DriftWarnings(table, model, x))
      fit.warnings.push_back(std::move(warning));
  }
  if (table.exogenous_covariates.empty() || table.latent.empty()) {
    stats::AddClosingWarnings(table, model, x, fit);
  } else {
    for (std::string& warning : stats::VarianceWarnings(table, model, x))
      fit.warnings.push_back(std::move(warning));
  }
}

}  // namespace partita::methods::mle
