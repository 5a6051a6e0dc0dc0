// What a private sum says about one client, per adversary, charged for the uploads that arrived.
//
// The number of uploads and who sent them are public, so neighbours replace one client's row by
// another: the sum moves by at most the contract's sensitivity (2 C) in the norm of the noise.
//   clients add the noise (n arrived, share variance v = s/(N - T_drop - T_collude - 1))
//     outside analyst           (n - T_collude) v: that many clients may not have added theirs
//     c clients                 (n - max(c, T_collude + 1)) v: who pools shares may be one more
//                               than those who did not add them
//     M - 1 compute nodes       as T_collude + 1 clients: the shares they hold are uniform, and
//                               that many clients may be among them
//   compute nodes add it, each all (s)
//     outside, clients          M s
//     M - 1 compute nodes       s
//   all M compute nodes         no protection: they add up any client's shares
//
// With Laplace noise every row with protection has the pure epsilon sensitivity / t, whatever more
// than the needed shares arrived (noise_share.h).
#pragma once

#include <optional>

#include "privacy/statement.h"
#include "sums/protocol/contract.h"

namespace partita::sums {

// How many shares do not count against `clients` clients who pool what they know (0: against
// somebody outside): T_collude clients may have added none, and tell it to anybody.
uint32_t UncountedShares(const Contract& contract, uint32_t clients);

// Gaussian noise: what remains against somebody who knows `known` shares, if all others were added.
privacy::DiscreteGaussianNoise RemainingAgainstClients(const Contract& contract, uint32_t accepted,
                                                       uint32_t known);

// The same against all compute nodes but one and T_collude + 1 clients.
privacy::DiscreteGaussianNoise RemainingAgainstNodes(const Contract& contract, uint32_t accepted);

// RowSensitivity in grid units, with Gaussian noise.
privacy::GridL2Sensitivity SumSensitivity(const Contract& contract);

// The loss to charge: against T_collude + 1 clients and M - 1 nodes, whichever is larger, with the
// noise that `accepted` uploads really carry. Laplace noise: at delta 0, whatever `delta` is.
// Throws kRefused for fewer than MinAccepted, kUsage for Gaussian noise without a delta.
privacy::PrivacyLoss ChargedLoss(const Contract& contract, uint32_t accepted,
                                 std::optional<privacy::Delta> delta);

privacy::Statement StateSum(const Contract& contract, uint32_t accepted,
                            std::optional<privacy::Delta> delta);

}  // namespace partita::sums
