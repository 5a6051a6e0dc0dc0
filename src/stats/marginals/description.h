// Shares, means and standard deviations of a column from its noisy counts, with intervals that contain
// the noise and the width of the bins.
//
// Ratios   Everything is a ratio r = sum_l N_l w_l / sum_l N_l of the true counts N, for weights w that
//          do not depend on the rows. With y = N + e, e of standard deviation s per cell, the sum
//          D(c) = sum_l y_l (w_l - c) has mean 0 at c = r and standard deviation s |w - c|: the c with
//          |D(c)| <= z s |w - c| hold r with the level of z (E. C. Fieller, "Some problems in interval
//          estimation", Journal of the Royal Statistical Society B 1954). They are an interval where
//          sum_l y_l > z s sqrt(L); elsewhere the counts may be noise, and r may be anything.
// Bins     Values within a bin are not known: its least value gives a lower, its greatest an upper bound.
// Sd       Root of the mean squared distance from the mean, divisor n. For a point c squared distances of
//          a bin are bounded by its ends; the mean is in one of kMeanCells public cells, for which the
//          bounds are taken where the mean's interval may have it. Mean and ratio share the error, so that
//          both hold together.
// Level    At least `level`, over the noise alone: that others could have been asked is in no interval.
#pragma once

#include <cstddef>
#include <optional>
#include <span>

namespace partita::stats::marginals {

struct NoisyCounts {
  std::span<const double> counts;  // one or more; cells without a value left out
  double noise_stddev = 0;         // of each
};

// The least and the greatest value of a level; equal for whole numbers of their own.
struct LevelRange {
  double lower = 0, upper = 0;
};

struct Bounded {
  std::optional<double> estimate;  // none: the counts together may be noise
  double lower = 0, upper = 0;
};

inline constexpr double kDescribedLevel = 0.95;
inline constexpr size_t kMeanCells = 256;

// Two-sided, of the normal law: 1.96 for 0.95. level in (0, 1).
double NormalBound(double level);

// How many rows are counted.
Bounded SumOf(const NoisyCounts& counts, double level = kDescribedLevel);
// Of the counted rows those of a level, from 0 to 1.
Bounded ShareOf(const NoisyCounts& counts, size_t level_index, double level = kDescribedLevel);
// ranges: by level, increasing. Throws kUsage for another number of them.
Bounded MeanOf(const NoisyCounts& counts, std::span<const LevelRange> ranges,
               double level = kDescribedLevel);
Bounded SdOf(const NoisyCounts& counts, std::span<const LevelRange> ranges,
             double level = kDescribedLevel);

// Standardized differences of two groups, (first - second) over the root of the mean of their
// variances; none where that root may be 0 or a group's counts may be noise. Each of four bounds has a
// quarter of the error, those of a level's share two halves.
std::optional<Bounded> MeanDifference(const NoisyCounts& first, const NoisyCounts& second,
                                      std::span<const LevelRange> ranges);
std::optional<Bounded> ShareDifference(const NoisyCounts& first, const NoisyCounts& second,
                                       size_t level_index);

}  // namespace partita::stats::marginals
