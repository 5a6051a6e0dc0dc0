// The engine `shamir`: parties as threads over memory transports. Times are wall clock of the
// slowest party, set-up of the channels included; "cpu_ms" is the processor time of all parties
// together, "MB" what crosses all links.
#include <benchmark/benchmark.h>

#include <ctime>
#include <thread>

#include "crypto/random.h"
#include "mpc/compare.h"
#include "mpc/plan_engine.h"
#include "mpc/shamir_engine.h"
#include "net/memory_transport.h"

namespace partita::mpc {
namespace {

double ProcessSeconds() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

void RunThreads(benchmark::State& state, const std::function<void(Engine&)>& body) {
  const auto num_parties = static_cast<size_t>(state.range(0));
  const double start = ProcessSeconds();
  for (auto _ : state) {
    crypto::SystemRandom random;
    std::vector<std::string> names;
    for (size_t i = 0; i < num_parties; ++i) names.push_back("party" + std::to_string(i));
    auto transports = net::MakeMemoryTransports(names, random);
    std::vector<std::thread> threads;
    for (auto& transport : transports) {
      threads.emplace_back([&body, own = std::move(transport)]() mutable {
        net::Channel channel(std::move(own), AsBytes("benchmark"), 1);
        CountingReleaseGate gate;
        gate.Reserve({{"out", "", "all", "exact", 1'000'000}});
        body(*MakeShamirEngine(channel, gate));
      });
    }
    for (auto& thread : threads) thread.join();
  }
  state.counters["cpu_ms"] =
      1e3 * (ProcessSeconds() - start) / static_cast<double>(state.iterations());
  PlanEngine plan("shamir", num_parties);
  body(plan);
  uint64_t bytes = 0;
  for (const PhaseCost& phase : plan.phases()) bytes += phase.Total().bytes;
  state.counters["MB"] = 1e-6 * static_cast<double>(bytes);
}

// A public value counts as shared, without the messages of an input.
Shared Ones(Engine& engine, Shape shape) {
  return engine.Public({{shape, std::vector<Int128>(shape.size(), 1)}, 0});
}

Shape Column(const benchmark::State& state) { return {static_cast<size_t>(state.range(1)), 1}; }

void BM_ShamirMultiply(benchmark::State& state) {
  RunThreads(state, [&](Engine& engine) {
    const Shared x = Ones(engine, Column(state));
    const Product product{Product::Kind::kElementwise, x, x};
    engine.Multiply({&product, 1});
  });
}

// Cuts 40 bits.
void BM_ShamirRescale(benchmark::State& state) {
  RunThreads(state, [&](Engine& engine) {
    Shared x = Ones(engine, Column(state));
    x.fraction_bits = 40;
    engine.Rescale({&x, 1}, 0);
  });
}

// Values of 52 bits.
void BM_ShamirIsNegative(benchmark::State& state) {
  RunThreads(state, [&](Engine& engine) {
    Shared x = Ones(engine, Column(state));
    x.bound = 0x1p50;
    IsNegative(engine, {&x, 1});
  });
}

void BM_ShamirReveal(benchmark::State& state) {
  RunThreads(state, [&](Engine& engine) {
    const Shared x = Ones(engine, Column(state));
    engine.Reveal("out", {&x, 1}, kEverybody);
  });
}

// X_a^T X_b of two parties' private columns, ten each.
void BM_ShamirCrossProduct(benchmark::State& state) {
  const Shape shape{static_cast<size_t>(state.range(1)), 10};
  RunThreads(state, [&](Engine& engine) {
    auto synthetic = [&](PartyIndex owner) {
      PrivateMatrix matrix{owner, shape, 50, 1.0, nullptr};
      if (engine.self() != owner) return matrix;
      matrix.read = [](size_t first, size_t count, Int128* out) {
        for (size_t i = 0; i < count * 10; ++i) {
          out[i] =
              static_cast<Int128>(((first * 10 + i) * 0x9E3779B97F4A7C15u) >> 15) - (1ll << 48);
        }
      };
      return matrix;
    };
    const Product product{Product::Kind::kGram, synthetic(0), synthetic(1)};
    engine.Multiply({&product, 1});
  });
}

void Sizes(benchmark::internal::Benchmark* bench, int64_t size) {
  for (int64_t parties : {3, 5}) bench->Args({parties, size});
  bench->Unit(benchmark::kMillisecond)->UseRealTime();
}
BENCHMARK(BM_ShamirMultiply)->Apply([](auto* b) { Sizes(b, 1'000'000); });
BENCHMARK(BM_ShamirReveal)->Apply([](auto* b) { Sizes(b, 1'000'000); });
BENCHMARK(BM_ShamirRescale)->Apply([](auto* b) { Sizes(b, 10'000); });
BENCHMARK(BM_ShamirIsNegative)->Apply([](auto* b) { Sizes(b, 10'000); });
BENCHMARK(BM_ShamirCrossProduct)->Apply([](auto* b) { Sizes(b, 100'000); });

}  // namespace
}  // namespace partita::mpc

BENCHMARK_MAIN();
