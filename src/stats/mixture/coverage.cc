#include "stats/mixture/coverage.h"

#include <algorithm>
#include <boost/math/distributions/students_t.hpp>
#include <cmath>
#include <vector>

#include "base/error.h"
#include "stats/mixture/combine.h"
#include "stats/mixture/predictive.h"

namespace partita::stats::mixture {
namespace {

constexpr double kBound = 4;  // of x and y, in the units of the regression

struct SlopeFit {
  double slope = 0, variance = 0;
};

// Ordinary least squares of y on x with an intercept.
SlopeFit Regress(const std::vector<double>& x, const std::vector<double>& y) {
  const auto n = static_cast<double>(x.size());
  double mean_x = 0, mean_y = 0, sxx = 0, sxy = 0, syy = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    mean_x += x[i] / n;
    mean_y += y[i] / n;
  }
  for (size_t i = 0; i < x.size(); ++i) {
    sxx += (x[i] - mean_x) * (x[i] - mean_x);
    sxy += (x[i] - mean_x) * (y[i] - mean_y);
    syy += (y[i] - mean_y) * (y[i] - mean_y);
  }
  const double slope = sxy / sxx;
  return {slope, std::max(0.0, syy - slope * sxy) / (n - 2) / sxx};
}

void Count(double truth, double estimate, double lower, double upper, double replicates,
           IntervalCoverage& coverage) {
  if (lower <= truth && truth <= upper) coverage.share += 1 / replicates;
  coverage.mean_width += (upper - lower) / replicates;
  coverage.mean_estimate += estimate / replicates;
}

std::vector<std::vector<double>> DrawReal(const CoverageOptions& options, blr::Variates& variates) {
  std::vector<std::vector<double>> values(2);
  const double residual = std::sqrt(1 - options.slope * options.slope);
  for (uint32_t n = 0; n < options.rows; ++n) {
    const double x = variates.Normal();
    const double y = options.slope * x + residual * variates.Normal();
    values[0].push_back(std::clamp(x / kBound, -1.0, 1.0));
    values[1].push_back(std::clamp(y / kBound, -1.0, 1.0));
  }
  return values;
}

void Require(const CoverageOptions& options) {
  if (options.replicates == 0 || options.rows < 10 || options.sets < 2 ||
      !(std::abs(options.slope) < 1)) {
    throw Error(ErrorCode::kBadInput,
                "the simulation needs a replicate, ten rows, two data sets and a slope within "
                "(-1, 1)");
  }
}

}  // namespace

Coverage SimulateCoverage(const CoverageOptions& options, crypto::RandomSource& source,
                          Progress& progress) {
  Require(options);
  const Layout layout =
      MakeLayout({{"x", Family::kGaussian, 0, 1, 0}, {"y", Family::kGaussian, 0, 1, 1}});
  blr::Variates variates(source);
  const auto replicates = static_cast<double>(options.replicates);
  const double quantile = boost::math::quantile(boost::math::complement(
      boost::math::students_t(options.rows - 2.0), (1 - options.level) / 2));
  const auto count = [&](const SlopeFit& fit, IntervalCoverage& coverage) {
    const double half = quantile * std::sqrt(fit.variance);
    Count(options.slope, fit.slope, fit.slope - half, fit.slope + half, replicates, coverage);
  };
  VariationalOptions variational;
  variational.steps = options.steps;
  variational.learning_rate = options.learning_rate;
  Coverage coverage;
  for (size_t r = 0; r < options.replicates; ++r) {
    progress.Step(r, options.replicates);
    progress.CheckCancelled();
    const auto values = DrawReal(options, variates);
    count(Regress(values[0], values[1]), coverage.real);
    const Rows rows = MakeRows(layout, values);
    Batches batches(BatchMode::kPoisson, options.rows, std::min(options.batch_size, options.rows),
                    0, source);
    VariationalState state = StartState(layout, options.components, variational, variates);
    RunDpvi(layout, variational, options.rows,
            PlainGradientSum(layout, rows, options.noise, source), batches, variates, {}, state);
    std::vector<double> slopes, variances;
    for (size_t set = 0; set < options.sets; ++set) {
      const auto drawn = DrawRows(layout, DrawTheta(state, variates), options.rows, variates);
      const SlopeFit fit = Regress(drawn[0], drawn[1]);
      if (set == 0) count(fit, coverage.single);
      slopes.push_back(fit.slope);
      variances.push_back(fit.variance);
    }
    const CombinedEstimate combined = CombineSynthetic(slopes, variances, options.level);
    Count(options.slope, combined.estimate, combined.lower, combined.upper, replicates,
          coverage.combined);
    coverage.adjusted += combined.adjusted ? 1 : 0;
  }
  return coverage;
}

}  // namespace partita::stats::mixture
