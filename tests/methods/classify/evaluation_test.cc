// Noisy counts of test rows, the sums for intervals and one-against-rest descents among parties:
// equal to their twins in the clear given every party's noise, on every engine, at the planned
// cost.
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <random>
#include <set>

#include "base/error.h"
#include "methods/classify/held_out_counts.h"
#include "methods/classify/level_descents.h"
#include "methods/classify/newton_sums.h"
#include "privacy/sampling/discrete_gaussian.h"
#include "tests/methods/classify/engine_cases.h"
#include "tests/stats/blr/random.h"
#include "tests/stats/erm/in_the_clear.h"
#include "tests/stats/erm/reference.h"

namespace partita::methods::classify::evaluation_test {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;
using mpc::Engine;
using mpc::testing::RunAndComparePlan;
using mpc::testing::RunOptions;
using stats::blr::TestRandom;
using stats::erm::LabelledRows;
using stats::erm::NewtonSums;
using stats::erm::ScoreCounts;
using stats::erm::testing::SmallTable;

// The noise of all parties together, real units, as party p draws it from seed + p.
VectorXd NoiseOf(const NoisedSum& sum, size_t parties, uint64_t seed) {
  VectorXd total = VectorXd::Zero(static_cast<Index>(sum.dimension));
  for (size_t p = 0; p < parties; ++p) {
    TestRandom random(seed + p);
    std::vector<Int128> noise(sum.dimension);
    privacy::DiscreteGaussian(sum.noise.share_variance).Sample(random, noise);
    for (size_t j = 0; j < noise.size(); ++j) {
      total(static_cast<Index>(j)) += std::ldexp(static_cast<double>(noise[j]), -sum.fraction_bits);
    }
  }
  return total;
}

TEST(TestCounts, EqualTheirTwinOnEveryEngine) {
  const VectorXd w = Eigen::Vector3d(1, -2, 0.5);
  for (const EngineCase& engine_case : kEngines) {
    const auto tables = Tables(engine_case.parties);
    CountsTask task;
    task.bins = 4;
    task.party_rows = 17;
    task.parties = static_cast<uint32_t>(engine_case.parties);
    task.to = 0;
    const NoisedSum sum = DesignCounts(task, 2, 1e-3);
    const LabelledRows all = SmallTable();
    const ScoreCounts exact = stats::erm::CountScores(all.x * w, all.y, 4);
    const VectorXd noise = NoiseOf(sum, engine_case.parties, 30);
    const auto run = RunAndComparePlan(
        OptionsFor(engine_case, ReleaseOf(sum, "noisy counts", "party 0", 1)),
        [&](Engine& engine, size_t) {
          std::optional<LabelledRows> rows;
          if (engine.self()) rows = tables[*engine.self()];
          TestRandom random(30 + engine.self().value_or(9));
          const ScoreCounts counts = RunCounts(engine, task, sum, rows, w, random);
          if (engine.self() != 0u) {
            EXPECT_TRUE(counts.positive.empty());
            return;
          }
          ASSERT_EQ(counts.positive.size(), 4u);
          for (size_t b = 0; b < 4; ++b) {
            const auto at = static_cast<Index>(b);
            EXPECT_NEAR(counts.positive[b], exact.positive[b] + noise(at), 1e-9);
            EXPECT_NEAR(counts.negative[b], exact.negative[b] + noise(at + 4), 1e-9);
          }
          const double share = std::ldexp(privacy::StddevLowerBound(sum.noise.share_variance), -20);
          EXPECT_NEAR(counts.noise_stddev,
                      share * std::sqrt(static_cast<double>(engine_case.parties)), 1e-9);
        });
    run.ThrowIfFailed();
  }
}

// A replaced row leaves one cell and enters another; the noise without the adversary's share covers
// it.
TEST(TestCounts, AReplacedRowMovesTwoCounts) {
  const VectorXd scores = Eigen::Vector2d(-1, 2), other = Eigen::Vector2d(3, 2);
  const ScoreCounts before = stats::erm::CountScores(scores, Eigen::Vector2d(1, -1), 4);
  const ScoreCounts after = stats::erm::CountScores(other, Eigen::Vector2d(-1, -1), 4);
  double square = 0;
  for (size_t b = 0; b < 4; ++b) {
    square += std::pow(before.positive[b] - after.positive[b], 2) +
              std::pow(before.negative[b] - after.negative[b], 2);
  }
  EXPECT_EQ(square, 2);
  CountsTask task;
  task.parties = 3;
  const NoisedSum sum = DesignCounts(task, 1, 1e-5);
  const privacy::GridL2Sensitivity moved(std::ldexp(std::sqrt(square), task.fraction_bits));
  EXPECT_LE(privacy::DiscreteGaussianProfileOf(moved, privacy::RemainingNoise(sum.noise, 1))
                .Delta(privacy::Epsilon(1))
                .upper,
            1e-5);
}

TEST(TestCounts, RowsAreHeldAsideWithoutLookingAtThem) {
  LabelledRows rows{MatrixXd(10, 1), VectorXd::Ones(10)};
  for (Index i = 0; i < 10; ++i) rows.x(i, 0) = static_cast<double>(i);
  TestRandom random(4), again(4);
  const HeldAside parts = HoldAside(rows, 0.3, random);
  EXPECT_EQ(parts.test.x.rows(), 3);
  EXPECT_EQ(parts.train.x.rows(), 7);
  std::set<double> all;
  for (const LabelledRows* part : {&parts.test, &parts.train}) {
    for (Index i = 0; i < part->x.rows(); ++i) all.insert(part->x(i, 0));
  }
  EXPECT_EQ(all.size(), 10u);
  // A replaced row stays where it was.
  LabelledRows other = rows;
  other.x(6, 0) = 600;
  const HeldAside same = HoldAside(other, 0.3, again);
  EXPECT_LE((same.test.x - parts.test.x).cwiseAbs().count() +
                (same.train.x - parts.train.x).cwiseAbs().count(),
            10);
  EXPECT_EQ((same.test.x.array() != parts.test.x.array()).count() +
                (same.train.x.array() != parts.train.x.array()).count(),
            1);
  EXPECT_THROW(HoldAside(rows, 1, random), Error);
  EXPECT_THROW(HoldAside(rows, 0.99, random), Error);
  CountsTask odd;
  odd.bins = 3;
  EXPECT_THROW(DesignCounts(odd, 1, 1e-6), Error);
}

TEST(NewtonSums, EqualTheirTwinOnEveryEngine) {
  const VectorXd w = Eigen::Vector3d(0.4, -0.3, 0.1);
  for (const EngineCase& engine_case : kEngines) {
    const auto tables = Tables(engine_case.parties);
    NewtonTask task;
    task.dimension = 3;
    task.party_rows = 17;
    task.parties = static_cast<uint32_t>(engine_case.parties);
    const NoisedSum sum = DesignNewton(task, 3, 1e-3);
    std::vector<Int128> vector = NewtonOnGrid(SmallTable(), w);
    const VectorXd noise = NoiseOf(sum, engine_case.parties, 50);
    for (size_t j = 0; j < vector.size(); ++j) {
      vector[j] += mpc::EncodeFixed(noise(static_cast<Index>(j)), kNewtonBits);
    }
    const NewtonSums expected = NewtonSumsOf(vector, 3, TotalStddev(sum));
    const auto run =
        RunAndComparePlan(OptionsFor(engine_case, ReleaseOf(sum, "noisy sums", "all", 1)),
                          [&](Engine& engine, size_t) {
                            std::optional<LabelledRows> rows;
                            if (engine.self()) rows = tables[*engine.self()];
                            TestRandom random(50 + engine.self().value_or(9));
                            const NewtonSums sums = RunNewton(engine, task, sum, rows, w, random);
                            if (!engine.self()) return;
                            EXPECT_LT((sums.gradient - expected.gradient).norm(), 1e-8);
                            EXPECT_LT((sums.hessian - expected.hessian).norm(), 1e-8);
                            EXPECT_EQ(sums.hessian_stddev, expected.gradient_stddev / 4);
                          });
    run.ThrowIfFailed();
  }
}

// Without noise they are those in the clear: a row is rounded by half of 2^-22 in each of d
// columns, which moves 4 H by |q q' - v v'| <= (2 |v| + |e|) |e|, |e| <= sqrt(d) 2^-23.
TEST(NewtonSums, AreThoseInTheClearUpToTheRoundingOfRows) {
  const LabelledRows rows = SmallTable();
  const VectorXd w = Eigen::Vector3d(0.4, -0.3, 0.1);
  const NewtonSums grid = NewtonSumsOf(NewtonOnGrid(rows, w), 3, 0);
  const NewtonSums clear = stats::erm::SumsAt(rows, w);
  EXPECT_LT((grid.gradient - clear.gradient).norm(), 1e-13);
  const double error = std::sqrt(3.0) * 0x1p-23;
  EXPECT_LT((grid.hessian - clear.hessian).norm(), 24 * (2 + error) * error / 4);
}

// Many rows are added in blocks of doubles, and lose nothing.
TEST(NewtonSums, OfManyRowsAreTheExactSumsOfTheirParts) {
  const VectorXd w = Eigen::Vector3d(0.4, -0.3, 0.1);
  LabelledRows many{MatrixXd(1300, 3), VectorXd(1300)};
  const LabelledRows small = SmallTable();
  for (Index i = 0; i < 1300; ++i) {
    many.x.row(i) = small.x.row(i % 24) * (i % 5 == 0 ? 1.0 : 0.9);
    many.y(i) = small.y(i % 24);
  }
  std::vector<Int128> parts(9, 0);
  for (Index i = 0; i < 1300; ++i) {
    const std::vector<Int128> one = NewtonOnGrid({many.x.row(i), many.y.segment(i, 1)}, w);
    for (size_t j = 0; j < parts.size(); ++j) parts[j] += one[j];
  }
  EXPECT_EQ(NewtonOnGrid(many, w), parts);
}

// |a - b|^2 of a few hundred integers of up to 2^52, exactly.
UInt128 SquaredDistance(const std::vector<Int128>& a, const std::vector<Int128>& b) {
  UInt128 sum = 0;
  for (size_t j = 0; j < a.size(); ++j) {
    sum += static_cast<UInt128>((a[j] - b[j]) * (a[j] - b[j]));
  }
  return sum;
}

// The integers of no two rows are further apart than is charged, and some nearly are: rows of any
// length, in few and in many columns, single columns and even ones included.
TEST(NewtonSums, ARowMovesThemByNoMoreThanIsCharged) {
  std::mt19937_64 random(5);
  std::normal_distribution<double> normal;
  double replaced = 0, added = 0;
  for (int round = 0; round < 4000; ++round) {
    const Index d = round % 3 == 0 ? 2 : 20;
    VectorXd w(d);
    for (Index j = 0; j < d; ++j) w(j) = (round % 7 == 0 ? 0.01 : 1) * normal(random);
    const auto vector_of = [&] {
      LabelledRows row{MatrixXd::Zero(1, d), VectorXd::Constant(1, normal(random) > 0 ? 1 : -1)};
      for (Index j = 0; j < d; ++j) row.x(0, j) = round % 5 == 0 ? 1 : normal(random);
      if (round % 11 == 0) row.x.row(0) = VectorXd::Unit(d, round % d).transpose();
      row.x.row(0) *= (round % 13 == 0 ? 1.5 : 1) / row.x.row(0).norm();
      return NewtonOnGrid(row, w);
    };
    const std::vector<Int128> one = vector_of(), other = vector_of();
    const UInt128 alone = SquaredDistance(one, std::vector<Int128>(one.size(), 0));
    const UInt128 apart = SquaredDistance(one, other);
    EXPECT_TRUE(alone <= UInt128{2} << (2 * kNewtonBits));
    EXPECT_TRUE(apart <= UInt128{6} << (2 * kNewtonBits));
    added = std::max(added, std::ldexp(static_cast<double>(alone), -2 * kNewtonBits));
    replaced = std::max(replaced, std::ldexp(static_cast<double>(apart), -2 * kNewtonBits));
  }
  // |gradient| and curvature are largest at different margins: (1 + 1) and (4 + 2) are not reached.
  EXPECT_GT(added, 1);
  EXPECT_GT(replaced, 3);
  const auto charged = [](privacy::Adjacency adjacency) {
    return std::ldexp(NewtonSensitivity(adjacency).value(), -kNewtonBits);
  };
  EXPECT_GT(std::pow(charged(privacy::Adjacency::kReplace), 2), 6);
  EXPECT_LT(std::pow(charged(privacy::Adjacency::kReplace), 2), 6 * (1 + 1e-15) + 1e-14);
  EXPECT_GT(std::pow(charged(privacy::Adjacency::kAddRemove), 2), 2);
}

TEST(NewtonSums, TooManyColumnsAreRefused) {
  NewtonTask task;
  task.party_rows = 10;
  task.dimension = kMaxNewtonDimension + 1;
  EXPECT_THROW(DesignNewton(task, 1, 1e-6), Error);
}

TEST(NewtonSums, ARowThatIsTooLongIsRefusedByItsOwner) {
  NewtonTask task;
  task.dimension = 3;
  task.party_rows = 17;
  const NoisedSum sum = DesignNewton(task, 3, 1e-3);
  auto tables = Tables(2);
  tables[0].x *= 3;
  RunOptions options;
  options.releases = {ReleaseOf(sum, "noisy sums", "all", 1)};
  const auto run = mpc::testing::RunAll(options, [&](Engine& engine, size_t) {
    std::optional<LabelledRows> rows;
    if (engine.self()) rows = tables[*engine.self()];
    TestRandom random(1);
    RunNewton(engine, task, sum, rows, VectorXd::Zero(3), random);
  });
  ASSERT_TRUE(run.errors[0]);
  try {
    std::rethrow_exception(run.errors[0]);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kBadData);
  }
}

TEST(LevelDescents, AreOneDescentForEachLevel) {
  const auto tables = Tables(2);
  DescentTask task;
  task.options = {{}, 0.05, 0.7, 0.5, 1, 3, stats::erm::Optimiser::kSgd};
  task.rows = 24;
  task.party_rows = 17;
  task.dimension = 3;
  const NoisedSum sum = DesignDescent(task, 1e-6);  // hardly any noise
  const auto levels_of = [](const LabelledRows& rows) {
    stats::erm::LevelRows levels{rows.x, {}, 3};
    for (Index i = 0; i < rows.y.size(); ++i) {
      levels.level.push_back(rows.y(i) > 0 ? 0 : rows.x(i, 0) > 0 ? 1 : 2);
    }
    return levels;
  };
  const stats::erm::LevelRows all = levels_of(SmallTable());
  const MatrixXd expected =
      stats::erm::FitOneVersusRest(all, [&](const LabelledRows& binary, size_t) {
        stats::erm::MinibatchSteps steps(task.options, 24, 3);
        std::vector<Index> batch(24);
        std::iota(batch.begin(), batch.end(), Index{0});
        for (int t = 0; t < 3; ++t) {
          steps.Step(stats::erm::SumOfClippedGradients(binary, batch, {}, steps.w(), 0.5));
        }
        return steps.Result();
      });
  const EngineCase engine_case{"dealer", 2};
  const auto run = RunAndComparePlan(
      OptionsFor(engine_case,
                 ReleaseOf(sum, "noisy gradients", "all", AllLevels(task, 3).options.iterations)),
      [&](Engine& engine, size_t) {
        std::optional<stats::erm::LevelRows> rows;
        if (engine.self()) rows = levels_of(tables[*engine.self()]);
        TestRandom random(8 + engine.self().value_or(9));
        SilentProgress progress;
        const MatrixXd w = RunLevelDescents(engine, task, 3, sum, rows, random, progress);
        if (!engine.self()) {
          EXPECT_EQ(w.size(), 0);
          return;
        }
        EXPECT_LT((w - expected).norm(), 1e-3);  // margin of the clipping, and the noise
        EXPECT_GT(w.norm(), 0.1);
      });
  run.ThrowIfFailed();
}

}  // namespace
}  // namespace partita::methods::classify::evaluation_test
