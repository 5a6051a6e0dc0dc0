// What a release of one vector with noise that all computing parties add takes from the budget of a
// table.
#pragma once

#include <string>
#include <vector>

#include "privacy/ledger/entry.h"
#include "privacy/ledger/policy.h"
#include "privacy/sampling/distributed_noise.h"
#include "privacy/sampling/sensitivity.h"
#include "run/method/study.h"

namespace partita::run {

struct NoisyVector {
  std::string release;  // id in the plan
  privacy::DistributedNoise noise;
  privacy::Adjacency adjacency = privacy::Adjacency::kReplace;  // that the study promises
  privacy::GridL2Sensitivity sensitivity{1};                    // under it
  privacy::GridL2Sensitivity replace_sensitivity{1};  // when a row of another party is replaced
};

// The mechanism itself, not its epsilon: against outsiders with all shares of the noise unknown, and
// against the policy's coalition with its shares known, of all computing parties but the owner of
// the table. Throws kRefused, naming the table, for a budget under add-remove and a vector under
// replacement, and for a coalition that the engine does not withstand.
std::vector<privacy::ledger::Charge> NoiseCharges(const Study& study,
                                                  const privacy::ledger::Policy& policy,
                                                  const NoisyVector& vector);

}  // namespace partita::run
