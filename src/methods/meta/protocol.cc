#include "methods/meta/protocol.h"

#include <cmath>

#include "mpc/functions/arithmetic.h"
#include "mpc/functions/release_grid.h"
#include "privacy/release_rule.h"

namespace partita::methods::meta {
namespace {

using mpc::Shared;

constexpr double kMostExponent = 1100;  // of doubles

std::vector<Shared> ShareWhole(mpc::Engine& engine, const Task& task, size_t rows, double most,
                               const std::vector<Int128>& own) {
  std::vector<mpc::PrivateMatrix> inputs;
  for (const run::RowHolder& holder : task.holders)
    inputs.push_back(SumsOfHolder(engine, holder, {rows, 1}, 0, most, own));
  return engine.Input(inputs);
}

}  // namespace

uint64_t OpenSites(mpc::Engine& engine, const Task& task, const SiteEstimate& own) {
  const std::vector<Int128> usable = {own.usable ? 1 : 0};
  const std::vector<Shared> by_holder = ShareWhole(engine, task, 1, 1, usable);
  std::vector<Shared> sum = {by_holder.front()};
  for (size_t h = 1; h < by_holder.size(); ++h) sum[0] = engine.Add(sum[0], by_holder[h]);
  const mpc::IntMatrix opened = engine.Reveal(kSitesRelease, sum, mpc::kEverybody).front();
  if (opened.values.empty()) return task.holders.size();
  const Int128 sites = opened.values.front();
  if (sites < 0 || sites > static_cast<Int128>(task.holders.size()))
    throw mpc::NoSuchOpening("more sites have an estimate than there are");
  return static_cast<uint64_t>(sites);
}

std::optional<OpenedPool> OpenPooled(mpc::Engine& engine, const Task& task, const SiteEstimate& own,
                                     uint64_t sites) {
  const double tau_squared = task.spec.fixed() ? 0 : SearchTau(engine, task, own, sites);
  return OpenPool(engine, task, own, sites, tau_squared);
}

std::optional<std::vector<SiteEstimate>> OpenSiteEstimates(mpc::Engine& engine, const Task& task,
                                                           const SiteEstimate& own) {
  std::vector<Int128> numbers(kNumOfSite, 0);
  if (own.usable) {
    const int exponent = privacy::GridExponent(own.standard_error, task.grid_bits);
    const auto steps = [&](double value) {
      return static_cast<Int128>(std::llround(std::ldexp(value, -exponent)));
    };
    numbers = {1, exponent, steps(own.estimate), steps(own.standard_error)};
  }
  // A step is at least 2^-(grid_bits + 1) of the smallest error.
  const double most = std::ldexp(1 / kLeastError, task.grid_bits + 1) + kMostExponent;
  const std::vector<Shared> by_holder = ShareWhole(engine, task, kNumOfSite, most, numbers);
  const std::vector<mpc::IntMatrix> opened =
      engine.Reveal(kSiteEstimatesRelease, by_holder, task.to);
  if (opened.front().values.empty()) return std::nullopt;
  std::vector<SiteEstimate> sites;
  for (const mpc::IntMatrix& site : opened) {
    const Int128 usable = site.values[0], power = site.values[1];
    const bool fits = usable == 0 || (usable == 1 && site.values[3] > 0);
    if (!fits || power < -static_cast<Int128>(kMostExponent) ||
        power > static_cast<Int128>(kMostExponent))
      throw mpc::NoSuchOpening("an estimate of a site is none");
    const auto exponent = static_cast<int>(site.values[1]);
    const auto value = [&](size_t i) {
      return std::ldexp(static_cast<double>(site.values[i]), exponent);
    };
    sites.push_back(site.values[0] == 0 ? SiteEstimate{} : SiteEstimate{true, value(2), value(3)});
  }
  return sites;
}

OpenedPool PoolOfSites(const Spec& spec, const std::vector<SiteEstimate>& sites) {
  stats::meta::Sites usable;
  for (const SiteEstimate& site : sites) {
    if (!site.usable) continue;
    usable.estimates.push_back(site.estimate);
    usable.standard_errors.push_back(site.standard_error);
  }
  const stats::meta::Pooled all = Pool(usable, spec.estimator, spec.hartung_knapp);
  return {usable.estimates.size(), all.estimate, all.standard_error, all.tau_squared, all.q, 0};
}

}  // namespace partita::methods::meta
