// The engine `dealer`, two or three computing parties and the dealer: as threads over memory
// transports (wall clock of the slowest, set-up of the channels included), and as processes over
// TLS on loopback.
#include <benchmark/benchmark.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <thread>

#include "crypto/random.h"
#include "mpc/dealer_engine.h"
#include "net/memory_transport.h"
#include "net/tls_transport.h"

namespace partita::mpc {
namespace {

void RunThreads(size_t num_parties, const std::function<void(Engine&)>& body) {
  std::vector<std::string> names;
  for (size_t i = 0; i <= num_parties; ++i) names.push_back("process" + std::to_string(i));
  crypto::SystemRandom random;
  auto transports = net::MakeMemoryTransports(names, random);
  std::vector<std::thread> threads;
  for (auto& transport : transports) {
    threads.emplace_back([&body, own = std::move(transport)]() mutable {
      net::Channel channel(std::move(own), AsBytes("benchmark"), 1);
      CountingReleaseGate gate;
      gate.Reserve({{"out", "", "all", "exact", 1'000'000}});
      auto engine = MakeDealerEngine(channel, gate);
      body(*engine);
    });
  }
  for (auto& thread : threads) thread.join();
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

// X_a^T X_b with ten columns each.
void BM_CrossProduct(benchmark::State& state) {
  const auto rows = static_cast<size_t>(state.range(0));
  for (auto _ : state) {
    RunThreads(2, [&](Engine& engine) {
      Product product{Product::Kind::kGram, engine.Register(Synthetic(engine, 0, {rows, 10})),
                      engine.Register(Synthetic(engine, 1, {rows, 10}))};
      auto result = engine.Multiply({&product, 1});
      engine.Reveal("out", result, 0);
    });
  }
}
BENCHMARK(BM_CrossProduct)
    ->Arg(10'000)
    ->Arg(1'000'000)
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();

// Two parties and the dealer as processes; this one is party 0 and measures `iterations` times what
// all of them do.
void RunProcesses(benchmark::State& state, int iterations,
                  const std::function<void(Engine&)>& body) {
  std::vector<crypto::Identity> identities;
  std::vector<net::Listener> listeners;
  net::Roster roster;
  for (const char* name : {"north", "south", "dealer"}) {
    identities.push_back(crypto::MakeIdentity({name}));
    listeners.push_back(net::Listen("127.0.0.1", "0"));
    roster.push_back(
        {name, listeners.back().address, crypto::Fingerprint(*identities.back().certificate)});
  }
  std::vector<pid_t> children;
  for (net::PartyIndex self : {1, 2, 0}) {
    const pid_t child = self == 0 ? 0 : fork();
    if (child != 0) {
      children.push_back(child);
      continue;
    }
    net::TlsOptions options;
    options.identity = identities[self];
    options.roster = roster;
    options.self = self;
    options.listener = std::move(listeners[self]);
    net::Channel channel(
        net::ConnectTls(std::move(options), Deadline::After(std::chrono::seconds(10))), Bytes{1},
        1);
    CountingReleaseGate gate;
    gate.Reserve({{"out", "", "all", "exact", 1'000'000}});
    auto engine = MakeDealerEngine(channel, gate);
    if (self == 0) {
      for (auto _ : state) body(*engine);
    } else {
      for (int i = 0; i < iterations; ++i) body(*engine);
      _exit(0);
    }
  }
  for (pid_t child : children) waitpid(child, nullptr, 0);
}

constexpr int kTlsIterations = 3;

void BM_CrossProductOverTls(benchmark::State& state) {
  const auto rows = static_cast<size_t>(state.range(0));
  RunProcesses(state, kTlsIterations, [&](Engine& engine) {
    Product product{Product::Kind::kGram, Synthetic(engine, 0, {rows, 10}),
                    Synthetic(engine, 1, {rows, 10})};
    auto result = engine.Multiply({&product, 1});
    engine.Reveal("out", result, 0);
  });
}
BENCHMARK(BM_CrossProductOverTls)
    ->Arg(1'000'000)
    ->Iterations(kTlsIterations)
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();

void BM_MultiplyOverTls(benchmark::State& state) {
  const auto size = static_cast<size_t>(state.range(0));
  RunProcesses(state, kTlsIterations, [&](Engine& engine) {
    std::vector<PrivateMatrix> inputs = {Synthetic(engine, 0, {size, 1}),
                                         Synthetic(engine, 1, {size, 1})};
    auto shares = engine.Input(inputs);
    Product product{Product::Kind::kElementwise, shares[0], shares[1]};
    engine.Rescale(engine.Multiply({&product, 1}), 50);
  });
}
BENCHMARK(BM_MultiplyOverTls)
    ->Arg(1'000'000)
    ->Iterations(kTlsIterations)
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();

// Shared times shared, elementwise, with or without the truncation after it.
void Multiply(benchmark::State& state, size_t num_parties, bool rescale) {
  const auto size = static_cast<size_t>(state.range(0));
  for (auto _ : state) {
    RunThreads(num_parties, [&](Engine& engine) {
      std::vector<PrivateMatrix> inputs = {Synthetic(engine, 0, {size, 1}),
                                           Synthetic(engine, 1, {size, 1})};
      auto shares = engine.Input(inputs);
      Product product{Product::Kind::kElementwise, shares[0], shares[1]};
      auto result = engine.Multiply({&product, 1});
      if (rescale) engine.Rescale(result, 50);
    });
  }
}
void BM_Multiply(benchmark::State& state) { Multiply(state, 2, false); }
void BM_MultiplyAndRescale(benchmark::State& state) { Multiply(state, 2, true); }
void BM_MultiplyAndRescaleThreeParties(benchmark::State& state) { Multiply(state, 3, true); }
BENCHMARK(BM_Multiply)->Arg(1'000'000)->Unit(benchmark::kMillisecond)->UseRealTime();
BENCHMARK(BM_MultiplyAndRescale)->Arg(1'000'000)->Unit(benchmark::kMillisecond)->UseRealTime();
BENCHMARK(BM_MultiplyAndRescaleThreeParties)
    ->Arg(1'000'000)
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();

// One small product and truncation after another: the time of a round.
void BM_SmallRounds(benchmark::State& state) {
  const size_t rounds = 200;
  for (auto _ : state) {
    RunThreads(2, [&](Engine& engine) {
      std::vector<PrivateMatrix> inputs = {Synthetic(engine, 0, {100, 1})};
      Shared x = engine.Input(inputs)[0];
      for (size_t i = 0; i < rounds / 2; ++i) {
        Product product{Product::Kind::kElementwise, x, x};
        x = engine.Rescale(engine.Multiply({&product, 1}), 50)[0];
        x.bound = 1;
      }
    });
  }
  state.counters["us_per_round"] = benchmark::Counter(
      static_cast<double>(rounds),
      benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
}
BENCHMARK(BM_SmallRounds)->Unit(benchmark::kMillisecond)->UseRealTime();

}  // namespace
}  // namespace partita::mpc

BENCHMARK_MAIN();
