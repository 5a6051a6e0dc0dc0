// One epoch of DP-SGD on a million rows of 100 columns at three parties, batches of 4096 expected
// rows, over TLS on loopback: drawing batches, gradients, clipping, exact noise, secure sums.
// Made-up rows: the time does not depend on them.
#include <benchmark/benchmark.h>

#include <cmath>
#include <optional>

#include "bench/mpc_processes.h"
#include "crypto/prg.h"
#include "methods/classify/descent.h"
#include "stats/blr/variates.h"

namespace partita::methods::classify {
namespace {

using mpc::bench::Processes;

constexpr uint64_t kRows = 1'000'000;
constexpr size_t kColumns = 100, kBatch = 4096, kParties = 3;

stats::erm::LabelledRows MadeUpRows(size_t party) {
  const auto rows = static_cast<Eigen::Index>(kRows / kParties + (party == 0 ? 1 : 0));
  crypto::Key key;
  crypto::Prg prg(key);
  stats::blr::Variates variates(prg);
  stats::erm::LabelledRows made{Eigen::MatrixXd(rows, static_cast<Eigen::Index>(kColumns)),
                                Eigen::VectorXd(rows)};
  const double scale = 1 / std::sqrt(static_cast<double>(kColumns));
  for (Eigen::Index i = 0; i < rows; ++i) {
    for (Eigen::Index j = 0; j < made.x.cols(); ++j) {
      made.x(i, j) = scale * (2 * variates.Uniform() - 1);
    }
    made.y(i) = variates.Uniform() < 0.5 ? 1 : -1;
  }
  return made;
}

// engine: 0 dealer, 1 replicated, 2 shamir.
void BM_Epoch(benchmark::State& state) {
  static const char* const kEngines[] = {"dealer", "replicated", "shamir"};
  const Processes setting = {kEngines[state.range(0)], kParties};
  DescentTask task;
  task.options.rate = static_cast<double>(kBatch) / static_cast<double>(kRows);
  task.options.iterations = kRows / kBatch + 1;
  task.rows = kRows;
  task.party_rows = kRows / kParties + 1;
  task.dimension = kColumns;
  task.parties = kParties;
  const double noise = CalibrateDescent(task, 1, 1e-7);
  NoisedSum sum = DesignDescent(task, noise);
  sum.release = "gradient";
  mpc::bench::RunProcesses(setting, [&](mpc::Engine& engine) {
    std::optional<stats::erm::LabelledRows> rows;
    if (engine.self()) rows = MadeUpRows(*engine.self());
    crypto::SystemRandom random;
    SilentProgress progress;
    const auto epoch = [&] {
      benchmark::DoNotOptimize(RunDescent(engine, task, sum, rows, random, progress));
    };
    epoch();  // everybody has its rows
    if (engine.self() == mpc::PartyIndex{0}) {
      for (auto _ : state) epoch();
    } else {
      for (size_t i = 0; i < static_cast<size_t>(state.max_iterations); ++i) epoch();
    }
  });
  state.counters["openings"] = static_cast<double>(task.options.iterations);
}

BENCHMARK(BM_Epoch)
    ->ArgName("engine")
    ->DenseRange(0, 2)
    ->Iterations(1)
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();

}  // namespace
}  // namespace partita::methods::classify

BENCHMARK_MAIN();
