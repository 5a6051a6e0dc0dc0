#include "methods/meta/tau_search.h"

#include <cmath>

#include "mpc/functions/arithmetic.h"
#include "mpc/functions/division.h"
#include "mpc/functions/leading.h"

namespace partita::methods::meta {
namespace {

using mpc::Engine;
using mpc::Shared;
using mpc::WithBound;

mpc::PublicMatrix Column(const std::vector<double>& values) {
  mpc::PublicMatrix column{{{values.size(), 1}, {}}, kSumBits};
  for (const double value : values)
    column.values.values.push_back(mpc::EncodeFixed(value, kSumBits));
  return column;
}

// m, and sum x - sum x^2 / sum x, by row.
struct Ratios {
  Shared mean, spare;
};
Ratios RatiosOf(Engine& engine, const SharedSums& sums) {
  const double most = sums.w.bound;
  const std::vector<mpc::Quotient> quotients = {{sums.wb, {sums.w, kLeastWeight}, 1},
                                                {sums.ww, {sums.w, kLeastWeight}, 1}};
  const std::vector<Shared> by = mpc::Divide(engine, quotients, kSumBits);
  return {WithBound(by[0], 1), WithBound(engine.Subtract(sums.w, by[1]), most + 1)};
}

// Minus the score of REML, by candidate.
Shared NegativeReml(Engine& engine, const Task& task, const SharedSums& sums,
                    const std::vector<double>& candidates) {
  const double most = sums.w.bound;
  const Ratios ratios = RatiosOf(engine, sums);
  std::vector<double> units;
  for (const double tau : candidates) units.push_back(WeightUnit(task.spec, tau));
  Shared cross, squares, spare;
  mpc::ProductRound first(engine);
  first.AddCut(ratios.mean, sums.wwb, most, kSumBits, cross);
  first.AddCut(ratios.mean, sums.ww, most, kSumBits, squares);
  first.AddCut(ratios.spare, Column(units), 8 * ratios.spare.bound, kSumBits, spare);
  first.Run();
  Shared mean_square;
  mpc::ProductRound second(engine);
  second.AddCut(ratios.mean, squares, most, kSumBits, mean_square);
  second.Run();
  const Shared spread = engine.Add(engine.Subtract(sums.wwbb, engine.Scale(cross, 2)), mean_square);
  return WithBound(engine.Subtract(spare, spread), spare.bound + 4 * most);
}

// Q c - c (sites - 1), and what tau^2 is multiplied by; of sums at 0, 1 x 1 each.
struct LairdTerms {
  Shared excess, slope;
};
LairdTerms LairdTermsOf(Engine& engine, const Task& task, const SiteEstimate& own, uint64_t sites) {
  const double zero[] = {0};
  const SharedSums sums = ShareSums(engine, task, own, zero);
  const Ratios ratios = RatiosOf(engine, sums);
  Shared explained;
  mpc::ProductRound product(engine);
  product.AddCut(ratios.mean, sums.wb, sums.w.bound, kSumBits, explained);
  product.Run();
  const double expected = WeightUnit(task.spec, 0) * (static_cast<double>(sites) - 1);
  const Shared q = engine.Subtract(sums.wbb, explained);
  return {mpc::PlusConstant(engine, q, -expected, 3 * sums.w.bound), ratios.spare};
}

Shared NegativeLaird(Engine& engine, const LairdTerms& terms,
                     const std::vector<double>& candidates) {
  const Shared falls = engine.MultiplyPublic(Column(candidates), terms.slope);
  const Shared excess = engine.SelectRows(mpc::Lift(engine, terms.excess, falls.fraction_bits),
                                          std::vector<size_t>(candidates.size(), 0));
  return WithBound(engine.Subtract(falls, excess), 8 * terms.slope.bound + terms.excess.bound);
}

// How many entries there are before the first that is not negative.
size_t OpenLeading(Engine& engine, const Shared& negative) {
  const auto k = static_cast<double>(negative.shape.rows);
  const Shared leads = mpc::LeadingNegatives(engine, negative);
  const std::vector<Shared> count = {WithBound(engine.SumRows(leads), k)};
  const mpc::IntMatrix opened = engine.Reveal(kSearchRelease, count, mpc::kEverybody).front();
  return opened.values.empty() ? 0 : static_cast<size_t>(opened.values.front());
}

}  // namespace

std::vector<double> Ladder::Candidates() const {
  std::vector<double> candidates;
  for (size_t c = 1; c < kRungs; ++c) {
    const double part = static_cast<double>(c) / static_cast<double>(kRungs);
    candidates.push_back(lower * std::pow(upper / lower, part));
  }
  return candidates;
}

Ladder Ladder::Between(size_t below) const {
  const double ratio = std::pow(upper / lower, 1 / static_cast<double>(kRungs));
  const double from = lower * std::pow(ratio, static_cast<double>(below));
  return {from, from * ratio};
}

Ladder WholeLadder(const Spec& spec) {
  const double least = spec.least_error() / 64;
  return {least * least, 4};
}

double TauSquaredOf(const Ladder& last, bool any_below) {
  return any_below ? std::sqrt(last.lower * last.upper) : 0;
}

double TauPrecision(const Spec& spec) {
  const Ladder whole = WholeLadder(spec);
  return std::pow(whole.upper / whole.lower, 0.5 / std::pow(static_cast<double>(kRungs), kPasses));
}

double SearchTau(Engine& engine, const Task& task, const SiteEstimate& own, uint64_t sites) {
  Ladder ladder = WholeLadder(task.spec);
  const bool laird = task.spec.estimator == stats::meta::Estimator::kDerSimonianLaird;
  LairdTerms terms;
  if (laird) terms = LairdTermsOf(engine, task, own, sites);
  bool any_below = false;
  for (int pass = 0; pass < kPasses; ++pass) {
    const std::vector<double> candidates = ladder.Candidates();
    const size_t below = OpenLeading(
        engine,
        laird ? NegativeLaird(engine, terms, candidates)
              : NegativeReml(engine, task, ShareSums(engine, task, own, candidates), candidates));
    any_below = any_below || below > 0;
    ladder = ladder.Between(below);
  }
  return TauSquaredOf(ladder, any_below);
}

}  // namespace partita::methods::meta
