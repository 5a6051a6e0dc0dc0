// The bits are the decisions' law: frequencies at given ratios, chains that walk together, costs as
// planned, and impossible or broken values.
#include "methods/accept/decisions.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <mutex>

#include "base/error.h"
#include "mpc/replicated_engine.h"
#include "stats/mcmc/diagnostics.h"
#include "tests/mpc/harness.h"
#include "tests/stats/blr/random.h"
#include "tests/stats/mcmc/registries.h"

namespace partita::methods::accept {
namespace {

using mpc::Engine;
using mpc::testing::RunAll;
using mpc::testing::RunAndComparePlan;
using mpc::testing::RunOptions;
using stats::blr::TestRandom;
using stats::mcmc::Acceptance;

struct EngineCase {
  const char* kind;
  size_t parties;
};
constexpr EngineCase kEngines[] = {{"dealer", 2}, {"dealer", 3}, {"replicated", 3}, {"ot", 2}};

RunOptions OptionsFor(const EngineCase& engine_case, const mpc::Release& release) {
  RunOptions options;
  options.kind = engine_case.kind;
  options.num_parties = engine_case.parties;
  options.releases = {release};
  if (options.kind == "replicated") options.make = mpc::MakeReplicatedEngine;
  return options;
}

double Chance(Acceptance acceptance, double log_ratio) {
  if (acceptance == Acceptance::kMetropolis) return std::min(1.0, std::exp(log_ratio));
  return 1 / (1 + std::exp(-log_ratio));
}

// 2000 decisions (`ot`: 100) at each of 7 ratios: frequencies within 5.5 standard errors, a false
// alarm in all tests together below 1e-6.
TEST(Decisions, FrequenciesAreThoseOfTheRule) {
  const std::vector<double> ratios = {-40, -2, -0.5, 0, 0.3, 2, 40};
  for (const EngineCase& engine_case : kEngines) {
    // Transfers make variates dear.
    const size_t copies = engine_case.parties == 2 && engine_case.kind[0] == 'o' ? 50 : 250;
    const size_t repeats = copies == 50 ? 2 : 8;
    for (const Acceptance acceptance : {Acceptance::kMetropolis, Acceptance::kBarker}) {
      const DecisionTask task{ratios.size() * copies, acceptance, repeats / 2};
      std::vector<double> accepted(ratios.size(), 0);
      RunAll(OptionsFor(engine_case, ReleaseOf(task, repeats)), [&](Engine& engine, size_t) {
        crypto::SystemRandom random;
        Decisions decisions(engine, task, random);
        std::vector<double> own;
        for (size_t c = 0; engine.self() && c < task.chains; ++c) {
          // Shares of the ratio that are themselves far apart.
          const double share = *engine.self() == 0 ? 1000.25 : -1000.25;
          own.push_back(*engine.self() < 2 ? share : 0);
          if (*engine.self() == 1) own.back() += ratios[c % ratios.size()];
        }
        for (size_t repeat = 0; repeat < repeats; ++repeat) {
          const std::vector<bool> bits = decisions.Decide(own);
          if (engine.self() != 0u) continue;
          for (size_t c = 0; c < bits.size(); ++c) accepted[c % ratios.size()] += bits[c] ? 1 : 0;
        }
      }).ThrowIfFailed();
      for (size_t k = 0; k < ratios.size(); ++k) {
        const double n = static_cast<double>(copies * repeats), p = Chance(acceptance, ratios[k]);
        EXPECT_NEAR(accepted[k] / n, p, 5.5 * std::sqrt(p * (1 - p) / n) + 1e-9)
            << engine_case.kind << " " << ratios[k];
      }
    }
  }
}

TEST(Decisions, CostsAreAsPlanned) {
  for (const EngineCase& engine_case : kEngines) {
    const DecisionTask task{3, Acceptance::kBarker, 2};
    RunAndComparePlan(OptionsFor(engine_case, ReleaseOf(task, 5)), [&](Engine& engine, size_t) {
      crypto::SystemRandom random;
      Decisions decisions(engine, task, random);
      const std::vector<double> own(engine.self() ? 3 : 0, 0.1);
      for (int i = 0; i < 5; ++i) decisions.Decide(own);
    });
  }
}

// Parties who share nothing but bits walk the same chain, and it is the posterior's.
TEST(Decisions, PartiesWalkTogetherAndSampleThePosterior) {
  const auto registry = stats::mcmc::testing::Birthwt();
  std::ifstream file(PARTITA_SOURCE_DIR "/../shared/reference/glm/posteriors.json");
  const auto reference = nlohmann::json::parse(file)["birthwt_logit"];
  stats::mcmc::ChainOptions options;
  options.chains = 40;
  options.warmup = 300;
  options.draws = 400;
  options.thin = 4;
  const DecisionTask task{options.chains, options.acceptance, 100};
  std::vector<stats::mcmc::Draws> draws(2);
  RunAll(OptionsFor({"dealer", 2}, ReleaseOf(task, 1900)), [&](Engine& engine, size_t) {
    crypto::SystemRandom random;
    Decisions decisions(engine, task, random);
    if (!engine.self()) {
      for (int t = 0; t < 1900; ++t) decisions.Decide({});
      return;
    }
    const size_t self = *engine.self();
    const auto target = stats::mcmc::testing::PartOf(registry, static_cast<Eigen::Index>(self), 2);
    std::vector<stats::mcmc::Prior> priors(6, stats::mcmc::ParsePrior("normal(0, 2.5)"));
    priors[0] = stats::mcmc::ParsePrior("normal(0, 5)");
    stats::mcmc::Differences differences(*target);
    const stats::mcmc::Decide decide = [&](const Eigen::MatrixXd& current,
                                           const Eigen::MatrixXd& proposed) {
      Eigen::VectorXd own = differences.Of(current, proposed);
      if (self == 0) own += LogPrior(priors, proposed) - LogPrior(priors, current);
      const std::vector<bool> bits =
          decisions.Decide({own.data(), static_cast<size_t>(own.size())});
      differences.Replace(bits);
      return bits;
    };
    TestRandom common(5);
    SilentProgress progress;
    const Eigen::MatrixXd start = Eigen::MatrixXd::Zero(6, 40);
    draws[self] = RunChains(start, options, decide, common, progress);
  }).ThrowIfFailed();
  for (size_t c = 0; c < 40; ++c) ASSERT_EQ(draws[0].chains[c], draws[1].chains[c]);
  const auto summaries = stats::mcmc::Summarise(draws[0]);
  for (size_t j = 0; j < 6; ++j) {
    // 6 parameters, 5.5 standard errors: false alarm below 1e-6.
    EXPECT_NEAR(summaries[j].mean, reference["mean"][j], 5.5 * summaries[j].mcse_mean);
    EXPECT_LT(summaries[j].mcse_mean, 0.1 * reference["sd"][j].get<double>());
  }
}

TEST(Decisions, ImpossibleProposalsAreRejectedAndBrokenOnesNamedToTheirOwner) {
  const DecisionTask task{2, Acceptance::kBarker, 1};
  const auto run_with = [&](double value) {
    return RunAll(OptionsFor({"dealer", 2}, ReleaseOf(task, 1)), [&](Engine& engine, size_t) {
      crypto::SystemRandom random;
      Decisions decisions(engine, task, random);
      std::vector<double> own;
      if (engine.self()) own = {*engine.self() == 1 ? value : 300.0, 300};
      const std::vector<bool> bits = decisions.Decide(own);
      if (engine.self()) {
        EXPECT_FALSE(bits[0]);
        EXPECT_TRUE(bits[1]);
      }
    });
  };
  run_with(-std::numeric_limits<double>::infinity()).ThrowIfFailed();
  for (const double broken : {std::nan(""), std::numeric_limits<double>::infinity()}) {
    const auto run = run_with(broken);
    ASSERT_TRUE(run.errors[1]);
    try {
      std::rethrow_exception(run.errors[1]);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kBadData);
    }
    try {
      std::rethrow_exception(run.errors[0]);
    } catch (const Error& error) {
      EXPECT_EQ(error.message().find("log"), std::string::npos);  // the others learn nothing of it
    }
  }
}

}  // namespace
}  // namespace partita::methods::accept
