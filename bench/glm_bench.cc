// A logistic regression of ten columns, three parties with 33,333 rows each, over TLS on loopback: a
// holder's sums at a point, and the whole fit. Made-up rows: the time on shares does not depend on
// them.
#include <benchmark/benchmark.h>

#include "bench/mpc_processes.h"
#include "crypto/prg.h"
#include "methods/glm/aggregates.h"
#include "methods/glm/protocol.h"
#include "stats/blr/variates.h"

namespace partita::methods::glm {
namespace {

using mpc::bench::Processes;

constexpr size_t kParties = 3, kRows = 100'000 / kParties, kColumns = 10;

Task TenColumns(bool aggregates) {
  Task task;
  task.spec.aggregates = aggregates;
  if (aggregates) task.spec.steps = 8;
  task.spec.law = stats::glm::LawByName("binomial");
  for (size_t c = 0; c < kColumns; ++c) task.spec.columns.push_back({"x", {}, 1, false});
  task.classes = 2;
  for (size_t p = 0; p < kParties; ++p) task.holders.push_back({p, kRows});
  SetUnits(task);
  return task;
}

OwnData MadeUpRows() {
  crypto::Key key;
  crypto::Prg prg(key);
  stats::blr::Variates variates(prg);
  const auto n = static_cast<Eigen::Index>(kRows), p = static_cast<Eigen::Index>(kColumns);
  OwnData own;
  own.rows = {Eigen::MatrixXd::Ones(n, p), Eigen::VectorXd(n), Eigen::VectorXd::Zero(n)};
  double ones = 0;
  for (Eigen::Index i = 0; i < n; ++i) {
    for (Eigen::Index j = 1; j < p; ++j) own.rows.x(i, j) = 2 * variates.Uniform() - 1;
    own.rows.y[i] = variates.Uniform() < 0.3 ? 1 : 0;
    ones += own.rows.y[i];
  }
  const auto rows = static_cast<Int128>(n), events = static_cast<Int128>(ones);
  own.counts = {rows - events, events, rows};
  return own;
}

void BM_OwnSums(benchmark::State& state) {
  const Task task = TenColumns(false);
  const OwnData own = MadeUpRows();
  const Eigen::VectorXd at = Eigen::VectorXd::Zero(static_cast<Eigen::Index>(kColumns));
  for (auto _ : state)
    benchmark::DoNotOptimize(stats::glm::SumsAt(task.spec.law, own.rows, at, task.units.limits));
}
BENCHMARK(BM_OwnSums)->Unit(benchmark::kMillisecond);

// aggregates: the level, else iterates; engine: 0 dealer, 1 replicated, 2 shamir.
void BM_Fit(benchmark::State& state) {
  static const char* const kEngines[] = {"dealer", "replicated", "shamir"};
  Processes setting = {kEngines[state.range(1)], kParties};
  constexpr uint64_t kMost = 1000;
  for (const char* name :
       {kDisclosureRelease, kIndependenceRelease, kIteratesRelease, kEstimatesRelease}) {
    setting.releases.push_back({name, "", "all", "exact", kMost});
  }
  for (const char* name : {kFirstRelease, kSumsRelease, kFitRelease})
    setting.releases.push_back({name, "", "process0", "exact", kMost, 0});
  const Task task = TenColumns(state.range(0) == 1);
  const OwnData own = MadeUpRows();
  mpc::bench::RunProcesses(setting, [&](mpc::Engine& engine) {
    const auto fit = [&] {
      const std::vector<mpc::Shared> counts = ShareCounts(engine, task, own);
      CheckCounts(engine, task, counts, {}, 100, 5);
      const SharedTotals totals = TotalsFrom(engine, task, counts, {});
      const auto run = [&](auto fitter) {
        fitter.First();
        for (int point = 0; point <= task.spec.steps; ++point) fitter.OpenPoint(point);
        benchmark::DoNotOptimize(fitter.Finish());
      };
      if (task.spec.aggregates) {
        run(AggregateFitter(engine, task, own, totals, 0, 5));
      } else {
        run(Fitter(engine, task, own, totals));
      }
    };
    fit();
    if (engine.self() == mpc::PartyIndex{0}) {
      for (auto _ : state) fit();
    } else {
      for (size_t i = 0; i < static_cast<size_t>(state.max_iterations); ++i) fit();
    }
  });
}
BENCHMARK(BM_Fit)
    ->ArgNames({"aggregates", "engine"})
    ->ArgsProduct({{0, 1}, {0, 1, 2}})
    ->Iterations(1)
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();

}  // namespace
}  // namespace partita::methods::glm

BENCHMARK_MAIN();
