// Rehearsals of method `meta`: every number that opened beside the same in the clear.
#include <cmath>

#include "methods/meta/study.h"
#include "run/rehearse/rehearsal.h"

namespace partita::methods::meta {
namespace {

// Of an opened number in steps of its grid: half a step, the guard bits, and what the arithmetic
// errs before it is rounded.
constexpr double kRounding = 0.5 + 0x1p-9 + 0x1p-8;
// Of the binary logarithm of a grid's step.
constexpr double kGridError = 0x1p-6;
// Of tau^2, beside the distance of candidates: what the score errs where a candidate is all but the
// root (tau_search.h).
constexpr double kTauError = 2e-3;

class Comparison {
 public:
  Comparison(const MetaStudy& study, const std::vector<SiteEstimate>& own,
             run::Agreement& agreement)
      : analysis_(study.Analysis().name), task_(study.task), own_(own), agreement_(agreement) {
    for (const SiteEstimate& site : own) {
      if (!site.usable) continue;
      sites_.estimates.push_back(site.estimate);
      sites_.standard_errors.push_back(site.standard_error);
    }
  }

  void ComparePool(const OpenedPool& opened) {
    const Spec& spec = task_.spec;
    Add("sites", static_cast<double>(opened.sites), static_cast<double>(sites_.estimates.size()));
    if (!spec.fixed()) CompareTau(opened.tau_squared);
    const stats::meta::WeightSums sums = SumsAt(sites_, opened.tau_squared);
    const double on_grid = kRounding * opened.step;
    AddOnGrid("pooled estimate", opened.estimate, PooledEstimate(sums), on_grid);
    AddOnGrid("standard error", opened.standard_error,
              PooledError(sums, sites_.freedom(), spec.hartung_knapp), on_grid);
    const double wanted = std::log2(PooledError(sums, 0, false)) - task_.grid_bits;
    // The grid is one of units (pooling.h), so the exponent is whole in those.
    const double exponent = std::log2(opened.step);
    const bool fits = exponent <= wanted + kGridError && exponent > wanted - 1 - kGridError;
    agreement_.Add(analysis_, "step of the grid", exponent, fits ? exponent : wanted, 1);
    AddOnGrid("Q", opened.q, CochranQ(SumsAt(sites_, 0)), std::ldexp(kRounding, -task_.grid_bits));
  }

  void CompareSites(const std::vector<SiteEstimate>& opened) {
    for (size_t s = 0; s < own_.size(); ++s) {
      const double on_grid = std::ldexp(own_[s].standard_error, -task_.grid_bits - 1);
      AddOnGrid("site's estimate", opened[s].estimate, own_[s].estimate, on_grid);
      AddOnGrid("site's standard error", opened[s].standard_error, own_[s].standard_error, on_grid);
    }
  }

 private:
  void Add(const std::string& name, double run, double plain) {
    agreement_.Add(analysis_, name, run, plain);
  }
  // Opened on a grid: equal if the number in the clear rounds to what opened.
  void AddOnGrid(const std::string& name, double run, double plain, double error) {
    agreement_.Add(analysis_, name, run, std::fabs(run - plain) <= error ? run : plain, error);
  }
  void CompareTau(double opened) {
    const Spec& spec = task_.spec;
    const double unit = spec.unit() * spec.unit(), least = WholeLadder(spec).lower * unit;
    const double plain = TauSquared(sites_, spec.estimator);
    const double factor = TauPrecision(spec) * (1 + kTauError);
    const bool both_zero = opened == 0 && plain <= least * factor;
    const bool near = opened <= plain * factor && opened >= plain / factor;
    agreement_.Add(analysis_, "tau^2", opened, both_zero || near ? opened : plain, least);
  }

  const std::string& analysis_;
  const Task& task_;
  const std::vector<SiteEstimate>& own_;
  stats::meta::Sites sites_;
  run::Agreement& agreement_;
};

}  // namespace

void MetaStudy::Compare(const run::RehearsedRun& run, run::Agreement& agreement,
                        Progress& /*progress*/) const {
  std::vector<SiteEstimate> own;
  data::Table pooled = run.mock.pooled;
  DeriveColumns(pooled);
  for (const run::RowHolder& holder : task.holders) {
    const data::Table table = run::TakeRows(pooled, PooledRowsOf(*this, run, holder.party));
    run::TakenRows rows;
    run::OwnRows counts;
    const OwnFit fit = EstimateOf(*this, table, TakeRows(*this, table, used, rows, counts));
    own.push_back(task.spec.model ? Decide(fit, file.disclosure).estimate : fit.estimate);
  }
  const auto& result = dynamic_cast<const MetaRun&>(*run.outcome(receiver).protocol);
  Comparison comparison(*this, own, agreement);
  if (result.sites) {
    comparison.CompareSites(*result.sites);
  } else {
    comparison.ComparePool(*result.pool);
  }
}

}  // namespace partita::methods::meta
