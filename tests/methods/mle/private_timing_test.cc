// R65: how long a release takes says nothing about how large its noise is, because the noise is
// drawn before. Spearman's rank correlation between the magnitude of the noise and the time from
// the first message of the release to its result, N = 1e5, is within 0.02 (standard error 0.003:
// false alarm below 1e-9 if the times do not depend on the noise; other load on the machine takes
// power from the test and never makes it fail).
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <numeric>
#include <vector>

#include "crypto/prg.h"
#include "methods/mle/moments/private_moments.h"
#include "privacy/sampling/discrete_gaussian.h"
#include "privacy/sampling/discrete_laplace.h"
#include "tests/methods/mle/mle_parties.h"

namespace partita::methods::mle::private_timing_test {
namespace {

using Clock = std::chrono::steady_clock;

std::vector<double> Ranks(const std::vector<double>& values) {
  std::vector<size_t> order(values.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) { return values[a] < values[b]; });
  std::vector<double> ranks(values.size());
  for (size_t i = 0; i < order.size();) {
    size_t end = i;
    while (end < order.size() && values[order[end]] == values[order[i]]) ++end;
    // Ties share their mean rank.
    for (size_t k = i; k < end; ++k) ranks[order[k]] = static_cast<double>(i + end - 1) / 2;
    i = end;
  }
  return ranks;
}

double Spearman(const std::vector<double>& x, const std::vector<double>& y) {
  const std::vector<double> a = Ranks(x), b = Ranks(y);
  const double mean = static_cast<double>(x.size() - 1) / 2;
  double product = 0, square_a = 0, square_b = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    product += (a[i] - mean) * (b[i] - mean);
    square_a += (a[i] - mean) * (a[i] - mean);
    square_b += (b[i] - mean) * (b[i] - mean);
  }
  return product / std::sqrt(square_a * square_b);
}

crypto::Prg Stream(uint8_t seed) {
  crypto::Key key;
  key.Expose()[0] = seed;
  return crypto::Prg(key);
}

double Nanoseconds(Clock::time_point begin) {
  return std::chrono::duration<double, std::nano>(Clock::now() - begin).count();
}

TEST(PrivateTimingTest, RanksAndTies) {
  EXPECT_EQ(Ranks({3, 1, 3, 2}), (std::vector<double>{2.5, 0, 2.5, 1}));
  EXPECT_NEAR(Spearman({1, 2, 3, 4}, {10, 20, 25, 90}), 1, 1e-12);
  EXPECT_NEAR(Spearman({1, 2, 3, 4}, {4, 3, 2, 1}), -1, 1e-12);
}

// The statistic notices what it must: sampling inside the response takes longer for larger noise.
TEST(PrivateTimingTest, DrawingWithinTheResponseIsSeen) {
  crypto::Prg random = Stream(1);
  const privacy::DiscreteLaplace sampler(privacy::ScaleOf(1000));
  std::vector<double> magnitude, time;
  for (int i = 0; i < 100000; ++i) {
    const Clock::time_point begin = Clock::now();
    const Int128 noise = sampler.Sample(random);
    time.push_back(Nanoseconds(begin));
    magnitude.push_back(std::fabs(static_cast<double>(noise)));
  }
  EXPECT_GT(Spearman(magnitude, time), 0.1);
}

TEST(PrivateTimingTest, TheResponseDoesNotDependOnTheNoise) {
  constexpr size_t kReleases = 100000;
  constexpr size_t kParties = 2, kReceiver = 1;
  MomentsTask task;
  task.num_variables = 1;
  task.fraction_bits = kPrivateFractionBits;
  task.max_rows = 4;
  task.blocks = {{"north", 2, {{0, {0}, {}}}}, {"south", 2, {{1, {0}, {}}}}};
  const MomentsRelease release = {"moments", kReceiver, {0}, {0}, AllPairs({0})};
  PrivacyPromise promise;
  promise.epsilon = 1;
  promise.delta = 1e-6;
  const PrivateMoments design = DesignPrivateMoments(promise, task, release, kParties);

  // Drawn ahead, all at once.
  std::vector<std::vector<Int128>> noise;
  for (uint8_t party = 0; party < kParties; ++party) {
    crypto::Prg random = Stream(static_cast<uint8_t>(10 + party));
    std::vector<Int128> all(kReleases * design.num_noised);
    privacy::DiscreteGaussian(design.noise.share_variance).Sample(random, all);
    noise.push_back(std::move(all));
  }
  const auto share = [&](size_t party, size_t i) {
    const auto first = noise[party].begin() + static_cast<std::ptrdiff_t>(i * design.num_noised);
    return std::vector<Int128>(first, first + static_cast<std::ptrdiff_t>(design.num_noised));
  };

  std::vector<double> time(kReleases), sum(kReleases), own(kReleases);
  const testing::Outcome outcome = testing::RunParties(
      "dealer", kParties,
      {{"moments", "", "", "", kReleases, kReceiver, NumReleasedValues(release)}},
      [&](mpc::Engine& mpc, size_t process) {
        std::vector<LocalBlock> local(2);
        if (process < kParties) {
          local[process].num_rows = 2;
          local[process].values = [](size_t, size_t num, Int128* out) {
            std::fill_n(out, num, Int128{1} << (kPrivateFractionBits - 1));
          };
        }
        const auto shared =
            ComputeMoments(mpc, task, process < kParties ? local : std::vector<LocalBlock>{});
        for (size_t i = 0; i < kReleases; ++i) {
          const std::vector<Int128> mine =
              process < kParties ? share(process, i) : std::vector<Int128>{};
          const Clock::time_point begin = Clock::now();
          OpenPrivateMoments(mpc, task, shared, design, mine);
          if (process == kReceiver) time[i] = Nanoseconds(begin);
        }
      });
  for (const auto& error : outcome.errors) ASSERT_FALSE(error) << error->message();
  for (size_t i = 0; i < kReleases; ++i) {
    double total = 0;
    for (size_t party = 0; party < kParties; ++party) {
      total += static_cast<double>(noise[party][i * design.num_noised]);
    }
    sum[i] = std::fabs(total);
    own[i] = std::fabs(static_cast<double>(noise[kReceiver][i * design.num_noised]));
  }
  EXPECT_LT(std::fabs(Spearman(sum, time)), 0.02);
  EXPECT_LT(std::fabs(Spearman(own, time)), 0.02);
}

}  // namespace
}  // namespace partita::methods::mle::private_timing_test
