// Kaplan-Meier curves on shares, and on the grid of the release rule at report times.
//
// Method    log S is the running sum of log(n - d) - log n, its variance that of d / (n (n - d))
//           (Greenwood). At report times log S opens on the grid 2^e, e = floor(log2(g SE)), and so
//           does its standard error; S and its interval follow.
// Error     Before rounding at most 2^-39 cells of log S (2^-45 is usual) and 2^(1-f) cells + 2^-44
//           of itself of the variance, f = min(60, 117 - 2 log2(max_rows)).
// No grid   Where the variance is 0, before the first event: all of it is 0 then. What a check
//           withholds is for the caller to multiply by its bit.
// Cost      Log (logarithm.h) of 2 numbers and beside it Divide (division.h) of one for every cell and
//           group; Root, beside it the marks of release_grid.h, and its rounding of report times and
//           groups.
// Revealed  Nothing.
#pragma once

#include "methods/survival/risk_sets.h"
#include "mpc/functions/release_grid.h"

namespace partita::methods::survival {

// cells x groups each. Once the last row of a group has had the event both keep arbitrary values.
struct CurveValues {
  mpc::Shared log_survival;
  mpc::Shared variance;
};
CurveValues CurvesOf(mpc::Engine& engine, const Task& task, const RiskSets& sets);

// The unit of what opens, so that the variance of many rows is not too small for a grid.
inline constexpr int kUnitBits = 5;

// (report groups) x 1 each, row-major.
struct GridCurves {
  mpc::GridRange range;
  mpc::Shared reached;               // 0: no event
  mpc::Shared log_survival, errors;  // in steps of 2^e, units of 2^-kUnitBits
};
GridCurves CurvesOnGrid(mpc::Engine& engine, const Task& task, const CurveValues& values);

}  // namespace partita::methods::survival
