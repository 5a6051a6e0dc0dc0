// Comparisons over TLS on loopback, the dealer live: one benchmark iteration compares all entries
// of an array with zero.
#include <benchmark/benchmark.h>

#include <cmath>

#include "bench/mpc_processes.h"
#include "mpc/compare.h"

namespace partita::mpc {
namespace {

// Every process runs as many: a process knows no other's count.
constexpr int kIterations = 11;

// Arguments: computing parties (0: the engine replicated), entries, largest value (its log2) at 40
// fraction bits.
void BM_IsNegative(benchmark::State& state) {
  const auto parties = static_cast<size_t>(state.range(0));
  const auto size = static_cast<size_t>(state.range(1));
  const double bound = std::ldexp(1.0, static_cast<int>(state.range(2)));
  const bench::Processes setting = {parties == 0 ? "replicated" : "dealer",
                                    parties == 0 ? 3 : parties};
  bench::RunProcesses(setting, [&](Engine& engine) {
    PrivateMatrix input{0, {size, 1}, 40, bound, nullptr};
    if (engine.self() == PartyIndex{0}) {
      input.read = [](size_t first, size_t count, Int128* out) {
        for (size_t i = 0; i < count; ++i) {
          out[i] = static_cast<Int128>((first + i) * 0x9E3779B97F4A7C15u >> 24) - (1ll << 39);
        }
      };
    }
    const Shared values = engine.Input({&input, 1})[0];
    auto once = [&] { benchmark::DoNotOptimize(IsNegative(engine, {&values, 1})); };
    once();
    if (engine.self() == PartyIndex{0}) {
      for (auto _ : state) once();
    } else {
      for (int i = 0; i < kIterations; ++i) once();
    }
  });
  state.SetItemsProcessed(static_cast<int64_t>(size) * kIterations);
}
BENCHMARK(BM_IsNegative)
    ->ArgNames({"parties", "size", "log2_bound"})
    ->Args({2, 100'000, 10})
    ->Args({2, 100'000, 22})
    ->Args({3, 100'000, 10})
    ->Args({0, 100'000, 10})
    ->Args({0, 100'000, 22})
    ->Args({2, 1'000, 10})
    ->Args({0, 1'000, 10})
    ->Iterations(kIterations)
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();

}  // namespace
}  // namespace partita::mpc

BENCHMARK_MAIN();
