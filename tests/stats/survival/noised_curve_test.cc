// Curves from noisy counts of intervals: against Kaplan and Meier's of the same rows where there is no
// noise, and by simulation where there is.
#include "stats/survival/noised_curve.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "crypto/prg.h"
#include "stats/blr/variates.h"
#include "stats/survival/curve.h"

namespace partita::stats::survival::noised_curve_test {
namespace {

constexpr size_t kIntervals = 8;

crypto::Prg Source(uint8_t seed) { return crypto::Prg(crypto::Key(std::array<uint8_t, 32>{seed})); }

double Uniform(crypto::Prg& source) {
  std::array<uint8_t, 8> bytes{};
  source.Fill(bytes);
  uint64_t bits = 0;
  for (const uint8_t byte : bytes) bits = bits << 8 | byte;
  return (static_cast<double>(bits >> 11) + 0.5) * 0x1p-53;
}

// Events with hazard 0.15, other leaves with 0.07; time in intervals.
std::vector<Observation> Rows(crypto::Prg& source, size_t n) {
  std::vector<Observation> rows;
  for (size_t i = 0; i < n; ++i) {
    const double event = -std::log(Uniform(source)) / 0.15,
                 leave = -std::log(Uniform(source)) / 0.07;
    rows.push_back({std::min(event, leave), event <= leave});
  }
  return rows;
}

NoisyExits Count(const std::vector<Observation>& rows) {
  NoisyExits exits{std::vector<double>(kIntervals), std::vector<double>(kIntervals)};
  for (const Observation& row : rows) {
    const auto interval = static_cast<size_t>(std::max(std::ceil(row.time) - 1, 0.0));
    if (interval >= kIntervals)
      ++exits.after;
    else
      ++(row.event ? exits.events : exits.left)[interval];
  }
  return exits;
}

void AddNoise(NoisyExits& exits, double stddev, crypto::Prg& source) {
  blr::Variates variates(source);
  exits.noise_stddev = stddev;
  for (double& count : exits.events) count += stddev * variates.Normal();
  for (double& count : exits.left) count += stddev * variates.Normal();
  exits.after += stddev * variates.Normal();
}

// Nobody leaves without the event before the last interval's end.
TEST(NoisedCurveTest, WithoutNoiseAndOtherLeavesItIsKaplanAndMeiers) {
  crypto::Prg source = Source(1);
  std::vector<Observation> rows = Rows(source, 500);
  for (Observation& row : rows) {
    if (row.event) continue;
    row.time = kIntervals + 1;
  }
  const std::vector<CurveStep> exact = KaplanMeier(rows);
  const std::vector<NoisedPoint> curve = NoisedCurve(Count(rows), 0.9);
  ASSERT_EQ(curve.size(), kIntervals);
  for (size_t j = 0; j < kIntervals; ++j) {
    const Interval at = SurvivalAt(exact, static_cast<double>(j + 1), 0.9);
    EXPECT_NEAR(*curve[j].survival, at.estimate, 1e-12);
    EXPECT_NEAR(curve[j].lower, at.lower, 1e-12);
    EXPECT_NEAR(curve[j].upper, at.upper, 1e-12);
    EXPECT_EQ(curve[j].noise_of_log, 0);
  }
}

// Whoever leaves when within an interval.
TEST(NoisedCurveTest, BoundsHoldKaplanAndMeiersCurve) {
  crypto::Prg source = Source(2);
  for (int round = 0; round < 200; ++round) {
    const std::vector<Observation> rows = Rows(source, 40 + 10 * static_cast<size_t>(round % 20));
    const std::vector<CurveStep> exact = KaplanMeier(rows);
    const std::vector<NoisedPoint> curve = NoisedCurve(Count(rows), 1e-12);
    double before = 1;
    for (size_t j = 0; j < kIntervals; ++j) {
      if (!curve[j].survival) break;
      const double truth = SurvivalAt(exact, static_cast<double>(j + 1), 0.5).estimate;
      EXPECT_LE(curve[j].lower, truth + 1e-9);
      EXPECT_GE(curve[j].upper, truth - 1e-9);
      EXPECT_LE(*curve[j].survival, before);
      before = *curve[j].survival;
    }
  }
}

// The deviation of 20,000 curves of the same rows; its relative error is 0.005, so 3 % is six of them.
TEST(NoisedCurveTest, TheNoiseOfLogSurvivalIsWhatItIs) {
  crypto::Prg source = Source(3);
  const NoisyExits exact = Count(Rows(source, 2000));
  constexpr int kRuns = 20000;
  std::vector<double> sum(kIntervals), squares(kIntervals), said(kIntervals);
  for (int run = 0; run < kRuns; ++run) {
    NoisyExits noisy = exact;
    AddNoise(noisy, 4, source);
    const std::vector<NoisedPoint> curve = NoisedCurve(noisy, 0.95);
    for (size_t j = 0; j < kIntervals; ++j) {
      const double value = std::log(*curve[j].survival);
      sum[j] += value / kRuns;
      squares[j] += value * value / kRuns;
      said[j] += curve[j].noise_of_log / kRuns;
    }
  }
  for (size_t j = 0; j < kIntervals; ++j) {
    const double deviation = std::sqrt(squares[j] - sum[j] * sum[j]);
    EXPECT_NEAR(deviation / said[j], 1, 0.03) << j;
  }
}

// Of 4,000 tables; draws are fixed. An interval that covers with 95 % is seen below 93 % once in 1e8.
TEST(NoisedCurveTest, IntervalsCoverTheCurveOfTheLaw) {
  constexpr int kRuns = 4000;
  for (const double stddev : {0.0, 3.0, 8.0}) {
    crypto::Prg source = Source(static_cast<uint8_t>(10 + stddev));
    std::vector<int> covered(kIntervals), known(kIntervals);
    for (int run = 0; run < kRuns; ++run) {
      NoisyExits exits = Count(Rows(source, 400));
      if (stddev > 0) AddNoise(exits, stddev, source);
      const std::vector<NoisedPoint> curve = NoisedCurve(exits, 0.95);
      for (size_t j = 0; j < kIntervals; ++j) {
        const double truth = std::exp(-0.15 * static_cast<double>(j + 1));
        covered[j] += truth >= curve[j].lower && truth <= curve[j].upper ? 1 : 0;
        known[j] += curve[j].survival ? 1 : 0;
      }
    }
    for (size_t j = 0; j < kIntervals; ++j) {
      EXPECT_GE(covered[j], 0.93 * kRuns) << stddev << " " << j;
      EXPECT_GE(known[j], 0.9 * kRuns) << stddev << " " << j;
    }
  }
}

TEST(NoisedCurveTest, SaysNothingWhereAllMayBeNoise) {
  // 60 are followed after the first interval, 5 after the second; the noise of 5 is 1.
  const std::vector<NoisedPoint> curve = NoisedCurve({{30, 55, 2}, {0, 0, 0}, 3, 1}, 0.95);
  ASSERT_TRUE(curve[0].survival);
  EXPECT_NEAR(curve[0].followed_noise, std::sqrt(5.0), 1e-12);
  EXPECT_EQ(curve[0].followed, 60);
  EXPECT_FALSE(curve[1].survival);  // 5 of deviation sqrt(3)
  EXPECT_EQ(curve[1].upper, curve[0].upper);
  EXPECT_EQ(curve[1].lower, 0);
  EXPECT_FALSE(curve[2].survival);  // not again, though 3 of deviation 1 would do by themselves
  const std::vector<NoisedPoint> negative = NoisedCurve({{-3}, {-2}, -1, 0}, 0.95);
  EXPECT_FALSE(negative[0].survival);
  EXPECT_EQ(negative[0].upper, 1);
  EXPECT_THROW(NoisedCurve({{}, {}, 1, 1}, 0.95), Error);
  EXPECT_THROW(NoisedCurve({{1, 2}, {1}, 1, 1}, 0.95), Error);
}

// Fewer than no events make no curve rise; of -10 and 30 events the mean counts in both.
TEST(NoisedCurveTest, CurvesFall) {
  const std::vector<NoisedPoint> curve =
      NoisedCurve({{20, -10, 30, -5}, {1, 1, 1, 1}, 500, 10}, 0.95);
  double before = 1;
  for (const NoisedPoint& point : curve) {
    ASSERT_TRUE(point.survival);
    EXPECT_LE(*point.survival, before);
    EXPECT_GE(*point.survival, point.lower);
    EXPECT_LE(*point.survival, point.upper);
    before = *point.survival;
  }
  EXPECT_EQ(*curve[0].survival, *curve[1].survival);
  EXPECT_LT(*curve[2].survival, *curve[1].survival);
}

NoisedPoint Point(double survival, double lower, double upper) {
  NoisedPoint point;
  point.survival = survival;
  point.lower = lower;
  point.upper = upper;
  return point;
}

TEST(NoisedCurveTest, MediansAreIntervals) {
  const std::vector<NoisedPoint> curve = {Point(0.9, 0.8, 1), Point(0.6, 0.5, 0.7),
                                          Point(0.5, 0.4, 0.6), Point(0.3, 0.2, 0.4)};
  const NoisedMedian median = MedianOf(curve);
  EXPECT_EQ(median.estimate, 2u);
  EXPECT_EQ(median.lower, 1u);
  EXPECT_EQ(median.upper, 3u);
  const NoisedMedian early = MedianOf(std::span(curve).first(2));
  EXPECT_FALSE(early.estimate);
  EXPECT_EQ(early.lower, 1u);
  EXPECT_FALSE(early.upper);
  // An upper bound that is above one half once more.
  const std::vector<NoisedPoint> back = {Point(0.4, 0.3, 0.45), Point(0.4, 0.3, 0.55),
                                         Point(0.2, 0.1, 0.3)};
  EXPECT_EQ(MedianOf(back).upper, 2u);
}

TEST(NoisedCurveTest, DifferencesAddSquares) {
  const auto difference = DifferenceOf(Point(0.8, 0.76, 0.83), Point(0.6, 0.56, 0.63));
  ASSERT_TRUE(difference);
  EXPECT_NEAR(difference->estimate, 0.2, 1e-12);
  EXPECT_NEAR(difference->lower, 0.2 - 0.05, 1e-12);  // 4 and 3
  EXPECT_NEAR(difference->upper, 0.2 + 0.05, 1e-12);
  EXPECT_FALSE(DifferenceOf(Point(0.8, 0.7, 0.9), NoisedPoint{}));
}

}  // namespace
}  // namespace partita::stats::survival::noised_curve_test
