// A linear mixed model of five and of ten columns, three parties with 33,333 rows in 1,000 groups each, over TLS on
// loopback: a holder's sums of groups, and the whole fit. Made-up rows: the time on shares does not
// depend on them.
#include <benchmark/benchmark.h>

#include "bench/mpc_processes.h"
#include "crypto/prg.h"
#include "methods/mixed/fit.h"
#include "stats/blr/variates.h"

namespace partita::methods::mixed {
namespace {

using mpc::bench::Processes;

constexpr size_t kParties = 3, kRows = 100'000 / kParties, kGroups = 1000;

Task TaskOf(size_t columns) {
  Task task;
  task.spec.columns.resize(columns);
  task.spec.group = "ward";
  for (size_t p = 0; p < kParties; ++p) task.holders.push_back({p, kRows});
  return task;
}

OwnData MadeUpRows(size_t columns) {
  crypto::Key key;
  crypto::Prg prg(key);
  stats::blr::Variates variates(prg);
  const auto n = static_cast<Eigen::Index>(kRows), p = static_cast<Eigen::Index>(columns);
  Eigen::MatrixXd x = Eigen::MatrixXd::Ones(n, p);
  Eigen::VectorXd y(n), effects(static_cast<Eigen::Index>(kGroups));
  for (double& effect : effects) effect = 0.2 * variates.Uniform();
  std::vector<uint32_t> groups;
  for (Eigen::Index i = 0; i < n; ++i) {
    const auto group = static_cast<uint32_t>(static_cast<size_t>(i) % kGroups);
    for (Eigen::Index j = 1; j < p; ++j) x(i, j) = 2 * variates.Uniform() - 1;
    y[i] = effects[group] + 0.3 * x(i, p - 1) + 0.4 * (variates.Uniform() - 0.5);
    groups.push_back(group);
  }
  return {stats::mixed::SumRows(x, y, groups),
          {static_cast<Int128>(kGroups), static_cast<Int128>(kRows)}};
}

void BM_OwnGroups(benchmark::State& state) {
  for (auto _ : state) benchmark::DoNotOptimize(MadeUpRows(10));
}
BENCHMARK(BM_OwnGroups)->Unit(benchmark::kMillisecond);

// engine: 0 dealer, 1 replicated, 2 shamir.
void BM_MixedFit(benchmark::State& state) {
  static const char* const kEngines[] = {"dealer", "replicated", "shamir"};
  Processes setting = {kEngines[state.range(1)], kParties};
  constexpr uint64_t kMost = 1000;
  for (const char* name : {kDisclosureRelease, kIndependenceRelease})
    setting.releases.push_back({name, "", "all", "exact", kMost});
  setting.releases.push_back({kFitRelease, "", "process0", "exact", kMost, 0});
  const auto columns = static_cast<size_t>(state.range(0));
  const Task task = TaskOf(columns);
  const OwnData own = MadeUpRows(columns);
  mpc::bench::RunProcesses(setting, [&](mpc::Engine& engine) {
    const auto fit = [&] {
      const std::vector<mpc::Shared> counts = ShareCounts(engine, task, own);
      CheckCounts(engine, task, counts, 100, 5);
      Fitter fitter(engine, task, own, TotalsFrom(engine, task, counts));
      fitter.OpenCollinear();
      benchmark::DoNotOptimize(fitter.Fit());
    };
    fit();
    if (engine.self() == mpc::PartyIndex{0}) {
      for (auto _ : state) fit();
    } else {
      for (size_t i = 0; i < static_cast<size_t>(state.max_iterations); ++i) fit();
    }
  });
}
BENCHMARK(BM_MixedFit)
    ->ArgNames({"columns", "engine"})
    ->ArgsProduct({{5, 10}, {0, 1, 2}})
    ->Iterations(1)
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();

}  // namespace
}  // namespace partita::methods::mixed

BENCHMARK_MAIN();
