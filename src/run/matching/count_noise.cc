#include "run/matching/count_noise.h"

#include <cmath>
#include <limits>

#include "privacy/sampling/discrete_laplace.h"

namespace partita::run {
namespace {

// Above the error of the few operations of PoolDelta, and of the scale as a double.
constexpr double kRoundedUp = 1 + 1e-12;

// Of scale 1 / epsilon or a little more: never less noise than was asked for.
privacy::DiscreteLaplace LawOf(const CountNoise& noise) {
  return privacy::DiscreteLaplace(
      privacy::ScaleOf(std::nextafter(1 / noise.epsilon, std::numeric_limits<double>::infinity())));
}

crypto::Digest PoolKey(size_t owner, uint64_t number) {
  return crypto::Sha256().Field("partita matching pool v1").U64(owner).U64(number).Finish();
}

}  // namespace

// The law is P(k) = a^|k - T/2| / Z, a = e^-epsilon, Z = (1 + a - 2 a^(T/2 + 1)) / (1 - a). Its shift has
// no mass at 0, and ratios between 1/e^epsilon and e^epsilon elsewhere; so delta is P(0), which is P(T),
// for the other direction.
double PoolDelta(double epsilon, uint64_t pool) {
  const double a = std::exp(-epsilon), half = static_cast<double>(pool) / 2;
  const double mass = (1 + a - 2 * std::exp(-epsilon * (half + 1))) / -std::expm1(-epsilon);
  return std::exp(-epsilon * half) / mass * kRoundedUp;
}

uint64_t PoolSize(const CountNoise& noise) {
  if (noise.epsilon == 0 || noise.delta == 0) return 0;
  uint64_t pool = 2;
  while (PoolDelta(noise.epsilon, pool) > noise.delta) pool += 2;
  return pool;
}

int64_t DrawCountNoise(const CountNoise& noise, crypto::RandomSource& random) {
  return static_cast<int64_t>(LawOf(noise).Sample(random));
}

uint64_t DrawPooled(const CountNoise& noise, crypto::RandomSource& random) {
  const auto pool = static_cast<int64_t>(PoolSize(noise));
  const privacy::DiscreteLaplace law = LawOf(noise);
  for (;;) {
    const int64_t pooled = pool / 2 + static_cast<int64_t>(law.Sample(random));
    if (pooled >= 0 && pooled <= pool) return static_cast<uint64_t>(pooled);
  }
}

std::vector<crypto::Digest> PoolKeys(size_t party, uint64_t pool, uint64_t pooled) {
  std::vector<crypto::Digest> keys;
  for (uint64_t i = 0; i < pooled; ++i) keys.push_back(PoolKey(party, i));
  for (uint64_t i = 0; i < pool; ++i) keys.push_back(PoolKey(1 - party, i));
  return keys;
}

}  // namespace partita::run
