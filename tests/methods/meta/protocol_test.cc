// Pooling on shares against the same in the clear, on every engine, with exactly the messages of the
// plan: tau^2 between candidates, estimate, error and Q on their grids.
#include "methods/meta/protocol.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <random>

#include "tests/mpc/harness.h"
#include "tests/paths.h"

namespace partita::methods::meta::protocol_test {
namespace {

using mpc::Engine;
using stats::meta::Estimator;
using stats::meta::Sites;

constexpr int kGridBits = 6;
// Half a step, the guard bits, and what arithmetic errs before it is rounded.
constexpr double kRounding = 0.5 + 0x1p-9 + 0x1p-8;
// Of tau^2 beside the distance of candidates: what the score errs (tau_search.h).
constexpr double kTauError = 2e-3;

data::ColumnSchema Number(const std::string& name, double lower, double upper) {
  data::ColumnSchema schema;
  schema.name = name;
  schema.type = data::ColumnType::kNumeric;
  schema.lower = lower;
  schema.upper = upper;
  return schema;
}

Spec SpecOf(Estimator estimator, bool hartung_knapp, double unit = 4) {
  Spec spec;
  spec.estimate = Number("b", -unit, unit);
  spec.standard_error = Number("se", unit * kLeastError, unit);
  spec.estimator = estimator;
  spec.hartung_knapp = hartung_knapp;
  return spec;
}

struct Options {
  std::string kind = "dealer";
  std::vector<size_t> lacking = {};  // sites beside those given, at these places
  bool to_all = false;
};

struct Ran {
  OpenedPool pool;
  uint64_t sites = 0;
};

std::vector<SiteEstimate> OwnOf(const Sites& sites, const Options& options) {
  std::vector<SiteEstimate> own;
  for (size_t s = 0; s < sites.estimates.size(); ++s)
    own.push_back({true, sites.estimates[s], sites.standard_errors[s]});
  for (const size_t place : options.lacking)
    own.insert(own.begin() + static_cast<std::ptrdiff_t>(place), SiteEstimate{});
  return own;
}

Task TaskOf(const Spec& spec, size_t holders, bool to_all) {
  Task task;
  task.spec = spec;
  task.grid_bits = kGridBits;
  task.to = to_all ? mpc::kEverybody : 1;
  for (size_t h = 0; h < holders; ++h) task.holders.push_back({h, 1});
  return task;
}

Ran RunPool(const Spec& spec, const Sites& sites, const Options& options) {
  const std::vector<SiteEstimate> own = OwnOf(sites, options);
  const Task task = TaskOf(spec, own.size(), options.to_all);
  mpc::testing::RunOptions run;
  run.kind = options.kind;
  run.num_parties = own.size();
  run.releases = {{kSitesRelease, "sites", "all", "exact", 1, mpc::kEverybody, 1},
                  {kSearchRelease, "tau", "all", "exact", kPasses, mpc::kEverybody, 1},
                  {kPooledRelease, "pool", "one", "exact", 1, task.to, kNumPooled}};
  std::vector<std::optional<OpenedPool>> pools(own.size());
  std::vector<uint64_t> counts(own.size());
  const auto result = mpc::testing::RunAndComparePlan(run, [&](Engine& engine, size_t) {
    const std::optional<size_t> self = engine.self();
    const SiteEstimate mine = self ? own[*self] : SiteEstimate{};
    const uint64_t count = OpenSites(engine, task, mine);
    const std::optional<OpenedPool> pool = OpenPooled(engine, task, mine, count);
    if (!self) return;
    pools[*self] = pool;
    counts[*self] = count;
  });
  result.ThrowIfFailed();
  for (size_t p = 0; p < own.size(); ++p) {
    EXPECT_EQ(pools[p].has_value(), options.to_all || p == 1) << p;
    EXPECT_EQ(counts[p], sites.estimates.size());
  }
  return {pools[1].value(), counts[1]};
}

// What opened, against the clear: tau^2 of the estimator, the others at the tau^2 that opened.
void ExpectPool(const Spec& spec, const Sites& sites, const OpenedPool& opened) {
  EXPECT_EQ(opened.sites, sites.estimates.size());
  if (spec.fixed()) {
    EXPECT_EQ(opened.tau_squared, 0);
  } else {
    const double wanted = TauSquared(sites, spec.estimator);
    const double factor = TauPrecision(spec) * (1 + kTauError);
    const double least = WholeLadder(spec).lower * spec.unit() * spec.unit();
    if (opened.tau_squared == 0) {
      EXPECT_LE(wanted, least * factor);
    } else {
      EXPECT_LE(opened.tau_squared, wanted * factor);
      EXPECT_GE(opened.tau_squared, wanted / factor);
    }
  }
  const stats::meta::WeightSums sums = SumsAt(sites, opened.tau_squared);
  const double normal = PooledError(sums, 0, false);
  EXPECT_LE(opened.step, std::ldexp(normal, -kGridBits) * (1 + 0x1p-9));
  EXPECT_GT(opened.step, std::ldexp(normal, -kGridBits - 1) * (1 - 0x1p-9));
  EXPECT_NEAR(opened.estimate, PooledEstimate(sums), kRounding * opened.step);
  EXPECT_NEAR(opened.standard_error, PooledError(sums, sites.freedom(), spec.hartung_knapp),
              kRounding * opened.step);
  EXPECT_NEAR(opened.q, CochranQ(SumsAt(sites, 0)), std::ldexp(kRounding, -kGridBits));
}

void ExpectTwin(const Spec& spec, const Sites& sites, const Options& options = {}) {
  SCOPED_TRACE(fmt::format("{} {} of {}", options.kind, EstimatorName(spec.estimator),
                           sites.estimates.size()));
  ExpectPool(spec, sites, RunPool(spec, sites, options).pool);
}

Sites Draw(uint64_t seed, size_t k, double tau, double least, double most) {
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> log_error(std::log(least), std::log(most));
  std::normal_distribution<double> normal;
  Sites sites;
  for (size_t s = 0; s < k; ++s) {
    const double error = std::exp(log_error(random));
    sites.standard_errors.push_back(error);
    sites.estimates.push_back(0.4 + std::hypot(error, tau) * normal(random));
  }
  return sites;
}

constexpr Estimator kAll[] = {Estimator::kReml, Estimator::kDerSimonianLaird, Estimator::kFixed};

TEST(MetaProtocol, PoolsOnEveryEngine) {
  const Sites three = Draw(1, 3, 0.5, 0.1, 0.4);
  for (const char* engine : {"dealer", "replicated", "shamir"}) {
    ExpectTwin(SpecOf(Estimator::kReml, true), three, {.kind = engine});
    ExpectTwin(SpecOf(Estimator::kDerSimonianLaird, false), three,
               {.kind = engine, .to_all = true});
  }
  ExpectTwin(SpecOf(Estimator::kFixed, false), three, {.kind = "shamir"});
  ExpectTwin(SpecOf(Estimator::kReml, true), Draw(2, 5, 0.5, 0.1, 0.4), {.kind = "shamir"});
}

// Of two parties: the protocol does not mind, a study does.
TEST(MetaProtocol, PoolsByTransfers) {
  ExpectTwin(SpecOf(Estimator::kReml, true), Draw(3, 2, 0.5, 0.1, 0.2), {.kind = "ot"});
}

// The thirteen trials of BCG, whose numbers R has (tests/references/meta).
TEST(MetaProtocol, PoolsTheTrialsOfBcg) {
  std::ifstream file(FixturePath("references/meta/meta.json"));
  const auto table = nlohmann::json::parse(file)["bcg"];
  const Sites sites{table["estimates"], table["standard_errors"]};
  for (const auto& wanted : table["analyses"]) {
    const bool hartung = wanted["hartung_knapp"];
    for (const Estimator estimator : kAll) {
      if (wanted["estimator"] != EstimatorName(estimator)) continue;
      const Spec spec = SpecOf(estimator, hartung);
      const OpenedPool pool = RunPool(spec, sites, {}).pool;
      ExpectPool(spec, sites, pool);
      // The estimate moves by less than a step while tau^2 moves within its precision.
      EXPECT_NEAR(pool.estimate, wanted["estimate"].get<double>(), pool.step);
      EXPECT_NEAR(pool.standard_error, wanted["standard_error"].get<double>(), pool.step);
      EXPECT_NEAR(pool.tau_squared, wanted["tau_squared"].get<double>(),
                  (TauPrecision(spec) * (1 + kTauError) - 1) * wanted["tau_squared"].get<double>());
    }
  }
}

// Sixty tables: errors from equal to spread over the whole range of the bounds, heterogeneity from
// none to far above them.
TEST(MetaProtocol, PoolsRandomSites) {
  size_t without = 0;
  for (uint64_t seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE(seed);
    const double tau = std::vector<double>{0, 0.02, 0.3, 1}[seed % 4];
    const double most = std::vector<double>{0.05, 0.5, 3}[seed % 3];
    const Sites sites = Draw(100 + seed, 3 + seed % 5, tau, seed % 2 == 0 ? most / 2 : 0.02, most);
    Sites inside = sites;
    for (double& b : inside.estimates) b = std::clamp(b, -4.0, 4.0);
    const Spec spec = SpecOf(kAll[seed % 3], kAll[seed % 3] != Estimator::kFixed && seed % 2 == 0);
    ExpectTwin(spec, inside);
    without += TauSquared(inside, spec.estimator) == 0 ? 1 : 0;
  }
  EXPECT_GT(without, 25u);  // fixed effects are twenty of them
}

// All alike; errors at both bounds; one site that outweighs all; estimates at the bounds.
TEST(MetaProtocol, HoldsAtTheEdges) {
  for (const Estimator estimator : kAll) {
    const bool hartung = estimator != Estimator::kFixed;
    const Spec spec = SpecOf(estimator, hartung), other = SpecOf(estimator, false);
    const double least = 4 * kLeastError;
    ExpectTwin(spec, {{1, 1, 1}, {0.5, 1, 2}});
    ExpectTwin(other, {{1, 1, 1}, {0.5, 1, 2}});
    ExpectTwin(spec, {{-4, 4, 0}, {least, least, least}});
    ExpectTwin(spec, {{-4, 4, 0}, {4, 4, 4}});
    ExpectTwin(spec, {{0.5, 3, -2}, {least, 4, 4}});
    ExpectTwin(other, {{0.5, 3, -2}, {least, 4, 4}});
    ExpectTwin(SpecOf(estimator, hartung, 1e-3), {{1e-4, 3e-4, 9e-4}, {1e-4, 2e-4, 1e-4}});
    ExpectTwin(SpecOf(estimator, hartung, 1000), {{100, 300, 900}, {100, 200, 100}});
  }
}

// A site without an estimate adds nothing but itself to what is counted as lacking.
TEST(MetaProtocol, LeavesOutSitesWithoutAnEstimate) {
  const Sites sites = Draw(9, 4, 0.5, 0.1, 0.4);
  for (const Estimator estimator : kAll) {
    const Spec spec = SpecOf(estimator, estimator != Estimator::kFixed);
    const OpenedPool all = RunPool(spec, sites, {}).pool;
    const OpenedPool some = RunPool(spec, sites, {.lacking = {0, 3}}).pool;
    ExpectPool(spec, sites, some);
    EXPECT_EQ(some.estimate, all.estimate);
    EXPECT_EQ(some.tau_squared, all.tau_squared);
  }
}

TEST(MetaProtocol, OpensEstimatesOfSites) {
  const Sites sites = Draw(10, 3, 0.5, 0.1, 3);
  const Options options{.kind = "replicated"};
  std::vector<SiteEstimate> own = OwnOf(sites, options);
  own[2] = {};
  Spec spec = SpecOf(Estimator::kReml, true);
  spec.site_estimates = true;
  const Task task = TaskOf(spec, 3, false);
  mpc::testing::RunOptions run;
  run.kind = options.kind;
  run.num_parties = 3;
  run.releases = {{kSiteEstimatesRelease, "sites", "one", "exact", 1, 1, kNumOfSite * 3}};
  std::vector<std::optional<std::vector<SiteEstimate>>> opened(3);
  const auto result = mpc::testing::RunAndComparePlan(run, [&](Engine& engine, size_t) {
    const std::optional<size_t> self = engine.self();
    const auto all = OpenSiteEstimates(engine, task, self ? own[*self] : SiteEstimate{});
    if (self) opened[*self] = all;
  });
  result.ThrowIfFailed();
  EXPECT_FALSE(opened[0] || opened[2]);
  ASSERT_TRUE(opened[1]);
  for (size_t s = 0; s < 2; ++s) {
    const SiteEstimate& site = (*opened[1])[s];
    const double step = std::ldexp(own[s].standard_error, -kGridBits);
    EXPECT_TRUE(site.usable);
    EXPECT_NEAR(site.estimate, own[s].estimate, step / 2);
    EXPECT_NEAR(site.standard_error, own[s].standard_error, step / 2);
    EXPECT_NE(site.estimate, own[s].estimate);
  }
  EXPECT_FALSE((*opened[1])[2].usable);
}

}  // namespace
}  // namespace partita::methods::meta::protocol_test
