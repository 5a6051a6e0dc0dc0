// What the noise of a private study will do to its estimates, before any data is read.
//
// For every analysis the model is fitted to planning moments (stats/sem/noise.h): the correlations
// of the model's start values, the planning standard deviations of the study file, means in the
// middle of the bounds, planning_rows rows. Standard errors with and without the noise of all
// computing parties follow from the expected information there. Clipping is not in the forecast:
// it biases, and a sentence of the plan says how long a typical row is.
#pragma once

#include <string>
#include <vector>

#include "methods/mle/study/study.h"
#include "study/plan/plan.h"

namespace partita::methods::mle {

inline constexpr double kWarnInflation = 2;
inline constexpr double kRefuseInflation = 5;
// Smallest effect found with power 0.8 in a two-sided test at 0.05, in standard errors:
// z(0.975) + z(0.8).
inline constexpr double kDetectable = 2.8015852;

// Empty for an exact study. Useless if an inflation is above kRefuseInflation.
run::Forecast ForecastUtility(const MleStudy& study);

}  // namespace partita::methods::mle
