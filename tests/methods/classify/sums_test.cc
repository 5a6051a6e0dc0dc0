// Descent and aggregation among parties equal their twins in the clear, given every party's coins;
// the noise is what the budget needs; costs are as planned.
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "base/error.h"
#include "methods/classify/descent.h"
#include "methods/classify/local_aggregation.h"
#include "methods/classify/poisson_batch.h"
#include "methods/classify/psgd.h"
#include "privacy/accounting/accountant.h"
#include "privacy/sampling/discrete_gaussian.h"
#include "privacy/sampling/discrete_gaussian_mechanism.h"
#include "tests/methods/classify/engine_cases.h"
#include "tests/stats/blr/random.h"
#include "tests/stats/erm/reference.h"

namespace partita::methods::classify::sums_test {
namespace {

using Eigen::Index;
using Eigen::VectorXd;
using mpc::Engine;
using mpc::testing::RunAndComparePlan;
using mpc::testing::RunOptions;
using stats::blr::TestRandom;
using stats::erm::LabelledRows;
using stats::erm::testing::SmallTable;

DescentTask MakeTask(size_t parties, double rate) {
  DescentTask task;
  task.options = {{}, 0.05, 0.7, 0.5, rate, 6, stats::erm::Optimiser::kSgd};
  task.rows = 24;
  task.party_rows = 17;
  task.dimension = 3;
  task.parties = static_cast<uint32_t>(parties);
  return task;
}

// The protocol in the clear: each party's noise first, then its coins, as it draws them.
VectorXd Twin(const std::vector<LabelledRows>& tables, const DescentTask& task,
              const NoisedSum& sum) {
  std::vector<TestRandom> random;
  std::vector<std::vector<Int128>> noise;
  const privacy::DiscreteGaussian gaussian(sum.noise.share_variance);
  for (size_t p = 0; p < tables.size(); ++p) {
    random.emplace_back(100 + p);
    noise.emplace_back(task.options.iterations * task.dimension);
    gaussian.Sample(random.back(), noise.back());
  }
  stats::erm::MinibatchSteps steps(task.options, task.rows, task.dimension);
  for (size_t t = 0; t < task.options.iterations; ++t) {
    VectorXd total = VectorXd::Zero(3);
    for (size_t p = 0; p < tables.size(); ++p) {
      const std::vector<Index> batch =
          DrawPoissonBatch(tables[p].x.rows(), task.options.rate, random[p]);
      const std::vector<Int128> own = GradientOnGrid(tables[p], batch, task, steps.w());
      for (size_t j = 0; j < 3; ++j) {
        total(static_cast<Index>(j)) +=
            std::ldexp(static_cast<double>(own[j] + noise[p][t * 3 + j]), -task.fraction_bits);
      }
    }
    steps.Step(total);
  }
  return steps.Result();
}

TEST(Descent, EqualsItsTwinOnEveryEngine) {
  for (const EngineCase& engine_case : kEngines) {
    for (const double rate : {1.0, 0.4}) {
      const auto tables = Tables(engine_case.parties);
      const DescentTask task = MakeTask(engine_case.parties, rate);
      const NoisedSum sum = DesignDescent(task, 1.5);
      const VectorXd expected = Twin(tables, task, sum);
      const RunOptions options = OptionsFor(
          engine_case, ReleaseOf(sum, "noisy gradients", "all", task.options.iterations));
      const auto run = RunAndComparePlan(options, [&](Engine& engine, size_t) {
        std::optional<LabelledRows> rows;
        if (engine.self()) rows = tables[*engine.self()];
        TestRandom random(100 + engine.self().value_or(9));
        SilentProgress progress;
        const VectorXd w = RunDescent(engine, task, sum, rows, random, progress);
        if (!engine.self()) {
          EXPECT_EQ(w.size(), 0);
          return;
        }
        EXPECT_LT((w - expected).norm(), 1e-12) << engine_case.kind << " " << rate;
      });
      run.ThrowIfFailed();
    }
  }
}

// Every reason by which a row moves the sum on the grid: at most 2 C if it is replaced, C if added.
TEST(Descent, ARowMovesTheSumByNoMoreThanIsCharged) {
  const DescentTask task = MakeTask(2, 1);
  std::mt19937_64 random(5);
  std::normal_distribution<double> normal;
  const double charged = std::ldexp(task.options.clip_norm, task.fraction_bits);
  double longest = 0;
  for (int round = 0; round < 300; ++round) {
    LabelledRows row{Eigen::MatrixXd(1, 3), VectorXd::Constant(1, round % 2 == 0 ? 1 : -1)};
    VectorXd w(3);
    for (Index j = 0; j < 3; ++j) {
      row.x(0, j) = 3 * normal(random);
      w(j) = 4 * normal(random);
    }
    const std::vector<Index> batch = {0};
    double square = 0;
    for (const Int128 entry : GradientOnGrid(row, batch, task, w)) {
      square += static_cast<double>(entry) * static_cast<double>(entry);
    }
    longest = std::max(longest, std::sqrt(square));
  }
  EXPECT_LE(longest, charged);
  EXPECT_GT(longest, charged * (1 - 0x1p-14));
}

TEST(Descent, NoiseMeetsTheBudgetWithoutTheSharesOfTheAdversary) {
  for (const uint32_t known : {1u, 2u}) {
    DescentTask task = MakeTask(3, 0.1);
    task.known_shares = known;
    task.options.iterations = 100;
    const double multiplier = CalibrateDescent(task, 1, 1e-5);
    const NoisedSum sum = DesignDescent(task, multiplier);
    const double share = privacy::StddevLowerBound(sum.noise.share_variance);
    const double remaining = std::ldexp(share, -task.fraction_bits) * std::sqrt(3.0 - known);
    EXPECT_GE(remaining * (1 + 1e-12), multiplier * task.options.clip_norm);
    const privacy::SamplingSpec spec{privacy::Adjacency::kReplace, 0.1};
    const auto spent = privacy::PldEpsilon(
        {{privacy::GaussianMechanism(remaining / task.options.clip_norm, spec), 100}}, 1e-5);
    EXPECT_LE(spent.value.upper, 1 + 1e-9);
    EXPECT_GT(spent.value.lower, 0.98);
  }
}

TEST(Descent, RefusesTasksThatMakeNoSense) {
  DescentTask task = MakeTask(2, 0.5);
  task.known_shares = 2;
  EXPECT_THROW(DesignDescent(task, 1), Error);
  task = MakeTask(2, 0);
  EXPECT_THROW(DesignDescent(task, 1), Error);
  task = MakeTask(2, 0.5);
  task.options.clip_norm = 0;
  EXPECT_THROW(CalibrateDescent(task, 1, 1e-5), Error);
}

PsgdTask MakePsgd(size_t parties) {
  PsgdTask task;
  task.options = {{}, 0.1, 0.02, 8};
  task.rows = 24;
  task.party_rows = 17;
  task.dimension = 3;
  task.parties = static_cast<uint32_t>(parties);
  task.eta_stddev = 2;
  task.rho_stddev = 1.5;
  return task;
}

// Gradient sums open exactly: the iterates are those of the algorithm in the clear, to 1e-9.
TEST(Psgd, EqualsItsTwinOnEveryEngine) {
  for (const EngineCase& engine_case : kEngines) {
    const auto tables = Tables(engine_case.parties);
    const PsgdTask task = MakePsgd(engine_case.parties);
    const PsgdNoise noise = DesignPsgd(task);
    std::vector<std::vector<Int128>> eta(tables.size()), rho(tables.size());
    for (size_t p = 0; p < tables.size(); ++p) {
      TestRandom random(70 + p);
      eta[p].resize(3);
      rho[p].resize(3 * task.options.iterations);
      privacy::DiscreteGaussian(noise.eta.share_variance).Sample(random, eta[p]);
      privacy::DiscreteGaussian(noise.sum.noise.share_variance).Sample(random, rho[p]);
    }
    const VectorXd expected =
        stats::erm::Psgd(tables, task.options, [&](size_t party, size_t t) -> VectorXd {
          VectorXd both(3);
          for (size_t j = 0; j < 3; ++j) {
            both(static_cast<Index>(j)) = std::ldexp(
                static_cast<double>(eta[party][j] + rho[party][t * 3 + j]), -task.fraction_bits);
          }
          return both;
        });
    const auto run = RunAndComparePlan(
        OptionsFor(engine_case,
                   ReleaseOf(noise.sum, "noisy gradients", "all", task.options.iterations)),
        [&](Engine& engine, size_t) {
          std::optional<LabelledRows> rows;
          if (engine.self()) rows = tables[*engine.self()];
          TestRandom random(70 + engine.self().value_or(9));
          SilentProgress progress;
          const VectorXd w = RunPsgd(engine, task, noise, rows, random, progress);
          if (engine.self()) {
            EXPECT_LT((w - expected).norm(), 1e-9);
          }
        });
    run.ThrowIfFailed();
  }
}

TEST(Psgd, SomebodysNoiseMustRemain) {
  PsgdTask bad = MakePsgd(2);
  bad.known_shares = 2;
  EXPECT_THROW(DesignPsgd(bad), Error);
}

AggregationTask MakeAggregation(size_t parties) {
  AggregationTask task;
  task.lambda = 0.2;
  task.dimension = 3;
  task.parties = static_cast<uint32_t>(parties);
  task.smallest_rows = parties == 2 ? 7 : 1;
  task.largest_rows = 17;
  return task;
}

TEST(Aggregation, IsTheAverageOfTheFitsAndTheNoise) {
  for (const EngineCase& engine_case : kEngines) {
    const auto tables = Tables(engine_case.parties);
    AggregationTask task = MakeAggregation(engine_case.parties);
    task.to = 1;
    const NoisedSum sum = DesignAggregation(task, 1, 1e-5);
    VectorXd expected = stats::erm::Average(stats::erm::LocalFits(tables, {}, task.lambda));
    for (size_t p = 0; p < tables.size(); ++p) {
      TestRandom random(40 + p);
      std::vector<Int128> noise(3);
      privacy::DiscreteGaussian(sum.noise.share_variance).Sample(random, noise);
      for (Index j = 0; j < 3; ++j) {
        expected(j) +=
            std::ldexp(static_cast<double>(noise[static_cast<size_t>(j)]), -task.fraction_bits) /
            static_cast<double>(tables.size());
      }
    }
    const RunOptions options =
        OptionsFor(engine_case, ReleaseOf(sum, "noisy average", "party 1", 1));
    const auto run = RunAndComparePlan(options, [&](Engine& engine, size_t) {
      std::optional<LabelledRows> rows;
      if (engine.self()) rows = tables[*engine.self()];
      TestRandom random(40 + engine.self().value_or(9));
      const VectorXd average = RunAggregation(engine, task, sum, rows, random);
      if (engine.self() == 1u) {
        EXPECT_LT((average - expected).norm(), 1e-9);
      } else {
        EXPECT_EQ(average.size(), 0);
      }
    });
    run.ThrowIfFailed();
  }
}

TEST(Aggregation, SensitivityCoversRoundingAndTheOptimiser) {
  const AggregationTask task = MakeAggregation(2);
  const double exact = std::ldexp(2 / (7 * task.lambda), task.fraction_bits);
  const double charged = SumSensitivity(task).value();
  EXPECT_GT(charged, exact + std::sqrt(3.0));
  EXPECT_LT(charged, exact * (1 + 1e-9));
  const NoisedSum sum = DesignAggregation(task, 1, 1e-5);
  const auto remaining = privacy::RemainingNoise(sum.noise, 1);
  EXPECT_LE(privacy::DiscreteGaussianProfileOf(SumSensitivity(task), remaining)
                .Delta(privacy::Epsilon(1))
                .upper,
            1e-5);
}

// With many rows and a small penalty the rounding of the gradient outweighs the optimiser's 1e-11.
TEST(Aggregation, SensitivityGrowsWithTheRoundingOfManyRows) {
  AggregationTask task = MakeAggregation(2);
  task.smallest_rows = task.largest_rows = 10'000'000;
  const double many = SumSensitivity(task).value();
  const double exact = std::ldexp(2 / (1e7 * task.lambda), task.fraction_bits);
  EXPECT_GT(many, exact + std::ldexp(2 * 1e7 * 0x1p-52 / task.lambda, task.fraction_bits));
  EXPECT_LT(many, exact * 1.03);
  task.largest_rows = 1;
  EXPECT_THROW(SumSensitivity(task), Error);
}

// Too few rows, too many, or one whose length would move the fit by more than is charged.
TEST(Aggregation, ATableThatIsNotAsDeclaredIsRefusedByItsOwner) {
  for (const char* wrong : {"few", "many", "long"}) {
    AggregationTask task = MakeAggregation(2);
    const bool long_row = wrong == std::string("long");
    if (wrong == std::string("few")) task.smallest_rows = 8;
    if (wrong == std::string("many")) task.smallest_rows = task.largest_rows = 6;
    const NoisedSum sum = DesignAggregation(task, 1, 1e-5);
    auto tables = Tables(2);
    if (long_row) tables[0].x.row(0) *= 1.5 / tables[0].x.row(0).norm();
    RunOptions options;
    options.releases = {ReleaseOf(sum, "noisy average", "all", 1)};
    const auto run = mpc::testing::RunAll(options, [&](Engine& engine, size_t) {
      std::optional<LabelledRows> rows;
      if (engine.self()) rows = tables[*engine.self()];
      TestRandom random(1);
      RunAggregation(engine, task, sum, rows, random);
    });
    ASSERT_TRUE(run.errors[0]);
    try {
      std::rethrow_exception(run.errors[0]);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kBadData);
    }
    EXPECT_TRUE(run.errors[1]);
  }
}

}  // namespace
}  // namespace partita::methods::classify::sums_test
