// The accountant on the setting of DPVI-VPD: q = 100/30162, sigma = 2.042, T = 20000, delta = 1e-5,
// from nothing to a certified interval. Yardsticks (stored, one core): Google PLD 0.041 s at h =
// 1e-4 with error 2.7e-4 and no usable lower end, 0.51 s at h = 1e-5; Microsoft PRV 0.245 s at
// eps_error 0.01.
#include <benchmark/benchmark.h>

#include "privacy/accounting/accountant.h"

namespace {

using namespace partita::privacy;  // NOLINT: a benchmark

void Epsilon(benchmark::State& state, const std::vector<Event>& events, double relative_width) {
  PldOptions options;
  options.relative_width = relative_width;
  PldResult result;
  for (auto _ : state) benchmark::DoNotOptimize(result = PldEpsilon(events, 1e-5, options));
  state.counters["width"] = (result.value.upper - result.value.lower) / result.value.upper;
  state.counters["upper"] = result.value.upper;
  state.counters["cells"] = static_cast<double>(result.cells);
}

void Dpvi(benchmark::State& state) {
  const Adjacency adjacency = state.range(0) == 0 ? Adjacency::kAddRemove : Adjacency::kReplace;
  const double width = state.range(1) == 3 ? 1e-3 : 1e-4;
  Epsilon(state, {{GaussianMechanism(2.042, {adjacency, 100.0 / 30162}), 20000}}, width);
}
BENCHMARK(Dpvi)
    ->ArgNames({"replace", "digits"})
    ->ArgsProduct({{0, 1}, {3, 4}})
    ->Unit(benchmark::kMillisecond);

void MillionSteps(benchmark::State& state) {
  Epsilon(state, {{GaussianMechanism(5, {Adjacency::kAddRemove, 0.001}), 1'000'000}}, 1e-3);
}
BENCHMARK(MillionSteps)->Unit(benchmark::kMillisecond);

void Heterogeneous(benchmark::State& state) {
  Epsilon(state,
          {{GaussianMechanism(1.2, {Adjacency::kAddRemove, 0.02}), 500},
           {LaplaceMechanism(5, {}), 3},
           {GaussianMechanism(10, {}), 4}},
          1e-2);
}
BENCHMARK(Heterogeneous)->Unit(benchmark::kMillisecond);

// A hundred mechanisms of which no two are alike: every kind, with and without sampling.
void Heterogeneous100(benchmark::State& state) {
  std::vector<Event> events;
  for (uint64_t i = 0; i < 25; ++i) {
    const double x = static_cast<double>(i);
    events.push_back(
        {GaussianMechanism(2 + 0.1 * x, {Adjacency::kAddRemove, 0.01 + 1e-3 * x}), 20 + i});
    events.push_back({GaussianMechanism(10 + x, {}), 1 + i});
    events.push_back({LaplaceMechanism(20 + x, {}), 1});
    events.push_back({DiscreteGaussianMechanism(15 + x, 1, {}), 1});
  }
  Epsilon(state, events, state.range(0) == 3 ? 1e-3 : 1e-2);
}
BENCHMARK(Heterogeneous100)->ArgName("digits")->Arg(2)->Arg(3)->Unit(benchmark::kMillisecond);

void Calibration(benchmark::State& state) {
  for (auto _ : state) {
    benchmark::DoNotOptimize(NoiseForBudget(
        [](double noise) {
          return std::vector<Event>{
              {GaussianMechanism(noise, {Adjacency::kAddRemove, 100.0 / 30162}), 20000}};
        },
        {1, 1e-5}));
  }
}
BENCHMARK(Calibration)->Unit(benchmark::kMillisecond);

}  // namespace

BENCHMARK_MAIN();
