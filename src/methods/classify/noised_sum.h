// The one thing that the descent methods open: a sum over all parties of integer vectors, each with
// its owner's share of the noise.
//
// Revealed: to the recipient the sum of all vectors and all noise, once per call; to nobody
// anything else. Cost: one set of inputs (free on `dealer` and `shamir` up to their openings, see
// docs/engines.md) and one opening of `dimension` ring elements.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/int128.h"
#include "mpc/engine.h"
#include "privacy/sampling/distributed_noise.h"

namespace partita::methods::classify {

// What a share of noise is taken to be at most, in standard deviations: larger ones have a
// probability below 2^-2900.
inline constexpr double kLargestShare = 64;

struct NoisedSum {
  std::string release;  // id at the gate
  size_t dimension = 0;
  int fraction_bits = 40;  // of every vector
  double party_bound = 0;  // |entry| of a party's vector in real units, without noise
  privacy::DistributedNoise noise;
  mpc::PartyIndex to = mpc::kEverybody;
};

// own: this party's vector plus its noise, `dimension` grid units; empty at the dealer and on the
// PlanEngine. Returns the sum where it is learned, an empty vector elsewhere. Throws kInternal for
// a vector of another length.
std::vector<Int128> OpenNoisedSum(mpc::Engine& engine, const NoisedSum& sum,
                                  std::span<const Int128> own);

// Standard deviation of the noise of all shares together, in real units, rounded up.
double TotalStddev(const NoisedSum& sum);

// The declaration of `count` openings for the gate.
mpc::Release ReleaseOf(const NoisedSum& sum, std::string what, std::string to, uint64_t count);

}  // namespace partita::methods::classify
