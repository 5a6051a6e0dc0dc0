// What a sealed fit makes of its last point, up to what opens.
//
// Pivots of R, which chi-square alone needs, are long: they go beside the inverses, the slope and
// the grids (mpc/together.h), their logarithms beside the rounding of the estimates.
//
// Rounds      On `dealer` about 130, hardly more with more parameters; with `fit`, for p variables,
//             about 18 p + 60.
// Revealed    Nothing.
// Timing      constant in shares; not in shapes and bounds (public).
#pragma once

#include <optional>
#include <vector>

#include "methods/mle/sealed/fit.h"
#include "methods/mle/sealed/point.h"
#include "methods/mle/sealed/scalars.h"

namespace partita::methods::mle {

struct SealedEnd {
  mpc::SharedBits converged;  // 1 x 1
  // Of model.opened; scalars where they are asked for: 3 x 1, with a grid times the rows.
  mpc::Shared estimates, deviations, scalars;
  std::vector<mpc::GridMarks> marks;  // of estimates and of deviations; none without a grid
};

// at: of BeginSteps or TakeStep. sample: where `fit` is asked for.
SealedEnd EndAt(const SealedProblem& problem, SealedPoint& at, const SampleScalars& sample,
                const SealedOpenings& openings, const mpc::ReleaseGrid& grid);

}  // namespace partita::methods::mle
