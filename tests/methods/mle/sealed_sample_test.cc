// Sample moments on shares against the same in floating point.
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "base/error.h"
#include "methods/mle/sealed/sample.h"
#include "methods/mle/sealed/values.h"
#include "tests/mpc/harness.h"

namespace partita::methods::mle::sealed_sample_test {
namespace {

using mpc::Engine;
using mpc::Shared;

constexpr size_t kVariables = 3;

// Integer sums of one group, and its moments from the same integers.
struct Group {
  Int128 n = 0;
  std::vector<Int128> sum = std::vector<Int128>(kVariables);
  std::vector<Int128> cross = std::vector<Int128>(kVariables * kVariables);
};

// Correlated values of standard deviation `sd` around `mean`, in half-widths.
Group Draw(std::mt19937_64& random, int rows, double mean, double sd) {
  std::normal_distribution<double> normal;
  Group group;
  group.n = rows;
  for (int r = 0; r < rows; ++r) {
    const double common = normal(random);
    std::vector<Int128> z;
    for (size_t v = 0; v < kVariables; ++v) {
      const double value = mean + sd * (0.6 * common + 0.8 * normal(random));
      z.push_back(mpc::EncodeFixed(std::clamp(value, -1.0, 1.0), kSealedInputBits));
    }
    for (size_t i = 0; i < kVariables; ++i) {
      group.sum[i] += z[i];
      for (size_t j = 0; j < kVariables; ++j) group.cross[i * kVariables + j] += z[i] * z[j];
    }
  }
  return group;
}

double MeanOf(const Group& group, size_t i) {
  return std::ldexp(static_cast<double>(group.sum[i]), -kSealedInputBits) /
         static_cast<double>(group.n);
}
// n cross - sum sum' is exact in integers.
double CovarianceOf(const Group& group, size_t i, size_t j) {
  const Int128 scatter = group.n * group.cross[i * kVariables + j] - group.sum[i] * group.sum[j];
  const double n = static_cast<double>(group.n);
  return std::ldexp(static_cast<double>(scatter), -2 * kSealedInputBits) / n / n;
}

SealedSums SumsOf(Engine& engine, const std::vector<Group>& groups, double max_rows) {
  SealedSums sums;
  sums.max_rows = max_rows;
  for (size_t v = 0; v < kVariables; ++v) sums.variables.push_back(kVariables - 1 - v);
  for (const Group& group : groups) {
    const auto input = [&](mpc::Shape shape, const std::vector<Int128>& values, int bits) {
      const mpc::IntMatrix integers{shape, values};
      const mpc::PrivateMatrix matrix = mpc::testing::Private(engine, 1, integers, max_rows, bits);
      return engine.Input({&matrix, 1}).front();
    };
    sums.groups.push_back({input({1, 1}, {group.n}, 0),
                           input({1, kVariables}, group.sum, kSealedInputBits),
                           input({kVariables, kVariables}, group.cross, 2 * kSealedInputBits)});
  }
  return sums;
}

void ExpectMoments(const std::vector<Group>& groups, double max_rows) {
  mpc::testing::RunOptions options;
  options.releases = {{"moments", "for the test", "party0", "exact", 100, 0, std::nullopt}};
  Int128 total = 0;
  for (const Group& group : groups) total += group.n;
  const auto run = mpc::testing::RunAll(options, [&](Engine& engine, size_t) {
    const std::vector<SealedSample> samples =
        SampleOnShares(engine, SumsOf(engine, groups, max_rows));
    for (size_t g = 0; g < groups.size(); ++g) {
      std::vector<Shared> values = {samples[g].mean, samples[g].covariance};
      if (groups.size() > 1) values.push_back(samples[g].weight);
      const auto opened = engine.Reveal("moments", values, 0);
      if (engine.self() != 0u) continue;
      // 1 / n errs by 2^-40 of itself, every cut by a unit of 2^-40; and the one before the
      // division, of sample.h.
      const double n = static_cast<double>(groups[g].n);
      const double before = std::exp2(-std::min(60.0, 84 - 2 * std::ceil(std::log2(max_rows))));
      const auto near = [&](Int128 value, double truth) {
        EXPECT_NEAR(mpc::DecodeFixed(value, kSealedBits), truth,
                    std::ldexp(2 + 2 * std::abs(truth), -40) + before / (n * n));
      };
      for (size_t i = 0; i < kVariables; ++i) {
        const size_t a = kVariables - 1 - i;
        near(opened[0].values[i], MeanOf(groups[g], a));
        for (size_t j = 0; j < kVariables; ++j) {
          near(opened[1].values[i * kVariables + j],
               CovarianceOf(groups[g], a, kVariables - 1 - j));
        }
      }
      if (groups.size() > 1) {
        near(opened[2].values[0], static_cast<double>(groups[g].n) / static_cast<double>(total));
      }
    }
  });
  run.ThrowIfFailed();
}

TEST(SealedSample, EqualsTheMomentsInTheClear) {
  std::mt19937_64 random(7);
  ExpectMoments({Draw(random, 301, 0.2, 0.3)}, 301);
  ExpectMoments({Draw(random, 50, -0.9, 0.01), Draw(random, 400, 0.5, 0.2)}, 450);
}

// Few rows where the study declares no counts.
TEST(SealedSample, TakesFewRowsUnderAWideBound) {
  std::mt19937_64 random(8);
  ExpectMoments({Draw(random, 2, 0.1, 0.3)}, 0x1p22);
  ExpectMoments({Draw(random, 30, 0.9, 0.02)}, 0x1p28);
}

TEST(SealedSample, RefusesTooManyRows) {
  SealedSums sums;
  sums.max_rows = 0x1p28;
  EXPECT_NO_THROW(RequireSealedRows(sums));
  sums.max_rows = 0x1p28 + 1;
  EXPECT_THROW(RequireSealedRows(sums), Error);
}

}  // namespace
}  // namespace partita::methods::mle::sealed_sample_test
