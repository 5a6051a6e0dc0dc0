#include "stats/blr/summary.h"

#include <fmt/format.h>

#include <cmath>

#include "base/text_table.h"
#include "privacy/rounded_text.h"

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

std::string SummaryText(const RegressionSummary& summary) {
  TextTable table;
  const double tail = 50 * (1 - summary.level);
  table.header = {"Coefficients",
                  "Mean",
                  "SD",
                  fmt::format("{:.3g}%", tail),
                  fmt::format("{:.3g}%", 100 - tail),
                  "P(>0)"};
  table.right = {1, 2, 3, 4, 5};
  for (const CoefficientRow& row : summary.coefficients) {
    table.rows.push_back(
        {row.name, fmt::format("{:.4g}", row.mean), fmt::format("{:.4g}", row.stddev),
         fmt::format("{:.4g}", row.interval.lower), fmt::format("{:.4g}", row.interval.upper),
         fmt::format("{:.3f}", row.positive)});
  }
  std::string text = RenderTable(table, 0) + "\n";
  text += WrapText(
      fmt::format("Residual standard deviation {:.4g}; {} rows. Released with epsilon {}, "
                  "delta {} (one row replaced); noise of standard deviation {} in every "
                  "scaled sum.",
                  summary.residual_stddev, FormatCount(static_cast<uint64_t>(summary.num_rows)),
                  privacy::RoundedText(summary.epsilon, 4, true), privacy::DeltaText(summary.delta),
                  privacy::RoundedText(summary.noise_stddev, 4, false)),
      0);
  text += WrapText(
      summary.noise_in_intervals
          ? "The intervals contain the privacy noise. They do not repair what clipping to the "
            "bounds does to the estimates."
          : "The intervals leave the privacy noise out and are too short where it matters.",
      0);
  return text;
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
