// The coverage study: 4000 data sets in each of 18 cells, 20 minutes of one core. Several processes
// share the cells with GTEST_TOTAL_SHARDS and GTEST_SHARD_INDEX.
//
// Parameters from the prior: every cell's count must lie in the range that a coverage of 0.95
// leaves with probability 1e-6 over all cells; about 0.93 to 0.967. Fixed parameters, and rows that
// the bounds clip, are reported and not gated: their coverage is no promise of a Bayesian interval.
#include "tests/stats/blr/coverage.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace partita::stats::blr::coverage_test {
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
  std::fflush(stdout);
}

uint64_t Number(const CoverageCell& cell) {
  return cell.num_rows * 100 + cell.features * 7 + static_cast<uint64_t>(10 * cell.epsilon);
}

class PriorCoverageTest : public ::testing::TestWithParam<CoverageCell> {};

TEST_P(PriorCoverageTest, IsThatOfTheLevel) {
  const CountRange range = BinomialRange(kDataSets, kLevel, 1e-6 / kCells);
  const Estimator shipped = [](const Statistics& s, double variance, const NoiseAwarePrior& prior,
                               const NoiseAwareOptions& options, crypto::RandomSource& source) {
    return FitNoiseAware(s, variance, false, prior, options, source);
  };
  const CoverageCell cell = GetParam();
  const Coverage c = CoverageOfPrior(cell, {}, kDataSets, {}, shipped, 1000 + Number(cell));
  Print(cell, "prior", c);
  EXPECT_GE(c.covered, range.lower);
  EXPECT_LE(c.covered, range.upper);
}

std::vector<CoverageCell> PriorCells() {
  std::vector<CoverageCell> cells;
  for (const size_t features : {3, 10}) {
    for (const size_t rows : {200, 1000, 10000}) {
      for (const double epsilon : {0.3, 1.0, 3.0}) cells.push_back({rows, features, epsilon});
    }
  }
  return cells;
}
INSTANTIATE_TEST_SUITE_P(EveryCell, PriorCoverageTest, ::testing::ValuesIn(PriorCells()));

struct FixedCase {
  CoverageCell cell;
  FixedTruth truth;
  size_t data_sets = 0;
  std::string what;
};

class FixedCoverageTest : public ::testing::TestWithParam<FixedCase> {};

TEST_P(FixedCoverageTest, IsReported) {
  const FixedCase& c = GetParam();
  double clipped = 0;
  const Coverage coverage =
      CoverageOfTruth(c.cell, c.truth, {}, c.data_sets, {}, 2000 + Number(c.cell), &clipped);
  Print(c.cell, fmt::format("{}, {:.1f} % of the rows clipped", c.what, 100 * clipped), coverage);
  EXPECT_EQ(coverage.intervals, c.data_sets);
}

std::vector<FixedCase> FixedCases() {
  const std::vector<double> vectors[] = {{0, 0, 0}, {0.5, -0.3, 0.2}, {1, 1, -1}};
  std::vector<FixedCase> cases;
  for (const auto& beta : vectors) {
    for (const double epsilon : {0.3, 1.0, 3.0}) {
      cases.push_back({{1000, 3, epsilon},
                       {beta, 0.2, 0.15},
                       kDataSets,
                       fmt::format("beta {} {} {}", beta[0], beta[1], beta[2])});
    }
  }
  // Feature deviations that put about 1 % and 5 % of the rows beyond a bound.
  for (const double stddev : {0.35, 0.42}) {
    cases.push_back({{10000, 3, 3.0},
                     {vectors[1], stddev, 0.15},
                     1000,
                     fmt::format("beta 0.5 -0.3 0.2, sd {}", stddev)});
  }
  return cases;
}
INSTANTIATE_TEST_SUITE_P(EveryCase, FixedCoverageTest, ::testing::ValuesIn(FixedCases()));

}  // namespace
}  // namespace partita::stats::blr::coverage_test
