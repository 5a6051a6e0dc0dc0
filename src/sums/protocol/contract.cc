#include "sums/protocol/contract.h"

#include <fmt/format.h>

#include <cmath>

#include "base/error.h"
#include "privacy/sampling/discrete_gaussian_mechanism.h"

namespace partita::sums {
namespace {

constexpr double kTailStddevs = 40;
constexpr double kLaplaceTail = 300;
constexpr uint32_t kMaxLaplaceShares = 1'000'000;
constexpr UInt128 kMaxLaplaceScale = UInt128{1} << 100;

[[noreturn]] void Refuse(const std::string& message, const char* hint) {
  throw Error(ErrorCode::kUsage, message, hint);
}

void CheckCounts(const Contract& contract) {
  if (contract.nodes < 2 || contract.nodes > kMaxNodes) {
    Refuse(fmt::format("a private sum with {} compute nodes", contract.nodes),
           "Use 2 to 64 compute nodes that are run by different people.");
  }
  if (contract.dimension < 1 || contract.dimension > kMaxDimension) {
    Refuse(fmt::format("a private sum of vectors of length {}", contract.dimension),
           "The length is between 1 and 2^24.");
  }
  const uint64_t lost = uint64_t{contract.max_drop} + contract.max_collude + 1;
  if (lost >= contract.clients) {
    Refuse(fmt::format("{} clients cannot protect from {} that drop out and {} that collude",
                       contract.clients, contract.max_drop, contract.max_collude),
           "Plan with more clients, or with fewer that drop out or collude.");
  }
  if (contract.ring != RingBits::k64 && contract.ring != RingBits::k128) {
    Refuse("a private sum in an unknown ring", "Use 64 or 128 bits.");
  }
}

uint32_t NumShares(const Contract& contract) {
  return contract.noise_source == NoiseSource::kClients ? contract.clients : contract.nodes;
}

void CheckBound(const Contract& contract) {
  if (contract.noise_law != NoiseLaw::kGaussian && contract.noise_law != NoiseLaw::kLaplace) {
    Refuse("a private sum with noise of an unknown law", "Use Gaussian or Laplace noise.");
  }
  const auto norm = IsLaplace(contract) ? privacy::Norm::kL1 : privacy::Norm::kL2;
  if (contract.clip.norm != norm) {
    Refuse(fmt::format("a private sum of rows that are not clipped in the {} norm",
                       IsLaplace(contract) ? "L1" : "L2"),
           "Gaussian noise goes with the L2 norm, Laplace noise with the L1 norm.");
  }
  if (!(contract.sensitivity >= 0 && contract.sensitivity <= 2 * contract.clip.bound)) {
    Refuse(fmt::format("rows of norm {} cannot move the sum by {}", contract.clip.bound,
                       contract.sensitivity),
           "Give at most twice the norm, or 0 for just that.");
  }
}

void CheckNoise(const Contract& contract) {
  if (IsLaplace(contract)) {
    if (contract.laplace_scale < 1 || contract.laplace_scale > kMaxLaplaceScale ||
        SharesNeeded(contract) > kMaxLaplaceShares) {
      Refuse("Laplace noise of a scale or in shares that the sampler does not have",
             "Use a scale of 1 to 2^100 grid units, in at most a million shares.");
    }
    return;
  }
  const privacy::GridVariance share = ShareVariance(contract);
  privacy::CheckVariance(share);
  privacy::ShareGap(share, NumShares(contract));
}

// What the noise of all planned shares does not exceed (contract.h).
double LargestNoise(const Contract& contract) {
  if (!IsLaplace(contract)) return kTailStddevs * TotalNoiseStddev(contract, contract.clients);
  const double times = static_cast<double>(NumShares(contract)) / SharesNeeded(contract);
  return (kLaplaceTail + times) * static_cast<double>(contract.laplace_scale);
}

}  // namespace

void CheckContract(const Contract& contract) {
  CheckCounts(contract);
  CheckBound(contract);
  // Clipping checks the bound against the grid, sharing the noise against the samplers.
  std::vector<double> row(contract.dimension);
  std::vector<Int128> grid(contract.dimension);
  privacy::ClipToGrid(row, contract.clip, grid);
  CheckNoise(contract);
  const double rows = std::ldexp(contract.clip.bound, contract.clip.fraction_bits) *
                      static_cast<double>(contract.clients);
  const double largest = rows + LargestNoise(contract);
  const int bits = static_cast<int>(contract.ring);
  if (!(largest < std::ldexp(1.0, bits - 1) * (1 - 0x1p-40))) {
    Refuse(fmt::format("sums of up to {:.3g} grid units do not fit {} bits", largest, bits),
           "Use fewer fraction bits or the ring of 128 bits.");
  }
}

size_t WordBytes(const Contract& contract) { return static_cast<size_t>(contract.ring) / 8; }

uint32_t MinAccepted(const Contract& contract) { return contract.clients - contract.max_drop; }

uint32_t SharesNeeded(const Contract& contract) {
  if (contract.noise_source == NoiseSource::kNodes) return 1;
  return contract.clients - contract.max_drop - contract.max_collude - 1;
}

double RowSensitivity(const Contract& contract) {
  return contract.sensitivity > 0 ? contract.sensitivity : 2 * contract.clip.bound;
}

privacy::GridVariance ShareVariance(const Contract& contract) {
  if (contract.noise_source == NoiseSource::kNodes) return contract.variance;
  return privacy::ShareNoise(contract.variance,
                             {contract.clients, contract.max_drop + contract.max_collude + 1},
                             contract.dimension)
      .share_variance;
}

double TotalNoiseStddev(const Contract& contract, uint32_t accepted) {
  const double shares = contract.noise_source == NoiseSource::kClients ? accepted : contract.nodes;
  if (IsLaplace(contract)) {
    // Of one share: 2 a / (1 - a)^2 / m <= 2 t^2 / m, m shares making one noise.
    return static_cast<double>(contract.laplace_scale) *
           std::sqrt(2 * shares / SharesNeeded(contract)) * (1 + 0x1p-50);
  }
  return privacy::StddevUpperBound(ShareVariance(contract)) * std::sqrt(shares) * (1 + 0x1p-50);
}

}  // namespace partita::sums
