// The fit of moments that somebody holds: at the end of a run, and as often again as they like.
#pragma once

#include <string>
#include <vector>

#include "base/progress.h"
#include "methods/mle/fit/analysis.h"
#include "methods/mle/fit/result.h"

namespace partita::methods::mle {

// Maximum likelihood on moments of analysis.table.observed. Noisy moments get standard errors that
// contain the noise (stats/sem/noise.h), and notes that say so. Throws kBadInput for moments that
// cannot be fitted.
MleResult FitReleased(const MleAnalysis& analysis, ReleasedMoments moments, Progress& progress);

// What noise in moments means for a fit, for everybody who sees it.
std::vector<std::string> NoiseNotes(const std::string& mechanism, double norm, bool converged);

// The moments, and their noise, of some variables: indices into those of `all`.
ReleasedMoments SelectMoments(const ReleasedMoments& all, const std::vector<int>& variables);

}  // namespace partita::methods::mle
