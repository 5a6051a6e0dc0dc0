#include "privacy/accounting/composition_theorems.h"

#include <boost/math/special_functions/gamma.hpp>
#include <cmath>

#include "base/error.h"
#include "privacy/accounting/normal.h"

namespace partita::privacy {
namespace {

void RequireGuarantee(const EpsilonDelta& each) {
  RequireEpsilon(each.epsilon);
  if (each.delta != 0) RequireDelta(each.delta);
}

double NormalCdf(double x) { return NormalUpperTail(-x); }

}  // namespace

EpsilonDelta BasicComposition(const EpsilonDelta& each, uint64_t count) {
  RequireGuarantee(each);
  const double k = static_cast<double>(RequireCount(count));
  return {k * each.epsilon, std::min(1.0, k * each.delta)};
}

EpsilonDelta AdvancedComposition(const EpsilonDelta& each, uint64_t count, double slack) {
  RequireGuarantee(each);
  RequireDelta(slack);
  const double k = static_cast<double>(RequireCount(count));
  return {each.epsilon * std::sqrt(-2 * k * std::log(slack)) +
              k * each.epsilon * std::expm1(each.epsilon),
          std::min(1.0, k * each.delta + slack)};
}

double OptimalCompositionDelta(const EpsilonDelta& each, uint64_t count, double target_epsilon) {
  RequireGuarantee(each);
  RequireEpsilon(target_epsilon);
  if (RequireCount(count) > 1'000'000)
    throw Error(ErrorCode::kUsage, "the composition theorem is offered up to 1e6 uses",
                "use the accountant");
  const double k = static_cast<double>(count), eps = each.epsilon;
  const double log_all = k * std::log1p(std::exp(-eps));  // log (1 + e^eps)^k - k eps
  long double sum = 0;
  for (double l = 0; l <= k; ++l) {
    const double gap = (k - 2 * l) * eps - target_epsilon;  // log of the ratio of the two terms
    if (!(gap > 0)) break;
    const double log_choose = std::lgamma(k + 1) - std::lgamma(l + 1) - std::lgamma(k - l + 1);
    sum += std::exp(log_choose - l * eps - log_all) * -std::expm1(-gap);
  }
  const double finite = std::exp(k * std::log1p(-each.delta));
  return -std::expm1(k * std::log1p(-each.delta)) + finite * static_cast<double>(sum);
}

double CltMuPoisson(double noise_multiplier, double sampling_rate, uint64_t steps) {
  RequirePositive(noise_multiplier, "the noise multiplier");
  const double k = static_cast<double>(RequireCount(steps));
  return RequireSamplingRate(sampling_rate) *
         std::sqrt(k * std::expm1(1 / (noise_multiplier * noise_multiplier)));
}

double CltMuUniform(double noise_multiplier, double sampling_rate, uint64_t steps) {
  RequirePositive(noise_multiplier, "the noise multiplier");
  const double k = static_cast<double>(RequireCount(steps)), s = noise_multiplier;
  return RequireSamplingRate(sampling_rate) *
         std::sqrt(2 * k *
                   (std::exp(1 / (s * s)) * NormalCdf(1.5 / s) + 3 * NormalCdf(-0.5 / s) - 2));
}

}  // namespace partita::privacy
