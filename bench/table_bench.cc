// The operations that peers are measured by (docs/benchmarks.md), one row for each engine, over TLS
// and over plain TCP: all processes on this machine, the dealer live and included. Inputs are
// shared before the clock starts. Wall clock at party 0; the counters are the median and the best
// of eleven executions in milliseconds, after one that warms up.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <cmath>

#include "bench/mpc_processes.h"
#include "mpc/compare.h"
#include "mpc/functions/exponential.h"
#include "mpc/functions/reciprocal.h"
#include "mpc/functions/softmax.h"

namespace partita::mpc {
namespace {

constexpr int kExecutions = 11;
constexpr int kFractionBits = 40;

struct Row {
  std::string name;
  std::vector<Shape> inputs;
  double smallest = 0, largest = 0;  // of the values
  std::function<void(Engine&, const std::vector<Shared>&)> run;
};

// Values of the parties in turn.
std::vector<Shared> InputsOf(Engine& engine, const Row& row) {
  std::vector<PrivateMatrix> inputs;
  for (size_t k = 0; k < row.inputs.size(); ++k) {
    const Shape shape = row.inputs[k];
    PrivateMatrix input{k, shape, kFractionBits,
                        std::max(std::abs(row.smallest), std::abs(row.largest)), nullptr};
    if (engine.self() == PartyIndex{k}) {
      input.read = [shape, &row](size_t first, size_t count, Int128* out) {
        for (size_t i = 0; i < count * shape.cols; ++i) {
          const auto random = (first * shape.cols + i) * 0x9E3779B97F4A7C15u >> 11;
          const double unit = std::ldexp(static_cast<double>(random), -53);
          out[i] = EncodeFixed(row.smallest + (row.largest - row.smallest) * unit, kFractionBits);
        }
      };
    }
    inputs.push_back(std::move(input));
  }
  return engine.Input(inputs);
}

void Multiply(Engine& engine, Product::Kind kind, const std::vector<Shared>& values) {
  const Product product{kind, values[0], values[1]};
  const std::optional<int> fraction_bits = kFractionBits;
  engine.MultiplyAndRescale({&product, 1}, {&fraction_bits, 1});
}

std::vector<Row> Rows() {
  std::vector<Row> rows;
  rows.push_back({"products with truncation 1e6",
                  {{1'000'000, 1}, {1'000'000, 1}},
                  -1,
                  1,
                  [](Engine& engine, const std::vector<Shared>& values) {
                    Multiply(engine, Product::Kind::kElementwise, values);
                  }});
  for (size_t size : {100, 1000}) {
    rows.push_back({"matmul " + std::to_string(size) + "x" + std::to_string(size),
                    {{size, size}, {size, size}},
                    -1,
                    1,
                    [](Engine& engine, const std::vector<Shared>& values) {
                      Multiply(engine, Product::Kind::kMatrix, values);
                    }});
  }
  rows.push_back(
      {"comparisons 1e5",
       {{100'000, 1}},
       -1000,
       1000,
       [](Engine& engine, const std::vector<Shared>& values) { IsNegative(engine, values); }});
  for (size_t size : {1'000, 100'000}) {
    rows.push_back({size == 1'000 ? "reciprocals 1e3" : "reciprocals 1e5",
                    {{size, 1}},
                    0.05,
                    50,
                    [](Engine& engine, const std::vector<Shared>& values) {
                      const PositiveValue value = {values[0], 0.05};
                      Reciprocal(engine, {&value, 1}, kFractionBits);
                    }});
  }
  rows.push_back({"inverse square roots 1e3",
                  {{1'000, 1}},
                  0.05,
                  50,
                  [](Engine& engine, const std::vector<Shared>& values) {
                    const PositiveValue value = {values[0], 0.05};
                    InverseRoot(engine, {&value, 1}, kFractionBits);
                  }});
  rows.push_back({"exponentials 1e5",
                  {{100'000, 1}},
                  -50,
                  0,
                  [](Engine& engine, const std::vector<Shared>& values) {
                    const BoundedAbove value = {values[0], 0};
                    Exponential(engine, {&value, 1}, kFractionBits);
                  }});
  rows.push_back({"softmax 1000x20",
                  {{1'000, 20}},
                  -4,
                  4,
                  [](Engine& engine, const std::vector<Shared>& values) {
                    RowSoftmax(engine, values, kFractionBits);
                  }});
  return rows;
}

void Measure(benchmark::State& state, const bench::Processes& setting, const Row& row) {
  for (auto _ : state) {
    bench::SharedNumbers times;
    bench::RunProcesses(setting, [&](Engine& engine) {
      const std::vector<Shared> values = InputsOf(engine, row);
      std::vector<double> milliseconds;
      row.run(engine, values);
      const double before = bench::ProcessorMilliseconds();
      for (int i = 0; i < kExecutions; ++i) {
        const auto start = std::chrono::steady_clock::now();
        row.run(engine, values);
        milliseconds.push_back(
            std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start)
                .count());
      }
      times[engine.self().value_or(setting.num_parties)] =
          (bench::ProcessorMilliseconds() - before) / kExecutions;
      if (engine.self() != PartyIndex{0}) return;
      std::sort(milliseconds.begin(), milliseconds.end());
      state.counters["median_ms"] = milliseconds[kExecutions / 2];
      state.counters["best_ms"] = milliseconds.front();
    });
    state.counters["cpu_ms"] = times.Sum();
  }
}

void RegisterRows() {
  for (const Row& row : Rows()) {
    for (const char* kind : {"replicated", "dealer"}) {
      for (const bool tls : {true, false}) {
        const bench::Processes setting = {kind, kind[0] == 'd' ? size_t{2} : 3, tls};
        const std::string name = row.name + "/" + kind + (tls ? "/TLS" : "/TCP");
        benchmark::RegisterBenchmark(
            name.c_str(), [setting, row](benchmark::State& state) { Measure(state, setting, row); })
            ->Iterations(1)
            ->Unit(benchmark::kMillisecond);
      }
    }
  }
}

}  // namespace
}  // namespace partita::mpc

int main(int argc, char** argv) {
  partita::mpc::RegisterRows();
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
