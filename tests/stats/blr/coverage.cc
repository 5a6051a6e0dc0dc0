#include "tests/stats/blr/coverage.h"

#include <Eigen/Cholesky>
#include <algorithm>
#include <boost/math/distributions/binomial.hpp>
#include <cmath>
#include <ctime>

#include "tests/stats/blr/random.h"

namespace partita::stats::blr {
namespace {

using Eigen::MatrixXd;
using Eigen::VectorXd;

double LogUniform(const Range& range, Variates& variates) {
  return range.low * std::exp(std::log(range.high / range.low) * variates.Uniform());
}

// Inverse Wishart(degrees, scale I), by Bartlett's decomposition of its inverse.
MatrixXd InverseWishart(size_t size, double degrees, double scale, Variates& variates) {
  const auto p = static_cast<Eigen::Index>(size);
  MatrixXd lower = MatrixXd::Zero(p, p);
  for (Eigen::Index i = 0; i < p; ++i) {
    lower(i, i) = std::sqrt(2 * variates.Gamma((degrees - static_cast<double>(i)) / 2));
    for (Eigen::Index j = 0; j < i; ++j) lower(i, j) = variates.Normal();
  }
  const MatrixXd root = lower.triangularView<Eigen::Lower>().solve(MatrixXd::Identity(p, p));
  return scale * root.transpose() * root;
}

VectorXd NormalVector(Eigen::Index size, Variates& variates) {
  VectorXd out(size);
  for (double& value : out) value = variates.Normal();
  return out;
}

// X'X, X'y and y'y of n rows with the given X'X, as drawn from the regression.
Statistics DrawStatistics(const MatrixXd& gram, const VectorXd& beta, double noise_variance,
                          size_t num_rows, Variates& variates) {
  const Eigen::LLT<MatrixXd> llt(gram);
  const VectorXd error = llt.matrixL() * NormalVector(beta.size(), variates);
  Statistics statistics;
  statistics.gram = gram;
  statistics.num_rows = static_cast<double>(num_rows);
  statistics.cross = gram * beta + std::sqrt(noise_variance) * error;
  const double residual =
      noise_variance * 2 *
      variates.Gamma((statistics.num_rows - static_cast<double>(beta.size())) / 2);
  statistics.target_square = statistics.cross.dot(llt.solve(statistics.cross)) + residual;
  return statistics;
}

Design UnitDesign(size_t features) {
  Design design;
  for (size_t j = 0; j < features; ++j) design.features.push_back({"x", 1, 0});
  design.target = {"y", 1, 0};
  return design;
}

// The noise of the release itself, at the level of the doubles that the estimators take.
Statistics WithNoise(const Statistics& exact, const Design& design, const NoiseSampler& sampler,
                     crypto::RandomSource& source) {
  std::vector<Int128> noise(NumEntries(design));
  sampler.AddTo(noise, source);
  const Statistics added = FromEntries(design, noise, static_cast<size_t>(exact.num_rows));
  return {exact.gram + added.gram, exact.cross + added.cross,
          exact.target_square + added.target_square, exact.num_rows};
}

PlainPrior FixedPrior(Eigen::Index p, double slope_variance) {
  return {VectorXd::Zero(p), VectorXd::Constant(p, slope_variance), {}};
}

class Tally {
 public:
  void Add(const NoiseAwarePosterior& posterior, const Statistics& exact,
           const Statistics& released, const VectorXd& beta, double slope_variance,
           Eigen::Index j) {
    ++coverage_.intervals;
    const Interval aware = MixtureInterval(posterior, VectorXd::Unit(beta.size(), j), kLevel);
    coverage_.covered += aware.lower <= beta(j) && beta(j) <= aware.upper;
    const PlainPrior prior = FixedPrior(beta.size(), slope_variance);
    const Interval without = IntervalOf(FitPlain(exact, prior, Repair::kNone), j);
    const Interval plain = IntervalOf(FitPlain(released, prior, Repair::kAbsolute), j);
    coverage_.plain_covered += plain.lower <= beta(j) && beta(j) <= plain.upper;
    aware_width_ += aware.upper - aware.lower;
    exact_width_ += without.upper - without.lower;
  }

  Coverage Result(double seconds) {
    coverage_.width_ratio = aware_width_ / exact_width_;
    coverage_.seconds_per_posterior = seconds / static_cast<double>(coverage_.intervals);
    return coverage_;
  }

 private:
  static Interval IntervalOf(const PlainPosterior& posterior, Eigen::Index j) {
    return NormalInterval(posterior.mean(j), std::sqrt(posterior.covariance(j, j)), kLevel);
  }

  Coverage coverage_;
  double aware_width_ = 0, exact_width_ = 0;
};

// Processor time of this thread: what a posterior costs on a busy machine, too.
double Seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

}  // namespace

Coverage CoverageOfPrior(const CoverageCell& cell, const NoiseAwarePrior& prior, size_t data_sets,
                         const NoiseAwareOptions& options, const Estimator& fit, uint64_t seed) {
  TestRandom source(seed);
  Variates variates(source);
  const Design design = UnitDesign(cell.features);
  const NoiseDesign noise =
      DesignStatisticsNoise(design, {NoiseKind::kGaussian, cell.epsilon, kCoverageDelta, {1, 0}});
  const NoiseSampler sampler(noise);
  const auto p = static_cast<Eigen::Index>(cell.features);
  const auto n = static_cast<double>(cell.num_rows);
  const double degrees = static_cast<double>(cell.features) + prior.extra_degrees;
  Tally tally;
  double seconds = 0;
  for (size_t k = 0; k < data_sets; ++k) {
    MatrixXd gram;
    do {
      const double psi = n * LogUniform(prior.gram_scale, variates);
      gram = InverseWishart(cell.features, degrees, psi, variates);
    } while (gram.diagonal().maxCoeff() > n * prior.max_mean_square);
    const double lambda = LogUniform(prior.slope_variance, variates);
    const double noise_variance = LogUniform(prior.noise_variance, variates);
    const VectorXd beta = std::sqrt(lambda) * NormalVector(p, variates);
    const Statistics exact = DrawStatistics(gram, beta, noise_variance, cell.num_rows, variates);
    const Statistics released = WithNoise(exact, design, sampler, source);
    const double start = Seconds();
    const NoiseAwarePosterior posterior = fit(released, noise.variance, prior, options, source);
    seconds += Seconds() - start;
    tally.Add(posterior, exact, released, beta, lambda, static_cast<Eigen::Index>(k) % p);
  }
  return tally.Result(seconds);
}

Coverage CoverageOfTruth(const CoverageCell& cell, const FixedTruth& truth,
                         const NoiseAwarePrior& prior, size_t data_sets,
                         const NoiseAwareOptions& options, uint64_t seed,
                         double* clipped_fraction) {
  TestRandom source(seed);
  Variates variates(source);
  const Design design = UnitDesign(cell.features);
  const NoiseDesign noise =
      DesignStatisticsNoise(design, {NoiseKind::kGaussian, cell.epsilon, kCoverageDelta, {1, 0}});
  const NoiseSampler sampler(noise);
  const auto p = static_cast<Eigen::Index>(cell.features);
  const VectorXd beta = Eigen::Map<const VectorXd>(truth.coefficients.data(), p);
  Tally tally;
  double seconds = 0;
  size_t clipped = 0;
  std::vector<double> rows(cell.num_rows * (cell.features + 1));
  for (size_t k = 0; k < data_sets; ++k) {
    for (size_t r = 0; r < cell.num_rows; ++r) {
      double* row = rows.data() + r * (cell.features + 1);
      const double common = std::sqrt(0.3) * variates.Normal();
      double target = truth.noise_stddev * variates.Normal();
      bool outside = false;
      for (Eigen::Index j = 0; j < p; ++j) {
        row[j] = truth.feature_stddev * (common + std::sqrt(0.7) * variates.Normal());
        target += row[j] * beta(j);
        outside |= std::abs(row[j]) > 1;
      }
      row[p] = target;
      clipped += outside || std::abs(target) > 1;
    }
    std::vector<Int128> sums = SumEntries(design, rows);
    const Statistics exact = FromEntries(design, sums, cell.num_rows);
    sampler.AddTo(sums, source);
    const Statistics released = FromEntries(design, sums, cell.num_rows);
    const double start = Seconds();
    const NoiseAwarePosterior posterior =
        FitNoiseAware(released, noise.variance, false, prior, options, source);
    seconds += Seconds() - start;
    tally.Add(posterior, exact, released, beta, prior.slope_variance.high,
              static_cast<Eigen::Index>(k) % p);
  }
  if (clipped_fraction)
    *clipped_fraction =
        static_cast<double>(clipped) / static_cast<double>(cell.num_rows * data_sets);
  return tally.Result(seconds);
}

CountRange BinomialRange(size_t trials, double probability, double alarm) {
  const boost::math::binomial law(static_cast<double>(trials), probability);
  CountRange range{0, trials};
  // cdf(lower - 1) <= alarm / 2 and P(count > upper) <= alarm / 2.
  size_t lower = 0;
  while (lower < trials && cdf(law, static_cast<double>(lower)) <= alarm / 2) ++lower;
  range.lower = lower;
  size_t upper = trials;
  while (upper > 0 && cdf(complement(law, static_cast<double>(upper) - 1)) <= alarm / 2) --upper;
  range.upper = upper;
  return range;
}

}  // namespace partita::stats::blr
