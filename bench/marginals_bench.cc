// Choosing and fitting the generators of noisy tables (stats/marginals/generator.h), by columns: all
// pairs, and twice as many pairs as columns by scores. Rows are made up: five columns each hang
// together by a hidden group of four, and groups follow each other. Goals: 5 s for fifteen columns,
// 60 s and 2 GB for fifty with 2 to 20 levels. Counters: `off`, the mean total variation of pairs,
// of tables of the generator against the rows; `MB`, the most memory of the process so far.
#include <benchmark/benchmark.h>
#include <fmt/format.h>
#include <sys/resource.h>

#include <array>
#include <cmath>
#include <string>
#include <vector>

#include "crypto/prg.h"
#include "stats/blr/variates.h"
#include "stats/marginals/generator.h"
#include "stats/marginals/noise.h"
#include "stats/marginals/selection.h"

namespace {

using namespace partita::stats::marginals;
using partita::stats::blr::Variates;

constexpr double kDelta = 1e-5;
constexpr size_t kTogether = 5, kGroups = 4;

// 2 to 20 levels.
TableSet Columns(size_t columns) {
  std::vector<Attribute> attributes;
  for (size_t a = 0; a < columns; ++a)
    attributes.push_back({fmt::format("c{}", a), static_cast<uint32_t>(2 + 7 * a % 19)});
  return AllTables(attributes);
}

uint16_t Pick(const std::vector<double>& shares, Variates& variates) {
  double left = variates.Uniform();
  uint16_t level = 0;
  while (level + 1u < shares.size() && (left -= shares[level]) > 0) ++level;
  return level;
}

Codes MadeUp(const TableSet& set, size_t rows, Variates& variates) {
  std::vector<std::vector<std::vector<double>>> shares(set.attributes.size());
  for (size_t a = 0; a < shares.size(); ++a) {
    for (size_t group = 0; group < kGroups; ++group) {
      std::vector<double> of_group;
      double sum = 0;
      for (uint32_t level = 0; level < set.attributes[a].levels; ++level) {
        of_group.push_back(std::pow(variates.Exponential(), 2));
        sum += of_group.back();
      }
      for (double& share : of_group) share /= sum;
      shares[a].push_back(of_group);
    }
  }
  Codes codes(shares.size());
  for (size_t n = 0; n < rows; ++n) {
    size_t group = 0;
    for (size_t a = 0; a < shares.size(); ++a) {
      if (a == 0 || (a % kTogether == 0 && variates.Uniform() < 0.4))
        group = static_cast<size_t>(kGroups * variates.Uniform());
      codes[a].push_back(Pick(shares[a][group], variates));
    }
  }
  return codes;
}

double Stddev(size_t tables, size_t cells) {
  return NoiseStddev(partita::privacy::CalibrateDiscreteGaussian(
      OnNoiseGrid(TablesSensitivity(tables, partita::privacy::Adjacency::kReplace, 1)), cells,
      partita::privacy::Epsilon(3), partita::privacy::Delta(kDelta)));
}

void Fit(benchmark::State& state, bool by_scores) {
  const auto columns = static_cast<size_t>(state.range(0)),
             rows = static_cast<size_t>(state.range(1));
  const TableSet set = Columns(columns);
  partita::crypto::Prg source(partita::crypto::Key(std::array<uint8_t, 32>{7}));
  Variates variates(source);
  const std::vector<double> counts = Count(set, MadeUp(set, rows, variates));
  const auto pairs = static_cast<uint32_t>(2 * columns);
  const auto all = static_cast<double>(rows);
  NoisyTables noisy;
  if (by_scores) {
    noisy = MeasureByScores(set, counts,
                            SelectionFor(set, pairs, partita::privacy::Adjacency::kReplace),
                            Stddev(columns + pairs, set.num_cells), all, source);
  } else {
    noisy = {counts, Stddev(set.tables.size(), set.num_cells), all};
    for (double& cell : noisy.cells) cell += noisy.noise_stddev * variates.Normal();
  }
  std::vector<double> truth = counts;
  for (double& share : truth) share /= all;
  double off = 0;
  for (auto _ : state) {
    const Choice choice = ChooseGenerator(set, noisy, source);
    off = MeanOf(set, TotalVariations(set, truth, TablesOf(set, choice.generator))).pairs;
  }
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  state.counters["off"] = off;
  state.counters["MB"] = static_cast<double>(usage.ru_maxrss) / 1024;
  state.counters["cells"] = static_cast<double>(set.num_cells);
}

void AllPairs(benchmark::State& state) { Fit(state, false); }
void ByScores(benchmark::State& state) { Fit(state, true); }

BENCHMARK(AllPairs)
    ->Args({15, 30'000})
    ->Args({50, 3'000})
    ->Args({50, 30'000})
    ->Unit(benchmark::kSecond)
    ->Iterations(1);
BENCHMARK(ByScores)
    ->Args({15, 30'000})
    ->Args({50, 3'000})
    ->Args({50, 30'000})
    ->Unit(benchmark::kSecond)
    ->Iterations(1);

}  // namespace

BENCHMARK_MAIN();
