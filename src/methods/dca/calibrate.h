// The noise of a contract from a privacy budget.
#pragma once

#include "methods/dca/contract.h"
#include "privacy/sampling/sensitivity.h"

namespace partita::methods::dca {

// The least that must remain, by the contract's law, sensitivity and dimension. Gaussian: by the
// exact profile of the discrete law; Laplace: a whole scale, for a pure epsilon (`delta` is not
// used). Rounded up to 20 bits, so that machines whose last floating-point bits differ agree: it is
// in the study hash. The contract's other fields must be final.
void CalibrateNoise(Contract& contract, privacy::Epsilon epsilon, privacy::Delta delta);

}  // namespace partita::methods::dca
