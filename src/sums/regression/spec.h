// A linear regression on a private sum: what everybody agrees on before anybody uploads.
//
// All of it is public: which variables, their bounds (of the dictionary, never of the data), what a
// row adds to the sum, the prior, and how the sum is read afterwards.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "data/schema.h"
#include "stats/blr/design.h"
#include "stats/blr/noise_aware.h"

namespace partita::sums::regression {

enum class Estimator {
  kNoiseAware,  // intervals contain the privacy noise
  kPlain,       // takes the noised sums at their word: for comparison
};

// What the sum of a collection is made of. Algorithm 2 of Heikkila et al. (2017), projection, is
// two collections that share the budget: the first buys the spread of the columns, which says how
// tightly the second should clip (bounds.h).
enum class Collects {
  kStatistics,  // what a regression is fitted to
  kSpread,      // the squares of the columns
};

// Values beyond are moved to the nearer end by their owner.
struct ClipRange {
  double lower = 0, upper = 0;
};

struct Spec {
  data::Schema variables;  // those of the model, the predictors first and the outcome last
  std::map<std::string, ClipRange> clip;  // of variables with bounds; others: the dictionary's
  bool intercept = true;
  double row_norm = 0;  // of the scaled row; 0: the bounds of the columns alone
  Collects collects = Collects::kStatistics;
  bool laplace = false;  // a pure epsilon; else Gaussian noise
  Estimator estimator = Estimator::kNoiseAware;
  stats::blr::NoiseAwarePrior prior;  // kPlain: the upper end of the slope variance
  double level = 0.95;

  const data::ColumnSchema& outcome() const { return variables.columns.back(); }
};

// The columns that enter the sums: predictors as the contrasts of their levels say, the outcome
// last; centres and bounds are the middle and half the width of the clip range. Throws kBadInput
// for an outcome without numbers, a variable without bounds, two columns of one name, and a clip
// range that leaves the bounds of its variable.
stats::blr::Design DesignOf(const Spec& spec);

// What the sum needs to know of a client's vector (rows.h), in scaled units.
struct SumShape {
  size_t dimension = 0;
  int fraction_bits = 0;  // every entry is a multiple of 2^-fraction_bits
  double bound = 0;       // no vector is longer, with room for clipping.h: L2 norm, or L1 (laplace)
  double sensitivity = 0;  // one row replaced, in that norm (stats/blr/sensitivity.h)
};
SumShape ShapeOf(const Spec& spec, const stats::blr::Design& design);

}  // namespace partita::sums::regression
