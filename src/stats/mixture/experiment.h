// Repeated runs of DPVI on one table with set-aside rows: what Figures 2 and 3 of Tajeddine et al.
// plot. In the clear, on public data: the log densities of real rows are printed here and would be
// charged, or kept with their holder, anywhere else (methods.md, R-i).
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/progress.h"
#include "stats/mixture/partitioned.h"

namespace partita::stats::mixture {

// One way to compute the noisy sum, under its name. The secure protocol is one more of them.
struct Arm {
  std::string name;
  std::function<GradientSum(const ClippedNoise& options, crypto::RandomSource& noise)> make;
};

struct ExperimentOptions {
  VariationalOptions variational;
  ClippedNoise noise{1, 2.042, 30};
  size_t components = 20;
  uint32_t batch_size = 100;
  BatchMode batch_mode = BatchMode::kPoisson;
  uint32_t max_batch = 0;      // of Batches: larger ones are drawn again; 0: none is
  std::vector<double> epochs;  // where log densities are taken; start and end always are
  size_t predictive_draws = 20;
};

struct TracePoint {
  uint64_t step = 0;
  double epochs = 0;   // step * sampling rate
  double plug_in = 0;  // mean log density of the set-aside rows at the mean of q, nats
};

struct ExperimentRun {
  std::string arm;
  size_t repeat = 0;
  std::vector<TracePoint> trace;
  VariationalState state;  // at the end
  double predictive = 0;   // at the end, of predictive_draws
  size_t active_components = 0;
  std::vector<double> weights;  // decreasing
  uint32_t max_uses = 0;        // of a row, over all batches
  double seconds = 0;           // of the steps, without the log densities
};

// Repeat r of every arm has the same start, batches, eta and noise: differences between arms are
// their arithmetic. `key` seeds repeat r together with r.
ExperimentRun RunExperiment(const Layout& layout, size_t num_rows, const Rows& test, const Arm& arm,
                            const ExperimentOptions& options, const crypto::Key& key, size_t repeat,
                            Progress& progress);

}  // namespace partita::stats::mixture
