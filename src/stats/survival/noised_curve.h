// Survival curves from noisy counts of who leaves in each of a few intervals of time, with intervals of
// confidence that contain sampling, the noise, and that nobody knows when within an interval rows leave.
//
// Of interval j: d rows with the event, c that leave without, and n = sum over i >= j of (d + c), and of
// those followed longer, that are followed when it begins.
//
// Curve     log S = sum of log(1 - d / m). Rows without the event leave anywhere within the interval: with m = n
//           all do so at its end, with m = n - c at its begin, and the Kaplan-Meier curve of the rows is
//           between the two. The estimate has m = n - c / 2 (the life table's; S. J. Cutler, F. Ederer,
//           Journal of Chronic Diseases 1958), the lower bound n - c, the upper n.
// Variance  of log S: Greenwood's, and that of the noise, s^2 times the squared gradient by the counts.
//           Intervals are those of log S (R's conf.type = "log").
// Where     as long as those who are followed after an interval are kClearOfNoise standard deviations of
//           their noise or more, so that log S is nearly linear in it. Afterwards there is no estimate, and
//           only the last upper bound is known, since curves fall.
// Shape     Noise can make a curve rise: estimates are replaced by the nearest falling ones
//           (pooled adjacent violators), within their intervals.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

namespace partita::stats::survival {

inline constexpr double kClearOfNoise = 4;

// By interval of time.
struct NoisyExits {
  std::vector<double> events, left;  // with the event, and without
  double after = 0;                  // followed longer than the last interval
  double noise_stddev = 0;           // of each
};

// At the end of an interval.
struct NoisedPoint {
  std::optional<double> survival;  // none: those who are followed may be noise
  double error_of_log = 0;         // standard error of log S, 0 where there is no estimate
  double noise_of_log = 0;         // the part of it that the noise has
  double lower = 0, upper = 1;
  double followed = 0;        // longer than the interval, as counted
  double followed_noise = 0;  // standard deviation
};

// confidence in (0, 1). Throws kUsage where `events` and `left` differ in length or are empty.
std::vector<NoisedPoint> NoisedCurve(const NoisyExits& exits, double confidence);

// The intervals in which the curve, and the bounds of its interval of confidence, first are at 1/2 or
// below; none where they never are. Where bounds cross there and back the widest.
struct NoisedMedian {
  std::optional<size_t> estimate, lower, upper;
};
NoisedMedian MedianOf(std::span<const NoisedPoint> curve);

// Of two curves at one time: the first less the second, with an interval from those of both (G. Y. Zou,
// A. Donner, Statistics in Medicine 2008). None where one of them has no estimate.
struct CurveDifference {
  double estimate = 0, lower = 0, upper = 0;
};
std::optional<CurveDifference> DifferenceOf(const NoisedPoint& first, const NoisedPoint& second);

}  // namespace partita::stats::survival
