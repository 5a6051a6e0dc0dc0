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

namespace partita::sums {

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

enum class NoiseLaw : uint8_t {
  kGaussian,  // discrete Gaussian shares; rows are clipped in the L2 norm
  kLaplace,   // differences of Polya shares (polya.h): a pure epsilon; L1 norm
};

struct Contract {
  StudyHash study{};
  size_t dimension = 0;  // d
  RingBits ring = RingBits::k64;
  uint16_t nodes = 0;        // M
  uint32_t clients = 0;      // N, planned
  uint32_t max_drop = 0;     // T_drop
  uint32_t max_collude = 0;  // T_collude
  privacy::ClipBound clip;   // of a client's row, in the norm of the noise's law
  // What must remain against the adversary, in squared grid units (s). Gaussian noise.
  privacy::GridVariance variance;
  NoiseSource noise_source = NoiseSource::kClients;
  NoiseLaw noise_law = NoiseLaw::kGaussian;
  // What must remain with Laplace noise: one of this scale, in whole grid units (t).
  UInt128 laplace_scale = 0;
  // How far the sum moves, at most, when one client's row is replaced by another, in the clip's
  // norm and in the units of the row. 0: 2 C. Less must be proved by whoever says what a row holds
  // (the second moments of a bounded row move by C sqrt(2) only: stats/blr/sensitivity.h).
  double sensitivity = 0;
};

inline constexpr uint16_t kMaxNodes = 64;
inline constexpr size_t kMaxDimension = size_t{1} << 24;

// Throws kUsage, and says what to change, unless
//   2 <= M <= 64, 1 <= d <= 2^24, T_drop + T_collude + 1 < N, a bound in the law's norm that fits
//   the grid, a sensitivity of at most 2 C, noise that the samplers accept (Gaussian: above 4 grid
//   units per share; Laplace: at most 10^6 shares, t between 1 and 2^100), and
//   N 2^f C + the largest noise < 2^(k-1),
// so that the sum never wraps. Largest noise: Gaussian, 40 standard deviations, exceeded with
// probability below d 2^-1150; Laplace, (300 + r) t for r times the noise that must remain,
// exceeded with probability below 2 d e^-150 (Chernoff at 1/(2 t): the moment is (4/3)^r at most).
void CheckContract(const Contract& contract);

inline bool IsLaplace(const Contract& contract) { return contract.noise_law == NoiseLaw::kLaplace; }

// Bytes of one ring element: 8 or 16.
size_t WordBytes(const Contract& contract);

// N - T_drop: with fewer uploads nothing is opened.
uint32_t MinAccepted(const Contract& contract);

// Of how many shares one full noise is made: N - T_drop - T_collude - 1, so that the shares of
// MinAccepted clients without T_collude + 1 known ones hold all that must remain; or 1, if nodes
// add it.
uint32_t SharesNeeded(const Contract& contract);

// The law of one share of Gaussian noise: s / SharesNeeded.
privacy::GridVariance ShareVariance(const Contract& contract);

// 2 C, or the contract's own.
double RowSensitivity(const Contract& contract);

// Largest standard deviation, per coordinate and in grid units, of all noise in a released sum.
double TotalNoiseStddev(const Contract& contract, uint32_t accepted);

}  // namespace partita::sums
