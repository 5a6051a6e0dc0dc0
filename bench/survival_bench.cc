// Curves of two groups over ten years of days, three parties with a third of a million rows each,
// over TLS on loopback: a holder's counting, and everything on shares. Made-up rows: the time on
// shares does not depend on them.
#include <benchmark/benchmark.h>

#include <numeric>

#include "bench/mpc_processes.h"
#include "crypto/prg.h"
#include "methods/survival/protocol.h"
#include "stats/blr/variates.h"

namespace partita::methods::survival {
namespace {

using mpc::bench::Processes;

constexpr size_t kParties = 3, kRows = 1'000'000 / kParties;
constexpr double kDays = 3650;

Spec TenYears() {
  Spec spec;
  spec.outcome.name = "death";
  spec.outcome.type = data::ColumnType::kSurvival;
  spec.outcome.upper = kDays;
  data::ColumnSchema arm;
  arm.name = "arm";
  arm.type = data::ColumnType::kFactor;
  arm.levels = {"control", "treated"};
  spec.group = data::GroupsOfFactors({{arm, "arm"}});
  spec.grid = data::GridOf(spec.outcome, 1);
  for (const double day : {365, 730, 1825, 3285}) spec.report.push_back(spec.grid.Of(day));
  return spec;
}

data::Table MadeUpRows(const Spec& spec) {
  crypto::Key key;
  crypto::Prg prg(key);
  stats::blr::Variates variates(prg);
  data::Table table;
  table.num_rows = kRows;
  data::Column outcome{spec.outcome, {}, {}, {}}, arm{spec.group->schema, {}, {}, {}};
  for (size_t r = 0; r < kRows; ++r) {
    outcome.numbers.push_back(kDays * variates.Uniform());
    outcome.codes.push_back(variates.Uniform() < 0.5 ? 1 : 0);
    arm.codes.push_back(variates.Uniform() < 0.5 ? 1 : 0);
  }
  table.columns = {std::move(outcome), std::move(arm)};
  return table;
}

void BM_CountOwnTimes(benchmark::State& state) {
  const Spec spec = TenYears();
  const data::Table table = MadeUpRows(spec);
  std::vector<size_t> rows(kRows);
  std::iota(rows.begin(), rows.end(), size_t{0});
  for (auto _ : state) benchmark::DoNotOptimize(CountOwn(spec, table, rows));
}
BENCHMARK(BM_CountOwnTimes)->Unit(benchmark::kMillisecond);

// engine: 0 dealer, 1 replicated, 2 shamir.
void BM_Curves(benchmark::State& state) {
  static const char* const kEngines[] = {"dealer", "replicated", "shamir"};
  Processes setting = {kEngines[state.range(0)], kParties};
  setting.releases.push_back({kCurvesRelease, "", "all", "exact", 1000});
  Task task;
  task.spec = TenYears();
  task.grid_bits = 6;
  for (size_t p = 0; p < kParties; ++p) task.holders.push_back({p, kRows});
  const OwnCounts own = NoCounts(task.spec);
  mpc::bench::RunProcesses(setting, [&](mpc::Engine& engine) {
    const auto curves = [&] {
      benchmark::DoNotOptimize(OpenCurves(engine, task, ShareRiskSets(engine, task, own), 5));
    };
    curves();
    if (engine.self() == mpc::PartyIndex{0}) {
      for (auto _ : state) curves();
    } else {
      for (size_t i = 0; i < static_cast<size_t>(state.max_iterations); ++i) curves();
    }
  });
  state.counters["numbers"] = static_cast<double>(NumOpened(task));
}
BENCHMARK(BM_Curves)
    ->ArgName("engine")
    ->DenseRange(0, 2)
    ->Iterations(1)
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();

}  // namespace
}  // namespace partita::methods::survival

BENCHMARK_MAIN();
