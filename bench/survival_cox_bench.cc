// A step of Cox's model over twenty years of days, ten columns, three parties, over TLS on loopback:
// a holder's sums over its rows at risk, and everything on shares. Made-up rows: the time on shares
// does not depend on them.
#include <benchmark/benchmark.h>

#include <random>

#include "bench/mpc_processes.h"
#include "methods/survival/cox/fitter.h"

namespace partita::methods::survival {
namespace {

using mpc::bench::Processes;

constexpr size_t kParties = 3, kRows = 100'000 / kParties, kColumns = 10, kDays = 7300;

CoxTask TwentyYears() {
  CoxTask task;
  for (size_t c = 0; c < kColumns; ++c) {
    data::ModelColumn column;
    column.name = "x" + std::to_string(c);
    column.lower = -1;
    task.spec.columns.push_back(column);
  }
  for (size_t p = 0; p < kParties; ++p) task.holders.push_back({p, kRows});
  task.cells = {1, kDays};
  task.to = mpc::kEverybody;
  return task;
}

CoxRows MadeUpRows(const CoxTask& task) {
  std::mt19937_64 random(1);
  std::uniform_real_distribution<double> uniform(-1, 1);
  CoxRows own;
  own.x.resize(kRows, kColumns);
  own.counts.resize(3);
  own.events.resize(task.cells.count());
  own.event_sums.resize(kColumns);
  Eigen::VectorXd sums = Eigen::VectorXd::Zero(kColumns);
  for (Eigen::Index i = 0; i < own.x.rows(); ++i) {
    for (Eigen::Index c = 0; c < own.x.cols(); ++c) own.x(i, c) = uniform(random);
    own.place.push_back(static_cast<uint32_t>(random() % kDays));
    own.event.push_back(random() % 2);
    ++own.counts[own.event.back()];
    ++own.counts[2];
    if (own.event.back() == 0) continue;
    ++own.events[own.place.back()];
    sums += own.x.row(i);
  }
  for (size_t c = 0; c < kColumns; ++c)
    own.event_sums[c] = mpc::EncodeFixed(sums[static_cast<Eigen::Index>(c)], kRiskBits);
  return own;
}

void BM_RiskSums(benchmark::State& state) {
  const CoxTask task = TwentyYears();
  const CoxRows own = MadeUpRows(task);
  const Eigen::VectorXd point = Eigen::VectorXd::Constant(kColumns, 0.1);
  for (auto _ : state) benchmark::DoNotOptimize(RiskSumsAt(own, task.cells, point));
}
BENCHMARK(BM_RiskSums)->Unit(benchmark::kMillisecond);

// engine: 0 dealer, 1 replicated, 2 shamir. The time of a step: of the second point.
void BM_CoxStep(benchmark::State& state) {
  static const char* const kEngines[] = {"dealer", "replicated", "shamir"};
  Processes setting = {kEngines[state.range(0)], kParties};
  for (const char* release :
       {kCoxDisclosure, kIndependence, kIterates, kEstimatesRelease, kFitRelease})
    setting.releases.push_back({release, "", "all", "exact", 1000});
  const CoxTask task = TwentyYears();
  const CoxRows own = MadeUpRows(task);
  mpc::bench::RunProcesses(setting, [&](mpc::Engine& engine) {
    CoxFitter fitter(engine, task, own);
    fitter.ShareCounts();
    fitter.First();
    fitter.OpenPoint(1);
    if (engine.self() == mpc::PartyIndex{0}) {
      for (auto _ : state) fitter.OpenPoint(2);
    } else {
      for (size_t i = 0; i < static_cast<size_t>(state.max_iterations); ++i) fitter.OpenPoint(2);
    }
  });
}
BENCHMARK(BM_CoxStep)
    ->ArgName("engine")
    ->DenseRange(0, 2)
    ->Iterations(3)
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();

}  // namespace
}  // namespace partita::methods::survival

BENCHMARK_MAIN();
