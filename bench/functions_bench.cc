// Fixed-point functions over TLS on loopback, the dealer live: one benchmark iteration is one
// array.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cmath>

#include "bench/mpc_processes.h"
#include "mpc/compare.h"
#include "mpc/functions/arithmetic.h"
#include "mpc/functions/definite.h"
#include "mpc/functions/division.h"
#include "mpc/functions/exponential.h"
#include "mpc/functions/inverse.h"
#include "mpc/functions/logarithm.h"
#include "mpc/functions/norm.h"
#include "mpc/functions/reciprocal.h"
#include "mpc/functions/shuffle.h"
#include "mpc/functions/sigmoid.h"
#include "mpc/functions/softmax.h"
#include "mpc/functions/variates.h"

namespace partita::mpc {
namespace {

// Every process runs as many: a process knows no other's count.
constexpr int kIterations = 5;

bench::Processes SettingOf(const benchmark::State& state) {
  if (state.range(0) < 0) return {"shamir", static_cast<size_t>(-state.range(0))};
  const auto parties = static_cast<size_t>(state.range(0));
  return {parties == 0 ? "replicated" : "dealer", parties == 0 ? 3 : parties};
}

// Values of party 0 between `smallest` and `largest` at 40 fraction bits.
Shared InputBetween(Engine& engine, Shape shape, double smallest, double largest) {
  PrivateMatrix input{0, shape, 40, std::max(std::abs(smallest), std::abs(largest)), nullptr};
  if (engine.self() == PartyIndex{0}) {
    input.read = [=](size_t first, size_t count, Int128* out) {
      for (size_t i = 0; i < count * shape.cols; ++i) {
        const auto random = (first * shape.cols + i) * 0x9E3779B97F4A7C15u >> 11;
        const double unit = std::ldexp(static_cast<double>(random), -53);
        out[i] = EncodeFixed(smallest + (largest - smallest) * unit, 40);
      }
    };
  }
  return engine.Input({&input, 1})[0];
}

// Runs it once before the clock starts.
void Measure(benchmark::State& state, Engine& engine, const std::function<void()>& run) {
  run();
  if (engine.self() == PartyIndex{0}) {
    for (auto _ : state) run();
  } else {
    for (int i = 0; i < kIterations; ++i) run();
  }
}

// Arguments: computing parties (0: the engine replicated; -3: shamir among three), entries. Values
// lie between 0.05 and 50.
void RunFunction(benchmark::State& state, const std::function<void(Engine&, const Shared&)>& run) {
  const auto size = static_cast<size_t>(state.range(1));
  bench::RunProcesses(SettingOf(state), [&](Engine& engine) {
    const Shared values = InputBetween(engine, {size, 1}, 0.05, 50);
    Measure(state, engine, [&] { run(engine, values); });
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

void BM_Log(benchmark::State& state) {
  RunFunction(state, [](Engine& engine, const Shared& values) {
    const PositiveValue value = {values, 0.05};
    Log(engine, {&value, 1}, 40);
  });
}
void BM_Sigmoid(benchmark::State& state) {
  RunFunction(state, [](Engine& engine, const Shared& values) {
    Sigmoid(engine, {&values, 1}, 40);
  });
}
void BM_Divide(benchmark::State& state) {
  RunFunction(state, [](Engine& engine, const Shared& values) {
    const Quotient value = {values, {values, 0.05}, 1000};
    Divide(engine, {&value, 1}, 40);
  });
}

// Arguments: parties, bound of the entries (above 10 the largest of every row is subtracted).
void BM_Softmax(benchmark::State& state) {
  const auto bound = static_cast<double>(state.range(1));
  bench::RunProcesses(SettingOf(state), [&](Engine& engine) {
    const Shared values = InputBetween(engine, {1000, 20}, -bound, bound);
    Measure(state, engine, [&] { RowSoftmax(engine, {&values, 1}, 40); });
  });
}
void BM_ClipRows(benchmark::State& state) {
  bench::RunProcesses(SettingOf(state), [&](Engine& engine) {
    const Shared values = InputBetween(engine, {100, 50}, -1, 1);
    Measure(state, engine, [&] {
      const RowsWithNorm rows = {values, 1};
      ClipRows(engine, {&rows, 1});
    });
  });
}

// One iteration of variational inference with clipped gradients, restructured such that one inverse
// root per row is all: for n = 1 .. 100 rows and k = 1 .. 20 components,
//   mat = m1 m2, den_n = sum_k pi_k mat_nk, q_n = sum_k mat_nk^2 S_nk,
//   factor_nk = mat_nk max(den_n^2, q_n / C^2)^(-1/2), result_k = sum_n factor_nk D_nk,
// where D_nk are the 50 gradient entries of each of two parties and S_nk their squared norm. C = 1.
void BM_ClippedGradients(benchmark::State& state) {
  constexpr size_t kRows = 100, kComponents = 20, kEntries = 50;
  bench::RunProcesses(SettingOf(state), [&](Engine& engine) {
    const Shape shape = {kRows, kComponents};
    const Shared m1 = InputBetween(engine, shape, 0.05, 1),
                 m2 = InputBetween(engine, shape, 0.05, 1);
    const Shared pi = InputBetween(engine, {kComponents, 1}, 0.04, 0.05);
    const Shared squares = InputBetween(engine, shape, 0.5, 1);
    // Private to each party, two for every component; or shared before the clock starts and then
    // both parties' side by side.
    std::vector<std::vector<Operand>> gradients(kComponents);
    const std::vector<Int128> entries(kEntries, EncodeFixed(0.07, 40));
    for (std::vector<Operand>& of_component : gradients) {
      std::vector<Shared> shared;
      for (PartyIndex owner : {0, 1}) {
        PrivateMatrix own{owner, {kRows, kEntries}, 40, 0.1, nullptr};
        if (engine.self() == owner) {
          own.read = [&](size_t, size_t count, Int128* out) {
            for (size_t i = 0; i < count; ++i) out = std::copy(entries.begin(), entries.end(), out);
          };
        }
        if (state.range(1) == 0) {
          of_component.emplace_back(own);
        } else {
          shared.push_back(engine.Input({&own, 1})[0]);
        }
      }
      if (!shared.empty()) of_component.emplace_back(engine.Concatenate(shared, false));
    }
    Measure(state, engine, [&] {
      ProductRound products(engine);
      CutRound cuts(engine);
      Shared mat, mat2, den, den2, q;
      products.Add(m1, m2, 1, mat);
      products.Run();
      cuts.Add(mat, 40, 1);
      cuts.Run();
      products.Add(mat, mat, 1, mat2);
      products.Add(Product::Kind::kMatrix, mat, pi, 1, den);
      products.Run();
      cuts.Add(mat2, 40, 1);
      cuts.Add(den, 40, 1);
      cuts.Run();
      products.Add(mat2, squares, 1, q);
      products.Add(den, den, 1, den2);
      products.Run();
      q = SumOfRows(engine, q, kComponents);
      cuts.Add(q, 60, kComponents);
      cuts.Add(den2, 60, 1);
      cuts.Run();
      const Comparison comparison = {den2, q};
      const Selection larger = {LessThan(engine, {&comparison, 1})[0], q, den2};
      // den is at least 20 * 0.04 * 0.05^2.
      const PositiveValue value = {Select(engine, {&larger, 1})[0], 0.002 * 0.002};
      const Shared root = InverseRoot(engine, {&value, 1}, 50)[0];
      Shared factor;
      products.Add(mat, root, 1000, factor);
      products.Run();
      cuts.Add(factor, 45, 1000);
      cuts.Run();
      std::vector<Shared> results(gradients[0].size() * kComponents);
      for (size_t i = 0; i < results.size(); ++i) {
        const size_t k = i / gradients[0].size();
        products.Add(Product::Kind::kGram, engine.Slice(factor, 0, k, {kRows, 1}),
                     gradients[k][i % gradients[0].size()], 1000, results[i]);
      }
      products.Run();
      for (Shared& result : results) cuts.Add(result, 40, 1000);
      cuts.Run();
      engine.Reveal("out", results, kEverybody);
    });
  });
}

// The correlation matrix of twenty equally correlated variables, 0.9 each.
Shared CorrelationsOfTwenty(Engine& engine) {
  IntMatrix matrix{{20, 20}, std::vector<Int128>(400, EncodeFixed(0.9, 40))};
  for (size_t i = 0; i < 20; ++i) matrix.values[21 * i] = Int128{1} << 40;
  return WithBound(engine.Public({std::move(matrix), 40}), 1);
}
void BM_FactorDefinite(benchmark::State& state) {
  bench::RunProcesses(SettingOf(state), [&](Engine& engine) {
    const DefiniteMatrix matrix = {CorrelationsOfTwenty(engine)};
    Measure(state, engine, [&] { FactorDefinite(engine, {&matrix, 1}); });
  });
}
void BM_InvertDefinite(benchmark::State& state) {
  bench::RunProcesses(SettingOf(state), [&](Engine& engine) {
    const DefiniteMatrix matrix = {CorrelationsOfTwenty(engine)};
    Measure(state, engine, [&] { InvertDefinite(engine, {&matrix, 1}, 40); });
  });
}
void BM_InvertPositive(benchmark::State& state) {
  bench::RunProcesses(SettingOf(state), [&](Engine& engine) {
    const PositiveMatrix matrix = {CorrelationsOfTwenty(engine), 20, 0x1p-10};
    Measure(state, engine, [&] { InvertPositive(engine, {&matrix, 1}, 40); });
  });
}
void BM_LogisticVariates(benchmark::State& state) {
  RunFunction(state, [](Engine& engine, const Shared& values) {
    crypto::SystemRandom own;
    LogisticVariates(engine, values.shape, own, 40);
  });
}
void BM_ShuffleRows(benchmark::State& state) {
  RunFunction(state, [](Engine& engine, const Shared& values) {
    crypto::SystemRandom own;
    ShuffleRows(engine, values, own);
  });
}

void Parties(benchmark::internal::Benchmark* benchmark) {
  benchmark->ArgNames({"parties"})->Arg(2)->Arg(0)->Arg(-3);
  benchmark->Iterations(kIterations)->Unit(benchmark::kMillisecond)->UseRealTime();
}
void PartiesAndSharing(benchmark::internal::Benchmark* benchmark) {
  benchmark->ArgNames({"parties", "shared"})
      ->Args({2, 0})
      ->Args({2, 1})
      ->Args({0, 0})
      ->Args({0, 1})
      ->Args({-3, 0})
      ->Args({-3, 1});
  benchmark->Iterations(kIterations)->Unit(benchmark::kMillisecond)->UseRealTime();
}
void PartiesAndBounds(benchmark::internal::Benchmark* benchmark) {
  benchmark->ArgNames({"parties", "bound"})
      ->Args({2, 4})
      ->Args({0, 4})
      ->Args({2, 11})
      ->Args({0, 11})
      ->Args({-3, 4})
      ->Args({-3, 11});
  benchmark->Iterations(kIterations)->Unit(benchmark::kMillisecond)->UseRealTime();
}
void Sizes(benchmark::internal::Benchmark* benchmark) {
  benchmark->ArgNames({"parties", "size"});
  for (int64_t parties : {2, 0, -3}) {
    for (int64_t size : {1'000, 100'000}) benchmark->Args({parties, size});
  }
  benchmark->Iterations(kIterations)->Unit(benchmark::kMillisecond)->UseRealTime();
}
BENCHMARK(BM_Reciprocal)->Apply(Sizes);
BENCHMARK(BM_InverseRoot)->Apply(Sizes);
BENCHMARK(BM_Exponential)->Apply(Sizes);
BENCHMARK(BM_Log)->Apply(Sizes);
BENCHMARK(BM_Sigmoid)->Apply(Sizes);
BENCHMARK(BM_Divide)->Apply(Sizes);
BENCHMARK(BM_Softmax)->Apply(PartiesAndBounds);
BENCHMARK(BM_LogisticVariates)->Apply(Sizes);
BENCHMARK(BM_ShuffleRows)->Apply(Sizes);
BENCHMARK(BM_FactorDefinite)->Apply(Parties);
BENCHMARK(BM_InvertDefinite)->Apply(Parties);
BENCHMARK(BM_InvertPositive)->Apply(Parties);
BENCHMARK(BM_ClipRows)->Apply(Parties);
BENCHMARK(BM_ClippedGradients)->Apply(PartiesAndSharing);

}  // namespace
}  // namespace partita::mpc

BENCHMARK_MAIN();
