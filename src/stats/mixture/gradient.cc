#include "stats/mixture/gradient.h"

#include <fmt/format.h>

#include <cmath>

#include "base/error.h"

namespace partita::stats::mixture {
namespace {

using Eigen::ArrayXd;
using Eigen::ArrayXXd;
using Eigen::Index;

void RequireFinite(const ArrayXXd& values, std::span<const uint32_t> selected, const char* what) {
  if (values.allFinite()) return;
  for (Index n = 0; n < values.cols(); ++n) {
    if (values.col(n).allFinite()) continue;
    throw Error(ErrorCode::kBadData,
                fmt::format("the {} of row {} is not a number under the current parameters", what,
                            selected[static_cast<size_t>(n)] + 1),
                "check the row and the bounds of its columns");
  }
}

}  // namespace

ArrayXXd LogDensities(const Layout& layout, const Components& components, const Rows& rows,
                      std::span<const uint32_t> selected, NotANumber otherwise) {
  const auto count = static_cast<Index>(selected.size());
  ArrayXXd out(components.natural.rows(), count);
  out.colwise() = -components.log_normaliser;
  for (size_t f = 0; f < layout.features.size(); ++f) {
    const FeatureRows& feature = rows.features[f];
    const auto first = static_cast<Index>(layout.first[f]);
    for (Index n = 0; n < count; ++n) {
      const uint32_t row = selected[static_cast<size_t>(n)];
      if (!feature.codes.empty()) {
        out.col(n) += components.natural.col(first + feature.codes[row]);
        continue;
      }
      out.col(n) += components.natural.col(first) * feature.first[row];
      if (!feature.second.empty())
        out.col(n) += components.natural.col(first + 1) * feature.second[row];
      if (!feature.log_base.empty()) out.col(n) += feature.log_base[row];
    }
  }
  if (otherwise == NotANumber::kRefuse) RequireFinite(out, selected, "density");
  return out;
}

ArrayXXd SquaredScores(const Layout& layout, const Components& components, const Rows& rows,
                       std::span<const uint32_t> selected, NotANumber otherwise) {
  const auto count = static_cast<Index>(selected.size());
  ArrayXXd out = ArrayXXd::Zero(components.natural.rows(), count);
  const auto slope = [&](Index j) { return components.slope.col(j); };
  const auto offset = [&](Index j) { return components.offset.col(j); };
  for (size_t f = 0; f < layout.features.size(); ++f) {
    const FeatureRows& feature = rows.features[f];
    const auto j = static_cast<Index>(layout.first[f]);
    for (Index n = 0; n < count; ++n) {
      const uint32_t row = selected[static_cast<size_t>(n)];
      if (!feature.codes.empty()) {
        out.col(n) += components.level_square.col(j + feature.codes[row]);
        continue;
      }
      const double t1 = feature.first[row];
      out.col(n) += (slope(j) * t1 + offset(j)).square();
      if (feature.second.empty()) continue;
      const double t2 = feature.second[row];
      out.col(n) += (slope(j + 1) * t2 + components.below.col(j + 1) * t1 + offset(j + 1)).square();
    }
  }
  if (otherwise == NotANumber::kRefuse) RequireFinite(out, selected, "gradient");
  return out;
}

ArrayXXd WeightedStatistics(const Layout& layout, const Rows& rows,
                            std::span<const uint32_t> selected, const ArrayXXd& weights) {
  const auto count = static_cast<Index>(selected.size());
  ArrayXXd sums = ArrayXXd::Zero(weights.rows(), static_cast<Index>(layout.num_columns));
  for (size_t f = 0; f < layout.features.size(); ++f) {
    const FeatureRows& feature = rows.features[f];
    const auto j = static_cast<Index>(layout.first[f]);
    for (Index n = 0; n < count; ++n) {
      const uint32_t row = selected[static_cast<size_t>(n)];
      if (!feature.codes.empty()) {
        sums.col(j + feature.codes[row]) += weights.col(n);
        continue;
      }
      sums.col(j) += weights.col(n) * feature.first[row];
      if (!feature.second.empty()) sums.col(j + 1) += weights.col(n) * feature.second[row];
    }
  }
  return sums;
}

ArrayXXd ScoreSums(const Components& components, const ArrayXXd& weighted,
                   const ArrayXd& weight_sums) {
  ArrayXXd sums = components.slope * weighted + components.offset.colwise() * weight_sums;
  if (components.has_below) {
    const Index rest = weighted.cols() - 1;
    sums.rightCols(rest) += components.below.rightCols(rest) * weighted.leftCols(rest);
  }
  return sums;
}

ClippedRows ClipRows(const ArrayXd& log_pi, const ArrayXXd& log_densities,
                     const ArrayXXd& squared_scores, double clip) {
  const Index count = log_densities.cols();
  const ArrayXd pi = log_pi.exp();
  ClippedRows out{ArrayXd(count), ArrayXd(count), ArrayXd(count),
                  ArrayXXd(log_densities.rows(), count)};
  for (Index n = 0; n < count; ++n) {
    auto r = out.weights.col(n);
    r = log_pi + log_densities.col(n);
    const double top = r.maxCoeff();
    r = (r - top).exp();
    const double den = r.sum();
    r /= den;
    out.log_density(n) = top + std::log(den);
    out.norm(n) = std::sqrt((r - pi).square().sum() + (r.square() * squared_scores.col(n)).sum());
    out.scale(n) = out.norm(n) > clip ? clip / out.norm(n) : 1;
    r *= out.scale(n);
  }
  return out;
}

ArrayXXd ClippedGradientSum(const Layout& layout, const Rows& rows,
                            std::span<const uint32_t> selected, const ArrayXXd& theta, double clip,
                            ClippedRows* clipped) {
  const Components components =
      MakeComponents(layout, theta.rightCols(static_cast<Index>(layout.num_columns)));
  const ArrayXd log_pi = LogSoftmax(theta.col(0));
  const ArrayXXd densities = LogDensities(layout, components, rows, selected);
  ClippedRows parts =
      ClipRows(log_pi, densities, SquaredScores(layout, components, rows, selected), clip);
  const ArrayXd weight_sums = parts.weights.rowwise().sum();
  ArrayXXd sum(theta.rows(), theta.cols());
  sum.col(0) = weight_sums - log_pi.exp() * parts.scale.sum();
  sum.rightCols(theta.cols() - 1) =
      ScoreSums(components, WeightedStatistics(layout, rows, selected, parts.weights), weight_sums);
  if (clipped != nullptr) *clipped = std::move(parts);
  return sum;
}

}  // namespace partita::stats::mixture
