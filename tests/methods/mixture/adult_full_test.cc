// Full runs on UCI Adult, ten seeds of 20000 steps each, against `fair_bar` of
// tests/references/dpvi_adult.json. The bars are those of the reference, below what twelve seeds
// of another implementation reached; they are a judgement, not a significance level.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <future>
#include <iostream>
#include <limits>
#include <thread>

#include "crypto/random.h"
#include "stats/mixture/experiment.h"
#include "tests/methods/mixture/adult_reference.h"

namespace partita::methods::mixture::adult_full_test {
namespace {

constexpr size_t kSeeds = 10;

class AdultFullTest : public ::testing::Test {
 protected:
  void SetUp() override { reference_ = ReadAdultReference(); }

  // The seeds in parallel: every run has streams of its own.
  std::vector<stats::mixture::ExperimentRun> Run(double frozen_share, double clip,
                                                 double noise) const {
    stats::mixture::ExperimentOptions options;
    options.variational.frozen_share = frozen_share;
    options.noise = {clip, noise, 30};
    options.epochs = {5, 10, 20, 40};
    const stats::mixture::Arm arm = {
        "plain", [&](const stats::mixture::ClippedNoise& chosen, crypto::RandomSource& source) {
          return stats::mixture::PlainGradientSum(reference_.layout, reference_.train, chosen,
                                                  source);
        }};
    crypto::SystemRandom random;
    const crypto::Key key = crypto::RandomKey(random);
    std::vector<stats::mixture::ExperimentRun> runs(kSeeds);
    std::atomic<size_t> next = 0;
    const auto work = [&] {
      SilentProgress silent;
      for (size_t seed = next++; seed < kSeeds; seed = next++) {
        runs[seed] =
            stats::mixture::RunExperiment(reference_.layout, reference_.train.num_rows,
                                          reference_.test, arm, options, key, seed, silent);
      }
    };
    std::vector<std::future<void>> workers;
    const size_t cores = std::max(1U, std::thread::hardware_concurrency());
    for (size_t i = 0; i < cores; ++i) workers.push_back(std::async(std::launch::async, work));
    for (std::future<void>& worker : workers) worker.get();
    for (const stats::mixture::ExperimentRun& run : runs) {
      std::cout << "seed " << run.repeat << ": plug-in";
      for (const stats::mixture::TracePoint& point : run.trace) std::cout << ' ' << point.plug_in;
      std::cout << ", predictive " << run.predictive << ", active " << run.active_components
                << ", uses at most " << run.max_uses << ", " << run.seconds << " s" << std::endl;
      EXPECT_NEAR(run.predictive, run.trace.back().plug_in, 0.05);
    }
    return runs;
  }

  static double Median(const std::vector<stats::mixture::ExperimentRun>& runs) {
    std::vector<double> ends;
    for (const stats::mixture::ExperimentRun& run : runs) ends.push_back(run.trace.back().plug_in);
    std::sort(ends.begin(), ends.end());
    return (ends[(ends.size() - 1) / 2] + ends[ends.size() / 2]) / 2;
  }

  AdultReference reference_;
};

TEST_F(AdultFullTest, DefaultScheduleKeepsComponentsAlive) {
  const auto runs = Run(stats::mixture::VariationalOptions{}.frozen_share, 1, 2.042);
  EXPECT_GE(Median(runs), -9.45);
  for (const stats::mixture::ExperimentRun& run : runs) EXPECT_GE(run.trace.back().plug_in, -9.75);
}

TEST_F(AdultFullTest, ScheduleOfThePaperIsAsInTheReference) {
  size_t with_two = 0;
  for (const stats::mixture::ExperimentRun& run :
       Run(stats::mixture::kPaperFrozenShare, 1, 2.042)) {
    EXPECT_GT(run.trace.back().plug_in, -10.90);
    if (run.active_components < 2) continue;
    ++with_two;
    EXPECT_GT(run.trace.back().plug_in, -9.82);
  }
  EXPECT_GE(with_two, 2);
}

TEST_F(AdultFullTest, ClippingWithoutNoise) {
  EXPECT_GE(Median(Run(stats::mixture::kPaperFrozenShare, 1, 0)), -9.45);
}

TEST_F(AdultFullTest, NeitherClippingNorNoise) {
  const double none = std::numeric_limits<double>::infinity();
  EXPECT_GE(Median(Run(stats::mixture::kPaperFrozenShare, none, 0)), -9.35);
}

}  // namespace
}  // namespace partita::methods::mixture::adult_full_test
