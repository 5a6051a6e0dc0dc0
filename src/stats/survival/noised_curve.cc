#include "stats/survival/noised_curve.h"

#include <algorithm>
#include <boost/math/distributions/normal.hpp>
#include <cmath>

#include "base/error.h"

namespace partita::stats::survival {
namespace {

// Rows without the event that are taken for having left before the events of their interval.
constexpr double kAllAtTheEnd = 0, kHalf = 0.5, kAllAtTheBegin = 1;

double SquareOf(double x) { return x * x; }

// Of each interval those who are followed when it begins.
std::vector<double> Followed(const NoisyExits& exits) {
  std::vector<double> followed(exits.events.size());
  double later = exits.after;
  for (size_t j = followed.size(); j-- > 0;) followed[j] = later += exits.events[j] + exits.left[j];
  return followed;
}

struct LogCurve {
  double value = 0, sampling = 0, noise = 0;  // log S and its variances
};

// At the ends of the first intervals, as long as everything that a logarithm is taken of is positive.
// before: the share of `left` that leaves before the events.
std::vector<LogCurve> LogCurves(const NoisyExits& exits, const std::vector<double>& followed,
                                size_t intervals, double before) {
  std::vector<LogCurve> curves;
  LogCurve curve;
  // The derivative of log S by the number of those who are followed longer, and the squared ones by
  // the counts of the intervals so far.
  double slope = 0, squares = 0;
  for (size_t j = 0; j < intervals; ++j) {
    const double events = exits.events[j], at_risk = followed[j] - before * exits.left[j];
    const double stay = at_risk - events;
    curve.value += std::log(stay / at_risk);
    curve.sampling += events / (at_risk * stay);
    const double step = 1 / stay - 1 / at_risk;
    slope += step;
    squares += SquareOf(slope - 1 / stay) + SquareOf(slope - before * step);
    const auto later = static_cast<double>(2 * (exits.events.size() - 1 - j) + 1);
    curve.noise = SquareOf(exits.noise_stddev) * (squares + later * SquareOf(slope));
    curves.push_back(curve);
  }
  return curves;
}

// The nearest ones that do not rise, by squared distance.
void MakeFalling(std::vector<double>& values) {
  struct Block {
    double sum = 0;
    size_t size = 0;
    double mean() const { return sum / static_cast<double>(size); }
  };
  std::vector<Block> blocks;
  for (const double value : values) {
    Block block{value, 1};
    while (!blocks.empty() && blocks.back().mean() < block.mean()) {
      block.sum += blocks.back().sum;
      block.size += blocks.back().size;
      blocks.pop_back();
    }
    blocks.push_back(block);
  }
  values.clear();
  for (const Block& block : blocks) values.insert(values.end(), block.size, block.mean());
}

double SpreadOf(const LogCurve& curve) {
  return std::sqrt(std::max(curve.sampling, 0.0) + curve.noise);
}

}  // namespace

std::vector<NoisedPoint> NoisedCurve(const NoisyExits& exits, double confidence) {
  const size_t intervals = exits.events.size();
  if (intervals == 0 || exits.left.size() != intervals)
    throw Error(ErrorCode::kUsage, "events and others by interval of time", "");
  const double z = boost::math::quantile(boost::math::normal(), 0.5 + confidence / 2);
  const std::vector<double> followed = Followed(exits);
  std::vector<NoisedPoint> points(intervals);
  size_t known = 0;
  bool clear = true;
  for (size_t j = 0; j < intervals; ++j) {
    NoisedPoint& point = points[j];
    point.followed = j + 1 < intervals ? followed[j + 1] : exits.after;
    const auto counts = static_cast<double>(2 * (intervals - 1 - j) + 1);
    point.followed_noise = exits.noise_stddev * std::sqrt(counts);
    // Of all that logarithms are taken of this is the least, but for noise of events and others.
    const double least =
        std::min({point.followed, point.followed + exits.left[j], point.followed + exits.events[j],
                  point.followed + exits.left[j] + exits.events[j]});
    clear = clear && least > 0 && least >= kClearOfNoise * point.followed_noise;
    if (clear) known = j + 1;
  }
  const std::vector<LogCurve> low = LogCurves(exits, followed, known, kAllAtTheBegin),
                              middle = LogCurves(exits, followed, known, kHalf),
                              high = LogCurves(exits, followed, known, kAllAtTheEnd);
  std::vector<double> survival;
  survival.reserve(known);
  for (const LogCurve& curve : middle) survival.push_back(std::exp(curve.value));
  MakeFalling(survival);
  double upper = 1;
  for (size_t j = 0; j < intervals; ++j) {
    NoisedPoint& point = points[j];
    point.upper = upper;
    if (j >= known) continue;
    point.error_of_log = SpreadOf(middle[j]);
    point.noise_of_log = std::sqrt(middle[j].noise);
    point.lower = std::min(1.0, std::exp(low[j].value - z * SpreadOf(low[j])));
    point.upper = std::min(1.0, std::exp(high[j].value + z * SpreadOf(high[j])));
    point.survival = std::clamp(survival[j], point.lower, point.upper);
    upper = point.upper;
  }
  return points;
}

NoisedMedian MedianOf(std::span<const NoisedPoint> curve) {
  NoisedMedian median;
  for (size_t j = 0; j < curve.size(); ++j) {
    if (!median.estimate && curve[j].survival && *curve[j].survival <= 0.5) median.estimate = j;
    if (!median.lower && curve[j].lower <= 0.5) median.lower = j;
    if (curve[j].upper > 0.5)
      median.upper.reset();
    else if (!median.upper)
      median.upper = j;
  }
  return median;
}

std::optional<CurveDifference> DifferenceOf(const NoisedPoint& first, const NoisedPoint& second) {
  if (!first.survival || !second.survival) return std::nullopt;
  const double difference = *first.survival - *second.survival;
  const double below = std::hypot(*first.survival - first.lower, second.upper - *second.survival);
  const double above = std::hypot(first.upper - *first.survival, *second.survival - second.lower);
  return CurveDifference{difference, difference - below, difference + above};
}

}  // namespace partita::stats::survival
