#include "methods/mcmc/meta_analysis.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"

namespace partita::methods::mcmc {
namespace {

constexpr int kFractionBits = 40;
// w^2 and w b^2 of the largest weight and estimate.
constexpr double kLargestSummand = kLargestWeight * kLargestWeight;

// Sums over all parties of `own`, opened to everybody.
std::vector<double> OpenSums(mpc::Engine& engine, const char* release, size_t count,
                             const std::vector<double>& own) {
  std::vector<Int128> encoded;
  for (const double value : own) encoded.push_back(mpc::EncodeFixed(value, kFractionBits));
  std::vector<mpc::PrivateMatrix> inputs;
  for (mpc::PartyIndex party = 0; party < engine.num_parties(); ++party) {
    mpc::PrivateMatrix input{party, {1, count}, kFractionBits, kLargestSummand, nullptr};
    if (engine.self() == party) {
      input.read = [&encoded](size_t, size_t num_rows, Int128* out) {
        if (num_rows > 0) std::copy(encoded.begin(), encoded.end(), out);
      };
    }
    inputs.push_back(std::move(input));
  }
  const std::vector<mpc::Shared> parts = engine.Input(inputs);
  mpc::Shared sum = parts.front();
  for (size_t k = 1; k < parts.size(); ++k) sum = engine.Add(sum, parts[k]);
  const mpc::IntMatrix opened = engine.Reveal(release, std::span(&sum, 1), mpc::kEverybody).front();
  std::vector<double> sums;
  for (const Int128 value : opened.values) sums.push_back(mpc::DecodeFixed(value, kFractionBits));
  return sums;
}

struct FirstSums {
  double w = 0, wb = 0, wbb = 0, ww = 0;
};

PooledEstimate FromFirst(const FirstSums& sums, size_t parties) {
  PooledEstimate pooled;
  pooled.fixed = sums.wb / sums.w;
  pooled.fixed_error = std::sqrt(1 / sums.w);
  const auto freedom = static_cast<double>(parties - 1);
  pooled.q = std::max(0.0, sums.wbb - sums.wb * sums.wb / sums.w);
  pooled.tau_squared = std::max(0.0, (pooled.q - freedom) / (sums.w - sums.ww / sums.w));
  pooled.i_squared = pooled.q > freedom ? (pooled.q - freedom) / pooled.q : 0;
  return pooled;
}

void CheckOwn(size_t coefficients, const SiteEstimates& own) {
  if (own.estimate.size() != coefficients || own.standard_error.size() != coefficients) {
    throw Error(ErrorCode::kInternal, "a party has not one estimate per coefficient");
  }
  for (size_t k = 0; k < coefficients; ++k) {
    const double s = own.standard_error[k];
    const bool fits = std::abs(own.estimate[k]) <= kLargestEstimate && s > 0 && s < 1e6 &&
                      1 / (s * s) <= kLargestWeight;
    if (fits) continue;
    throw Error(ErrorCode::kBadData, "an own estimate or its standard error is out of range",
                "check the own fit, and scale its predictors");
  }
}

double Weight(double standard_error, double tau_squared) {
  return 1 / (standard_error * standard_error + tau_squared);
}

}  // namespace

std::vector<mpc::Release> MetaReleasesOf(size_t coefficients) {
  return {{kFirstSumsRelease, "sums of weights and weighted estimates", "all", "exact", 1,
           mpc::kEverybody, 4 * coefficients},
          {kSecondSumsRelease, "sums of random-effects weights and weighted estimates", "all",
           "exact", 1, mpc::kEverybody, 2 * coefficients}};
}

std::vector<PooledEstimate> PoolEstimates(mpc::Engine& engine, size_t coefficients,
                                          const SiteEstimates& own) {
  if (engine.num_parties() < 3) {
    throw Error(ErrorCode::kBadInput,
                "of sums over two parties each can compute the other's estimates",
                "pool three parties or more");
  }
  if (engine.self()) CheckOwn(coefficients, own);
  std::vector<double> first;
  for (size_t k = 0; k < own.estimate.size(); ++k) {
    const double w = Weight(own.standard_error[k], 0), b = own.estimate[k];
    first.insert(first.end(), {w, w * b, w * b * b, w * w});
  }
  const std::vector<double> sums = OpenSums(engine, kFirstSumsRelease, 4 * coefficients, first);
  std::vector<PooledEstimate> pooled;
  std::vector<double> second;
  for (size_t k = 0; 4 * k < sums.size(); ++k) {
    pooled.push_back(FromFirst({sums[4 * k], sums[4 * k + 1], sums[4 * k + 2], sums[4 * k + 3]},
                               engine.num_parties()));
    const double w = Weight(own.standard_error[k], pooled[k].tau_squared);
    second.insert(second.end(), {w, w * own.estimate[k]});
  }
  const std::vector<double> random = OpenSums(engine, kSecondSumsRelease, 2 * coefficients, second);
  for (size_t k = 0; k < pooled.size(); ++k) {
    pooled[k].random = random[2 * k + 1] / random[2 * k];
    pooled[k].random_error = std::sqrt(1 / random[2 * k]);
  }
  return pooled;
}

PooledEstimate PoolInTheClear(const std::vector<double>& estimates,
                              const std::vector<double>& standard_errors) {
  FirstSums sums;
  for (size_t k = 0; k < estimates.size(); ++k) {
    const double w = Weight(standard_errors[k], 0), b = estimates[k];
    sums.w += w;
    sums.wb += w * b;
    sums.wbb += w * b * b;
    sums.ww += w * w;
  }
  PooledEstimate pooled = FromFirst(sums, estimates.size());
  double total = 0, weighted = 0;
  for (size_t k = 0; k < estimates.size(); ++k) {
    const double w = Weight(standard_errors[k], pooled.tau_squared);
    total += w;
    weighted += w * estimates[k];
  }
  pooled.random = weighted / total;
  pooled.random_error = std::sqrt(1 / total);
  return pooled;
}

}  // namespace partita::methods::mcmc
