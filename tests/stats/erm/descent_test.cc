#include "stats/erm/descent.h"

#include <gtest/gtest.h>

#include <fstream>
#include <numeric>

#include "base/error.h"
#include "tests/stats/erm/in_the_clear.h"
#include "tests/stats/erm/reference.h"

namespace partita::stats::erm::descent_test {
namespace {

using Eigen::Index;
using Eigen::VectorXd;
using testing::AsVector;
using testing::Parts;
using testing::Reference;
using testing::SmallTable;

TEST(Psgd, FirstIteratesEqualTheReference) {
  const auto parties = Parts(SmallTable(), {6, 6, 6, 6});
  const VectorXd eta = Eigen::Vector3d(1, -0.5, 0.25);
  const auto reference = Reference("psgd.json");
  const auto& checks = reference["deterministic_checks"]["results"];
  ASSERT_EQ(checks.size(), 3u);
  for (const auto& check : checks) {
    std::vector<VectorXd> iterates;
    const PsgdOptions options{{}, check["lambda"], 0, 5};
    Psgd(
        parties, options, [&](size_t, size_t) -> VectorXd { return eta / 4; },
        [&](size_t, const VectorXd& w) { iterates.push_back(w); });
    ASSERT_EQ(iterates.size(), 5u);
    for (size_t t = 0; t < 5; ++t) {
      const VectorXd expected = AsVector(check["psgd_rho0_Delta0_first5_iterates"][t]);
      EXPECT_LT((iterates[t] - expected).norm(), 1e-6);
    }
  }
}

TEST(Psgd, ConvergesToThePerturbedMinimum) {
  const LabelledRows rows = SmallTable();
  const VectorXd eta = Eigen::Vector3d(1, -0.5, 0.25);
  const PsgdOptions options{{}, 0.1, 0.05, 20000};
  const VectorXd w =
      Psgd(Parts(rows, {2, 8, 14}), options, [&](size_t, size_t) -> VectorXd { return eta / 3; });
  Objective objective;
  objective.lambda = 0.1;
  objective.slack = 0.05;
  objective.noise = eta;
  EXPECT_LT((w - Minimize(rows, objective).w).norm(), 1e-3);
}

TEST(Descent, WithoutNoiseItReachesTheMinimum) {
  const LabelledRows rows = SmallTable();
  Objective objective;
  objective.lambda = 0.1;
  const VectorXd minimum = Minimize(rows, objective).w;
  const DescentOptions options{{}, 0.1, 2, 1, 500};
  const auto none = [](size_t) -> VectorXd { return VectorXd::Zero(3); };
  EXPECT_LT((NoisyDescent(rows, options, none) - minimum).norm(), 1e-10);

  std::vector<Index> all(24);
  std::iota(all.begin(), all.end(), Index{0});
  MinibatchOptions full{{}, 0.1, 2, 1, 1, 500, Optimiser::kSgd};
  const auto everybody = [&](size_t) { return all; };
  EXPECT_LT((MinibatchDescent(rows, full, everybody, none) - minimum).norm(), 1e-8);
  full.optimiser = Optimiser::kAdam;
  full.step = 0.05;
  full.iterations = 4000;
  EXPECT_LT((MinibatchDescent(rows, full, everybody, none) - minimum).norm(), 1e-3);
  full.rate = 0;
  EXPECT_THROW(MinibatchDescent(rows, full, everybody, none), Error);
}

TEST(Descent, NoRowContributesMoreThanTheBound) {
  LabelledRows rows = SmallTable();
  rows.x *= 40;
  const VectorXd w = Eigen::Vector3d(0.2, 0.1, -0.4);
  for (Index i = 0; i < 24; ++i) {
    const std::vector<Index> one = {i};
    EXPECT_LE(SumOfClippedGradients(rows, one, {}, w, 0.25).norm(), 0.25 * (1 + 1e-12));
    const VectorXd whole = SumOfClippedGradients(rows, one, {}, w, 1e9);
    const LabelledRows alone{rows.x.row(i), rows.y.segment(i, 1)};
    EXPECT_LT((whole - SumOfGradients(alone, {}, w)).norm(), 1e-12);
  }
}

}  // namespace
}  // namespace partita::stats::erm::descent_test
