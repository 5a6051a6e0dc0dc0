// A step on shares from the sums of all rows (mpc/functions/scoring_step.h), in the units of a task,
// with a dispersion where the family has one.
//
// Cost      SolveStep, and where there is a dispersion beside it Divide of a number.
// Revealed  Nothing.
#pragma once

#include <optional>

#include "methods/glm/inputs.h"
#include "mpc/functions/scoring_step.h"

namespace partita::methods::glm {

// rows: n, 1 x 1 without fraction bits; only used with a dispersion. last: as of SolveStep.
// next, covariances: as of mpc::ScoringSums.
mpc::SolvedStep SolveSums(mpc::Engine& engine, const Task& task, const SharedSums& sums,
                          const mpc::Shared& rows, const mpc::SolvedStep* last = nullptr,
                          std::optional<mpc::NextPoint> next = {}, bool covariances = false);

// 1 x 1, of a gaussian model: 1 where Pearson's sum is below 2^-36 of 2^row_bits, so that dispersion
// and deviance would be of rounding alone, else 0. A comparison and its way back to the ring.
mpc::Shared LeavesNothing(mpc::Engine& engine, const Task& task, const SharedSums& sums);

}  // namespace partita::methods::glm
