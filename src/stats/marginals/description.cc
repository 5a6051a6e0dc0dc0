#include "stats/marginals/description.h"

#include <algorithm>
#include <boost/math/distributions/normal.hpp>
#include <cmath>
#include <limits>
#include <vector>

#include "base/error.h"

namespace partita::stats::marginals {
namespace {

constexpr int kHalvings = 100;  // to the last digit of a double

struct Interval {
  double lower = 0, upper = 0;
};

double Total(const NoisyCounts& counts) {
  double total = 0;
  for (const double count : counts.counts) total += count;
  return total;
}

bool IsClear(const NoisyCounts& counts, double z) {
  return Total(counts) >
         z * counts.noise_stddev * std::sqrt(static_cast<double>(counts.counts.size()));
}

// D(c) plus sign * z of its standard deviations. Decreases in c where counts are clear.
double Distance(const NoisyCounts& counts, std::span<const double> weights, double c,
                double deviations) {
  double sum = 0, squares = 0;
  for (size_t l = 0; l < weights.size(); ++l) {
    sum += counts.counts[l] * (weights[l] - c);
    squares += (weights[l] - c) * (weights[l] - c);
  }
  return sum + deviations * counts.noise_stddev * std::sqrt(squares);
}

// Where it is 0, kept within the weights.
double Root(const NoisyCounts& counts, std::span<const double> weights, double deviations) {
  auto [low, high] = std::ranges::minmax(weights);
  if (!(Distance(counts, weights, low, deviations) > 0)) return low;
  if (!(Distance(counts, weights, high, deviations) < 0)) return high;
  for (int i = 0; i < kHalvings; ++i) {
    const double middle = low + (high - low) / 2;
    (Distance(counts, weights, middle, deviations) > 0 ? low : high) = middle;
  }
  return low + (high - low) / 2;
}

// Of a ratio whose weights are between these. Of counts that are clear.
Interval RatioBetween(const NoisyCounts& counts, std::span<const double> least,
                      std::span<const double> most, double z) {
  return {Root(counts, least, -z), Root(counts, most, z)};
}

void RequireRanges(const NoisyCounts& counts, std::span<const LevelRange> ranges) {
  if (!ranges.empty() && counts.counts.size() == ranges.size()) return;
  throw Error(ErrorCode::kUsage, "a description needs a range for every count, and one at least");
}

template <typename Weight>
std::vector<double> Weights(std::span<const LevelRange> ranges, const Weight& weight) {
  std::vector<double> weights;
  for (const LevelRange& range : ranges) weights.push_back(weight(range));
  return weights;
}

Bounded Within(double estimate, const Interval& interval) {
  return {std::clamp(estimate, interval.lower, interval.upper), interval.lower, interval.upper};
}

Bounded MeanAt(const NoisyCounts& counts, std::span<const LevelRange> ranges, double z) {
  const std::vector<double> least = Weights(ranges, [](const LevelRange&r) { return r.lower; }),
                            most = Weights(ranges, [](const LevelRange&r) { return r.upper; });
  if (!IsClear(counts, z)) return {std::nullopt, least.front(), most.back()};
  double sum = 0;
  for (size_t l = 0; l < ranges.size(); ++l) sum += counts.counts[l] * (least[l] + most[l]) / 2;
  return Within(sum / Total(counts), RatioBetween(counts, least, most, z));
}

// Bounds of the mean squared distance from a point that is in [from, to].
Interval SquaresAround(const NoisyCounts& counts, std::span<const LevelRange> ranges, double from,
                       double to, double z) {
  const std::vector<double>
      least = Weights(ranges,
                      [&](const LevelRange&range) {
                        const double gap = std::max({0.0, range.lower - to, from - range.upper});
                        return gap * gap;
                      }),
      most = Weights(ranges, [&](const LevelRange&range) {
        const double reach = std::max(range.upper - from, to - range.lower);
        return reach * reach;
      });
  return RatioBetween(counts, least, most, z);
}

// Mean of squares between bins and within them, as if values were uniform there.
double VarianceEstimate(const NoisyCounts& counts, std::span<const LevelRange> ranges,
                        double mean) {
  double sum = 0;
  for (size_t l = 0; l < ranges.size(); ++l) {
    const double middle = (ranges[l].lower + ranges[l].upper) / 2,
                 width = ranges[l].upper - ranges[l].lower;
    sum += counts.counts[l] * ((middle - mean) * (middle - mean) + width * width / 12);
  }
  return sum / Total(counts);
}

std::optional<Bounded> Standardized(const Bounded& first, const Bounded& second,
                                    const Interval& first_sd, const Interval& second_sd,
                                    double estimate) {
  if (!first.estimate || !second.estimate) return std::nullopt;
  const double least = std::hypot(first_sd.lower, second_sd.lower) / std::sqrt(2.0),
               most = std::hypot(first_sd.upper, second_sd.upper) / std::sqrt(2.0);
  if (!(least > 0)) return std::nullopt;
  const double low = first.lower - second.upper, high = first.upper - second.lower;
  return Within(estimate, {low / (low < 0 ? least : most), high / (high < 0 ? most : least)});
}

// Root of p (1 - p), for p in an interval.
Interval SdOfShare(const Bounded& share) {
  const auto sd = [](double p) { return std::sqrt(std::max(p * (1 - p), 0.0)); };
  const double low = sd(share.lower), high = sd(share.upper);
  const bool has_half = share.lower <= 0.5 && share.upper >= 0.5;
  return {std::min(low, high), has_half ? 0.5 : std::max(low, high)};
}

}  // namespace

double NormalBound(double level) {
  return boost::math::quantile(boost::math::normal(), (1 + level) / 2);
}

Bounded SumOf(const NoisyCounts& counts, double level) {
  const double half = NormalBound(level) * counts.noise_stddev *
                      std::sqrt(static_cast<double>(counts.counts.size()));
  const double total = Total(counts);
  return {total, total - half, total + half};
}

Bounded ShareOf(const NoisyCounts& counts, size_t level_index, double level) {
  const double z = NormalBound(level);
  if (!IsClear(counts, z)) return {std::nullopt, 0, 1};
  std::vector<double> weights(counts.counts.size(), 0.0);
  weights.at(level_index) = 1;
  if (weights.size() == 1) return {1, 1, 1};
  return Within(counts.counts[level_index] / Total(counts),
                RatioBetween(counts, weights, weights, z));
}

Bounded MeanOf(const NoisyCounts& counts, std::span<const LevelRange> ranges, double level) {
  RequireRanges(counts, ranges);
  return MeanAt(counts, ranges, NormalBound(level));
}

Bounded SdOf(const NoisyCounts& counts, std::span<const LevelRange> ranges, double level) {
  RequireRanges(counts, ranges);
  const double z = NormalBound((1 + level) / 2);  // half of the error each
  const double low = ranges.front().lower, high = ranges.back().upper;
  if (!IsClear(counts, z)) return {std::nullopt, 0, (high - low) / 2};
  const Bounded mean = MeanAt(counts, ranges, z);
  Interval squares = {std::numeric_limits<double>::infinity(), 0};
  const double width = (high - low) / static_cast<double>(kMeanCells);
  for (size_t cell = 0; cell < kMeanCells; ++cell) {
    const double from = low + static_cast<double>(cell) * width, to = from + width;
    if (to < mean.lower || from > mean.upper) continue;
    const Interval here = SquaresAround(counts, ranges, from, to, z);
    squares = {std::min(squares.lower, here.lower), std::max(squares.upper, here.upper)};
  }
  // No values within bounds vary more than half at each.
  const double most = std::min(std::sqrt(squares.upper), (high - low) / 2);
  const double variance = VarianceEstimate(counts, ranges, *mean.estimate);
  return Within(std::sqrt(std::max(variance, 0.0)),
                {std::min(std::sqrt(squares.lower), most), most});
}

std::optional<Bounded> MeanDifference(const NoisyCounts& first, const NoisyCounts& second,
                                      std::span<const LevelRange> ranges) {
  const double level = 1 - (1 - kDescribedLevel) / 4;
  const Bounded mean_1 = MeanOf(first, ranges, level), mean_2 = MeanOf(second, ranges, level),
                sd_1 = SdOf(first, ranges, level), sd_2 = SdOf(second, ranges, level);
  if (!mean_1.estimate || !mean_2.estimate || !sd_1.estimate || !sd_2.estimate) return std::nullopt;
  const double sd = std::hypot(*sd_1.estimate, *sd_2.estimate) / std::sqrt(2.0);
  const double difference = *mean_1.estimate - *mean_2.estimate;
  return Standardized(mean_1, mean_2, {sd_1.lower, sd_1.upper}, {sd_2.lower, sd_2.upper},
                      sd > 0 ? difference / sd : 0);
}

std::optional<Bounded> ShareDifference(const NoisyCounts& first, const NoisyCounts& second,
                                       size_t level_index) {
  const double level = 1 - (1 - kDescribedLevel) / 2;
  const Bounded share_1 = ShareOf(first, level_index, level),
                share_2 = ShareOf(second, level_index, level);
  if (!share_1.estimate || !share_2.estimate) return std::nullopt;
  const double p = *share_1.estimate, q = *share_2.estimate;
  const double sd = std::sqrt((p * (1 - p) + q * (1 - q)) / 2);
  return Standardized(share_1, share_2, SdOfShare(share_1), SdOfShare(share_2),
                      sd > 0 ? (p - q) / sd : 0);
}

}  // namespace partita::stats::marginals
