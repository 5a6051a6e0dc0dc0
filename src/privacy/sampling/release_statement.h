// The privacy statement of one release with distributed discrete Gaussian noise.
//
// Rows, by the rules R-b, R-h and R-j of the design:
//   outside analyst        the named adjacency, the noise of all m shares;
//   each party             replacement of a row of ANOTHER party, its own share known:
//                          m - 1 shares;
//   any c parties          likewise m - c shares; unlimited where the engine does not withstand
//                          them;
//   dealer with report     as an outside analyst, for noise never comes from the dealer;
//   dealer with one party  unlimited: together they undo the masks.
// No row claims amplification by sampling: all rows are used.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "privacy/sampling/distributed_noise.h"
#include "privacy/sampling/sensitivity.h"
#include "privacy/statement.h"

namespace partita::privacy {

struct GaussianRelease {
  std::vector<std::string> parties;  // those that add a share, as many as the noise says
  DistributedNoise noise;
  EngineStructure engine = EngineStructure::kDealer;
  Adjacency adjacency = Adjacency::kReplace;  // of the outside analyst
  GridL2Sensitivity sensitivity;              // under that adjacency
  GridL2Sensitivity replace_sensitivity;      // when a row of another party is replaced
  Delta delta;
  uint64_t earlier_exact_releases = 0;  // of the same table, without noise
  // Whether everybody knows how many rows there are where one is replaced.
  bool public_rows = true;
  // Where a row of others changes less for some than replace_sensitivity, which is the largest: of
  // each party by itself, and the largest of any two that pool what they know. Empty, none: that.
  std::vector<GridL2Sensitivity> party_sensitivities = {};
  std::optional<GridL2Sensitivity> two_parties_sensitivity = std::nullopt;
};

// Throws kUsage if the names, the noise and sensitivities by party disagree about the number of
// parties.
Statement StateRelease(const GaussianRelease& release);

// The loss of one Gaussian release against noise that remains, with its trade-off function bounded
// from both sides. Infinite from kUselessEpsilon on (calibrate.h).
PrivacyLoss GaussianLoss(GridL2Sensitivity sensitivity, const DiscreteGaussianNoise& remaining,
                         Delta delta);
// Where noise protects but GaussianLoss is infinite: adds to the reason that there is too little.
void NameTooLittleNoise(StatementRow& row);

}  // namespace partita::privacy
