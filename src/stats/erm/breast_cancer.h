// Public constants of the experiments on the Wisconsin diagnostic breast cancer table (UCI, 569
// rows, 30 measurements of cell nuclei; the last column is 1 for benign).
#pragma once

#include <string>
#include <vector>

#include "stats/erm/unit_ball.h"

namespace partita::stats::erm {

// "mean_radius", ..., "worst_fractal_dimension"; the outcome is "benign".
std::vector<std::string> BreastCancerColumns();

// Of each of the ten measurements the typical range of its mean over the nuclei of an image, of its
// standard error, and of the worst nuclei: what is known of such images, not taken from the rows.
// The norm shortens rows, which keeps their direction; with an intercept.
UnitBallScaling BreastCancerScaling();

}  // namespace partita::stats::erm
