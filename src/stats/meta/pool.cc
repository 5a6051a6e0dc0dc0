#include "stats/meta/pool.h"

#include <algorithm>
#include <boost/math/distributions/chi_squared.hpp>
#include <boost/math/distributions/normal.hpp>
#include <boost/math/distributions/students_t.hpp>
#include <cmath>

#include "stats/glm/inference.h"

namespace partita::stats::meta {
namespace {

// Candidates of a first pass, each so much larger than the one before, down from the squared range.
constexpr double kRatio = 1.2;
constexpr int kCandidates = 400, kHalvings = 60;

// Up to which tau^2 the score is still positive, from the smallest candidate on.
double RemlTauSquared(const Sites& sites) {
  const auto positive = [&](double tau_squared) {
    return RemlScore(SumsAt(sites, tau_squared)) > 0;
  };
  if (!positive(0)) return 0;
  const auto [least, most] = std::minmax_element(sites.estimates.begin(), sites.estimates.end());
  double below = 0, above = std::pow(*most - *least, 2) * std::pow(kRatio, -kCandidates);
  for (int c = 0; c < kCandidates && positive(above); ++c) {
    below = above;
    above *= kRatio;
  }
  for (int h = 0; h < kHalvings; ++h) {
    const double middle = (below + above) / 2;
    (positive(middle) ? below : above) = middle;
  }
  return (below + above) / 2;
}

// Of the interval's half-width in standard errors.
double CriticalValue(std::optional<double> df, double confidence) {
  const double tail = 1 - (1 - confidence) / 2;
  if (!df) return quantile(boost::math::normal(), tail);
  return quantile(boost::math::students_t(*df), tail);
}

}  // namespace

WeightSums SumsAt(const Sites& sites, double tau_squared) {
  WeightSums sums;
  for (size_t k = 0; k < sites.estimates.size(); ++k) {
    const double b = sites.estimates[k], s = sites.standard_errors[k];
    const double w = 1 / (s * s + tau_squared);
    sums.w += w;
    sums.wb += w * b;
    sums.wbb += w * b * b;
    sums.ww += w * w;
    sums.wwb += w * w * b;
    sums.wwbb += w * w * b * b;
  }
  return sums;
}

double RemlScore(const WeightSums& sums) {
  const double pooled = PooledEstimate(sums);
  return sums.wwbb - 2 * pooled * sums.wwb + pooled * pooled * sums.ww - sums.w + sums.ww / sums.w;
}

double DerSimonianLairdScore(const WeightSums& at_zero, double freedom, double tau_squared) {
  return CochranQ(at_zero) - freedom - tau_squared * (at_zero.w - at_zero.ww / at_zero.w);
}

double TauSquared(const Sites& sites, Estimator estimator) {
  switch (estimator) {
    case Estimator::kFixed:
      return 0;
    case Estimator::kReml:
      return RemlTauSquared(sites);
    case Estimator::kDerSimonianLaird:
      break;
  }
  const WeightSums sums = SumsAt(sites, 0);
  const double excess = CochranQ(sums) - sites.freedom();
  return std::max(0.0, excess / (sums.w - sums.ww / sums.w));
}

double CochranQ(const WeightSums& at_zero) {
  return std::max(0.0, at_zero.wbb - at_zero.wb * at_zero.wb / at_zero.w);
}

double ISquared(double q, double freedom) { return q > freedom ? (q - freedom) / q : 0; }

double PooledEstimate(const WeightSums& sums) { return sums.wb / sums.w; }

double PooledError(const WeightSums& sums, double freedom, bool hartung_knapp) {
  if (!hartung_knapp) return std::sqrt(1 / sums.w);
  return std::sqrt(CochranQ(sums) / (freedom * sums.w));
}

Summary Summarise(const Pooled& pooled, bool hartung_knapp, double confidence) {
  Summary summary;
  const double freedom = pooled.sites - 1;
  if (hartung_knapp) summary.df = freedom;
  const glm::Inference inference =
      glm::Infer(pooled.estimate, pooled.standard_error, summary.df, confidence);
  summary.statistic = inference.statistic;
  summary.p_value = inference.p_value;
  summary.lower = inference.lower;
  summary.upper = inference.upper;
  summary.q_df = freedom;
  summary.q_p_value = cdf(complement(boost::math::chi_squared(freedom), std::max(0.0, pooled.q)));
  summary.i_squared = ISquared(pooled.q, freedom);
  const double spread =
      std::sqrt(pooled.standard_error * pooled.standard_error + pooled.tau_squared);
  const double half = CriticalValue(summary.df, confidence) * spread;
  summary.new_lower = pooled.estimate - half;
  summary.new_upper = pooled.estimate + half;
  return summary;
}

Pooled Pool(const Sites& sites, Estimator estimator, bool hartung_knapp) {
  Pooled pooled;
  pooled.sites = static_cast<double>(sites.estimates.size());
  pooled.tau_squared = TauSquared(sites, estimator);
  const WeightSums sums = SumsAt(sites, pooled.tau_squared);
  pooled.estimate = PooledEstimate(sums);
  pooled.standard_error = PooledError(sums, sites.freedom(), hartung_knapp);
  pooled.q = CochranQ(SumsAt(sites, 0));
  return pooled;
}

}  // namespace partita::stats::meta
