// A step on shares from the sums of all rows (mpc/functions/scoring_step.h), in the units of a task,
// with a dispersion where the family has one.
//
// Cost      SolveStep, and Divide of a number where there is a dispersion.
// Revealed  Nothing.
#pragma once

#include "methods/glm/inputs.h"
#include "mpc/functions/scoring_step.h"

namespace partita::methods::glm {

// rows: n, 1 x 1 without fraction bits; only used with a dispersion.
mpc::SolvedStep SolveSums(mpc::Engine& engine, const Task& task, const SharedSums& sums,
                          const mpc::Shared& rows);

}  // namespace partita::methods::glm
