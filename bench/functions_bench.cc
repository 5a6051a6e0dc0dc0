// Fixed-point functions over TLS on loopback, the dealer live: one benchmark iteration is one
// array.
#include <cmath>

#include "bench/mpc_processes.h"
#include "mpc/functions/exponential.h"
#include "mpc/functions/reciprocal.h"

namespace partita::mpc {
namespace {

// Every process runs as many: a process knows no other's count.
constexpr int kIterations = 5;

// Arguments: computing parties (0: the engine replicated), entries. Values lie between 0.05 and 50
// at 40 fraction bits.
void RunFunction(benchmark::State& state, const std::function<void(Engine&, const Shared&)>& run) {
  const auto parties = static_cast<size_t>(state.range(0));
  const auto size = static_cast<size_t>(state.range(1));
  const bench::Processes setting = {parties == 0 ? "replicated" : "dealer",
                                    parties == 0 ? 3 : parties};
  bench::RunProcesses(setting, [&](Engine& engine) {
    PrivateMatrix input{0, {size, 1}, 40, 50, nullptr};
    if (engine.self() == PartyIndex{0}) {
      input.read = [](size_t first, size_t count, Int128* out) {
        for (size_t i = 0; i < count; ++i) {
          const auto random = (first + i) * 0x9E3779B97F4A7C15u >> 11;
          out[i] = EncodeFixed(0.05 + 49.95 * std::ldexp(static_cast<double>(random), -53), 40);
        }
      };
    }
    const Shared values = engine.Input({&input, 1})[0];
    run(engine, values);
    if (engine.self() == PartyIndex{0}) {
      for (auto _ : state) run(engine, values);
    } else {
      for (int i = 0; i < kIterations; ++i) run(engine, values);
    }
  });
}

void BM_Reciprocal(benchmark::State& state) {
  RunFunction(state, [](Engine& engine, const Shared& values) {
    const PositiveValue value = {values, 0.05};
    Reciprocal(engine, {&value, 1}, 40);
  });
}
void BM_InverseRoot(benchmark::State& state) {
  RunFunction(state, [](Engine& engine, const Shared& values) {
    const PositiveValue value = {values, 0.05};
    InverseRoot(engine, {&value, 1}, 40);
  });
}
// Of minus the values: between e^-50 and e^-0.05.
void BM_Exponential(benchmark::State& state) {
  RunFunction(state, [](Engine& engine, const Shared& values) {
    const BoundedAbove value = {engine.Scale(values, -1), 0};
    Exponential(engine, {&value, 1}, 40);
  });
}

void Sizes(benchmark::internal::Benchmark* benchmark) {
  benchmark->ArgNames({"parties", "size"});
  for (int64_t parties : {2, 0}) {
    for (int64_t size : {1'000, 100'000}) benchmark->Args({parties, size});
  }
  benchmark->Iterations(kIterations)->Unit(benchmark::kMillisecond)->UseRealTime();
}
BENCHMARK(BM_Reciprocal)->Apply(Sizes);
BENCHMARK(BM_InverseRoot)->Apply(Sizes);
BENCHMARK(BM_Exponential)->Apply(Sizes);

}  // namespace
}  // namespace partita::mpc

BENCHMARK_MAIN();
