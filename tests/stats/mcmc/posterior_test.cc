// Chains over three parties against posteriors by importance sampling: means, standard deviations
// and quantiles within 4 combined Monte Carlo standard errors. The seeds are fixed.
#include <gtest/gtest.h>

#include <cmath>

#include "stats/mcmc/chains.h"
#include "stats/mcmc/diagnostics.h"
#include "tests/paths.h"
#include "tests/stats/blr/random.h"
#include "tests/stats/mcmc/registries.h"

namespace partita::stats::mcmc::posterior_test {
namespace {

using testing::Registry;

class Posterior : public ::testing::TestWithParam<Acceptance> {};

void ExpectReference(const Registry& registry, Acceptance acceptance) {
  std::ifstream file(FixturePath("references/glm/posteriors.json"));
  const auto all = nlohmann::json::parse(file);
  const auto& reference = all[registry.name];
  std::vector<TargetPtr> parties;
  std::vector<const LocalTarget*> targets;
  for (Eigen::Index p = 0; p < 3; ++p) {
    parties.push_back(testing::PartOf(registry, p, 3));
    targets.push_back(parties.back().get());
  }
  const size_t d = parties.front()->dimension();
  std::vector<Prior> priors(d, ParsePrior("normal(0, 2.5)"));
  priors[0] = ParsePrior("normal(0, 5)");
  if (registry.name == "lung_weibull") priors.back() = ParsePrior("normal(0, 1)");

  blr::TestRandom common(17), secret(18);
  PlainDecisions decisions(targets, priors, acceptance, secret);
  ChainOptions options;
  options.chains = 4;
  options.warmup = 2000;
  options.draws = 3000;
  options.thin = 5;
  options.acceptance = acceptance;
  Eigen::MatrixXd start = Eigen::MatrixXd::Zero(static_cast<Eigen::Index>(d), 4);
  // The prior's modes would do; scattered, so that R-hat means something.
  blr::Variates scatter(common);
  for (double& value : start.reshaped()) value = 0.5 * scatter.Normal();
  SilentProgress progress;
  const Draws draws = RunChains(start, options, std::ref(decisions), common, progress);
  const auto summaries = Summarise(draws);
  const double ess = reference["ess"];
  for (size_t j = 0; j < d; ++j) {
    const ParameterSummary& s = summaries[j];
    EXPECT_LT(s.rhat, 1.01) << registry.name << " " << j;
    EXPECT_GT(s.bulk_ess, 400) << registry.name << " " << j;
    EXPECT_GT(s.tail_ess, 400) << registry.name << " " << j;
    const double sd = reference["sd"][j];
    EXPECT_NEAR(s.mean, reference["mean"][j],
                4 * std::hypot(s.mcse_mean, reference["mcse"][j].get<double>()))
        << registry.name << " " << j;
    EXPECT_NEAR(s.sd, sd, 4 * std::hypot(s.mcse_sd, sd / std::sqrt(2 * ess)));
    EXPECT_NEAR(s.median, reference["q2_5_50_97_5"][j][1],
                4 * std::hypot(s.mcse_median, 1.2533 * sd / std::sqrt(ess)));
    Eigen::MatrixXd own(3000, 4);
    for (Eigen::Index c = 0; c < 4; ++c) {
      own.col(c) = draws.chains[static_cast<size_t>(c)].col(static_cast<Eigen::Index>(j));
    }
    // 2.67 sd / sqrt(ess): the standard error of a 2.5 % quantile of a normal law.
    const double reference_error = 2.67 * sd / std::sqrt(ess);
    EXPECT_NEAR(s.q2_5, reference["q2_5_50_97_5"][j][0],
                4 * std::hypot(QuantileMcse(own, 0.025), reference_error));
    EXPECT_NEAR(s.q97_5, reference["q2_5_50_97_5"][j][2],
                4 * std::hypot(QuantileMcse(own, 0.975), reference_error));
  }
}

TEST_P(Posterior, LogisticRegression) { ExpectReference(testing::Birthwt(), GetParam()); }
TEST_P(Posterior, PoissonRegression) { ExpectReference(testing::Quine(), GetParam()); }
TEST_P(Posterior, WeibullSurvival) { ExpectReference(testing::Lung(), GetParam()); }

INSTANTIATE_TEST_SUITE_P(BothAcceptances, Posterior,
                         ::testing::Values(Acceptance::kMetropolis, Acceptance::kBarker));

}  // namespace
}  // namespace partita::stats::mcmc::posterior_test
