#include "stats/blr/summary.h"

#include <cmath>

namespace partita::stats::blr {
namespace {

using Eigen::Index;
using Eigen::VectorXd;

RegressionSummary Frame(const Design& design, const NoiseDesign& noise, double num_rows,
                        double noise_variance, double level) {
  RegressionSummary summary;
  if (design.intercept) summary.coefficients.push_back({"(Intercept)", 0, 0, {}, 0});
  for (const Column& column : design.features)
    summary.coefficients.push_back({column.name, 0, 0, {}, 0});
  summary.level = level;
  summary.residual_stddev = std::sqrt(noise_variance) * design.target.bound;
  summary.num_rows = num_rows;
  summary.epsilon = noise.request.epsilon;
  summary.delta = noise.request.kind == NoiseKind::kLaplace ? 0 : noise.request.delta;
  summary.noise_stddev = std::sqrt(noise.variance);
  return summary;
}

double PositivePart(double mean, double stddev) {
  return 0.5 * std::erfc(-mean / (stddev * std::sqrt(2.0)));
}

Interval Shifted(const Interval& interval, double shift) {
  return {interval.lower + shift, interval.upper + shift};
}

Prediction InTargetUnits(const Design& design, double mean, const Interval& interval) {
  const double bound = design.target.bound, centre = design.target.centre;
  return {centre + bound * mean,
          {centre + bound * interval.lower, centre + bound * interval.upper}};
}

}  // namespace

RegressionSummary Summarise(const Design& design, const NoiseDesign& noise, double num_rows,
                            const NoiseAwarePosterior& posterior, double level) {
  RegressionSummary summary = Frame(design, noise, num_rows, posterior.noise_variance, level);
  const CoefficientMap map = ToRawUnits(design);
  for (size_t k = 0; k < summary.coefficients.size(); ++k) {
    const auto j = static_cast<Index>(k);
    const VectorXd direction = map.linear.row(j).transpose();
    CoefficientRow& row = summary.coefficients[k];
    row.mean = direction.dot(posterior.mean) + map.shift(j);
    row.stddev = std::sqrt(direction.dot(posterior.covariance * direction));
    row.interval = Shifted(MixtureInterval(posterior, direction, level), map.shift(j));
    row.positive = 1 - MixtureDistribution(posterior, direction, -map.shift(j));
  }
  return summary;
}

RegressionSummary Summarise(const Design& design, const NoiseDesign& noise, double num_rows,
                            const PlainPosterior& posterior, double level) {
  RegressionSummary summary = Frame(design, noise, num_rows, posterior.noise_variance, level);
  summary.noise_in_intervals = false;
  const CoefficientMap map = ToRawUnits(design);
  for (size_t k = 0; k < summary.coefficients.size(); ++k) {
    const auto j = static_cast<Index>(k);
    const VectorXd direction = map.linear.row(j).transpose();
    CoefficientRow& row = summary.coefficients[k];
    row.mean = direction.dot(posterior.mean) + map.shift(j);
    row.stddev = std::sqrt(direction.dot(posterior.covariance * direction));
    row.interval = NormalInterval(row.mean, row.stddev, level);
    row.positive = PositivePart(row.mean, row.stddev);
  }
  return summary;
}

Prediction Predict(const Design& design, const NoiseAwarePosterior& posterior,
                   std::span<const double> features, double level) {
  const VectorXd x = ScaledFeatures(design, features);
  return InTargetUnits(design, x.dot(posterior.mean), PredictiveInterval(posterior, x, level));
}

Prediction Predict(const Design& design, const PlainPosterior& posterior,
                   std::span<const double> features, double level) {
  const VectorXd x = ScaledFeatures(design, features);
  const double mean = x.dot(posterior.mean);
  const double stddev = std::sqrt(x.dot(posterior.covariance * x) + posterior.noise_variance);
  return InTargetUnits(design, mean, NormalInterval(mean, stddev, level));
}

}  // namespace partita::stats::blr
