// How much noise every computing party adds, so that one promise holds against outsiders and against
// each of them.
//
// Outsiders face the shares of all P parties, and the sensitivity of the named adjacency. Computing parties that
// know c shares face P - c of them and the replacement of a record of others. Where each row has its columns
// at several holders and no row block is whole at one, tables of one holder's own columns do not change for it, so
// that T' of the T tables count (stats/marginals/noise.h), for each holder by itself its own T'; of a
// party without columns, and with any other partition, all of them. The share is the larger of what the two need: with one
// curator's variance s it is up to s for two parties, and the sum carries up to 2 s. Where tables
// have weights,
// squared weights count instead of tables. Where pairs are chosen by scores, one-way tables, scores and
// as many pairs as are chosen count (stats/marginals/noise.h), whichever these will be.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "crypto/random.h"
#include "methods/marginals/task.h"
#include "privacy/adjacency.h"
#include "privacy/sampling/distributed_noise.h"
#include "privacy/sampling/sensitivity.h"

namespace partita::methods::marginals {

// What the study file promises.
struct PrivacyPromise {
  double epsilon = 0, delta = 0;
  privacy::Adjacency adjacency = privacy::Adjacency::kReplace;
  uint32_t known_shares = 1;  // c: noise shares that the adversary may know
  uint32_t rows_per_person = 1;
};

// Public, the same at every party. Sensitivities are in units of the grid.
struct NoiseDesign {
  PrivacyPromise promise;
  privacy::GridL2Sensitivity sensitivity{1};          // of the named adjacency
  privacy::GridL2Sensitivity replace_sensitivity{1};  // when a record of others is replaced
  // The same of each computing party, of which replace_sensitivity is the largest, and the largest
  // of any two that pool what they know; none of two where they are all.
  std::vector<privacy::GridL2Sensitivity> party_sensitivities = {};
  std::optional<privacy::GridL2Sensitivity> two_parties_sensitivity = std::nullopt;
  privacy::DistributedNoise noise;

  double noise_stddev() const;  // of what opens, in counts of a table of weight 1
};

// Throws kUsage for a promise out of range, or one that leaves no unknown share.
NoiseDesign DesignNoise(const PrivacyPromise& promise, const Task& task, uint32_t num_computing);

// Share of the squared sensitivity that tables with a target column take, their own one-way table
// included.
inline constexpr double kTargetShare = 0.45;

// Lifts (task.h) by table; empty where there is no target, or tables with one have that share of
// all anyway.
std::vector<uint64_t> LiftsFor(const stats::marginals::TableSet& set,
                               const std::vector<uint32_t>& targets);

// The weights of stats::marginals::SelectionFor as lifts, rounded down.
ScoredPairs ScoredPairsFor(const stats::marginals::TableSet& set, uint32_t pairs,
                           privacy::Adjacency adjacency);

// Lifts of weight 1 where of pairs only those with this attribute are measured; without one, none.
std::vector<uint64_t> LiftsOfGroup(const stats::marginals::TableSet& set,
                                   std::optional<uint32_t> group);

// A computing party's own share, in units of the grid. Not in constant time: to be drawn before the
// protocol, when nobody waits (discrete_gaussian.h).
std::vector<Int128> DrawNoiseShare(const NoiseDesign& design, crypto::RandomSource& random);

}  // namespace partita::methods::marginals
