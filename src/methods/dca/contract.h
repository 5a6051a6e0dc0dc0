// What all participants of a private sum agree on before anybody uploads: the public parameters.
//
// N clients hold rows z_i in R^d. Each clips its row to a public norm, rounds it to the grid of
// 2^-f, may add its share of the noise, and splits the result additively in Z_2^k into M shares,
// one per compute node (Heikkila et al., NIPS 2017, Algorithm 1). Up to T_drop clients may fail to
// arrive and up to T_collude may tell what they know of their own noise, or not add it: two
// numbers, for one number for both, charged as if all had arrived, claims more privacy than there
// is.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "crypto/hash.h"
#include "privacy/adjacency.h"
#include "privacy/sampling/clipping.h"
#include "privacy/sampling/distributed_noise.h"

namespace partita::methods::dca {

// Of the canonical study description, made by whoever writes it.
using StudyHash = crypto::Digest;
// Public name of a client, chosen at admission.
using ClientId = std::array<uint8_t, 16>;

enum class RingBits : uint8_t { k64 = 64, k128 = 128 };

enum class NoiseSource : uint8_t {
  kClients,  // every client adds a share; protects from compute nodes that pool all they see but
             // one
  kNodes,    // every compute node adds ALL of the noise; protects if one of them is honest
};

struct Contract {
  StudyHash study{};
  size_t dimension = 0;  // d
  RingBits ring = RingBits::k64;
  uint16_t nodes = 0;        // M
  uint32_t clients = 0;      // N, planned
  uint32_t max_drop = 0;     // T_drop
  uint32_t max_collude = 0;  // T_collude
  privacy::ClipBound clip;   // of a client's row, in the L2 norm
  // What must remain against the adversary, in squared grid units (s).
  privacy::GridVariance variance;
  NoiseSource noise_source = NoiseSource::kClients;
};

inline constexpr uint16_t kMaxNodes = 64;
inline constexpr size_t kMaxDimension = size_t{1} << 24;

// Throws kUsage, and says what to change, unless
//   2 <= M <= 64, 1 <= d <= 2^24, T_drop + T_collude + 1 < N, an L2 bound that fits the grid, noise
//   that the samplers accept (above 4 grid units per share), and
//   N 2^f C + 40 standard deviations of all noise < 2^(k-1),
// so that the sum never wraps: the noise exceeds 40 standard deviations with probability below
// d 2^-1150.
void CheckContract(const Contract& contract);

// Bytes of one ring element: 8 or 16.
size_t WordBytes(const Contract& contract);

// N - T_drop: with fewer uploads nothing is opened.
uint32_t MinAccepted(const Contract& contract);

// The law of one share of the noise: s / (N - T_drop - T_collude - 1) at each client, so that the
// shares of MinAccepted clients without T_collude + 1 known ones have the variance s; or s at each
// node.
privacy::GridVariance ShareVariance(const Contract& contract);

// Largest standard deviation, per coordinate and in grid units, of all noise in a released sum.
double TotalNoiseStddev(const Contract& contract, uint32_t accepted);

}  // namespace partita::methods::dca
