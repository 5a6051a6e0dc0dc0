// The contract of a private sum that a regression is fitted to.
#pragma once

#include "sums/protocol/contract.h"
#include "sums/regression/spec.h"

namespace partita::sums {

// Gives the contract the length, grid, ring, bound, law and sensitivity of the regression's
// vectors. Numbers of clients and nodes and the source of the noise are the collection's; the noise
// itself comes after (sums/protocol/calibrate.h). Throws as DesignOf.
void ShapeContract(const regression::Spec& spec, Contract& contract);

}  // namespace partita::sums
