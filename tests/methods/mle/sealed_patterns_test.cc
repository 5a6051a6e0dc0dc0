// Sealed fits of incomplete rows equal the same in the clear, and lavaan's; their costs are as
// planned and do not grow in rounds with the number of patterns.
#include "tests/methods/mle/sealed_patterns.h"

#include <limits>
#include <random>

#include "base/error.h"

namespace partita::methods::mle::sealed_patterns_test {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using mpc::Engine;
using testing::FitTwin;
using testing::IncompleteCase;
using testing::LoadPatterns;
using testing::ModelOf;
using testing::PatternOpenings;
using testing::PatternOptions;
using testing::RunPatterns;
using testing::SharePatterns;
using testing::Twin;

class SealedPatterns : public ::testing::Test {};

// A factor that predicts, and a covariate that is missing too: cells of all kinds, and four
// patterns.
IncompleteCase Simulated() {
  stats::SemModelOptions options;
  options.meanstructure = true;
  options.fixed_x = false;
  stats::testing::IncompleteReference drawn;
  drawn.table = stats::BuildParameterTable("f =~ x1 + x2 + x3\ny ~ f + z\nf ~ z\nw ~ y\n", options);
  std::mt19937_64 random(11);
  std::normal_distribution<double> normal;
  Eigen::MatrixXd rows(300, static_cast<Index>(drawn.table.observed.size()));
  for (Index r = 0; r < rows.rows(); ++r) {
    const double z = normal(random), f = 0.5 * z + normal(random);
    const double y = 1 + 0.4 * f + 0.3 * z + normal(random);
    for (Index v = 0; v < rows.cols(); ++v) {
      const std::string& name = drawn.table.observed[static_cast<size_t>(v)];
      rows(r, v) = name == "z"   ? 2 + z
                   : name == "y" ? y
                   : name == "w" ? 0.5 * y + normal(random)
                                 : 3 + 0.8 * f + 0.6 * normal(random);
      const bool missing = (name == "y" && z > 1) || (name == "x2" && r % 4 == 0) ||
                           (name == "z" && r % 7 == 0 && z <= 1);
      if (missing) rows(r, v) = std::numeric_limits<double>::quiet_NaN();
    }
  }
  drawn.patterns = stats::PatternsOf(rows, 0);
  return testing::CaseOf(std::move(drawn));
}

// On the way, where gradients and everything else are not zero.
void ExpectTwin(const IncompleteCase& c, size_t iterations, const std::string& kind) {
  const SealedModel model = ModelOf(c, iterations);
  const Twin twin = FitTwin(c, model);
  const SealedEstimates sealed = RunPatterns(c, model, PatternOptions(model, kind));
  ASSERT_EQ(sealed.x.size(), twin.end.x.size());
  for (Index k = 0; k < sealed.x.size(); ++k) {
    const double deviation = twin.deviations(k);
    EXPECT_NEAR(sealed.x(k), twin.end.x(k), 1e-7 * deviation) << k;
    EXPECT_NEAR(sealed.deviations(k), deviation, 1e-6 * deviation) << k;
  }
}

TEST_F(SealedPatterns, EqualTheTwinOnTheWay) {
  const IncompleteCase c = LoadPatterns("growth_linear6_fiml");
  ExpectTwin(c, 1, "dealer");  // means alone
  ExpectTwin(c, 3, "dealer");  // parts of steps that would leave the covariances
  ExpectTwin(c, 4, "replicated");
}
TEST(SealedPatternsOfRows, EqualTheTwinOnTheWay) {
  const IncompleteCase c = Simulated();
  ASSERT_GT(c.reference.patterns.size(), 4u);
  ExpectTwin(c, 4, "dealer");
  ExpectTwin(c, 6, "dealer");
}
// And the full-information fit.
TEST(SealedPatternsOfRows, EqualTheFitInTheClear) {
  const IncompleteCase c = Simulated();
  const SealedModel model = ModelOf(c, 12);
  const SealedEstimates sealed = RunPatterns(c, model, PatternOptions(model, "dealer"));
  EXPECT_TRUE(sealed.converged);
  stats::SemFitOptions options;
  options.information = stats::Information::kObserved;
  SilentProgress progress;
  const stats::SemFit fit =
      stats::FitFiml(c.reference.table, c.reference.patterns, options, progress);
  for (size_t r = 0; r < fit.estimates.size(); ++r) {
    const int k = model.ram.row_parameter[r];
    if (k < 0) continue;
    const double se = fit.estimates[r].standard_error, unit = model.ram.parameter_unit(k);
    EXPECT_NEAR(unit * sealed.x(k), fit.estimates[r].estimate, 1e-4 * se);
    EXPECT_NEAR(unit * sealed.deviations(k) / std::sqrt(c.n), se, 1e-4 * se);
  }
}

TEST_F(SealedPatterns, EqualLavaan) {
  const IncompleteCase c = LoadPatterns("growth_linear6_fiml");
  const SealedModel model = ModelOf(c, 10);
  const SealedEstimates sealed = RunPatterns(c, model, PatternOptions(model, "dealer"));
  EXPECT_TRUE(sealed.converged);
  testing::ExpectLavaan(c, model, sealed.x, sealed.deviations);
}

// More than a hundred patterns of nine variables, in the clear from the same start: as many steps
// as a sealed fit takes are enough.
TEST_F(SealedPatterns, TheTwinEqualsLavaanOnManyPatterns) {
  const IncompleteCase c = LoadPatterns("hs_cfa3_fiml");
  ASSERT_GT(c.reference.patterns.size(), 100u);
  const SealedModel model = PrepareSealed(c.reference.table, c.centre, c.half_width);
  const Twin twin = FitTwin(c, model);
  EXPECT_LT(twin.end.scaled_gradient, model.tolerance);
  testing::ExpectLavaan(c, model, twin.end.x, twin.deviations);
}

// Rows drawn again from a table, in the clear from the sealed start.
TEST(SealedPatternsOfRows, NewtonsStepsAreEnoughWhereThirtyOfScoringAreNot) {
  stats::testing::IncompleteReference drawn;
  drawn.reference = stats::testing::ReadJson(FixturePath("references/sem/hs_cfa3_mean.json"));
  drawn.table = stats::testing::TableOf(drawn.reference);
  const MatrixXd rows = stats::testing::ReadColumns(
      SourcePath(drawn.reference["data"].get<std::string>()), drawn.table.observed);
  std::mt19937_64 random(1);
  MatrixXd again(rows.rows(), rows.cols());
  for (Index r = 0; r < rows.rows(); ++r)
    again.row(r) = rows.row(static_cast<Index>(random() % static_cast<uint64_t>(rows.rows())));
  drawn.patterns = stats::PatternsOf(again, 0);
  const IncompleteCase c = testing::CaseOf(std::move(drawn));
  SealedModel model = PrepareSealed(c.reference.table, c.centre, c.half_width);
  EXPECT_LT(FitTwin(c, model).end.scaled_gradient, model.tolerance);
  model.iterations = model.scoring_steps = 30;
  EXPECT_GT(FitTwin(c, model).end.scaled_gradient, model.tolerance);
}

TEST_F(SealedPatterns, PlanHasTheRoundsAndBytes) {
  const IncompleteCase c = LoadPatterns("growth_linear6_fiml");
  SealedModel model = ModelOf(c, 2);
  model.scoring_steps = 1;
  for (const std::string kind : {"dealer", "replicated"}) {
    mpc::testing::RunAndComparePlan(PatternOptions(model, kind), [&](Engine& engine, size_t) {
      SilentProgress progress;
      FitSealed(engine, model, PatternOpenings(), SharePatterns(engine, c), progress);
    });
  }
}

// The longest pattern decides, not how many there are.
TEST_F(SealedPatterns, RoundsDoNotGrowWithThePatterns) {
  const auto rounds = [](size_t patterns) {
    IncompleteCase c = LoadPatterns("growth_linear6_fiml");
    c.reference.patterns.resize(patterns);
    const SealedModel model = ModelOf(c, 1);
    const auto run =
        mpc::testing::RunAll(PatternOptions(model, "dealer"), [&](Engine& engine, size_t) {
          SilentProgress progress;
          FitSealed(engine, model, PatternOpenings(), SharePatterns(engine, c), progress);
        });
    run.ThrowIfFailed();
    return run.depth[0];
  };
  EXPECT_EQ(rounds(2), rounds(6));
}

TEST_F(SealedPatterns, SayWhenTheyHaveNotConverged) {
  const IncompleteCase c = LoadPatterns("growth_linear6_fiml");
  const SealedModel model = ModelOf(c, 1);
  EXPECT_FALSE(RunPatterns(c, model, PatternOptions(model, "dealer")).converged);
}

TEST_F(SealedPatterns, RefuseFitMeasures) {
  const IncompleteCase c = LoadPatterns("growth_linear6_fiml");
  const SealedModel model = ModelOf(c, 1);
  SealedOpenings openings = PatternOpenings();
  openings.fit = true;
  mpc::testing::RunOptions options = PatternOptions(model, "dealer");
  options.releases = SealedReleases(model, openings, "party0");
  const auto run = mpc::testing::RunAll(options, [&](Engine& engine, size_t) {
    SilentProgress progress;
    EXPECT_THROW(FitSealed(engine, model, openings, SharePatterns(engine, c), progress), Error);
  });
  run.ThrowIfFailed();
}

}  // namespace
}  // namespace partita::methods::mle::sealed_patterns_test
