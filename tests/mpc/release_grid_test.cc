// Rounding on shares against the release rule in the clear: what opens is a whole number of steps
// of the grid, the nearest but for the last guard bits, and nothing else.
#include "mpc/functions/release_grid.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "privacy/release_rule.h"
#include "tests/mpc/harness.h"

namespace partita::mpc::release_grid_test {
namespace {

// Of a sealed fit (methods/mle).
constexpr double kLargestParameter = 0x1p8;
constexpr int kBits = 40;

Shared Input(Engine& engine, const std::vector<double>& numbers, double bound, int bits) {
  IntMatrix integers{{numbers.size(), 1}, {}};
  for (const double number : numbers) integers.values.push_back(EncodeFixed(number, bits));
  const PrivateMatrix matrix = testing::Private(engine, 1, integers, bound, bits);
  return engine.Input({&matrix, 1}).front();
}

struct Case {
  std::vector<double> estimates, variances;  // v of release_grid.h
  double rows = 0, max_rows = 0;
  std::vector<double> totals;
};

Case Draw(uint64_t seed, double rows, double max_rows) {
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> uniform(-1, 1), variance_bits(-12, 6);
  Case c{{}, {}, rows, max_rows, {}};
  for (int i = 0; i < 25; ++i) {
    c.estimates.push_back(3 * uniform(random));
    c.variances.push_back(std::exp2(variance_bits(random)));
  }
  c.estimates.front() = -c.estimates.front();
  for (int i = 0; i < 3; ++i) c.totals.push_back(uniform(random));
  return c;
}

constexpr double kLargestTotal = 4;

void ExpectRounded(const Case& c, int grid_bits, const std::string& kind, size_t parties) {
  SCOPED_TRACE(kind);
  testing::RunOptions options;
  options.kind = kind;
  options.num_parties = parties;
  const auto run = testing::RunAndComparePlan(options, [&](Engine& engine, size_t) {
    const Shared estimates = Input(engine, c.estimates, kLargestParameter, kBits);
    const Shared variances = Input(engine, c.variances, 0x1p7, kBits);
    std::vector<double> roots;
    for (const double v : c.variances) roots.push_back(std::sqrt(v));
    const Shared deviations = Input(engine, roots, 0x1p4, kBits);
    const Shared rows = Input(engine, {c.rows}, c.max_rows, 0);
    const Shared scalars = Input(engine, c.totals, kLargestTotal, kBits);
    const std::vector<GridMarks> marks =
        MarkGrids(engine, variances, {grid_bits, rows, c.max_rows}, true);
    const std::vector<Shared> rounded = RoundToGrids(
        engine, {{estimates, kLargestParameter, marks[0]}, {deviations, 0x1p4, marks[1]}}, &scalars,
        kLargestTotal, grid_bits);
    const std::vector<Shared> all = {marks[0].reached, marks[1].reached, rounded[0], rounded[1],
                                     rounded[2]};
    const auto opened = engine.Reveal("out", all, kEverybody);
    if (!engine.self()) return;
    const auto check = [&](size_t which, size_t i, double number, double error) {
      const int exponent =
          marks[which].range.lowest - 1 + static_cast<int>(opened[which].values[i]);
      EXPECT_EQ(exponent, privacy::GridExponent(error, grid_bits)) << which << " " << i;
      const Int128 value = opened[2 + which].values[i];
      // Whole steps: no guard bit is left.
      EXPECT_EQ(value % (Int128{1} << kGuardBits), 0);
      const double steps = DecodeFixed(value, kGuardBits);
      EXPECT_LE(std::abs(steps - std::ldexp(number, -exponent)), 0.5 + 0x1p-9) << which << " " << i;
    };
    for (size_t i = 0; i < c.estimates.size(); ++i) {
      check(0, i, c.estimates[i], std::sqrt(2 * c.variances[i] / c.rows));
      check(1, i, roots[i], roots[i]);
    }
    for (size_t i = 0; i < c.totals.size(); ++i) {
      const Int128 value = opened[4].values[i];
      EXPECT_EQ(value % (Int128{1} << kGuardBits), 0);
      EXPECT_LE(std::abs(DecodeFixed(value, kGuardBits) - std::ldexp(c.totals[i], grid_bits)),
                0.5 + 0x1p-9);
    }
  });
  run.ThrowIfFailed();
}

TEST(ReleaseGrid, RoundsAsInTheClear) {
  for (const int grid_bits : {4, 6, 10}) ExpectRounded(Draw(1, 301, 301), grid_bits, "dealer", 2);
  ExpectRounded(Draw(2, 301, 400), 6, "replicated", 3);
  ExpectRounded(Draw(3, 1e6, 0x1p21), 6, "shamir", 3);
  ExpectRounded(Draw(4, 20, 0x1p28), 6, "dealer", 3);
}

// A number without a standard error that can be opened tells nothing.
TEST(ReleaseGrid, OpensNothingWithoutAVariance) {
  const std::vector<double> estimates = {1.25, -2}, variances = {0, 0};
  const auto run = testing::RunAll({}, [&](Engine& engine, size_t) {
    const Shared numbers = Input(engine, estimates, kLargestParameter, kBits);
    const Shared rows = Input(engine, {100}, 100, 0);
    const std::vector<GridMarks> marks =
        MarkGrids(engine, Input(engine, variances, 1, kBits), {6, rows, 100}, false);
    ASSERT_EQ(marks.size(), 1u);
    const std::vector<Shared> rounded =
        RoundToGrids(engine, {{numbers, kLargestParameter, marks[0]}}, nullptr, 0, 6);
    const auto opened = engine.Reveal("out", rounded, kEverybody);
    if (!engine.self()) return;
    EXPECT_EQ(opened[0].values, (std::vector<Int128>{0, 0}));
  });
  run.ThrowIfFailed();
}

// The receiver's own code finds no step finer than the rule's, whatever the variance.
TEST(ReleaseGrid, RangesHoldEveryGrid) {
  for (const double rows : {1.0, 20.0, 301.0, 0x1p28}) {
    const GridRange range = EstimateGrids(6, rows);
    EXPECT_LE(range.lowest, privacy::GridExponent(std::sqrt(2 * 0x1p-33 / rows), 6));
    EXPECT_GE(range.lowest + static_cast<int>(range.count), privacy::GridExponent(0x1p5, 6));
  }
}

}  // namespace
}  // namespace partita::mpc::release_grid_test
