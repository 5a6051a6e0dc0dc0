// The minimum found on shares is the central one; the certificate tells; costs are as planned.
#include <gtest/gtest.h>

#include <cmath>

#include "base/error.h"
#include "methods/classify/minimum_on_shares.h"
#include "methods/classify/private_minimum.h"
#include "mpc/replicated_engine.h"
#include "privacy/sampling/discrete_gaussian_mechanism.h"
#include "stats/erm/objective_noise.h"
#include "tests/mpc/harness.h"
#include "tests/stats/blr/random.h"
#include "tests/stats/erm/reference.h"

namespace partita::methods::classify::minimum_test {
namespace {

using Eigen::VectorXd;
using mpc::Engine;
using mpc::testing::RunAndComparePlan;
using mpc::testing::RunOptions;
using stats::erm::testing::Parts;
using stats::erm::testing::SmallTable;

struct World {
  MinimumTask task;
  NoiseBounds bounds{4, 1};
  std::vector<OwnMinimum> parties;
  stats::erm::Objective objective;  // of the pooled rows
  VectorXd output = VectorXd::Zero(3);
};

World MakeWorld(size_t parties, double lambda, bool noisy) {
  World world;
  const std::vector<int> counts =
      parties == 2 ? std::vector<int>{7, 17} : std::vector<int>{7, 16, 1};
  world.task.lambda = lambda;
  world.task.party_rows.assign(counts.begin(), counts.end());
  world.task.dimension = 3;
  world.task.largest = LargestCoefficient(lambda, 24, 4 * std::sqrt(3.0));
  world.task.iterations = IterationsFor(lambda, world.task.tolerance, world.task.largest);
  world.objective.lambda = lambda;
  world.objective.noise = VectorXd::Zero(3);
  const VectorXd eta = Eigen::Vector3d(1, -0.5, 0.25);
  for (const auto& rows : Parts(SmallTable(), counts)) {
    OwnMinimum own{rows, std::vector<Int128>(3, 0), std::vector<Int128>(3, 0)};
    for (int j = 0; noisy && j < 3; ++j) {
      own.linear_noise[j] = mpc::EncodeFixed(eta(j) / static_cast<double>(parties), kMinimumBits);
      own.output_noise[j] = mpc::EncodeFixed(0.01 * (j + 1), kMinimumBits);
      world.output(j) += 0.01 * (j + 1);
    }
    world.parties.push_back(std::move(own));
  }
  if (noisy) world.objective.noise = eta;
  return world;
}

RunOptions OptionsFor(const std::string& kind, const World& world) {
  RunOptions options;
  options.kind = kind;
  options.num_parties = world.parties.size();
  options.releases = ReleasesOf(world.task);
  if (kind == "replicated") options.make = mpc::MakeReplicatedEngine;
  return options;
}

std::optional<OwnMinimum> OwnOf(const Engine& engine, const World& world) {
  if (!engine.self()) return std::nullopt;
  return world.parties[*engine.self()];
}

TEST(Minimum, OnSharesIsTheCentralOne) {
  struct Case {
    const char* kind;
    size_t parties;
    double lambda;
  };
  for (const Case& c :
       {Case{"dealer", 2, 0.1}, Case{"dealer", 3, 0.01}, Case{"replicated", 3, 0.1}}) {
    const World world = MakeWorld(c.parties, c.lambda, true);
    const VectorXd expected = stats::erm::Minimize(SmallTable(), world.objective).w + world.output;
    const auto run = RunAndComparePlan(OptionsFor(c.kind, world), [&](Engine& engine, size_t) {
      SilentProgress progress;
      const PerturbedMinimum minimum =
          RunMinimum(engine, world.task, world.bounds, OwnOf(engine, world), progress);
      if (!engine.self()) return;
      EXPECT_TRUE(minimum.certified);
      ASSERT_EQ(minimum.w.size(), 3);
      EXPECT_LT((minimum.w - expected).norm(), 1e-6) << c.kind << " " << c.lambda;
    });
    run.ThrowIfFailed();
  }
}

// Too few steps: the bit is 0 and the coefficients never open. Without a dealer every gate would
// refuse them; a dealer does not know the bit, and its gate counts what it prepared for.
TEST(Minimum, WithoutACertificateNothingOpens) {
  for (const char* kind : {"replicated", "dealer"}) {
    World world = MakeWorld(3, 0.01, false);
    world.task.iterations = 3;
    RunOptions options = OptionsFor(kind, world);
    if (options.kind == "replicated") options.releases.pop_back();
    const auto run = mpc::testing::RunAll(options, [&](Engine& engine, size_t) {
      SilentProgress progress;
      const PerturbedMinimum minimum =
          RunMinimum(engine, world.task, world.bounds, OwnOf(engine, world), progress);
      if (!engine.self()) return;
      EXPECT_FALSE(minimum.certified);
      EXPECT_EQ(minimum.w.size(), 0);
    });
    run.ThrowIfFailed();
  }
}

TEST(Minimum, BadTablesAndTasksAreRefused) {
  World world = MakeWorld(2, 0.1, false);
  const auto code_at_owner = [&](const World& changed) {
    const auto run = mpc::testing::RunAll(OptionsFor("dealer", world), [&](Engine& engine, size_t) {
      SilentProgress progress;
      RunMinimum(engine, changed.task, changed.bounds, OwnOf(engine, changed), progress);
    });
    try {
      if (run.errors[0]) std::rethrow_exception(run.errors[0]);
    } catch (const Error& error) {
      return error.code();
    }
    return ErrorCode::kInternal;
  };
  World changed = world;
  changed.parties[0].rows.x.row(2) *= 30;
  EXPECT_EQ(code_at_owner(changed), ErrorCode::kBadData);
  changed = world;
  changed.parties[0].rows.y(2) = 0.5;
  EXPECT_EQ(code_at_owner(changed), ErrorCode::kBadData);
  changed = world;
  changed.task.party_rows[0] = 6;
  EXPECT_EQ(code_at_owner(changed), ErrorCode::kBadData);
  changed = world;
  changed.task.lambda = 0;
  EXPECT_EQ(code_at_owner(changed), ErrorCode::kUsage);
}

// Each part of the budget, computed back from the noise that remains without the known shares; with
// a penalty that pays for the determinants, and with one that needs slack for it.
TEST(PrivateMinimum, TheNoiseMeetsTheBudget) {
  for (const auto& [known, lambda] : {std::pair{1u, 0.01}, {2u, 0.01}, {1u, 1e-4}, {2u, 1e-4}}) {
    const MinimumBudget budget{1, 1e-5, 0.02, 0.7, known};
    const PrivateMinimum design = DesignMinimum(budget, lambda, {300, 400, 300}, 10);
    const double remaining =
        std::sqrt(3.0 - known) *
        std::ldexp(privacy::StddevLowerBound(design.linear.share_variance), -kMinimumBits);
    EXPECT_NEAR(remaining / design.linear_stddev, 1, 1e-9);
    // (sigma^2 eps~ - 2) / 2 is where the norm of two coordinates exceeds with probability delta_1:
    // a chi-square tail with two degrees of freedom is exp(-x / 2).
    const double determinants = std::log1p(0.25 / (1000 * design.task.lambda));
    EXPECT_LE(determinants, 0.98 * 0.3 + 1e-12);
    const double rest = 0.98 - determinants;
    const double reach = (remaining * remaining * rest - 2) / (2 * remaining);
    EXPECT_LE(std::exp(-reach * reach / 2), 0.98e-5);
    EXPECT_GE(std::exp(-reach * reach / 2), 0.97e-5);

    const privacy::GridL2Sensitivity apart(
        std::ldexp(2 * design.gamma / design.task.lambda, kMinimumBits));
    EXPECT_LE(
        privacy::DiscreteGaussianProfileOf(apart, privacy::RemainingNoise(*design.output, known))
            .Delta(privacy::Epsilon(0.02))
            .upper,
        0.02e-5);
    EXPECT_GT(design.gamma, design.task.tolerance);
    // What rounding adds grows with the norm that the noise can reach, so with less penalty.
    if (lambda == 0.01) {
      EXPECT_LT(design.gamma, 2 * design.task.tolerance);
    }
  }
  EXPECT_THROW(DesignMinimum({1, 1e-5, 0, 0.7, 1}, 0.01, {300, 400}, 10), Error);
  EXPECT_THROW(DesignMinimum({1, 1e-5, 0.02, 0.7, 2}, 0.01, {300, 400}, 10), Error);
  EXPECT_THROW(DesignMinimum({1, 1e-5, 0.02, 0.7, 1}, 0, {300, 400}, 10), Error);
}

// Gaussian objective perturbation: all of the budget to the linear noise, the central minimiser of
// the same noise opens to 1e-6, and nothing is added to it.
TEST(Objective, OnSharesIsTheCentralOne) {
  const PrivateMinimum design = DesignObjective({2, 1e-3, 0, 0.7, 1}, 0.2, {7, 17}, 3);
  EXPECT_FALSE(design.output);
  EXPECT_GE(design.slack, 0);
  EXPECT_EQ(design.task.lambda, 0.2 + design.slack);
  // Worth 2 - determinants against whoever knows one of two shares.
  const double determinants = std::log1p(0.25 / (24 * design.task.lambda));
  EXPECT_NEAR(stats::erm::ObjectiveEpsilonRest(stats::erm::NoiseRule::kLinearModel, 3,
                                               design.linear_stddev, privacy::Delta(1e-3)) +
                  determinants,
              2, 1e-5);
  const auto tables = Parts(SmallTable(), {7, 17});
  std::vector<OwnMinimum> parties;
  stats::erm::Objective objective;
  objective.lambda = design.task.lambda;
  objective.noise = VectorXd::Zero(3);
  for (size_t p = 0; p < 2; ++p) {
    stats::blr::TestRandom random(21 + p);
    parties.push_back(OwnPart(design, tables[p], random));
    EXPECT_EQ(parties[p].output_noise, std::vector<Int128>(3, 0));
    for (int j = 0; j < 3; ++j) {
      objective.noise(j) += mpc::DecodeFixed(parties[p].linear_noise[j], kMinimumBits);
    }
  }
  EXPECT_GT(objective.noise.norm(), 1);
  const VectorXd expected = stats::erm::Minimize(SmallTable(), objective).w;
  RunOptions options;
  options.releases = ReleasesOf(design.task);
  const auto run = RunAndComparePlan(options, [&](Engine& engine, size_t) {
    std::optional<OwnMinimum> own;
    if (engine.self()) own = parties[*engine.self()];
    SilentProgress progress;
    const PerturbedMinimum minimum = RunMinimum(engine, design.task, design.bounds, own, progress);
    if (!engine.self()) return;
    ASSERT_TRUE(minimum.certified);
    EXPECT_LT((minimum.w - expected).norm(), 1e-6);
  });
  run.ThrowIfFailed();
}

TEST(PrivateMinimum, WithItsNoiseIsTheCentralOneWithTheSame) {
  const PrivateMinimum design = DesignMinimum({2, 1e-3, 0.02, 0.7, 1}, 0.2, {7, 17}, 3);
  const auto tables = Parts(SmallTable(), {7, 17});
  std::vector<OwnMinimum> parties;
  stats::erm::Objective objective;
  objective.lambda = design.task.lambda;
  objective.noise = VectorXd::Zero(3);
  VectorXd output = VectorXd::Zero(3);
  for (size_t p = 0; p < 2; ++p) {
    stats::blr::TestRandom random(11 + p);
    parties.push_back(OwnPart(design, tables[p], random));
    for (int j = 0; j < 3; ++j) {
      objective.noise(j) += mpc::DecodeFixed(parties[p].linear_noise[j], kMinimumBits);
      output(j) += mpc::DecodeFixed(parties[p].output_noise[j], kMinimumBits);
    }
  }
  EXPECT_GT(objective.noise.norm(), 1);
  const VectorXd expected = stats::erm::Minimize(SmallTable(), objective).w + output;
  RunOptions options;
  options.releases = ReleasesOf(design.task);
  const auto run = RunAndComparePlan(options, [&](Engine& engine, size_t) {
    std::optional<OwnMinimum> own;
    if (engine.self()) own = parties[*engine.self()];
    SilentProgress progress;
    const PerturbedMinimum minimum = RunMinimum(engine, design.task, design.bounds, own, progress);
    if (!engine.self()) return;
    ASSERT_TRUE(minimum.certified);
    EXPECT_LT((minimum.w - expected).norm(), 1e-6);
  });
  run.ThrowIfFailed();
}

}  // namespace
}  // namespace partita::methods::classify::minimum_test
