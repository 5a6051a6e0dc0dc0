// What the noise of a mixture study will do to synthetic rows, before any data is read.
//
// DPVI in the clear, with the columns, rows, batches, iterations, clipping norm and noise of the
// study, on rows that are made up: kForecastGroups groups whose parameters are drawn anew for every
// seed, so that every column tells something of every other. Each run is made with noise and
// without; rows drawn from both, and from the model before its first iteration, are compared with
// rows of the groups themselves. The model is true of such rows, as it is of no real ones: what is
// lost here is lost to noise and to few iterations, and real rows may lose more.
//
// A run that would take long is made smaller where that does not change what noise does: fewer
// rows, batches and noise in proportion; then fewer iterations, each sqrt(s) times as long with
// noise 1 / sqrt(s) times as large where there are s times fewer: Adam, which divides by the size
// of noisy sums, then drifts as far and strays as far as in all of them.
//
// Public, and the same for every party: the seeds are numbers.
#pragma once

#include <vector>

#include "methods/mixture/run.h"
#include "run/method/study.h"

namespace partita::methods::mixture {

inline constexpr size_t kForecastGroups = 3, kForecastSeeds = 3;

// Of rows drawn from a model, means over the seeds.
struct Closeness {
  double columns = 0, pairs = 0;  // total variation of the shares of cells, and of pairs of cells
  double log_density = 0;         // of rows of the groups at the model's mean, nats per row
};

struct MixtureForecast {
  Closeness untrained, without_noise, with_noise;
  // By seed: how far from rows of the untrained model to rows of the groups, in the distance of
  // pairs of columns; 0: no nearer, 1: not to be told apart.
  std::vector<double> learned_without, learned;
  uint64_t rows = 0, iterations = 0;  // of each run
};

MixtureForecast ForecastMixture(const RunRequest& request);

// Of the way that rows go with noise, the median of the seeds.
double LearnedShare(const MixtureForecast& forecast);

// Rows that go less than so far are of no use: a plan warns, and a run needs --accept-useless.
inline constexpr double kUselessShare = 1.0 / 3;
// Where noise takes more than this of what is learned without it a plan warns.
inline constexpr double kWarnLostShare = 0.25;

// In words, for the plan.
run::Forecast ForecastTexts(const RunRequest& request, const MixtureForecast& forecast);

}  // namespace partita::methods::mixture
