#include "methods/meta/site_sums.h"

#include "mpc/functions/arithmetic.h"

namespace partita::methods::meta {
namespace {

constexpr size_t kColumns = 6;

std::vector<Int128> OwnSums(const Spec& spec, const SiteEstimate& own,
                            std::span<const double> tau_squared) {
  const double b = own.estimate / spec.unit(), s = own.standard_error / spec.unit();
  std::vector<Int128> sums;
  for (const double tau : tau_squared) {
    const double x = own.usable ? WeightUnit(spec, tau) / (s * s + tau) : 0;
    for (const double term : {x, x * b, x * b * b, x * x, x * x * b, x * x * b * b})
      sums.push_back(mpc::EncodeFixed(term, kSumBits));
  }
  return sums;
}

}  // namespace

double WeightUnit(const Spec& spec, double tau_squared) {
  return spec.least_error() * spec.least_error() + tau_squared;
}

SharedSums ShareSums(mpc::Engine& engine, const Task& task, const SiteEstimate& own,
                     std::span<const double> tau_squared) {
  const std::vector<Int128> sums = OwnSums(task.spec, own, tau_squared);
  const size_t rows = tau_squared.size();
  std::vector<mpc::PrivateMatrix> inputs;
  for (const run::RowHolder& holder : task.holders)
    inputs.push_back(SumsOfHolder(engine, holder, {rows, kColumns}, kSumBits, 1, sums));
  const std::vector<mpc::Shared> by_holder = engine.Input(inputs);
  mpc::Shared all = by_holder.front();
  for (size_t h = 1; h < by_holder.size(); ++h) all = engine.Add(all, by_holder[h]);
  const auto column = [&](size_t c) {
    return mpc::WithBound(engine.Slice(all, 0, c, {rows, 1}),
                          static_cast<double>(task.holders.size()));
  };
  return {column(0), column(1), column(2), column(3), column(4), column(5)};
}

}  // namespace partita::methods::meta
