// The engine `replicated`: three parties as threads over memory transports. Times are wall clock of
// the slowest party, set-up of the channels included; "cpu_ms" is the processor time of all parties
// together.
#include <benchmark/benchmark.h>

#include <ctime>
#include <thread>

#include "crypto/random.h"
#include "mpc/replicated_engine.h"
#include "net/memory_transport.h"

namespace partita::mpc {
namespace {

double ProcessSeconds() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

void RunThreads(benchmark::State& state, const std::function<void(Engine&)>& body) {
  const double start = ProcessSeconds();
  for (auto _ : state) {
    crypto::SystemRandom random;
    auto transports = net::MakeMemoryTransports({"north", "south", "east"}, random);
    std::vector<std::thread> threads;
    for (auto& transport : transports) {
      threads.emplace_back([&body, own = std::move(transport)]() mutable {
        net::Channel channel(std::move(own), AsBytes("benchmark"), 1);
        CountingReleaseGate gate;
        gate.Reserve({{"out", "", "all", "exact", 1'000'000}});
        body(*MakeReplicatedEngine(channel, gate));
      });
    }
    for (auto& thread : threads) thread.join();
  }
  state.counters["cpu_ms"] =
      1e3 * (ProcessSeconds() - start) / static_cast<double>(state.iterations());
}

// Cheap, deterministic values below 2^50.
PrivateMatrix Synthetic(const Engine& engine, PartyIndex owner, Shape shape) {
  PrivateMatrix matrix{owner, shape, 50, 1.0, nullptr};
  if (engine.self() != owner) return matrix;
  matrix.read = [cols = shape.cols](size_t first, size_t count, Int128* out) {
    for (size_t i = 0; i < count * cols; ++i) {
      out[i] = static_cast<Int128>(((first * cols + i) * 0x9E3779B97F4A7C15u) >> 15) - (1ll << 48);
    }
  };
  return matrix;
}

// A public value counts as shared, without the messages of an input.
Shared Ones(Engine& engine, Shape shape) {
  return engine.Public({{shape, std::vector<Int128>(shape.size(), 1)}, 0});
}

void Multiply(benchmark::State& state, bool rescale) {
  const Shape shape{static_cast<size_t>(state.range(0)), 1};
  RunThreads(state, [&](Engine& engine) {
    Shared x = Ones(engine, shape), y = Ones(engine, shape);
    x.fraction_bits = 40;
    Product product{Product::Kind::kElementwise, x, y};
    auto result = engine.Multiply({&product, 1});
    if (rescale) engine.Rescale(result, 0);
  });
}
void BM_ReplicatedMultiply(benchmark::State& state) { Multiply(state, false); }
void BM_ReplicatedMultiplyAndRescale(benchmark::State& state) { Multiply(state, true); }
BENCHMARK(BM_ReplicatedMultiply)->Arg(1'000'000)->Unit(benchmark::kMillisecond)->UseRealTime();
BENCHMARK(BM_ReplicatedMultiplyAndRescale)
    ->Arg(1'000'000)
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();

// X_a^T X_b with ten private columns each.
void BM_ReplicatedCrossProduct(benchmark::State& state) {
  const Shape shape{static_cast<size_t>(state.range(0)), 10};
  RunThreads(state, [&](Engine& engine) {
    Product product{Product::Kind::kGram, Synthetic(engine, 0, shape), Synthetic(engine, 1, shape)};
    engine.Reveal("out", engine.Multiply({&product, 1}), 0);
  });
}
BENCHMARK(BM_ReplicatedCrossProduct)
    ->Arg(10'000)
    ->Arg(1'000'000)
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();

}  // namespace
}  // namespace partita::mpc

BENCHMARK_MAIN();
