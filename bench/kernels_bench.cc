// Cost of one 128-bit multiply-add in the matrix kernels: the counter is nanoseconds per term.
#include <benchmark/benchmark.h>

#include <random>
#include <vector>

#include "mpc/kernels.h"

namespace partita::mpc {
namespace {

std::vector<UInt128> RandomVector(size_t size, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<UInt128> words(size);
  for (auto& word : words) word = (static_cast<UInt128>(random()) << 64) | random();
  return words;
}

std::vector<UInt128> Narrowed(std::vector<UInt128> words, bool narrow) {
  if (!narrow) return words;
  for (auto& word : words) word = static_cast<UInt128>(static_cast<Int128>(word) >> 64);
  return words;
}

void ReportTerms(benchmark::State& state, size_t terms) {
  state.counters["ns/term"] = benchmark::Counter(
      static_cast<double>(terms) * 1e-9,
      benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
}

// Arguments: columns on each side, narrow operands (bit 0 left, bit 1 right).
void Gram(benchmark::State& state) {
  const auto columns = static_cast<size_t>(state.range(0));
  const size_t rows = 4096;
  const Narrow narrow = {(state.range(1) & 1) != 0, (state.range(1) & 2) != 0};
  const auto left = Narrowed(RandomVector(rows * columns, 1), narrow.left);
  const auto right = Narrowed(RandomVector(rows * columns, 2), narrow.right);
  std::vector<UInt128> out(columns * columns);
  for (auto _ : state) {
    GramAccumulate<Ring128>(left, right, rows, columns, columns, out, narrow);
    benchmark::DoNotOptimize(out.data());
  }
  ReportTerms(state, rows * columns * columns);
}
BENCHMARK(Gram)->ArgsProduct({{10, 50, 256}, {0, 1, 2, 3}});

// Square matrices, and a row vector times a matrix.
void MatrixProduct(benchmark::State& state) {
  const auto m = static_cast<size_t>(state.range(0)), k = static_cast<size_t>(state.range(1));
  const auto left = RandomVector(m * k, 1), right = RandomVector(k * k, 2);
  std::vector<UInt128> out(m * k);
  for (auto _ : state) {
    MatMul<Ring128>(left, right, m, k, k, out);
    benchmark::DoNotOptimize(out.data());
  }
  ReportTerms(state, m * k * k);
}
BENCHMARK(MatrixProduct)->Args({100, 100})->Args({300, 300})->Args({1, 300});

void ElementwiseProduct(benchmark::State& state) {
  const size_t size = 1 << 16;
  const auto left = RandomVector(size, 1), right = RandomVector(size, 2);
  std::vector<UInt128> out(size);
  for (auto _ : state) {
    HadamardAccumulate<Ring128>(left, right, out);
    benchmark::DoNotOptimize(out.data());
  }
  ReportTerms(state, size);
}
BENCHMARK(ElementwiseProduct);

}  // namespace
}  // namespace partita::mpc

BENCHMARK_MAIN();
