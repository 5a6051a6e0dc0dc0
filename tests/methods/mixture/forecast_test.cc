// Forecasts of usefulness: what noise, few rows and few iterations do to rows drawn from a model of
// made-up groups; what is refused without --accept-useless. The seeds of forecasts are part of the
// program, so that nothing here is random.
#include "methods/mixture/forecast.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "methods/mixture/statement.h"
#include "run/method/useful.h"
#include "run/party/build_plan.h"
#include "tests/data/expect_error.h"
#include "tests/methods/mixture/mixture_study.h"

namespace partita::methods::mixture::mixture_forecast_test {
namespace {

using mixture_studies::Options;
using ::testing::Contains;
using ::testing::ElementsAreArray;
using ::testing::HasSubstr;
using ::testing::Not;

stats::mixture::Layout SixColumns() {
  using stats::mixture::Family;
  return stats::mixture::MakeLayout({{"a", Family::kBeta, 0, 1, 0},
                                     {"b", Family::kBernoulli, 0, 1, 0},
                                     {"c", Family::kCategorical, 3, 1, 0},
                                     {"d", Family::kCategorical, 21, 1, 1},
                                     {"e", Family::kPoisson, 0, 10, 1},
                                     {"f", Family::kGaussian, 0, 1, 1}});
}

// 30 passes through 800 rows.
RunRequest Request(double noise) {
  RunRequest request;
  request.layout = SixColumns();
  request.num_rows = 800;
  request.components = 4;
  request.variational.steps = 120;
  request.variational.learning_rate = 0.05;
  request.batch_mode = stats::mixture::BatchMode::kDisjoint;
  request.batch_size = 200;
  request.noise_multiplier = noise;
  return request;
}

bool Useless(const RunRequest& request) {
  return !ForecastTexts(request, ForecastMixture(request)).useless.empty();
}

TEST(MixtureForecast, NoiseTakesWhatIsLearned) {
  const MixtureForecast none = ForecastMixture(Request(1e-9));
  for (size_t seed = 0; seed < kForecastSeeds; ++seed) {
    EXPECT_NEAR(none.learned[seed], none.learned_without[seed], 0.01);
    EXPECT_GT(none.learned[seed], 0.5);
  }
  EXPECT_LT(none.with_noise.pairs, none.untrained.pairs);
  EXPECT_GT(none.with_noise.log_density, none.untrained.log_density);
  const MixtureForecast some = ForecastMixture(Request(20));
  const MixtureForecast much = ForecastMixture(Request(500));
  // The same rows, start, batches and eta.
  EXPECT_THAT(much.learned_without, ElementsAreArray(none.learned_without));
  EXPECT_LT(none.with_noise.pairs, some.with_noise.pairs);
  EXPECT_LT(some.with_noise.pairs, much.with_noise.pairs);
  EXPECT_LT(none.with_noise.columns, much.with_noise.columns);
  EXPECT_GT(some.with_noise.log_density, much.with_noise.log_density);
  EXPECT_FALSE(Useless(Request(20)));
  EXPECT_TRUE(Useless(Request(500)));
}

TEST(MixtureForecast, FewRowsAndFewIterationsAreOfNoUse) {
  RunRequest few_rows = Request(20);
  few_rows.num_rows = 40;
  few_rows.batch_size = 10;
  EXPECT_TRUE(Useless(few_rows));
  few_rows.num_rows = 8;
  few_rows.components = 8;
  few_rows.batch_size = 4;
  EXPECT_TRUE(Useless(few_rows));
  RunRequest few_steps = Request(1e-9);
  few_steps.variational.steps = 5;
  const run::Forecast texts = ForecastTexts(few_steps, ForecastMixture(few_steps));
  EXPECT_NE(texts.useless, "");
  EXPECT_THAT(texts.helps, HasSubstr("more iterations or a larger learning_rate"));
}

// Of 100 times as many rows in batches as much larger, with noise as much larger, a forecast is made
// with 5000 rows; of 400 times as many iterations of a twentieth of the length, with 20 times the
// noise, with fewer. Both are as useful as what they are made from.
TEST(MixtureForecast, LongRunsAreMadeSmaller) {
  for (const double noise : {20.0, 500.0}) {
    RunRequest rows = Request(noise * 100);
    rows.num_rows *= 100;
    rows.batch_size *= 100;
    const MixtureForecast of_rows = ForecastMixture(rows);
    EXPECT_EQ(of_rows.rows, 5000u);
    EXPECT_EQ(ForecastTexts(rows, of_rows).useless.empty(), noise < 100) << noise;
    RunRequest steps = Request(noise * 20);
    steps.variational.steps *= 400;
    steps.variational.learning_rate /= 20;
    const MixtureForecast of_steps = ForecastMixture(steps);
    EXPECT_LT(of_steps.iterations, 5000u);
    EXPECT_EQ(ForecastTexts(steps, of_steps).useless.empty(), noise < 100) << noise;
  }
}

TEST(MixtureForecast, PlansSayItAndRunsAreRefused) {
  Options options;  // 12 iterations, too few
  const auto useless = mixture_studies::Prepare(options);
  const study::Plan plan = run::BuildPlan(*useless);
  EXPECT_THAT(plan.notes, Contains(HasSubstr("Forecast of usefulness")));
  EXPECT_THAT(plan.notes, Contains(HasSubstr("total variation of the shares of one column")));
  EXPECT_THAT(plan.notes, Contains(HasSubstr("WARNING: synthetic rows would go")));
  ExpectError(ErrorCode::kRefused, "would hardly be useful: synthetic rows would go",
              "--accept-useless goes on all the same",
              [&] { run::RequireUseful(*useless, false); });
  EXPECT_NO_THROW(run::RequireUseful(*useless, true));

  options.analysis = "components = 3\niterations = 300\nlearning_rate = 0.05\n";
  options.batch = "mode = \"full\"\n";
  options.privacy = "noise_multiplier = 2\ndelta = 1e-5\nadjacency = \"replace\"\n";
  const auto useful = mixture_studies::Prepare(options);
  EXPECT_NO_THROW(run::RequireUseful(*useful, false));
  EXPECT_THAT(run::BuildPlan(*useful).notes, Not(Contains(HasSubstr("WARNING"))));
}

// What noise there can be is said in the units of the study file, and all of it is tried.
TEST(MixtureForecast, NoiseIsSearchedUpToTheLargest) {
  Audience audience;
  audience.parties = {"north", "south"};
  audience.adjacency = privacy::Adjacency::kReplace;
  RunRequest request = Request(1);
  request.party_index = {0, 1};
  request.noise_parties = {0, 1};
  request.clip = 8;
  EXPECT_NEAR(LargestNoise(request), 512, 0.01);
  const double epsilon_at_400 = [&] {
    RunRequest at = request;
    at.noise_multiplier = 400;
    const RunPlan plan = PlanRun(at);
    const privacy::NoisySteps steps = StepsOf(plan, audience, {120, {}});
    return privacy::LossOfUses(steps, 1, *steps.max_uses).epsilon_upper;
  }();
  // Between the powers of two, where doubling ends above the largest.
  EXPECT_NEAR(NoiseFor(request, audience, epsilon_at_400, Against::kParty), 400, 4);
  ExpectError(ErrorCode::kBudget, "epsilon = 0.01 for 120 iterations takes noise of more than",
              "a smaller clip", [&] { NoiseFor(request, audience, 0.01, Against::kParty); });
  ExpectError(ErrorCode::kBudget, "times `clip` = 8", "a smaller clip",
              [&] { NoiseFor(request, audience, 0.01, Against::kOutside); });
  request.noise_multiplier = 600;
  ExpectError(ErrorCode::kBadInput, "noise of 600 times `clip` = 8 is more than a run can draw",
              "a smaller clip", [&] { PlanRun(request); });
}

}  // namespace
}  // namespace partita::methods::mixture::mixture_forecast_test
