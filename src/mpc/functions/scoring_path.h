// A fit whose points open, rounded, while its sums stay on shares: the points on grids of their
// standard errors, the certificate of convergence, and what opens only of a fit that converged.
//
// Convergence  The step from the last point is at most one step of that point's grid in every
//              coordinate, and nothing failed on the way. Else more steps are needed, or there is no
//              maximum.
// Timing       constant in shares; not in shapes and bounds (public). Not run by tests/ctime.
#pragma once

#include <functional>
#include <string_view>
#include <vector>

#include "mpc/functions/release_grid.h"
#include "mpc/functions/scoring_step.h"

namespace partita::mpc {

inline constexpr double kMostStandardError = 64;  // sqrt(2 kMostVariance), with room for rounding

struct PathPoint {
  std::vector<double> at;
  std::vector<double> steps;  // of the grids, 0 where none is reached
  bool learned = false;       // else `from` and zeros
};
// from: a public point. Opens from + solved.step on grids of 2^-grid_bits standard errors, to
// everybody, in one opening of 2 p numbers: exponents and multiples. A coordinate beyond
// kMostCoordinate opens as 0 and counts among `failures`. solved: with the point and its grids, if
// they were made beside it (ScoringSums::next, of the same point and grid); else they are made here.
PathPoint OpenPoint(Engine& engine, std::string_view release, const std::vector<double>& from,
                    const SolvedStep& solved, int grid_bits, Shared& failures);

// 1 x 1, 0 or 1. solved: at the last point, whose grids had these steps.
Shared Converged(Engine& engine, const SolvedStep& solved, const std::vector<double>& steps,
                 const Shared& failures);

// Zeros unless what `opens_if` makes is 1; p x 1 standard errors in steps of their grids, totals in steps of 2^-grid_bits
// (RoundToGrids). covariances: of the first c in the place of their errors, in steps of the products of two grids
// (covariance_grid.h); errors are then those of the others, empty if there are none.
struct ErrorsOnGrid {
  Shared opens;
  GridRange range;
  Shared reached, errors, covariances;
  Shared estimates, totals;  // empty without
};
// totals: t x 1, at most total_bound, or null. opens_if: 1 x 1, 0 or 1, made beside the rest.
// estimates: p x 1, at most kMostCoordinate, on the same grids, or null: of a path whose last point
// opened before. make_totals: makes the totals beside the rest, instead of `totals`; or nothing.
// covariances: c x c, of SolveStep, or null.
ErrorsOnGrid OnErrorGrid(Engine& engine, const Shared& variances, const Shared* totals,
                         double total_bound, int grid_bits,
                         const std::function<Shared(Engine&)>& opens_if,
                         const Shared* estimates = nullptr,
                         const std::function<Shared(Engine&)>& make_totals = {},
                         const Shared* covariances = nullptr);

}  // namespace partita::mpc
