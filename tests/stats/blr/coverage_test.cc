// The coverage study: 4000 data sets in each of 18 cells. About 40 minutes of one quiet core.
//
// Parameters from the prior: every cell's count must lie in the range that a coverage of 0.95
// leaves with probability 1e-6 over all cells; about 0.93 to 0.967. Fixed parameters, and rows that
// the bounds clip, are reported and not gated: their coverage is no promise of a Bayesian interval.
#include "tests/stats/blr/coverage.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace partita::stats::blr {
namespace {

constexpr size_t kDataSets = 4000;
constexpr double kCells = 18;

double Share(size_t count, const Coverage& coverage) {
  return static_cast<double>(count) / static_cast<double>(coverage.intervals);
}

void Print(const CoverageCell& cell, const std::string& what, const Coverage& c) {
  fmt::print(
      "n {} d {} epsilon {} {}: coverage {:.4f}, noise left out {:.4f}, width {:.2f} times that "
      "without noise, {:.4f} s per posterior\n",
      cell.num_rows, cell.features, cell.epsilon, what, Share(c.covered, c),
      Share(c.plain_covered, c), c.width_ratio, c.seconds_per_posterior);
}

TEST(CoverageTest, EveryCellOfParametersFromThePrior) {
  const CountRange range = BinomialRange(kDataSets, 0.95, 1e-6 / kCells);
  const Estimator shipped = [](const Statistics& s, double variance, const NoiseAwarePrior& prior,
                               const NoiseAwareOptions& options, crypto::RandomSource& source) {
    return FitNoiseAware(s, variance, false, prior, options, source);
  };
  uint64_t seed = 1000;
  for (const size_t rows : {200, 1000, 10000}) {
    for (const size_t features : {3, 10}) {
      for (const double epsilon : {0.3, 1.0, 3.0}) {
        const CoverageCell cell{rows, features, epsilon};
        const Coverage c = CoverageOfPrior(cell, {}, kDataSets, {}, shipped, ++seed);
        Print(cell, "prior", c);
        EXPECT_GE(c.covered, range.lower);
        EXPECT_LE(c.covered, range.upper);
      }
    }
  }
}

TEST(CoverageTest, FixedParametersAndClippedRowsAreReported) {
  const std::vector<double> vectors[] = {{0, 0, 0}, {0.5, -0.3, 0.2}, {1, 1, -1}};
  uint64_t seed = 2000;
  for (const auto& coefficients : vectors) {
    for (const double epsilon : {0.3, 1.0, 3.0}) {
      const CoverageCell cell{1000, 3, epsilon};
      Print(cell, fmt::format("beta {} {} {}", coefficients[0], coefficients[1], coefficients[2]),
            CoverageOfTruth(cell, {coefficients}, {}, 500, {}, ++seed));
    }
  }
  // Feature deviations that put about 1 % and 5 % of the rows beyond a bound.
  for (const double stddev : {0.35, 0.45}) {
    const CoverageCell cell{10000, 3, 3.0};
    double clipped = 0;
    const Coverage c =
        CoverageOfTruth(cell, {vectors[1], stddev, 0.15}, {}, 200, {}, ++seed, &clipped);
    Print(cell, fmt::format("{:.1f} % of the rows clipped", 100 * clipped), c);
    EXPECT_GT(clipped, 0.005);
  }
}

}  // namespace
}  // namespace partita::stats::blr
