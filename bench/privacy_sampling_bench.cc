// Samples per second of the exact samplers, and what their construction costs.
#include <benchmark/benchmark.h>

#include <array>
#include <cmath>
#include <vector>

#include "crypto/prg.h"
#include "privacy/sampling/discrete_gaussian.h"
#include "privacy/sampling/discrete_laplace.h"
#include "privacy/sampling/gaussian_table.h"
#include "privacy/sampling/polya.h"

namespace partita::privacy {
namespace {

crypto::Prg Stream() {
  std::array<uint8_t, 32> key{};
  key[0] = 1;
  return crypto::Prg(crypto::Key(key));
}

template <typename Sampler>
void Run(benchmark::State& state, const Sampler& sampler, size_t count) {
  crypto::Prg stream = Stream();
  std::vector<Int128> out(count);
  for (auto _ : state) {
    sampler.Sample(stream, out);
    benchmark::DoNotOptimize(out.data());
  }
  state.SetItemsProcessed(static_cast<int64_t>(state.iterations() * count));
}

// Argument: log2 of sigma / 1.3, in grid units.
void Gaussian(benchmark::State& state) {
  const DiscreteGaussian sampler(
      VarianceOfStddev(1.3 * std::ldexp(1.0, static_cast<int>(state.range(0)))));
  Run(state, sampler, 16384);
}
BENCHMARK(Gaussian)->Arg(-4)->Arg(0)->Arg(4)->Arg(10)->Arg(20)->Arg(41)->Arg(51)->Arg(60)->Arg(90);

void GaussianOneByOne(benchmark::State& state) {
  Run(state, DiscreteGaussian(VarianceOfStddev(0x1.4p41)), 1);
}
BENCHMARK(GaussianOneByOne);

void GaussianConstruction(benchmark::State& state) {
  const GridVariance variance = VarianceOfStddev(std::ldexp(1.3, static_cast<int>(state.range(0))));
  for (auto _ : state) benchmark::DoNotOptimize(BuildGaussianTable(variance).scale);
}
BENCHMARK(GaussianConstruction)->Arg(0)->Arg(41)->Unit(benchmark::kMillisecond);

void Laplace(benchmark::State& state) {
  Run(state, DiscreteLaplace({UInt128{3} << state.range(0), 2}), 1024);
}
BENCHMARK(Laplace)->Arg(0)->Arg(20)->Arg(40)->Arg(100);

// Arguments: log2 of the scale, parties.
void Polya(benchmark::State& state) {
  Run(state, PolyaShare(UInt128{1} << state.range(0), static_cast<uint32_t>(state.range(1))), 1024);
}
BENCHMARK(Polya)->Args({40, 2})->Args({40, 10})->Args({80, 5});

void PolyaConstruction(benchmark::State& state) {
  for (auto _ : state) {
    const PolyaShare share(UInt128{1} << state.range(0), 5);
    benchmark::DoNotOptimize(&share);
  }
}
BENCHMARK(PolyaConstruction)->Arg(10)->Arg(40)->Arg(80)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace partita::privacy

BENCHMARK_MAIN();
