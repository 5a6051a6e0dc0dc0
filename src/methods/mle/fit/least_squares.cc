#include "methods/mle/fit/least_squares.h"

#include <algorithm>
#include <boost/math/distributions/fisher_f.hpp>
#include <boost/math/distributions/students_t.hpp>
#include <cmath>

namespace partita::methods::mle {
namespace {

using stats::Parameter;
using stats::ParameterEstimate;

constexpr double kIntervalLevel = 0.95;

bool IsLeastSquares(const MleOptions& options, const MleResult& result) {
  const auto df = result.fit.fit_measures.find("df");
  const bool noisy = result.moments && result.moments->noise;
  return options.plain_moments && !noisy && result.function == "regression" &&
         result.fit.converged && !result.robust && df != result.fit.fit_measures.end() &&
         df->second == 0;
}

double UpperTailF(double f, double first, double second) {
  if (!std::isfinite(f) || f < 0) return kNaN;
  return boost::math::cdf(
      boost::math::complement(boost::math::fisher_f_distribution<>(first, second), f));
}

LeastSquaresTerm TermOf(const MleResult& result, size_t row, double scale, double df) {
  const Parameter& parameter = result.table.rows[row];
  const ParameterEstimate& fitted = result.fit.estimates[row];
  LeastSquaresTerm term{parameter.op == "~1" ? "(Intercept)" : parameter.rhs, row};
  term.estimate = fitted.estimate;
  term.standard_error = fitted.standard_error * scale;
  term.t = term.estimate / term.standard_error;
  term.p_value = term.ci_lower = term.ci_upper = kNaN;
  if (!std::isfinite(term.t)) {
    term.t = kNaN;
    return term;
  }
  const boost::math::students_t law(df);
  term.p_value = 2 * boost::math::cdf(boost::math::complement(law, std::abs(term.t)));
  const double reach = boost::math::quantile(law, (1 + kIntervalLevel) / 2) * term.standard_error;
  term.ci_lower = term.estimate - reach;
  term.ci_upper = term.estimate + reach;
  return term;
}

std::vector<std::string> Outcomes(const MleResult& result) {
  std::vector<std::string> outcomes;
  for (const Parameter& row : result.table.rows) {
    if (row.op == "~" && std::find(outcomes.begin(), outcomes.end(), row.lhs) == outcomes.end())
      outcomes.push_back(row.lhs);
  }
  return outcomes;
}

LeastSquares Regression(const MleResult& result, const std::string& outcome, size_t group,
                        size_t absorbed) {
  const std::vector<Parameter>& rows = result.table.rows;
  LeastSquares found;
  found.outcome = outcome;
  found.group = group;
  found.n = result.group_n[group];
  std::vector<size_t> slopes, intercepts;
  double variance = kNaN, unexplained = kNaN;
  for (size_t i = 0; i < rows.size(); ++i) {
    if (rows[i].group != static_cast<int>(group) + 1 || rows[i].lhs != outcome) continue;
    if (rows[i].op == "~") slopes.push_back(i);
    if (rows[i].op == "~1") intercepts.push_back(i);
    if (rows[i].op != "~~" || rows[i].rhs != outcome) continue;
    variance = result.fit.estimates[i].estimate;
    unexplained = result.fit.estimates[i].std_all;
  }
  const auto k = static_cast<double>(slopes.size());
  found.df = found.n - k - static_cast<double>(std::max<size_t>(absorbed, 1));
  if (found.df < 1) return found;
  const double scale = std::sqrt(found.n / found.df);
  for (const std::vector<size_t>* part : {&intercepts, &slopes}) {
    for (size_t row : *part) found.terms.push_back(TermOf(result, row, scale, found.df));
  }
  found.sigma = std::sqrt(variance) * scale;
  found.r2 = 1 - unexplained;
  found.adjusted_r2 = 1 - unexplained * (found.df + k) / found.df;
  found.f = found.r2 / k / (unexplained / found.df);
  found.f_df = k;
  found.f_p_value = UpperTailF(found.f, k, found.df);
  return found;
}

}  // namespace

void AddLeastSquares(const MleOptions& options, MleResult& result) {
  if (!IsLeastSquares(options, result)) return;
  std::vector<LeastSquares> regressions;
  for (size_t group = 0; group < result.group_n.size(); ++group) {
    for (const std::string& outcome : Outcomes(result)) {
      regressions.push_back(Regression(result, outcome, group, options.absorbed_intercepts));
      if (regressions.back().terms.empty()) return;
    }
  }
  result.least_squares = std::move(regressions);
  std::erase(result.notes, kNormalityNotChecked);
  result.notes.emplace_back(kResidualsNotChecked);
}

}  // namespace partita::methods::mle
