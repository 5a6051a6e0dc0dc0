// The loop around the data step: Adam by hand, the schedule, the cap, batches by their law, and
// runs that recover what made the data.
#include "stats/mixture/variational.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "crypto/prg.h"
#include "stats/mixture/components.h"
#include "stats/mixture/partitioned.h"
#include "stats/mixture/predictive.h"
#include "tests/data/expect_error.h"

namespace partita::stats::mixture::variational_test {
namespace {

using Eigen::ArrayXXd;
using Eigen::Index;

constexpr double kNoClip = std::numeric_limits<double>::infinity();

crypto::Prg Seeded(uint8_t seed) { return crypto::Prg(crypto::Key(std::array<uint8_t, 32>{seed})); }

Layout TwoFlags() {
  return MakeLayout({{"a", Family::kBernoulli, 0, 1, 0}, {"b", Family::kBernoulli, 0, 1, 1}});
}

// Two steps of one parameter, computed with the formulas of Kingma and Ba.
TEST(VariationalTest, AdamIsThatOfItsPaper) {
  const Layout layout = TwoFlags();
  crypto::Prg prg = Seeded(1);
  blr::Variates variates(prg);
  VariationalOptions options;
  options.frozen_share = 0;
  VariationalState state = StartState(layout, 2, options, variates);
  const double rows = 50, rate = 0.25;
  double mean = state.mean(1, 2), scale = state.log_scale(1, 2);
  double m = 0, v = 0, m_scale = 0, v_scale = 0;
  for (int t = 1; t <= 2; ++t) {
    const ArrayXXd eta = DrawEta(state, variates);
    const ArrayXXd theta = ThetaAt(state, eta);
    EXPECT_NEAR(theta(1, 2), mean + std::exp(scale) * eta(1, 2), 1e-14);
    const ArrayXXd sum = ArrayXXd::Constant(2, 3, 1.5 * t);
    const double prior = 1 - 2 / (1 + std::exp(-theta(1, 2)));
    const double gradient = 1.5 * t / rate + prior;
    const double of_scale = gradient * std::exp(scale) * eta(1, 2) + 1;
    Advance(layout, options, rows, rate, eta, theta, sum, state);
    const auto step = [&](double g, double& first, double& second) {
      first = 0.9 * first + 0.1 * g;
      second = 0.999 * second + 0.001 * g * g;
      return 0.01 * (first / (1 - std::pow(0.9, t))) /
             (std::sqrt(second / (1 - std::pow(0.999, t))) + 1e-8);
    };
    mean += step(gradient / rows, m, v);
    scale += step(of_scale / rows, m_scale, v_scale);
    EXPECT_NEAR(state.mean(1, 2), mean, 1e-14);
    EXPECT_NEAR(state.log_scale(1, 2), scale, 1e-14);
  }
}

TEST(VariationalTest, WeightsAreFrozenForTheirShareOnly) {
  const Layout layout = TwoFlags();
  crypto::Prg prg = Seeded(2);
  blr::Variates variates(prg);
  VariationalOptions options;
  options.steps = 10;
  VariationalState state = StartState(layout, 2, options, variates);
  const ArrayXXd start_mean = state.mean, start_scale = state.log_scale;
  for (int t = 1; t <= 10; ++t) {
    const ArrayXXd eta = DrawEta(state, variates), theta = ThetaAt(state, eta);
    Advance(layout, options, 100, 1, eta, theta, ArrayXXd::Ones(2, 3), state);
    const bool moved = (state.mean.col(0) != start_mean.col(0)).any() ||
                       (state.log_scale.col(0) != start_scale.col(0)).any();
    EXPECT_EQ(moved, t > 6) << t;
    EXPECT_TRUE((state.mean.col(1) != start_mean.col(1)).all());
  }
}

TEST(VariationalTest, ScalesStopAtTheirCap) {
  const Layout layout = TwoFlags();
  crypto::Prg prg = Seeded(3);
  blr::Variates variates(prg);
  VariationalOptions options;
  options.learning_rate = 0.5;
  options.max_log_scale = -1;
  VariationalState state = StartState(layout, 2, options, variates);
  for (int t = 0; t < 20; ++t) {
    const ArrayXXd eta = DrawEta(state, variates), theta = ThetaAt(state, eta);
    Advance(layout, options, 10, 1, eta, theta, ArrayXXd::Zero(2, 3), state);
    EXPECT_LE(state.log_scale.maxCoeff(), -1);
  }
  EXPECT_EQ(state.log_scale.maxCoeff(), -1);
}

TEST(VariationalTest, BadOptionsAreNamed) {
  const auto with = [](auto change) {
    VariationalOptions options;
    change(options);
    return [options] { CheckOptions(options); };
  };
  using Options = VariationalOptions;
  ExpectError(ErrorCode::kBadInput, "number of steps", "", with([](Options& o) { o.steps = 0; }));
  ExpectError(ErrorCode::kBadInput, "learning rate", "",
              with([](Options& o) { o.learning_rate = -1; }));
  ExpectError(ErrorCode::kBadInput, "cap of the log-scale", "",
              with([](Options& o) { o.max_log_scale = -3; }));
  ExpectError(ErrorCode::kBadInput, "frozen share", "",
              with([](Options& o) { o.frozen_share = std::nan(""); }));
  crypto::Prg prg = Seeded(4);
  ExpectError(ErrorCode::kBadInput, "noise without clipping", "", [&] {
    MakeNoiseAdder({kNoClip, 1, 30}, prg);
  });
  ExpectError(ErrorCode::kBadInput, "clipping norm", "", [&] { MakeNoiseAdder({0, 1, 30}, prg); });
}

// Of 4e5 values their mean and variance: false alarms below 1e-6 (five standard errors).
TEST(VariationalTest, NoiseHasItsVarianceAndLiesOnTheGrid) {
  crypto::Prg prg = Seeded(5);
  const NoiseAdder add = MakeNoiseAdder({0.5, 3, 10}, prg);
  ArrayXXd sum = ArrayXXd::Constant(400, 1000, 0.2503);
  add(sum);
  EXPECT_TRUE(((sum * 1024).round() == sum * 1024).all());
  const double rounded = std::round(0.2503 * 1024) / 1024;
  const double count = static_cast<double>(sum.size());
  EXPECT_NEAR((sum - rounded).mean(), 0, 5 * 1.5 / std::sqrt(count));
  EXPECT_NEAR((sum - rounded).square().mean(), 2.25, 5 * 2.25 * std::sqrt(2 / count));
}

// Counts over 4000 batches; false alarms below 1e-6 for all 50 rows together (6 standard errors).
TEST(BatchesTest, PoissonTakesEveryRowWithItsProbability) {
  crypto::Prg prg = Seeded(6);
  Batches batches(BatchMode::kPoisson, 50, 10, 0, prg);
  EXPECT_NEAR(batches.sampling_rate(), 0.2, 1e-14);
  std::vector<uint32_t> uses(50);
  double pairs = 0;
  for (int i = 0; i < 4000; ++i) {
    const std::vector<uint32_t>& batch = batches.Next();
    EXPECT_TRUE(std::is_sorted(batch.begin(), batch.end()));
    for (const uint32_t row : batch) ++uses[row];
    const bool both = std::binary_search(batch.begin(), batch.end(), 3U) &&
                      std::binary_search(batch.begin(), batch.end(), 4U);
    pairs += both ? 1 : 0;
  }
  for (const uint32_t count : uses) EXPECT_NEAR(count, 800, 6 * std::sqrt(640));
  EXPECT_NEAR(pairs, 160, 6 * std::sqrt(154));  // rows come independently
  EXPECT_EQ(batches.uses(), uses);
  EXPECT_EQ(batches.max_uses(), *std::max_element(uses.begin(), uses.end()));
}

TEST(BatchesTest, DisjointUsesEveryRowOncePerEpoch) {
  crypto::Prg prg = Seeded(7);
  Batches batches(BatchMode::kDisjoint, 23, 5, 0, prg);
  EXPECT_EQ(batches.sampling_rate(), 0.2);
  std::vector<uint32_t> first;
  for (uint32_t epoch = 1; epoch <= 3; ++epoch) {
    std::vector<uint32_t> order;
    for (int i = 0; i < 5; ++i) {
      const std::vector<uint32_t>& batch = batches.Next();
      EXPECT_GE(batch.size(), 4);
      EXPECT_LE(batch.size(), 5);
      order.insert(order.end(), batch.begin(), batch.end());
    }
    EXPECT_NE(order, first);  // equal with probability 1 / 23!
    first = order;
    std::sort(order.begin(), order.end());
    EXPECT_EQ(order, AllRows(23));
    EXPECT_EQ(batches.uses(), std::vector<uint32_t>(23, epoch));
  }
}

TEST(BatchesTest, FullUsesAllRowsAndPaddedOnesAreNotExceeded) {
  crypto::Prg prg = Seeded(8);
  Batches all(BatchMode::kFull, 4, 0, 0, prg);
  EXPECT_EQ(all.Next(), AllRows(4));
  EXPECT_EQ(all.sampling_rate(), 1);
  Batches padded(BatchMode::kPoisson, 100, 50, 50, prg);
  for (int i = 0; i < 200; ++i) EXPECT_LE(padded.Next().size(), 50u);
  EXPECT_THROW(Batches(BatchMode::kPoisson, 5, 6, 0, prg), Error);
  EXPECT_THROW(Batches(BatchMode::kPoisson, 5, 0, 0, prg), Error);
  EXPECT_THROW(Batches(BatchMode::kPoisson, 5, 3, 2, prg), Error);
}

// P(Binomial(4, 1/2) > 3) = 1/16, > 2: 5/16.
TEST(BatchesTest, PaddingIsTheSmallestThatHolds) {
  EXPECT_EQ(MaxBatch(4, 0.5, 1, 1.0 / 16), 3);
  EXPECT_EQ(MaxBatch(4, 0.5, 2, 1.0 / 16), 4);
  EXPECT_EQ(MaxBatch(4, 0.5, 1, 5.0 / 16), 2);
  const uint32_t adult = MaxBatch(30162, 100 / 30162.0, 20000, 1e-9);
  EXPECT_GT(adult, 150);
  EXPECT_LT(adult, 200);
}

// Rows of two kinds that agree in both columns: the fit finds both, from whole and from partitioned
// data, and the rows that it makes up have the pairs of the data. Deterministic: fixed seeds.
TEST(DpviTest, RecoversAMixtureAndDrawsFromIt) {
  const Layout layout = TwoFlags();
  std::vector<std::vector<double>> values(2);
  for (int n = 0; n < 1000; ++n) {
    const bool kind = n % 10 < 3;
    values[0].push_back(kind ? 1 : 0);
    values[1].push_back(kind ? 1 : 0);
  }
  const Rows rows = MakeRows(layout, values);
  VariationalOptions options;
  options.steps = 1500;
  options.learning_rate = 0.03;
  double plain_density = 0;
  for (const bool partitioned : {false, true}) {
    crypto::Prg prg = Seeded(9), batch_prg = Seeded(10), noise = Seeded(11);
    blr::Variates variates(prg);
    Batches batches(BatchMode::kPoisson, 1000, 100, 0, batch_prg);
    const ClippedNoise clip = {2, 0.5, 30};
    const GradientSum sum = partitioned
                                ? PartitionedGradientSum(layout, rows, clip, {32, true}, noise)
                                : PlainGradientSum(layout, rows, clip, noise);
    VariationalState state = StartState(layout, 3, options, variates);
    RunDpvi(layout, options, 1000, sum, batches, variates, {}, state);
    EXPECT_EQ(state.step, 1500);
    // The entropy of the data is 0.611; independent columns have 1.222.
    const double density = PlugInLogDensity(layout, rows, state);
    EXPECT_GT(density, -0.70);
    EXPECT_LT(density, -0.611);
    EXPECT_NEAR(PredictiveLogDensity(layout, rows, state, 20, variates), density, 0.05);
    EXPECT_GE(ActiveComponents(state), 2);
    if (partitioned) {
      EXPECT_NEAR(density, plain_density, 1e-6);
    }
    plain_density = density;
    const auto drawn = DrawRows(layout, state.mean, 4000, variates);
    double both = 0, one = 0;
    for (size_t n = 0; n < 4000; ++n) {
      both += drawn[0][n] * drawn[1][n];
      one += drawn[0][n] != drawn[1][n] ? 1 : 0;
    }
    EXPECT_NEAR(both / 4000, 0.3, 0.06);
    EXPECT_LT(one / 4000, 0.08);
  }
}

TEST(DpviTest, MoreComponentsThanRowsAreRefused) {
  const Layout layout = TwoFlags();
  const Rows rows = MakeRows(layout, {{0, 1}, {1, 1}});
  crypto::Prg prg = Seeded(14);
  blr::Variates variates(prg);
  const VariationalOptions options;
  Batches batches(BatchMode::kFull, 2, 0, 0, prg);
  VariationalState state = StartState(layout, 3, options, variates);
  ExpectError(ErrorCode::kBadInput, "more components than there are rows", "", [&] {
    RunDpvi(layout, options, 2, PlainGradientSum(layout, rows, {1, 0, 30}, prg), batches, variates,
            {}, state);
  });
}

// Without renormalisation densities below 2^-f round to zero and nothing is learned (Figure 2).
TEST(DpviTest, LostRowsTeachNothing) {
  const Layout layout =
      MakeLayout({{"a", Family::kGaussian, 0, 1, 0}, {"b", Family::kGaussian, 0, 1, 1}});
  const Rows rows = MakeRows(layout, {{30, 31}, {30, 29}});
  crypto::Prg prg = Seeded(12);
  const ArrayXXd theta = ArrayXXd::Zero(2, 5);
  const std::vector<uint32_t> batch = {0, 1};
  const ClippedNoise clip = {1, 0, 30};
  EXPECT_EQ(
      PartitionedGradientSum(layout, rows, clip, {32, false}, prg)(theta, batch).abs().maxCoeff(),
      0);
  const ArrayXXd kept = PartitionedGradientSum(layout, rows, clip, {32, true}, prg)(theta, batch);
  const ArrayXXd plain = PlainGradientSum(layout, rows, clip, prg)(theta, batch);
  EXPECT_GT(kept.abs().maxCoeff(), 0.1);
  EXPECT_LT((kept - plain).abs().maxCoeff(), 1e-6);
}

// Moments of rows drawn from one component; false alarms below 1e-6 (5 standard errors each).
TEST(PredictiveTest, DrawnRowsHaveTheMomentsOfTheirLaw) {
  const Layout layout = MakeLayout({{"level", Family::kCategorical, 3, 1, 0},
                                    {"share", Family::kBeta, 0, 1, 0},
                                    {"size", Family::kGaussian, 0, 1, 0},
                                    {"count", Family::kPoisson, 0, 50, 0}});
  const auto inverse = [](double y) { return std::log(std::expm1(y)); };
  ArrayXXd theta(1, 9);
  theta << 0, 0, std::log(2.0), std::log(3.0), inverse(2), inverse(3), 1.5, inverse(4), inverse(2);
  crypto::Prg prg = Seeded(13);
  blr::Variates variates(prg);
  constexpr size_t kCount = 40000;
  const auto values = DrawRows(layout, theta, kCount, variates);
  const auto check = [&](size_t f, double mean, double variance, double fourth) {
    double sum = 0, square = 0;
    for (const double x : values[f]) sum += x;
    for (const double x : values[f]) square += (x - mean) * (x - mean);
    EXPECT_NEAR(sum / kCount, mean, 5 * std::sqrt(variance / kCount)) << f;
    EXPECT_NEAR(square / kCount, variance, 5 * std::sqrt((fourth - variance * variance) / kCount))
        << f;
  };
  check(0, (0.0 + 2 + 6) / 6, 5.0 / 9, 0.6);  // fourth moment 0.5494
  check(1, 0.4, 0.04, 0.0038);                // Beta(2, 3): 0.003771
  check(2, 1.5, 0.25, 3 * 0.0625);
  check(3, 100, 100, 3 * 1e4 + 100);
  const auto top = std::count(values[0].begin(), values[0].end(), 2.0);
  EXPECT_NEAR(static_cast<double>(top), kCount / 2.0, 5 * std::sqrt(kCount / 4.0));
}

}  // namespace
}  // namespace partita::stats::mixture::variational_test
