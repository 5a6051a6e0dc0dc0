// Evaluations of a linear oracle over TLS on loopback: one benchmark iteration is one evaluation,
// as an optimiser asks for them, one after the other.
#include <benchmark/benchmark.h>

#include "bench/mpc_processes.h"
#include "mpc/linear_oracle.h"

namespace partita::mpc {
namespace {

// Arguments: computing parties (0: the engine replicated), entries of S, rows of W.
void BM_OracleEvaluation(benchmark::State& state) {
  const auto parties = static_cast<size_t>(state.range(0));
  const auto d = static_cast<size_t>(state.range(1)), q = static_cast<size_t>(state.range(2));
  const bench::Processes setting = {parties == 0 ? "replicated" : "dealer",
                                    parties == 0 ? 3 : parties};
  bench::RunProcesses(setting, [&](Engine& engine) {
    const Shared values =
        engine.Public({{{d, 1}, std::vector<Int128>(d, (Int128{1} << 59) + 12345)}, 60});
    const OracleTask task = {0, 40, 63, {{"out", q, 100'000}}};
    engine.RunOracle(values, task, [&](const OracleEvaluate& evaluate) {
      const IntMatrix weights{{q, d}, std::vector<Int128>(q * d, (Int128{1} << 35) / 20 + 77)};
      for (auto _ : state) benchmark::DoNotOptimize(evaluate(0, weights));
    });
  });
}
BENCHMARK(BM_OracleEvaluation)
    ->ArgNames({"parties", "d", "q"})
    ->Args({2, 54, 1})
    ->Args({2, 54, 61})
    ->Args({3, 54, 61})
    ->Args({0, 54, 61})
    ->Args({5, 350, 1})
    ->Args({5, 350, 80})
    ->Args({2, 350, 80})
    ->Args({0, 350, 80})
    ->Unit(benchmark::kMicrosecond)
    ->UseRealTime();

}  // namespace
}  // namespace partita::mpc

BENCHMARK_MAIN();
