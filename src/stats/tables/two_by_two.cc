#include "stats/tables/two_by_two.h"

#include <algorithm>
#include <boost/math/distributions/normal.hpp>
#include <cmath>

namespace partita::stats::tables {
namespace {

// Of an interval at 0.95.
double Z() { return boost::math::quantile(boost::math::normal(), 0.975); }

// squared_error: of its logarithm; not finite: no interval.
Ratio OnLogScale(double above, double below, double squared_error) {
  Ratio ratio;
  if (below <= 0) return ratio;
  ratio.estimate = above / below;
  if (above <= 0 || !std::isfinite(squared_error)) return ratio;
  const double factor = std::exp(Z() * std::sqrt(squared_error));
  ratio.lower = *ratio.estimate / factor;
  ratio.upper = *ratio.estimate * factor;
  return ratio;
}

// a, b: with and without the event in the group; c, d: in the reference.
struct Cells {
  double a, b, c, d;
  double n() const { return a + b + c + d; }
};

Cells CellsOf(const TwoByTwo& table) {
  const auto count = [](uint64_t value) { return static_cast<double>(value); };
  return {count(table.events), count(table.rows - table.events), count(table.reference_events),
          count(table.reference - table.reference_events)};
}

}  // namespace

Ratios RatiosOf(const TwoByTwo& table) {
  const auto [a, b, c, d] = CellsOf(table);
  const double rows = a + b, reference = c + d;
  Ratios ratios;
  if (rows == 0 || reference == 0) return ratios;
  ratios.odds_ratio = OnLogScale(a * d, b * c, 1 / a + 1 / b + 1 / c + 1 / d);
  ratios.risk_ratio = OnLogScale(a / rows, c / reference, 1 / a - 1 / rows + 1 / c - 1 / reference);
  const double p = a / rows, q = c / reference;
  const double half = Z() * std::sqrt(p * (1 - p) / rows + q * (1 - q) / reference);
  ratios.risk_difference = {p - q, std::max(p - q - half, -1.0), std::min(p - q + half, 1.0)};
  return ratios;
}

Ratio FromLogarithm(double logarithm, double standard_error) {
  return OnLogScale(std::exp(logarithm), 1, standard_error * standard_error);
}

StratumTerms TermsOf(const TwoByTwo& stratum) {
  const Cells cells = CellsOf(stratum);
  const auto [a, b, c, d] = cells;
  const double n = cells.n();
  StratumTerms terms;
  if (n < 2) return terms;
  const double p = (a + d) / n, q = (b + c) / n;
  terms.r = a * d / n;
  terms.s = b * c / n;
  terms.pr = p * terms.r;
  terms.mixed = p * terms.s + q * terms.r;
  terms.qs = q * terms.s;
  terms.excess = a - (a + b) * (a + c) / n;
  terms.variance = (a + b) * (c + d) * (a + c) * (b + d) / (n * n * (n - 1));
  return terms;
}

MantelHaenszel MantelHaenszelOf(const std::vector<TwoByTwo>& strata) {
  StratumTerms all;
  for (const TwoByTwo& stratum : strata) {
    const StratumTerms own = TermsOf(stratum);
    all.r += own.r;
    all.s += own.s;
    all.pr += own.pr;
    all.mixed += own.mixed;
    all.qs += own.qs;
    all.excess += own.excess;
    all.variance += own.variance;
  }
  MantelHaenszel result;
  result.odds_ratio = OnLogScale(all.r, all.s,
                                 all.pr / (2 * all.r * all.r) + all.mixed / (2 * all.r * all.s) +
                                     all.qs / (2 * all.s * all.s));
  if (all.variance > 0) {
    Test test;
    const double away = std::fabs(all.excess);
    test.statistic = std::pow(away - std::min(0.5, away), 2) / all.variance;
    test.df = 1;
    test.p_value = ChiSquareTail(test.statistic, 1);
    result.test = test;
  }
  return result;
}

}  // namespace partita::stats::tables
