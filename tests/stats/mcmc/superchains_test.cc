// Many short chains: superchains that begin far from each other forget it in their warm-up, and
// nested R-hat says whether they have.
#include <gtest/gtest.h>

#include <cmath>

#include "base/error.h"
#include "stats/mcmc/chains.h"
#include "stats/mcmc/diagnostics.h"
#include "tests/stats/blr/random.h"
#include "tests/stats/mcmc/registries.h"

namespace partita::stats::mcmc::superchains_test {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using testing::Registry;

ChainOptions Short() {
  ChainOptions options;
  options.chains = 160;
  options.superchains = 8;
  options.warmup = 400;
  options.draws = 200;
  options.thin = 4;
  options.speculation = 2;
  return options;
}

MatrixXd Starts(Index parameters, const ChainOptions& options, double spread, uint64_t seed) {
  blr::TestRandom random(seed);
  blr::Variates variates(random);
  const auto members = static_cast<Index>(options.chains / options.superchains);
  MatrixXd starts(parameters, static_cast<Index>(options.chains));
  for (Index first = 0; first < starts.cols(); first += members) {
    for (Index j = 0; j < parameters; ++j) {
      starts.row(j).segment(first, members).setConstant(spread * variates.Normal());
    }
  }
  return starts;
}

Draws Walk(const Registry& registry, const ChainOptions& options, double spread, uint64_t seed) {
  std::vector<TargetPtr> parties;
  std::vector<const LocalTarget*> targets;
  for (Index p = 0; p < 3; ++p) {
    parties.push_back(testing::PartOf(registry, p, 3));
    targets.push_back(parties.back().get());
  }
  const size_t d = parties.front()->dimension();
  std::vector<Prior> priors(d, ParsePrior("normal(0, 2.5)"));
  priors[0] = ParsePrior("normal(0, 5)");
  if (registry.name == "lung_weibull") priors.back() = ParsePrior("normal(0, 1)");
  blr::TestRandom common(seed), secret(seed + 100);
  PlainDecisions decisions(targets, priors, options.acceptance, secret);
  SilentProgress progress;
  return RunChains(Starts(static_cast<Index>(d), options, spread, seed + 200), options,
                   std::ref(decisions), common, progress);
}

// 1200 decisions of each chain where four chains take 17000 (posterior_test), for five to nine
// parameters, and the posteriors by importance sampling within 4 combined Monte Carlo standard
// errors. The seed is fixed.
TEST(Superchains, ShortChainsReachThePosterior) {
  std::ifstream file(FixturePath("references/glm/posteriors.json"));
  const auto all = nlohmann::json::parse(file);
  for (const Registry& registry : {testing::Birthwt(), testing::Quine(), testing::Lung()}) {
    SCOPED_TRACE(registry.name);
    const auto& reference = all[registry.name];
    const double ess = reference["ess"];
    for (const uint64_t seed : {1}) {
      const Draws draws = Walk(registry, Short(), 1, seed);
      EXPECT_TRUE(HaveConverged(draws));
      const auto summaries = Summarise(draws);
      for (size_t j = 0; j < summaries.size(); ++j) {
        const ParameterSummary& s = summaries[j];
        const double sd = reference["sd"][j];
        EXPECT_LT(s.rhat, kLargestRhat);
        EXPECT_NEAR(s.mean, reference["mean"][j],
                    4 * std::hypot(s.mcse_mean, reference["mcse"][j].get<double>()));
        EXPECT_NEAR(s.sd, sd, 4 * std::hypot(s.mcse_sd, sd / std::sqrt(2 * ess)));
      }
      // Each alone is too short to be judged.
      Draws single = draws;
      single.superchains = 0;
      EXPECT_FALSE(HaveConverged(single));
    }
  }
}

// Without warm-up the chains of a superchain are still near its start, and the diagnostic says so.
TEST(Superchains, WhatRemembersItsStartHasNotConverged) {
  ChainOptions options = Short();
  options.warmup = 0;
  options.draws = 50;
  options.thin = 1;
  const Draws draws = Walk(testing::Lung(), options, 1, 4);
  EXPECT_FALSE(HaveConverged(draws));
  for (const ParameterSummary& s : Summarise(draws)) EXPECT_GT(s.rhat, 1.05);
}

TEST(Superchains, AreEquallyManyChainsFromOnePoint) {
  ChainOptions options;
  options.chains = 6;
  options.superchains = 3;
  options.warmup = 0;
  options.draws = 1;
  const Decide stay = [](const MatrixXd& current, const std::vector<MatrixXd>& steps) {
    const auto chains = static_cast<size_t>(current.cols());
    return std::vector<std::vector<bool>>(steps.size(), std::vector<bool>(chains, false));
  };
  const auto run = [&](const MatrixXd& start) {
    blr::TestRandom common(4);
    SilentProgress progress;
    return RunChains(start, options, stay, common, progress);
  };
  MatrixXd start(1, 6);
  start << 1, 1, 2, 2, 3, 3;
  EXPECT_EQ(run(start).superchains, 3u);
  start(0, 3) = 2.5;
  EXPECT_THROW(run(start), Error);
  options.superchains = 4;
  EXPECT_THROW(run(MatrixXd::Zero(1, 6)), Error);
}

}  // namespace
}  // namespace partita::stats::mcmc::superchains_test
