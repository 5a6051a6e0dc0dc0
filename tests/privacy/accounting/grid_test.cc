// Every mechanism at every rate, adjacency and scale gets an answer in little time, and a true one:
// what `partita privacy` asks the accountants, timed by the processor (others on the machine do not
// count), and held against tails with 256 bits where a mechanism is used once.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <functional>
#include <memory>
#include <optional>

#include "privacy/accounting/accountant.h"
#include "privacy/accounting/guarantee.h"
#include "tests/privacy/accounting/single_use.h"

namespace partita::privacy::grid_test {
namespace {

using testing::SingleUse;

constexpr double kLimitSeconds = 2;
// What a command asks for (src/cli/privacy/privacy_input.cc).
constexpr double kCommandWork = 6e8;
constexpr size_t kMaxCells = size_t{1} << 20;
constexpr double kRates[] = {0.001, 0.01, 0.1, 0.5, 1};
constexpr double kShown = 30;  // epsilons beyond which nothing is said of right guesses

double CpuSeconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

struct Kind {
  const char* name;
  std::vector<double> scales;
  uint64_t sensitivity;  // of the discrete ones
  std::function<Mechanism(double scale, uint64_t sensitivity, const SamplingSpec&)> make;
  std::function<testing::PreciseNoise(double scale)> noise;  // empty: no oracle
};

std::vector<Kind> Kinds() {
  return {{"gaussian",
           {0.1, 1, 50},
           1,
           [](double scale, uint64_t, const SamplingSpec& spec) {
             return GaussianMechanism(scale, spec);
           },
           testing::PreciseGaussian},
          {"laplace",
           {0.1, 1, 50},
           1,
           [](double scale, uint64_t, const SamplingSpec& spec) {
             return LaplaceMechanism(scale, spec);
           },
           testing::PreciseLaplace},
          {"discrete-gaussian",
           {0.3, 1, 50},
           1,
           DiscreteGaussianMechanism,
           testing::PreciseDiscreteGaussian},
          {"discrete-gaussian, sensitivity 100",
           {10, 100, 5000},
           100,
           DiscreteGaussianMechanism,
           testing::PreciseDiscreteGaussian},
          {"discrete-laplace",
           {0.1, 1, 50},
           1,
           DiscreteLaplaceMechanism,
           testing::PreciseDiscreteLaplace},
          {"discrete-laplace, sensitivity 100",
           {10, 100, 5000},
           100,
           DiscreteLaplaceMechanism,
           testing::PreciseDiscreteLaplace},
          {"discrete-gaussian-sum",
           {0.5, 3, 50},
           1,
           [](double scale, uint64_t sensitivity, const SamplingSpec& spec) {
             return DiscreteGaussianSumMechanism(scale, 3, sensitivity, spec);
           },
           {}}};
}

struct Cell {
  std::string name;
  double seconds = 0;
  double width = 0;
  bool reached = false;
};

// What `eps` asks for: the interval, right guesses, and both again without sampling.
Cell Ask(const std::string& name, const Mechanism& sampled, const Mechanism& plain, uint64_t steps,
         double delta, Interval& epsilon) {
  Cell cell;
  cell.name = name;
  PldOptions options;
  options.max_cells = kMaxCells;
  options.work = std::make_shared<double>(kCommandWork);
  const double began = CpuSeconds();
  const PldResult result = PldEpsilon({{sampled, steps}}, delta, options);
  epsilon = result.value;
  for (const Mechanism* mechanism : {&sampled, &plain}) {
    const std::vector<Event> events = {{*mechanism, steps}};
    const Interval loss =
        mechanism == &sampled ? epsilon : PldEpsilon(events, delta, options).value;
    if (loss.lower <= kShown) GuaranteedBeta(events, 0.05, loss.upper, options);
  }
  cell.seconds = CpuSeconds() - began;
  cell.width = (epsilon.upper - epsilon.lower) / epsilon.upper;
  cell.reached = result.reached;
  return cell;
}

void ExpectTrue(const SingleUse& oracle, const Interval& epsilon, double delta) {
  if (std::isfinite(epsilon.upper)) {
    EXPECT_LE(oracle.Delta(epsilon.upper).ToDouble(), delta * (1 + 1e-12));
  }
  if (epsilon.lower > 0) {
    EXPECT_GE(oracle.Delta(epsilon.lower).ToDouble(), delta * (1 - 1e-12));
  }
}

void RunGrid(const std::vector<double>& deltas, const std::vector<uint64_t>& uses) {
  std::vector<Cell> cells;
  size_t wider = 0;
  for (const Kind& kind : Kinds()) {
    for (const double scale : kind.scales) {
      std::optional<testing::PreciseNoise> noise;
      if (kind.noise) noise = kind.noise(scale);
      for (const double rate : kRates) {
        for (const Adjacency adjacency : {Adjacency::kAddRemove, Adjacency::kReplace}) {
          const Mechanism sampled = kind.make(scale, kind.sensitivity, {adjacency, rate});
          const Mechanism plain = kind.make(scale, kind.sensitivity, {adjacency, 1});
          std::optional<SingleUse> oracle;
          if (noise) oracle.emplace(*noise, static_cast<double>(kind.sensitivity), rate, adjacency);
          for (const double delta : deltas) {
            for (const uint64_t steps : uses) {
              const std::string name =
                  fmt::format("{}, scale {}, rate {}, {}, delta {}, {} uses", kind.name, scale,
                              rate, AdjacencyName(adjacency), delta, steps);
              SCOPED_TRACE(name);
              Interval epsilon;
              cells.push_back(Ask(name, sampled, plain, steps, delta, epsilon));
              EXPECT_LE(cells.back().seconds, kLimitSeconds);
              // Where the work is not enough, the width that is reached is one to ask for.
              if (!cells.back().reached) ++wider;
              EXPECT_TRUE(cells.back().reached || cells.back().width <= 0.5);
              EXPECT_LE(epsilon.lower, epsilon.upper);
              if (oracle && steps == 1) ExpectTrue(*oracle, epsilon, delta);
            }
          }
        }
      }
    }
  }
  std::sort(cells.begin(), cells.end(),
            [](const Cell& a, const Cell& b) { return a.seconds > b.seconds; });
  EXPECT_LE(wider * 10, cells.size());
  double sum = 0;
  for (const Cell& cell : cells) sum += cell.seconds;
  std::printf("%zu cells in %.1f s of processor time, %zu wider than asked; the slowest:\n",
              cells.size(), sum, wider);
  for (size_t i = 0; i < std::min<size_t>(8, cells.size()); ++i)
    std::printf("  %.2f s  %s\n", cells[i].seconds, cells[i].name.c_str());
}

TEST(GridTest, EveryCellIsAnsweredAndTrue) { RunGrid({1e-6}, {1, 100}); }

}  // namespace
}  // namespace partita::privacy::grid_test
