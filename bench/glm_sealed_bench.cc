// A sealed logistic regression of ten columns, five at each of two holders, over TLS on loopback, from
// sharing the rows to the opened result. Made-up rows: the time does not depend on them.
#include <benchmark/benchmark.h>

#include "bench/mpc_processes.h"
#include "crypto/prg.h"
#include "methods/glm/sealed/fitter.h"
#include "stats/blr/variates.h"

namespace partita::methods::glm {
namespace {

using mpc::bench::Processes;

constexpr size_t kColumns = 10, kSteps = 10;

SealedLayout TwoHolders(size_t rows) {
  SealedLayout layout;
  SealedBlock block;
  block.rows = rows;
  for (size_t p = 0; p < 2; ++p) {
    SealedPart part;
    part.party = p;
    part.outcome = p == 1;
    for (size_t c = 0; c < kColumns / 2; ++c) part.columns.push_back(p * kColumns / 2 + c);
    block.parts.push_back(part);
  }
  layout.blocks = {block};
  layout.groups = {{0}};
  return layout;
}

Task SealedTask(size_t rows, size_t num_cuts) {
  Task task;
  task.spec.sealed = true;
  task.spec.steps = kSteps;
  task.spec.law = stats::glm::LawByName("binomial");
  for (size_t c = 0; c < kColumns; ++c) {
    task.spec.columns.push_back({"x", {}, 1, false});
    task.spec.parameters.push_back({"x"});
  }
  task.classes = 2;
  for (size_t c = 1; c <= num_cuts; ++c)
    task.spec.cuts.push_back(static_cast<double>(c) / static_cast<double>(num_cuts + 1));
  task.holders = {{0, rows}};
  SetUnits(task);
  return task;
}

std::vector<OwnBlock> MadeUpBlock(size_t rows, size_t party) {
  crypto::Key key;
  crypto::Prg prg(key);
  stats::blr::Variates variates(prg);
  const auto n = static_cast<Eigen::Index>(rows);
  OwnBlock own;
  own.columns.resize(n, static_cast<Eigen::Index>(kColumns / 2));
  own.selector = Eigen::VectorXd::Ones(n);
  own.outcome.resize(n);
  own.cells.resize(n, 0);
  for (Eigen::Index i = 0; i < n; ++i) {
    for (Eigen::Index j = 0; j < own.columns.cols(); ++j)
      own.columns(i, j) = party == 0 && j == 0 ? 1 : 2 * variates.Uniform() - 1;
    own.outcome[i] = variates.Uniform() < 0.3 ? 1 : 0;
  }
  return {own};
}

// rows; engine: 0 dealer, 1 replicated, 2 shamir; cut points of risk groups.
void BM_Sealed(benchmark::State& state) {
  static const char* const kEngines[] = {"dealer", "replicated", "shamir"};
  Processes setting = {kEngines[state.range(1)], state.range(1) == 0 ? size_t{2} : size_t{3}};
  constexpr uint64_t kMost = 1000;
  for (const char* name : {kDisclosureRelease, kIndependenceRelease})
    setting.releases.push_back({name, "", "all", "exact", kMost});
  setting.releases.push_back({kFitRelease, "", "process0", "exact", kMost, 0});
  const auto rows = static_cast<size_t>(state.range(0));
  const Task task = SealedTask(rows, static_cast<size_t>(state.range(2)));
  const SealedLayout layout = TwoHolders(rows);
  const std::vector<Int128> counts(NumCounts(task));
  mpc::bench::RunProcesses(setting, [&](mpc::Engine& engine) {
    std::vector<OwnBlock> own;
    if (engine.self()) own = MadeUpBlock(rows, *engine.self());
    const auto fit = [&] {
      const std::vector<SharedBlock> blocks = ShareBlocks(engine, task, layout, own);
      const std::vector<mpc::Shared> by_group =
          CountsByGroup(engine, task, layout, blocks, own, counts);
      CheckCounts(engine, task, by_group, {}, 100, 5);
      const SharedTotals totals = TotalsFrom(engine, task, by_group, {});
      SealedSums sums(engine, task, layout, blocks, totals);
      SealedFitter fitter(engine, task, sums, totals);
      fitter.First();
      for (int step = 0; step < task.spec.steps; ++step) fitter.Step();
      std::optional<SealedRisk> risk;
      if (!task.spec.cuts.empty()) risk = SealedRiskOf(engine, task, layout, blocks, by_group, 5);
      benchmark::DoNotOptimize(fitter.Finish(risk ? &*risk : nullptr));
    };
    if (engine.self() == mpc::PartyIndex{0}) {
      for (auto _ : state) fit();
    } else {
      for (size_t i = 0; i < static_cast<size_t>(state.max_iterations); ++i) fit();
    }
  });
}
BENCHMARK(BM_Sealed)
    ->ArgNames({"rows", "engine", "cuts"})
    ->ArgsProduct({{10'000, 100'000}, {0, 1}, {0, 3}})
    ->Args({10'000, 2, 0})
    ->Args({10'000, 2, 3})
    ->Iterations(1)
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();

}  // namespace
}  // namespace partita::methods::glm

BENCHMARK_MAIN();
