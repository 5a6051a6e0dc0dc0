// Firth's penalty on shares (stats/glm/firth.h): what it adds to a solved step.
//
// With S = d X d, the inverse of J, and the third moments t over 2^row_bits, what it adds to the score is
// t S / 2 over 2^weight_bits in the units of the rows: at most p / 2, since the leverages of rows sum to p.
// It goes through X as the score did.
//
// Error     Of what is added to the score 2^-29 p^2, of the step that times a squared standard error.
// Cost      Seven products after SolveStep, one of them p x p^2 times p^2.
// Timing    constant in shares; not in shapes and bounds (public). Not run by tests/ctime.
// Revealed  Nothing.
#pragma once

#include "methods/glm/task.h"
#include "mpc/functions/scoring_step.h"

namespace partita::methods::glm {

inline constexpr int kThirdBits = 34;
// Of a row: mu (1 - mu) |1 - 2 mu| is at most 3^(-3/2) / 2.
inline constexpr double kMostThird = 0.125;

// third: NumThirdMoments x 1, of the same point, divided by 2^row_bits.
void AddFirth(mpc::Engine& engine, const Task& task, const mpc::Shared& third,
              mpc::SolvedStep& solved);

}  // namespace partita::methods::glm
