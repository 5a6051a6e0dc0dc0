// The noisy release equals its plaintext twin to the last integer, given every party's noise; its
// noise is what the promise needs; rows are clipped wherever their columns are.
#include "methods/mle/moments/private_moments.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "privacy/sampling/grid_variance.h"
#include "tests/methods/mle/mle_parties.h"
#include "tests/methods/mle/noise_in_the_clear.h"
#include "tests/methods/mle/plaintext_moments.h"

namespace partita::methods::mle::private_moments_test {
namespace {

// Reproducible randomness that cryptography would not accept.
class TestRandom : public crypto::RandomSource {
 public:
  explicit TestRandom(uint64_t seed) : random_(seed) {}
  void Fill(std::span<uint8_t> out) override {
    for (uint8_t& byte : out) byte = static_cast<uint8_t>(random_() >> 32);
  }

 private:
  std::mt19937_64 random_;
};

// One block, columns 0 and 1 at party 0 and column 2 at party 1, or whole blocks at each.
struct Case {
  MomentsTask task;
  MomentsRelease release;
  std::vector<std::vector<Int128>> values;               // by block: rows x 3, clipped
  std::vector<std::vector<std::vector<int32_t>>> cells;  // by block and cell: weights
};

constexpr size_t kRows = 40;
constexpr double kNorm = 0.9;

Case MakeCase(bool vertical, bool groups, uint64_t seed) {
  std::mt19937_64 random(seed);
  Case test;
  test.task.num_variables = 3;
  test.task.fraction_bits = kPrivateFractionBits;
  test.task.cells.assign(groups ? 2 : 1, {});
  const size_t num_blocks = vertical ? 1 : 2;
  test.task.max_rows = kRows * num_blocks;
  for (size_t b = 0; b < num_blocks; ++b) {
    RowBlock block{"block", kRows, {}};
    if (vertical) {
      block.holders = {{0, {0, 1}, {}},
                       {1, {2}, std::vector<bool>(test.task.cells.size(), groups)}};
    } else {
      block.holders = {{b, {0, 1, 2}, std::vector<bool>(test.task.cells.size(), groups)}};
    }
    std::vector<Int128> rows(kRows * 3);
    const Int128 one = Int128{1} << kPrivateFractionBits;
    for (Int128& value : rows)
      value = static_cast<Int128>(random() % static_cast<uint64_t>(2 * one + 1)) - one;
    std::vector<std::vector<int32_t>> cells(test.task.cells.size(), std::vector<int32_t>(kRows, 1));
    for (size_t r = 0; r < kRows && groups; ++r) {
      const auto level = random() % 3;  // 2: in no cell
      for (size_t c = 0; c < 2; ++c) cells[c][r] = level == c ? 1 : 0;
    }
    test.values.push_back(std::move(rows));
    test.cells.push_back(std::move(cells));
    test.task.blocks.push_back(std::move(block));
  }
  test.release = {"moments", 1, {0}, {0, 1, 2}, AllPairs({0, 1, 2})};
  if (groups) test.release.cells = {0, 1};
  return test;
}

// Of one holder, clipped.
mpc::RowReader Reader(const Case& test, size_t block, const BlockHolder& holder) {
  const mpc::RowReader raw = [&test, &holder, block](size_t first, size_t num, Int128* out) {
    for (size_t r = first; r < first + num; ++r) {
      for (size_t v : holder.variables) *out++ = test.values[block][r * 3 + v];
    }
  };
  return ClippedRows(raw, holder.variables.size(), HolderBound(kNorm, holder.variables.size(), 3));
}

std::vector<LocalBlock> LocalOf(const Case& test, size_t party) {
  std::vector<LocalBlock> local(test.task.blocks.size());
  for (size_t b = 0; b < local.size(); ++b) {
    for (const BlockHolder& holder : test.task.blocks[b].holders) {
      if (holder.party != party) continue;
      local[b].num_rows = kRows;
      local[b].values = Reader(test, b, holder);
      local[b].selectors.resize(test.task.cells.size());
      for (size_t c = 0; c < test.task.cells.size(); ++c) {
        if (holder.Selects(c)) local[b].selectors[c] = test.cells[b][c];
      }
    }
  }
  return local;
}

// The clipped table.
std::vector<std::vector<Int128>> ClippedValues(const Case& test) {
  std::vector<std::vector<Int128>> clipped = test.values;
  for (size_t b = 0; b < clipped.size(); ++b) {
    for (const BlockHolder& holder : test.task.blocks[b].holders) {
      const size_t width = holder.variables.size();
      std::vector<Int128> own(kRows * width);
      Reader(test, b, holder)(0, kRows, own.data());
      for (size_t r = 0; r < kRows; ++r) {
        for (size_t i = 0; i < width; ++i)
          clipped[b][r * 3 + holder.variables[i]] = own[r * width + i];
      }
    }
  }
  return clipped;
}

std::vector<IntegerMoments> ExactMoments(const Case& test) {
  const auto clipped = ClippedValues(test);
  std::vector<IntegerMoments> exact;
  for (size_t c = 0; c < test.task.cells.size(); ++c) {
    std::vector<std::vector<int32_t>> weights;
    for (const auto& block : test.cells) weights.push_back(block[c]);
    exact.push_back(PlaintextMoments(3, clipped, weights));
  }
  return exact;
}

PrivacyPromise Promise(privacy::Adjacency adjacency = privacy::Adjacency::kReplace) {
  PrivacyPromise promise;
  promise.epsilon = 1;
  promise.delta = 1e-6;
  promise.adjacency = adjacency;
  promise.norm = kNorm;
  promise.known_shares = 1;
  return promise;
}

void ExpectEqual(const std::vector<NoisedMoments>& a, const std::vector<NoisedMoments>& b) {
  ASSERT_EQ(a.size(), b.size());
  for (size_t c = 0; c < a.size(); ++c) {
    EXPECT_TRUE(a[c].count == b[c].count);
    EXPECT_TRUE(a[c].sum == b[c].sum);
    EXPECT_TRUE(a[c].cross == b[c].cross);
  }
}

TEST(PrivateMomentsTest, TheOpenedVectorIsTheTwinWithEveryPartysNoise) {
  for (const std::string engine : {"dealer", "replicated"}) {
    for (const bool vertical : {false, true}) {
      for (const bool groups : {false, true}) {
        SCOPED_TRACE(engine + (vertical ? " vertical" : " horizontal") + (groups ? " groups" : ""));
        const size_t parties = engine == "replicated" ? 3 : 2;
        const Case test = MakeCase(vertical, groups, 7);
        const PrivateMoments design = DesignPrivateMoments(Promise(), test.task, test.release,
                                                           static_cast<uint32_t>(parties));
        EXPECT_EQ(design.public_count, !groups);
        std::vector<std::vector<Int128>> shares;
        for (size_t i = 0; i < parties; ++i) {
          TestRandom random(100 + i);
          shares.push_back(DrawNoiseShare(design, random));
          ASSERT_EQ(shares.back().size(), design.num_noised);
        }
        std::vector<NoisedMoments> opened;
        const testing::Outcome outcome = testing::RunParties(
            engine, parties, {{"moments", "", "", "", 1, 1, NumReleasedValues(test.release)}},
            [&](mpc::Engine& mpc, size_t process) {
              const auto shared = ComputeMoments(
                  mpc, test.task,
                  process < parties ? LocalOf(test, process) : std::vector<LocalBlock>{});
              auto noised =
                  OpenPrivateMoments(mpc, test.task, shared, design,
                                     process < parties ? shares[process] : std::vector<Int128>{});
              EXPECT_EQ(noised.empty(), process != 1);
              if (process == 1) opened = std::move(noised);
            });
        for (const auto& error : outcome.errors) ASSERT_FALSE(error) << error->message();
        ExpectEqual(opened,
                    testing::AddNoiseInTheClear(test.task, ExactMoments(test), design, shares));
      }
    }
  }
}

TEST(PrivateMomentsTest, APartyWithoutNoiseStopsTheRelease) {
  const Case test = MakeCase(false, false, 3);
  const PrivateMoments design = DesignPrivateMoments(Promise(), test.task, test.release, 2);
  TestRandom random(1);
  const std::vector<Int128> share = DrawNoiseShare(design, random);
  const testing::Outcome outcome = testing::RunParties(
      "dealer", 2, {{"moments", "", "", "", 1, 1, NumReleasedValues(test.release)}},
      [&](mpc::Engine& mpc, size_t process) {
        const auto shared = ComputeMoments(
            mpc, test.task, process < 2 ? LocalOf(test, process) : std::vector<LocalBlock>{});
        OpenPrivateMoments(mpc, test.task, shared, design,
                           process == 1 ? share : std::vector<Int128>{});
      });
  ASSERT_TRUE(outcome.errors[0]);
  EXPECT_EQ(outcome.errors[0]->code(), ErrorCode::kInternal);
}

TEST(PrivateMomentsTest, NoRowIsLongerThanTheNorm) {
  for (const bool vertical : {false, true}) {
    const Case test = MakeCase(vertical, false, 11);
    const double bound = std::ldexp(kNorm, kPrivateFractionBits);
    size_t at_bound = 0;
    for (const auto& block : ClippedValues(test)) {
      for (size_t r = 0; r < kRows; ++r) {
        long double square = 0;
        for (size_t v = 0; v < 3; ++v)
          square += static_cast<long double>(block[r * 3 + v]) *
                    static_cast<long double>(block[r * 3 + v]);
        EXPECT_LE(std::sqrt(square), static_cast<long double>(bound));
        at_bound += std::sqrt(square) > 0.999L * bound;
      }
    }
    EXPECT_GT(at_bound, 0u);  // the rows reach it, so the bound was tested
  }
}

TEST(PrivateMomentsTest, HolderBoundsAddUpToTheNorm) {
  for (size_t all = 2; all < 30; ++all) {
    for (size_t own = 1; own < all; ++own) {
      const long double a = HolderBound(0.7, own, all), b = HolderBound(0.7, all - own, all);
      EXPECT_LE(a * a + b * b, 0.7L * 0.7L);
      EXPECT_NEAR(static_cast<double>(a * a + b * b), 0.49, 1e-11);
    }
  }
}

double NormalCdf(double x) { return std::erfc(-x / std::sqrt(2.0)) / 2; }
// delta(eps) of the continuous Gaussian, which the discrete one on so fine a grid equals.
double GaussianProfile(double mu, double epsilon) {
  return NormalCdf(mu / 2 - epsilon / mu) - std::exp(epsilon) * NormalCdf(-mu / 2 - epsilon / mu);
}

// T(z) with a leading 1, by plain arithmetic.
std::vector<double> Statistic(const std::vector<double>& z, bool count) {
  std::vector<double> t;
  if (count) t.push_back(1);
  t.insert(t.end(), z.begin(), z.end());
  for (size_t i = 0; i < z.size(); ++i) {
    for (size_t j = i; j < z.size(); ++j) t.push_back(z[i] * z[j]);
  }
  return t;
}
double Square(const std::vector<double>& t) {
  double sum = 0;
  for (double x : t) sum += x * x;
  return sum;
}

TEST(PrivateMomentsTest, TheSensitivityHoldsAndIsAttained) {
  const double grid = std::ldexp(1.0, 2 * kPrivateFractionBits);
  const double c2 = kNorm * kNorm;
  // The count public: the worst pair of rows of the derivation, x^2 + y^2 = C^2, xy = 1/4.
  const Case plain = MakeCase(false, false, 1);
  const PrivateMoments open = DesignPrivateMoments(Promise(), plain.task, plain.release, 2);
  const double s = std::sqrt(c2 + 0.5), d = std::sqrt(c2 - 0.5);
  const double x = (s + d) / 2, y = (s - d) / 2;
  std::vector<double> a = Statistic({x, y, 0}, false), b = Statistic({-y, -x, 0}, false);
  for (size_t i = 0; i < a.size(); ++i) a[i] -= b[i];
  EXPECT_NEAR(open.sensitivity.value() / grid, std::sqrt(Square(a)), 1e-9);
  EXPECT_GE(open.sensitivity.value() / grid, std::sqrt(Square(a)) * (1 - 1e-12));
  // In the noised vector: one row leaves one cell and another enters the other cell.
  const Case grouped = MakeCase(false, true, 1);
  const PrivateMoments hidden = DesignPrivateMoments(Promise(), grouped.task, grouped.release, 2);
  const double one = Square(Statistic({kNorm, 0, 0}, true));
  EXPECT_NEAR(hidden.sensitivity.value() / grid, std::sqrt(2 * one), 1e-9);
  EXPECT_GE(hidden.sensitivity.value() / grid, std::sqrt(2 * one));
  const PrivateMoments added =
      DesignPrivateMoments(Promise(privacy::Adjacency::kAddRemove), plain.task, plain.release, 2);
  EXPECT_FALSE(added.public_count);
  EXPECT_NEAR(added.sensitivity.value() / grid, std::sqrt(one), 1e-9);
  EXPECT_NEAR(added.replace_sensitivity.value() / grid, std::sqrt(2 * one), 1e-9);
  PrivacyPromise several = Promise();
  several.max_rows_per_person = 3;
  EXPECT_NEAR(DesignPrivateMoments(several, plain.task, plain.release, 2).sensitivity.value(),
              3 * open.sensitivity.value(), 1e-9 * open.sensitivity.value());
}

TEST(PrivateMomentsTest, TheUnknownSharesMeetThePromise) {
  for (const uint32_t parties : {2u, 3u, 5u}) {
    for (uint32_t known = 0; known < parties; ++known) {
      const Case test = MakeCase(false, false, 1);
      PrivacyPromise promise = Promise();
      promise.known_shares = known;
      const PrivateMoments design = DesignPrivateMoments(promise, test.task, test.release, parties);
      const double share = privacy::StddevLowerBound(design.noise.share_variance);
      const double unknown = share * std::sqrt(static_cast<double>(parties - known));
      const double delta = GaussianProfile(design.sensitivity.value() / unknown, promise.epsilon);
      EXPECT_LE(delta, promise.delta * (1 + 1e-6));
      EXPECT_GT(delta, promise.delta * 0.999);  // and no more noise than that
      EXPECT_NEAR(
          NoiseStddev(design),
          std::ldexp(share, -2 * kPrivateFractionBits) * std::sqrt(static_cast<double>(parties)),
          1e-9 * NoiseStddev(design));
      EXPECT_GT(share, 4);
    }
  }
}

// Chi-square bounds at 1e-6 (normal approximation of Wilson and Hilferty).
double ChiSquareBound(double df, double z) {
  const double h = 2 / (9 * df);
  return df * std::pow(1 - h + z * std::sqrt(h), 3);
}

TEST(PrivateMomentsTest, SharesHaveTheVarianceThatTheDesignStates) {
  const Case test = MakeCase(false, false, 1);
  const PrivateMoments design = DesignPrivateMoments(Promise(), test.task, test.release, 3);
  TestRandom random(5);
  const double sigma = privacy::StddevUpperBound(design.noise.share_variance);
  double sum = 0, df = 0;
  for (int run = 0; run < 200; ++run) {
    for (Int128 value : DrawNoiseShare(design, random)) {
      const double x = static_cast<double>(value) / sigma;
      sum += x * x;
      ++df;
    }
  }
  EXPECT_GT(sum, ChiSquareBound(df, -4.9));
  EXPECT_LT(sum, ChiSquareBound(df, 4.9));
}

// Two numbers with the same noise would give their difference away. Sigma is above 2^40, so that
// equal noise has a probability below 1e-9.
TEST(PrivateMomentsTest, EveryNumberHasNoiseOfItsOwn) {
  const Case test = MakeCase(false, false, 1);
  const PrivateMoments design = DesignPrivateMoments(Promise(), test.task, test.release, 3);
  ASSERT_GT(privacy::StddevLowerBound(design.noise.share_variance), 0x1p40);
  TestRandom random(6);
  std::vector<Int128> all;
  for (int draw = 0; draw < 3; ++draw) {
    for (Int128 value : DrawNoiseShare(design, random)) all.push_back(value);
  }
  std::sort(all.begin(), all.end());
  EXPECT_TRUE(std::adjacent_find(all.begin(), all.end()) == all.end());
}

}  // namespace
}  // namespace partita::methods::mle::private_moments_test
