// The sealed fit equals lavaan's, its costs are as planned, and what it cannot fit is refused.
#include "base/error.h"
#include "mpc/plan_engine.h"
#include "tests/methods/mle/sealed_references.h"

namespace partita::methods::mle::sealed_fit_test {
namespace {

using Eigen::Index;
using Eigen::VectorXd;
using mpc::Engine;
using testing::Case;
using testing::ExpectLavaan;
using testing::Load;
using testing::Openings;
using testing::RunSealed;
using testing::Share;

// Models that need few steps.
TEST(Sealed, EqualsLavaan) {
  ExpectLavaan("reg_simple", 6);
  ExpectLavaan("path_indirect", 8);
  ExpectLavaan("growth_openmx5", 8);
}
TEST(Sealed, EqualsLavaanOnReplicated) { ExpectLavaan("path_indirect", 8, "replicated"); }
TEST(Sealed, EqualsLavaanOnShamir) { ExpectLavaan("path_indirect", 8, "shamir"); }

// A step of scoring and one of Newton's.
TEST(Sealed, PlanHasTheRoundsAndBytes) {
  const Case c = Load("path_indirect");
  SealedModel model = PrepareSealed(c.table, c.centre, c.half_width);
  model.iterations = 2;
  model.scoring_steps = 1;
  mpc::testing::RunOptions options;
  options.releases = SealedReleases(model, Openings(), "party0");
  mpc::testing::RunAndComparePlan(options, [&](Engine& engine, size_t) {
    SilentProgress progress;
    FitSealed(engine, model, Openings(), Share(engine, c), progress);
  });
}

uint64_t PlannedRounds(const Case& c, size_t steps, const SealedOpenings& openings) {
  SealedModel model = PrepareSealed(c.table, c.centre, c.half_width);
  model.iterations = steps;
  mpc::PlanEngine plan("dealer", 2);
  SilentProgress progress;
  FitSealed(plan, model, openings, Share(plan, c), progress);
  const auto rounds = plan.phases().back().rounds;
  return *std::max_element(rounds.begin(), rounds.end());
}
TEST(Sealed, AStepTakesTheRoundsThatAreStated) {
  const Case three_factors = Load("hs_cfa3");
  const auto rounds = [&](size_t steps) {
    return PlannedRounds(three_factors, steps, {"main", 0, false, false});
  };
  EXPECT_EQ(rounds(2) - rounds(1), 82u);
  EXPECT_EQ(rounds(4) - rounds(3), 91u);
}

// Of these, 1,074 in twelve steps. What fit measures need of the sample alone costs no rounds beside
// them, pivots of the last R nine times 18 and their logarithms.
TEST(Sealed, AFitTakesTheRoundsThatAreStated) {
  const Case three_factors = Load("hs_cfa3");
  const uint64_t estimates = PlannedRounds(three_factors, 12, {"main", 0, false, false});
  const uint64_t with_fit = PlannedRounds(three_factors, 12, {"main", 0, false, true});
  EXPECT_EQ(estimates, 1278u);
  EXPECT_EQ(with_fit, 1372u);
}

// At the start the observed information of this model has negative eigenvalues.
TEST(Sealed, ScoresWhereTheObservedInformationIsNotPositiveDefinite) {
  const Case c = Load("growth_openmx5");
  SealedModel model = PrepareSealed(c.table, c.centre, c.half_width);
  model.iterations = 10;
  model.scoring_steps = 0;
  testing::ExpectReference(c, model, RunSealed(c, model, "dealer", 2).estimates);
}

// Start values beyond the box go to its nearest end, others stay.
TEST(Sealed, KeepsParametersInTheirBox) {
  const Case c = Load("path_indirect");
  SealedModel model = PrepareSealed(c.table, c.centre, c.half_width);
  model.iterations = 0;
  const SealedOpenings openings = {"main", 0};
  const auto start = [&] {
    const auto options = testing::SealedOptions(model, openings, "dealer", 2);
    return RunSealed(c, model, openings, options).estimates.x;
  };
  VectorXd expected = start();
  ASSERT_GT(expected.size(), 2);
  model.start(model.opened[0]) = 1e5;
  model.start(model.opened[1]) = -1e5;
  expected(0) = kLargestParameter;
  expected(1) = -kLargestParameter;
  const VectorXd clamped = start();
  for (Index k = 0; k < expected.size(); ++k) EXPECT_NEAR(clamped(k), expected(k), 1e-10) << k;
}

// Two indicators do not tell a loading from variances: those have no standard errors, another
// variable's variance has.
TEST(Sealed, HasNoStandardErrorsOfWhatIsNotIdentified) {
  Case c = Load("hs_cfa3");
  stats::SemModelOptions options;
  options.family = stats::SemFamily::kCfa;
  c.table = stats::BuildParameterTable("f =~ x1 + x2\nx3 ~~ x3\n", options);
  ASSERT_EQ(c.table.observed, (std::vector<std::string>{"x1", "x2", "x3"}));
  c.moments[0].mean = c.moments[0].mean.head(3).eval();
  c.moments[0].covariance = c.moments[0].covariance.topLeftCorner(3, 3).eval();
  c.centre = c.centre.head(3).eval();
  c.half_width = c.half_width.head(3).eval();
  const SealedModel model = PrepareSealed(c.table, c.centre, c.half_width);
  const SealedOpenings openings = {"main", 0, true, false};
  const SealedEstimates estimates =
      RunSealed(c, model, openings, testing::SealedOptions(model, openings, "dealer", 2)).estimates;
  ASSERT_EQ(estimates.x.size(), 5);
  size_t identified = 0;
  for (Index k = 0; k < 5; ++k) {
    const stats::RamCell& cell = model.ram.groups[0].cells[static_cast<size_t>(k)];
    ASSERT_EQ(cell.parameter, model.opened[static_cast<size_t>(k)]);
    if (cell.row == 2) {
      EXPECT_NEAR(estimates.deviations(k), std::sqrt(2) * estimates.x(k), 1e-6 * estimates.x(k));
      ++identified;
    } else {
      EXPECT_EQ(estimates.deviations(k), 0) << k;
    }
  }
  EXPECT_EQ(identified, 1u);
}

// Too few steps: the bit says so.
TEST(Sealed, SaysWhenItHasNotConverged) {
  const Case c = Load("growth_openmx5");
  SealedModel model = PrepareSealed(c.table, c.centre, c.half_width);
  model.iterations = 1;
  EXPECT_FALSE(RunSealed(c, model, "dealer", 2).estimates.converged);
}

TEST(Sealed, RefusesWhatItCannotFit) {
  const auto refused = [](const std::string& syntax, double second_width) {
    stats::SemModelOptions options;
    const stats::ParameterTable table = stats::BuildParameterTable(syntax, options);
    VectorXd widths = VectorXd::Ones(static_cast<Index>(table.observed.size()));
    widths(1) = second_width;
    try {
      PrepareSealed(table, VectorXd::Zero(widths.size()), widths);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kBadInput);
      EXPECT_FALSE(error.hint().empty());
      return true;
    }
    return false;
  };
  EXPECT_FALSE(refused("y ~ b*x + z\n", 1));
  EXPECT_TRUE(refused("y ~ x\nx ~ y\n", 1));
  EXPECT_TRUE(refused("y ~ b*x + c*z\nb == 2*c\n", 1));
  EXPECT_TRUE(refused("f =~ x1 + x2 + x3\nx1 ~~ e*x1\nx2 ~~ e*x2\n", 2));
}

}  // namespace
}  // namespace partita::methods::mle::sealed_fit_test
