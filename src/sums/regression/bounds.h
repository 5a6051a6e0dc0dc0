// From the opened spread of the columns to tighter clip ranges: the projection of Heikkila et al.
// (2017), Algorithm 2.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "crypto/random.h"
#include "stats/blr/projection.h"
#include "sums/regression/fit.h"
#include "sums/regression/spec.h"

namespace partita::sums::regression {

struct TightBounds {
  stats::blr::Thresholds thresholds;  // in standard deviations
  std::vector<double> stddevs;  // of the columns around their centres, the outcome last; noisy
  std::map<std::string, ClipRange> clip;  // of variables with bounds, within their own
};

// The noise of the sum that will use the bounds.
struct NextNoise {
  double epsilon = 1, delta = 1e-6;
  bool laplace = false;          // then delta is not used
  double variance_multiple = 1;  // of what must remain: more shares arrive than are needed
};

// The search on auxiliary data (eqs. (4)-(6)) is at `next`. Throws kBadInput unless the spec
// collects the spread and `sum` has its length.
TightBounds BoundsFromSpread(const Spec& spec, const stats::blr::Design& design,
                             const ReleasedSum& sum, const NextNoise& next,
                             crypto::RandomSource& random);

// The section [regression.clip] for the next collection file.
std::string ClipSection(const TightBounds& bounds);

}  // namespace partita::sums::regression
