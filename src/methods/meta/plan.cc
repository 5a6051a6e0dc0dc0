// What the plan says of method `meta`.
#include <fmt/format.h>

#include <cmath>

#include "methods/meta/study.h"
#include "privacy/release_rule.h"
#include "run/method/covariate_table.h"
#include "run/method/plan_privacy.h"

namespace partita::methods::meta {
namespace {

constexpr uint64_t kNumbersOnGrid = 3;  // estimate, standard error, Q
constexpr uint64_t kNumbersOfSite = 2;

double OpenedBits(const MetaStudy& study) {
  const Task& task = study.task;
  if (task.spec.site_estimates) return privacy::NumberBits(kNumbersOfSite, task.grid_bits);
  const double search = task.spec.fixed() ? 0 : kRungBits * kPasses;
  return privacy::NumberBits(kNumbersOnGrid, task.grid_bits) + search +
         std::log2(static_cast<double>(task.holders.size()) + 1);
}

std::string ModelText(const Spec& spec) {
  std::string text =
      spec.model
          ? fmt::format("{} of {} (family {}) at every site", spec.pooled_name(),
                        spec.model->formula, FamilyName(spec.model->law))
          : fmt::format("{} with standard errors {}", spec.estimate.name, spec.standard_error.name);
  if (spec.fixed()) return text + ", fixed effect";
  return text +
         fmt::format(
             ", random effects, tau^2 by {}, {}",
             spec.estimator == stats::meta::Estimator::kReml ? "REML" : "DerSimonian and Laird",
             spec.hartung_knapp ? "intervals of Hartung and Knapp" : "normal intervals");
}

std::string SearchText(const Spec& spec) {
  return fmt::format(
      "between which of {} public values tau^2 is, {} times: so tau^2 within {:.1g} % of itself",
      kRungs - 1, kPasses, std::ceil(1000 * (TauPrecision(spec) - 1)) / 10);
}

}  // namespace

study::PlanBits BitsOf(const MetaStudy& study) {
  const Spec& spec = study.task.spec;
  uint64_t others = spec.site_estimates ? 1 : study.task.min_sites() - 1;
  double of_row = 0;
  if (spec.model) {
    // Every site whose estimate is used has min_rows rows at least.
    others *= study.file.disclosure.min_rows;
    for (const auto& [variable, bits] :
         run::PatternColumnsOf(study, study.factors, spec.model->covariates))
      of_row += bits;
  } else {
    of_row = run::ValueBits(spec.estimate) + run::ValueBits(spec.standard_error);
  }
  return run::BitsAgainst(OpenedBits(study), {{{{others, of_row}}, false}}, study.task.grid_bits);
}

std::vector<mpc::Release> ReleasesOf(const MetaStudy& study) {
  const Task& task = study.task;
  const std::string& told = study.told();
  std::vector<mpc::Release> releases = {
      {kSitesRelease, "how many sites have an estimate", "all", "exact", 1, mpc::kEverybody, 1}};
  if (task.spec.site_estimates) {
    releases.push_back(
        {kSiteEstimatesRelease,
         fmt::format(
             "every site's estimate and standard error on a grid of 2^-{} of that error, or "
             "that it has none",
             task.grid_bits),
         told, "exact", 1, task.to, kNumOfSite * task.holders.size()});
    return releases;
  }
  if (!task.spec.fixed()) {
    releases.push_back(
        {kSearchRelease, SearchText(task.spec), "all", "exact", kPasses, mpc::kEverybody, 1});
  }
  releases.push_back({kPooledRelease,
                      fmt::format("the pooled estimate and its standard error on a grid of 2^-{0} "
                                  "of that error, and Q on one of 2^-{0}",
                                  task.grid_bits),
                      told, "exact", 1, task.to, kNumPooled});
  return releases;
}

void MetaStudy::Describe(study::Plan& plan) const {
  const Spec& spec = task.spec;
  const std::string& name = Analysis().name;
  plan.analyses.push_back(
      {name, level(), ModelText(spec),
       spec.model ? run::RowsText(*this, Analysis().subset, "that lack no variable of it")
                  : fmt::format("of {} sites, one row each", task.holders.size()),
       1});
  plan.checks.push_back({name, "sites",
                         fmt::format("at least {} sites have an estimate", task.min_sites()),
                         task.min_sites(), false});
  if (spec.model) {
    plan.checks.push_back(
        {name, "own rows",
         fmt::format(
             "a site has an estimate if it has at least {} rows, its counts by level{} are 0 "
             "or at least {}, and its model a finite estimate; its holder checks",
             file.disclosure.min_rows, spec.model->law.binary ? " and outcome" : "",
             file.disclosure.min_cell),
         file.disclosure.min_rows, true});
  }
  plan.leakage_level = level();
  const std::string who = task.to == mpc::kEverybody ? std::string("every party")
                                                     : parties[receiver].name + ", the receiver";
  plan.privacy.push_back(
      {who, "",
       "no bound: the releases are exact, and nothing limits what they say about one site"});
  run::AddEngineBounds(*this, plan.privacy);
  if (spec.site_estimates) {
    plan.assumptions.push_back(fmt::format(
        "Every site's own estimate and standard error open to {}, by name. Whoever approves this "
        "plan agrees to that for its own site.",
        told()));
  } else {
    plan.assumptions.emplace_back(
        "Estimates of single sites open to nobody. With few sites the pooled numbers say much "
        "about "
        "them: of three, each knows its own, and two more pairs of numbers are what the pooled "
        "estimate, its error, tau^2 and Q are made of.");
  }
  if (spec.model) return;
  plan.assumptions.emplace_back(
      "What persons stand behind an estimate the study cannot see: each holder decides whether its "
      "own estimate may be used, and answers for how it was made.");
}

std::vector<std::string> MetaStudy::Warnings() const {
  if (task.grid_bits == file.release.grid_bits) return {};
  return {
      fmt::format("The result opens on a grid of 2^-{} of standard errors, so that it tells at "
                  "most half of the bits of what other sites hold.",
                  task.grid_bits)};
}

std::vector<std::string> MetaStudy::AlsoLearns(size_t /*party*/) const { return {}; }

std::vector<study::PlanExposure> MetaStudy::Exposures() const {
  const uint64_t sites = task.holders.size();
  study::PlanExposure exposure;
  exposure.of = "all releases of this study";
  exposure.to = told();
  exposure.statistics = kNumbersOfSite * sites;
  exposure.level = level();
  exposure.bits = BitsOf(*this);
  if (task.spec.site_estimates) {
    exposure.opened = 1 + kNumbersOfSite * sites;
    exposure.exposes = {"every site's estimate and standard error, by name"};
  } else {
    exposure.opened = 1 + (task.spec.fixed() ? 0 : kPasses) + kNumPooled;
    exposure.exposes = {"how many sites have an estimate"};
  }
  return {exposure};
}

}  // namespace partita::methods::meta
