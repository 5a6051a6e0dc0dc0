// What every engine computes from public facts alone about operations on bits (as rules.h does for
// matrices): checks, and the shapes of results, without payloads. Mistakes in a method throw
// kUsage.
#pragma once

#include "mpc/operation.h"
#include "mpc/rules.h"

namespace partita::mpc {

// Checks an operation on bits, if it is one, and fills its results in.
void CheckBitOperation(Operation& operation, const EngineFacts& facts);

void CheckBits(const BitMatrix& bits);
SharedBits XorResult(const SharedBits& a, const SharedBits& b);
SharedBits AndPublicResult(const SharedBits& a, const BitMatrix& b);
SharedBits SelectPlanesResult(const SharedBits& a, std::span<const size_t> planes);
SharedBits JoinPlanesResult(std::span<const SharedBits> parts);

}  // namespace partita::mpc
