#include "methods/dca/contract.h"

#include <fmt/format.h>

#include <cmath>

#include "base/error.h"
#include "privacy/sampling/discrete_gaussian_mechanism.h"

namespace partita::methods::dca {
namespace {

constexpr double kTailStddevs = 40;

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

}  // namespace

void CheckContract(const Contract& contract) {
  CheckCounts(contract);
  if (contract.clip.norm != privacy::Norm::kL2) {
    Refuse("a private sum of rows that are not clipped in the L2 norm", "Clip to an L2 norm.");
  }
  // Clipping checks the bound against the grid, sharing the noise against the samplers.
  std::vector<double> row(contract.dimension);
  std::vector<Int128> grid(contract.dimension);
  privacy::ClipToGrid(row, contract.clip, grid);
  const privacy::GridVariance share = ShareVariance(contract);
  const uint32_t shares =
      contract.noise_source == NoiseSource::kClients ? contract.clients : contract.nodes;
  privacy::CheckVariance(share);
  privacy::ShareGap(share, shares);
  const double rows = std::ldexp(contract.clip.bound, contract.clip.fraction_bits) *
                      static_cast<double>(contract.clients);
  const double largest = rows + kTailStddevs * TotalNoiseStddev(contract, contract.clients);
  const int bits = static_cast<int>(contract.ring);
  if (!(largest < std::ldexp(1.0, bits - 1) * (1 - 0x1p-40))) {
    Refuse(fmt::format("sums of up to {:.3g} grid units do not fit {} bits", largest, bits),
           "Use fewer fraction bits or the ring of 128 bits.");
  }
}

size_t WordBytes(const Contract& contract) { return static_cast<size_t>(contract.ring) / 8; }

uint32_t MinAccepted(const Contract& contract) { return contract.clients - contract.max_drop; }

privacy::GridVariance ShareVariance(const Contract& contract) {
  if (contract.noise_source == NoiseSource::kNodes) return contract.variance;
  return privacy::ShareNoise(contract.variance,
                             {contract.clients, contract.max_drop + contract.max_collude + 1},
                             contract.dimension)
      .share_variance;
}

double TotalNoiseStddev(const Contract& contract, uint32_t accepted) {
  const double shares = contract.noise_source == NoiseSource::kClients ? accepted : contract.nodes;
  return privacy::StddevUpperBound(ShareVariance(contract)) * std::sqrt(shares) * (1 + 0x1p-50);
}

}  // namespace partita::methods::dca
