// The clipped weights t_nk = s_n r_nk on shares: the part of a step that no statistic enters
// (step.h has the method, formulas and errors).
#pragma once

#include <optional>

#include "methods/mixture/step.h"

namespace partita::methods::mixture {

// B x K at kWeightBits; rows beyond the batch are zero.
mpc::Shared ClippedWeights(mpc::Engine& engine, const StepDesign& design,
                           const StepParameters& parameters,
                           const std::optional<HolderValues>& own_values);

}  // namespace partita::methods::mixture
