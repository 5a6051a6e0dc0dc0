// Mechanisms to audit, right and wrong, and runs of them.
#pragma once

#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

#include "privacy/audit/release_runs.h"
#include "privacy/sampling/discrete_gaussian.h"
#include "privacy/sampling/discrete_laplace.h"
#include "privacy/sampling/polya.h"
#include "tests/privacy/sampling/tape.h"

namespace partita::privacy {

struct Worlds {
  Outputs with, without;
};

inline Worlds Observe(const SharedRelease& release, const std::vector<size_t>& known, uint64_t runs,
                      uint64_t seed) {
  crypto::Prg random = SeededStream(seed);
  Outputs with = ObserveRuns(release, World::kWith, known, runs, random);
  return {std::move(with), ObserveRuns(release, World::kWithout, known, runs, random)};
}

inline ShareSampler Gaussian(double stddev) {
  const auto sampler = std::make_shared<DiscreteGaussian>(VarianceOfStddev(stddev));
  return [sampler](crypto::RandomSource& random, std::span<Int128> out) {
    sampler->Sample(random, out);
  };
}

inline ShareSampler Laplace(double scale) {
  return [sampler = DiscreteLaplace(ScaleOf(scale))](
             crypto::RandomSource& random, std::span<Int128> out) { sampler.Sample(random, out); };
}

inline ShareSampler LaplaceShare(uint64_t scale, uint32_t parties) {
  const auto sampler = std::make_shared<DiscreteLaplaceShare>(scale, parties);
  return [sampler](crypto::RandomSource& random, std::span<Int128> out) {
    sampler->Sample(random, out);
  };
}

inline ShareSampler NoNoise() {
  return [](crypto::RandomSource&, std::span<Int128> out) {
    for (Int128& value : out) value = 0;
  };
}

// One person's shift of one number.
inline SharedRelease Scalar(std::vector<ShareSampler> shares, int64_t shift) {
  return {std::move(shares), {1000 + shift}, {1000}};
}

}  // namespace partita::privacy
