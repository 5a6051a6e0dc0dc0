// From the opened sum to estimates, intervals and predictions. Post-processing: it costs no
// privacy and can be repeated.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "base/int128.h"
#include "crypto/random.h"
#include "stats/blr/noise_aware.h"
#include "stats/blr/posterior.h"
#include "sums/regression/result.h"
#include "sums/regression/rows.h"
#include "sums/regression/spec.h"

namespace partita::sums::regression {

// The opened sum of EncodeRow over `rows` clients, in units of 2^-48, and the noise in it.
struct ReleasedSum {
  std::vector<Int128> entries;
  uint64_t rows = 0;
  double noise_stddev = 0;  // of every entry, in scaled units
};

struct Fit {
  stats::blr::Design design;
  double level = 0.95;
  std::optional<stats::blr::NoiseAwarePosterior> noise_aware;  // one of the two
  std::optional<stats::blr::PlainPosterior> plain;
  RegressionResult result;  // without statements
};

// `design`: of the spec, or its projection. random: for the Markov chain; a source that is seeded
// by the sum makes the fit a function of it. Throws kBadInput for a sum of another length or
// without noise, and as FitNoiseAware and FitPlain. About 10 ms for 3 predictors, 40 ms for 10.
Fit FitSum(const Spec& spec, const stats::blr::Design& design, const ReleasedSum& sum,
           crypto::RandomSource& random);

// A stream that is seeded by the sum: the same sum, the same fit.
crypto::Key FitKey(const ReleasedSum& sum);

// One prediction per row of TakePredictorRows, with the interval of a new outcome.
std::vector<PredictionFacts> PredictRows(const Fit& fit, const Rows& rows);

// Text like that of R's summary.
std::string FitText(const RegressionResult& result);

}  // namespace partita::sums::regression
