// What a private sum says about one client, per adversary, charged for the uploads that arrived.
//
// The number of uploads and who sent them are public, so neighbours replace one client's row by
// another: the sum moves by at most 2 C 2^f grid units in the L2 norm.
//   clients add the noise (n arrived, share variance v = s/(N - T_drop - T_collude - 1))
//     outside analyst           n v
//     c clients                 (n - c) v: they know their shares, or did not add them
//     M - 1 compute nodes       as T_collude + 1 clients: the shares they hold are uniform, and
//                               that many clients may be among them
//   compute nodes add it, each all (s)
//     outside, clients          M s
//     M - 1 compute nodes       s
//   all M compute nodes         no protection: they add up any client's shares
#pragma once

#include "methods/dca/contract.h"
#include "privacy/statement.h"

namespace partita::methods::dca {

// The noise that remains against somebody who knows the shares of `known` clients.
privacy::DiscreteGaussianNoise RemainingAgainstClients(const Contract& contract, uint32_t accepted,
                                                       uint32_t known);

// Of 2 C 2^f.
privacy::GridL2Sensitivity SumSensitivity(const Contract& contract);

// The loss to charge: against T_collude + 1 clients and M - 1 nodes, whichever is larger, with the
// noise that `accepted` uploads really carry. Throws kRefused for fewer than MinAccepted.
privacy::PrivacyLoss ChargedLoss(const Contract& contract, uint32_t accepted, privacy::Delta delta);

privacy::Statement StateSum(const Contract& contract, uint32_t accepted, privacy::Delta delta);

}  // namespace partita::methods::dca
