// The noise of a contract from a privacy budget.
#pragma once

#include <optional>

#include "privacy/sampling/sensitivity.h"
#include "sums/protocol/contract.h"

namespace partita::sums {

// The least that must remain, by the contract's law, sensitivity and dimension. Gaussian: by the
// exact profile of the discrete law; Laplace: a whole scale, for a pure epsilon (`delta` is not
// used). Rounded up to 20 bits, so that machines whose last floating-point bits differ agree: it is
// in the study hash. The contract's other fields must be final. Throws kUsage for Gaussian noise
// without a delta.
void CalibrateNoise(Contract& contract, privacy::Epsilon epsilon,
                    std::optional<privacy::Delta> delta);

}  // namespace partita::sums
