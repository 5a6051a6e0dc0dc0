#include "stats/erm/score_counts.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "base/error.h"

namespace partita::stats::erm {
namespace {

constexpr double kVisibleCount = 4;  // noise standard deviations

double Sum(const std::vector<double>& counts, size_t from, size_t to) {
  return std::accumulate(counts.begin() + static_cast<std::ptrdiff_t>(from),
                         counts.begin() + static_cast<std::ptrdiff_t>(to), 0.0);
}

// hits / (hits + misses), where each is a sum of so many noisy counts.
Estimate Share(double hits, double misses, double hit_counts, double miss_counts, double noise) {
  const double rows = hits + misses;
  const double share = hits / rows;
  const double inside = std::clamp(share, 0.0, 1.0);
  const double by_noise = noise * noise *
                          ((1 - share) * (1 - share) * hit_counts + share * share * miss_counts) /
                          (rows * rows);
  return {inside, std::sqrt(inside * (1 - inside) / rows + by_noise)};
}

// Rows with a negative label below bin b, plus half of those in it.
std::vector<double> Below(const std::vector<double>& counts) {
  std::vector<double> below;
  double sum = 0;
  for (const double count : counts) {
    below.push_back(sum + count / 2);
    sum += count;
  }
  return below;
}

// The area, its noise by its gradient, and its sampling error as DeLong et al. (1988) for ties.
Estimate Area(const ScoreCounts& counts, double positives, double negatives) {
  const std::vector<double> below = Below(counts.negative);
  const std::vector<double> under = Below(counts.positive);
  const size_t bins = below.size();
  double area = 0;
  for (size_t b = 0; b < bins; ++b) area += counts.positive[b] * below[b];
  area /= positives * negatives;
  double noise = 0, of_positive = 0, of_negative = 0;
  for (size_t b = 0; b < bins; ++b) {
    const double beaten = below[b] / negatives;       // by a positive row of this bin
    const double beating = 1 - under[b] / positives;  // positive rows above a negative one
    const double by_positive = (beaten - area) / positives;
    const double by_negative = (beating - area) / negatives;
    noise += by_positive * by_positive + by_negative * by_negative;
    of_positive += std::max(0.0, counts.positive[b]) * (beaten - area) * (beaten - area);
    of_negative += std::max(0.0, counts.negative[b]) * (beating - area) * (beating - area);
  }
  const double sampling =
      of_positive / (positives * positives) + of_negative / (negatives * negatives);
  return {std::clamp(area, 0.0, 1.0),
          std::sqrt(sampling + counts.noise_stddev * counts.noise_stddev * noise)};
}

std::vector<RocPoint> Roc(const ScoreCounts& counts, double positives, double negatives) {
  std::vector<RocPoint> curve = {{std::numeric_limits<double>::infinity(), 0, 0}};
  const size_t bins = counts.positive.size();
  double hits = 0, alarms = 0;
  for (size_t b = bins; b-- > 0;) {
    hits += counts.positive[b];
    alarms += counts.negative[b];
    const double probability = static_cast<double>(b) / static_cast<double>(bins);
    curve.push_back({std::log(probability / (1 - probability)),
                     std::clamp(alarms / negatives, 0.0, 1.0),
                     std::clamp(hits / positives, 0.0, 1.0)});
  }
  return curve;
}

}  // namespace

ScoreCounts CountScores(const Eigen::VectorXd& scores, const Eigen::VectorXd& labels, size_t bins) {
  if (bins == 0 || bins % 2 != 0) {
    throw Error(ErrorCode::kUsage, "the number of bins must be even and above 0");
  }
  ScoreCounts counts;
  counts.positive.assign(bins, 0);
  counts.negative.assign(bins, 0);
  for (Eigen::Index i = 0; i < scores.size(); ++i) {
    const double probability = 1 / (1 + std::exp(-scores(i)));
    const size_t bin =
        std::min(bins - 1, static_cast<size_t>(probability * static_cast<double>(bins)));
    (labels(i) > 0 ? counts.positive : counts.negative)[bin] += 1;
  }
  return counts;
}

std::optional<CountedEvaluation> EvaluateCounts(const ScoreCounts& counts) {
  const size_t bins = counts.positive.size();
  if (bins == 0 || bins % 2 != 0 || counts.negative.size() != bins) {
    throw Error(ErrorCode::kUsage, "counts of both labels need the same, even number of bins");
  }
  const size_t half = bins / 2;
  CountedEvaluation result;
  result.positives = Sum(counts.positive, 0, bins);
  result.negatives = Sum(counts.negative, 0, bins);
  const double hidden =
      std::max(1e-9, kVisibleCount * counts.noise_stddev * std::sqrt(static_cast<double>(bins)));
  if (std::min(result.positives, result.negatives) < hidden) return std::nullopt;

  Confusion& table = result.confusion;
  table.true_positive = Sum(counts.positive, half, bins);
  table.false_negative = Sum(counts.positive, 0, half);
  table.false_positive = Sum(counts.negative, half, bins);
  table.true_negative = Sum(counts.negative, 0, half);
  const auto part = static_cast<double>(half);
  const double noise = counts.noise_stddev;
  result.sensitivity = Share(table.true_positive, table.false_negative, part, part, noise);
  result.specificity = Share(table.true_negative, table.false_positive, part, part, noise);
  result.accuracy = Share(table.true_positive + table.true_negative,
                          table.false_positive + table.false_negative, 2 * part, 2 * part, noise);
  result.roc = Roc(counts, result.positives, result.negatives);
  result.area = Area(counts, result.positives, result.negatives);
  double tied = 0;
  for (size_t b = 0; b < bins; ++b) {
    tied += std::max(0.0, counts.positive[b]) * std::max(0.0, counts.negative[b]);
  }
  tied /= 2 * result.positives * result.negatives;
  result.area_lowest = std::max(0.0, result.area.value - tied);
  result.area_highest = std::min(1.0, result.area.value + tied);
  const double width = 1 / static_cast<double>(bins);
  for (size_t b = 0; b < bins; ++b) {
    const double rows = counts.positive[b] + counts.negative[b];
    if (rows < std::max(1.0, kVisibleCount * noise * std::sqrt(2.0))) continue;
    const double lower = static_cast<double>(b) * width;
    result.calibration.push_back(
        {lower, lower + width, rows, Share(counts.positive[b], counts.negative[b], 1, 1, noise)});
  }
  return result;
}

}  // namespace partita::stats::erm
