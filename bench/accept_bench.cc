// Version-3 decisions per second, three computing parties (on `dealer` with the dealer live) as
// processes over TLS on loopback, with added latency in some rows. Log ratios are there when the
// clock starts: a decision's time is that of the protocol. Barker's rule, the default where privacy
// is claimed; Metropolis's differs in the variates only.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>

#include "bench/mpc_processes.h"
#include "methods/mcmc/decisions.h"
#include "mpc/plan_engine.h"

namespace partita::methods::mcmc {
namespace {

using mpc::bench::Processes;

constexpr size_t kParties = 3;
constexpr const char* kKinds[] = {"dealer", "replicated", "shamir"};

// How much longer one block makes the longest chain of messages, variates there.
uint64_t RoundsOnline(const char* kind, const DecisionTask& task) {
  mpc::PlanEngine plan(kind, kParties);
  crypto::SystemRandom random;
  Decisions decisions(plan, task, random);
  decisions.Prepare(2);
  const auto longest = [&] {
    std::vector<uint64_t> depth(plan.num_processes(), 0);
    for (const mpc::PhaseCost& phase : plan.phases()) {
      for (size_t p = 0; p < depth.size(); ++p) depth[p] += phase.rounds[p];
    }
    return *std::max_element(depth.begin(), depth.end());
  };
  decisions.Decide({});  // makes what is made once
  const uint64_t before = longest();
  decisions.Decide({});
  return longest() - before;
}

// Arguments: engine, chains, decisions in a block, one-way latency of every link in milliseconds.
// Variates were made before the clock starts.
void BM_Decisions(benchmark::State& state) {
  const char* kind = kKinds[state.range(0)];
  DecisionTask task;
  task.chains = static_cast<size_t>(state.range(1));
  task.block = static_cast<size_t>(state.range(2));
  const auto blocks = static_cast<size_t>(state.max_iterations);
  Processes setting = {kind, kParties};
  setting.releases = {ReleaseOf(task, blocks + 1)};
  setting.link.latency = std::chrono::milliseconds(state.range(3));
  mpc::bench::RunProcesses(setting, [&](mpc::Engine& engine) {
    crypto::SystemRandom random;
    Decisions decisions(engine, task, random);
    decisions.Prepare(blocks + 1);
    Eigen::MatrixXd own;
    if (engine.self()) {
      own = Eigen::MatrixXd::Random(static_cast<Eigen::Index>(decisions.questions()),
                                    static_cast<Eigen::Index>(task.chains));
    }
    const auto once = [&] { benchmark::DoNotOptimize(decisions.Decide(own)); };
    once();
    if (engine.self() == mpc::PartyIndex{0}) {
      for (auto _ : state) once();
    } else {
      for (size_t block = 0; block < blocks; ++block) once();
    }
  });
  const auto decided =
      static_cast<double>(task.chains * task.block) * static_cast<double>(state.max_iterations);
  state.counters["decisions"] = benchmark::Counter(decided, benchmark::Counter::kIsRate);
  state.counters["rounds"] = static_cast<double>(RoundsOnline(kind, task));
}

// Arguments: engine, variates made at once.
void BM_Variates(benchmark::State& state) {
  const char* kind = kKinds[state.range(0)];
  DecisionTask task;
  task.chains = static_cast<size_t>(state.range(1));
  mpc::bench::RunProcesses({kind, kParties}, [&](mpc::Engine& engine) {
    crypto::SystemRandom random;
    Decisions decisions(engine, task, random);
    decisions.Prepare(1);
    if (engine.self() == mpc::PartyIndex{0}) {
      for (auto _ : state) decisions.Prepare(1);
    } else {
      for (size_t i = 0; i < static_cast<size_t>(state.max_iterations); ++i) decisions.Prepare(1);
    }
  });
  state.counters["variates"] = benchmark::Counter(
      static_cast<double>(task.chains) * static_cast<double>(state.max_iterations),
      benchmark::Counter::kIsRate);
}

void Common(benchmark::internal::Benchmark* bench, int64_t iterations) {
  bench->Iterations(iterations)->Unit(benchmark::kMillisecond)->UseRealTime();
}

// One chain, one decision after the other and in blocks.
void OneChain(benchmark::internal::Benchmark* bench) {
  bench->ArgNames({"engine", "chains", "block", "latency_ms"});
  for (int64_t engine : {0, 1, 2}) {
    for (int64_t block : {1, 2, 4}) bench->Args({engine, 1, block, 0});
  }
  Common(bench, 500);
}
void ManyChains(benchmark::internal::Benchmark* bench) {
  bench->ArgNames({"engine", "chains", "block", "latency_ms"});
  for (int64_t engine : {0, 1, 2}) bench->Args({engine, 1000, 1, 0});
  Common(bench, 50);
}
// The first is the naive rate: one decision of one chain, then the next.
void FarApart(benchmark::internal::Benchmark* bench) {
  bench->ArgNames({"engine", "chains", "block", "latency_ms"});
  for (int64_t engine : {0, 1}) {
    bench->Args({engine, 1, 1, 20})->Args({engine, 8, 1, 20})->Args({engine, 8, 4, 20});
    bench->Args({engine, 8, 8, 20})->Args({engine, 8, 10, 20});
  }
  Common(bench, 8);
}
BENCHMARK(BM_Decisions)->Apply(OneChain)->Name("BM_OneChain");
BENCHMARK(BM_Decisions)->Apply(ManyChains)->Name("BM_ManyChains");
BENCHMARK(BM_Decisions)->Apply(FarApart)->Name("BM_FarApart");
BENCHMARK(BM_Variates)
    ->ArgNames({"engine", "variates"})
    ->Args({0, 10'000})
    ->Args({1, 10'000})
    ->Args({2, 10'000})
    ->Iterations(5)
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();

}  // namespace
}  // namespace partita::methods::mcmc

BENCHMARK_MAIN();
