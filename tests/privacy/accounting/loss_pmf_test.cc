#include "privacy/accounting/loss_pmf.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "base/error.h"
#include "privacy/accounting/mechanism.h"
#include "privacy/accounting/normal.h"

namespace partita::privacy::loss_pmf_test {
namespace {

double Sum(const LossPmf& pmf) {
  long double sum = pmf.infinity;
  for (double mass : pmf.mass) sum += mass;
  return static_cast<double>(sum);
}

// Mass under Q of what the law says under P.
double SumQ(const LossPmf& pmf) {
  long double sum = 0;
  for (size_t i = 0; i < pmf.mass.size(); ++i)
    sum += pmf.mass[i] * std::exp(-pmf.Loss(static_cast<int64_t>(i)));
  return static_cast<double>(sum);
}

double Delta(const LossPmf& pmf, double epsilon) {
  double delta = pmf.infinity;
  for (size_t i = 0; i < pmf.mass.size(); ++i) {
    const double loss = pmf.Loss(static_cast<int64_t>(i));
    if (loss > epsilon) delta += pmf.mass[i] * -std::expm1(epsilon - loss);
  }
  return delta;
}

struct Case {
  const char* name;
  Mechanism mechanism;
};

std::vector<Case> Cases() {
  const SamplingSpec sampled{Adjacency::kAddRemove, 0.01}, replaced{Adjacency::kReplace, 0.2};
  return {{"gaussian", GaussianMechanism(1.3, {})},
          {"sampled gaussian", GaussianMechanism(0.8, sampled)},
          {"replaced gaussian", GaussianMechanism(2, replaced)},
          {"laplace", LaplaceMechanism(1.7, {})},
          {"sampled laplace", LaplaceMechanism(0.5, sampled)},
          {"replaced laplace", LaplaceMechanism(1.1, replaced)},
          {"discrete gaussian", DiscreteGaussianMechanism(3.3, 2, {})},
          {"sampled discrete gaussian", DiscreteGaussianMechanism(40, 17, sampled)},
          {"wide discrete gaussian", DiscreteGaussianMechanism(1e9, 400'000'000, {})},
          {"discrete laplace", DiscreteLaplaceMechanism(5, 3, {})},
          {"wide discrete laplace", DiscreteLaplaceMechanism(1e6, 900'000, sampled)},
          {"sum", DiscreteGaussianSumMechanism(1.2, 5, 1, {})},
          {"randomised response", RandomisedResponse(0.7, sampled)},
          {"approximate", ApproximateDpMechanism({0.4, 1e-3})}};
}

// Both grid laws keep total masses, and are ordered: lower <= upper for every epsilon.
TEST(LossPmfTest, MassesAndOrder) {
  for (const Case& test : Cases()) {
    SCOPED_TRACE(test.name);
    for (const auto& pair : {test.mechanism.forward, test.mechanism.backward}) {
      const double spacing = FittingSpacing(pair->loss_scale / 10, pair->period);
      const double anchor = pair->period > 0 ? pair->anchor : 0;
      const LossGrid grid{anchor, spacing};
      const auto cells = pair->cells({anchor, spacing, 2, 1e-25});
      double p = 0, q = 0;
      for (const LossCell& cell : cells) {
        p += cell.p;
        q += cell.q;
        EXPECT_LE(cell.low, cell.high);
        if (cell.p > 1e-200 && cell.q > 1e-200) {
          const double loss = std::log(cell.p / cell.q), slack = 3 * cell.error;
          EXPECT_LE(cell.low, loss + slack);
          EXPECT_GE(cell.high, loss - slack);
        }
      }
      EXPECT_NEAR(p, 1, 1e-11);
      const double impossible = std::string(test.name) == "approximate" ? 1e-3 : 0;  // under P
      EXPECT_NEAR(q, 1 - impossible, 1e-11);
      const LossPmf upper = Dominating(cells, grid),
                    lower = Dominated(cells, grid, pair->period > 0);
      EXPECT_GE(Sum(upper), p - 1e-14);
      EXPECT_LE(Sum(lower), p + 1e-14);
      EXPECT_NEAR(Sum(upper), 1, 1e-9);
      EXPECT_NEAR(Sum(lower), 1, 1e-9);
      EXPECT_LE(SumQ(upper), q + 1e-11);  // raising losses lowers the mass under Q
      EXPECT_NEAR(SumQ(upper), 1, 2e-3);
      for (double t = -1; t <= 4; t += 0.25) {
        const double epsilon = t * pair->loss_scale;
        EXPECT_LE(Delta(lower, epsilon + lower.loss_slack),
                  Delta(upper, epsilon - upper.loss_slack))
            << epsilon;
      }
    }
  }
}

// Flat ends of the likelihood ratio are atoms. Just below the largest loss delta is nearly the
// atom's alone, which both laws must have at its own loss: moved by a grid step, the lower one
// would be 0 there and the upper one twice as large, and refining until they meet would take
// millions of cells.
TEST(LossPmfTest, AtomsAtTheEndsKeepTheirLoss) {
  for (const double rate : {0.01, 0.1, 0.5, 0.9}) {
    for (const double noise : {0.5, 1.0, 20.0}) {
      SCOPED_TRACE(::testing::Message() << "rate " << rate << " noise " << noise);
      const Mechanism mechanism = LaplaceMechanism(noise, {Adjacency::kReplace, rate});
      const LossPair& pair = *mechanism.forward;
      const double largest = pair.anchor;
      const LossGrid grid{pair.anchor, FittingSpacing(largest / 20, pair.period)};
      const auto cells = pair.cells({grid.anchor, grid.spacing, 2, 1e-20});
      const LossPmf upper = Dominating(cells, grid), lower = Dominated(cells, grid, true);
      // P and Q beyond the shift.
      const double shift = 1 / noise, tail = 0.5 * std::exp(-shift);
      const double p = (1 - rate) * tail + rate * 0.5;
      const double q = (1 - rate) * tail + rate * 0.5 * std::exp(-2 * shift);
      for (const double below : {1e-3, 1e-6, 1e-8}) {
        const double epsilon = largest * (1 - below);
        const double atom = p - std::exp(epsilon) * q;
        EXPECT_GE(Delta(lower, epsilon + lower.loss_slack), 0.99 * atom) << below;
        EXPECT_LE(Delta(upper, epsilon - upper.loss_slack), 1.3 * atom) << below;
      }
      // Beyond it there is nothing.
      EXPECT_LE(Delta(upper, largest + upper.loss_slack * 2), 1e-19);
    }
  }
}

// Against delta(eps) in closed form, at grid points (where the upper law is exact) and between
// them.
TEST(LossPmfTest, EnclosesTheClosedForm) {
  const Mechanism gaussian = GaussianMechanism(0.9, {});
  const LossPair& pair = *gaussian.forward;
  const double spacing = 0.0625;
  const auto cells = pair.cells({0, spacing, 2, 1e-25});
  const LossPmf upper = Dominating(cells, {0, spacing}),
                lower = Dominated(cells, {0, spacing}, false);
  for (double epsilon = 0; epsilon < 9; epsilon += spacing / 4) {
    const double truth = GaussianDelta(1 / 0.9, epsilon);
    EXPECT_LE(Delta(lower, epsilon), truth * (1 + 1e-11)) << epsilon;
    EXPECT_GE(Delta(upper, epsilon), truth * (1 - 1e-11)) << epsilon;
    const double steps = epsilon / spacing;
    if (steps == std::floor(steps)) {
      EXPECT_NEAR(Delta(upper, epsilon) / truth, 1, 1e-9) << epsilon;
    }
  }
}

TEST(LossPmfTest, AtomsOnTheGridStayWhereTheyAre) {
  const Mechanism response = RandomisedResponse(1, {});
  const LossPair& pair = *response.forward;
  EXPECT_NEAR(pair.period, 2, 1e-15);
  EXPECT_NEAR(pair.anchor, 1, 1e-15);
  const double spacing = FittingSpacing(0.3, pair.period);
  const LossGrid grid{pair.anchor, spacing};
  const auto cells = pair.cells({pair.anchor, spacing, 2, 1e-20});
  for (const LossPmf& pmf : {Dominating(cells, grid), Dominated(cells, grid, true)}) {
    for (size_t i = 0; i < pmf.mass.size(); ++i) {
      const double loss = pmf.Loss(static_cast<int64_t>(i));
      const double expected = std::abs(std::abs(loss) - 1) > 1e-9 ? 0
                              : loss > 0                          ? 1 / (1 + std::exp(-1))
                                                                  : 1 / (1 + std::exp(1));
      EXPECT_NEAR(pmf.mass[i], expected, 1e-13);
    }
  }
}

TEST(LossPmfTest, SpacingsFit) {
  EXPECT_EQ(FittingSpacing(0.3, 1), 0.25);
  EXPECT_EQ(FittingSpacing(1, 1), 1);
  const double free = FittingSpacing(0.1, 0);
  EXPECT_LE(free, 0.1);
  EXPECT_GT(free, 0.0999);
  EXPECT_EQ(free * 3, static_cast<double>(static_cast<float>(free)) * 3);
}

TEST(LossPmfTest, LossesBeyondTheGridAreRefused) {
  const std::vector<LossCell> cells = {{0.5, 0.5, 1e-16, 1e10, 1e10}, {0.5, 0.5, 1e-16, 0, 0}};
  EXPECT_THROW(Dominating(cells, {0, 1e-6}), Error);
}

}  // namespace
}  // namespace partita::privacy::loss_pmf_test
