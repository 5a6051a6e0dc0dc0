// Types that refuse what is no epsilon, delta, sensitivity or scale; arithmetic that rounds up; R67
// for clipping and for the moments.
#include "privacy/sampling/sensitivity.h"

#include <gmp.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <vector>

#include "privacy/sampling/clipping.h"
#include "privacy/sampling/grid_variance.h"
#include "privacy/sampling/moments_sensitivity.h"
#include "tests/privacy/sampling/expect_error.h"
#include "tests/privacy/sampling/tape.h"

namespace partita::privacy::sensitivity_test {
namespace {

const double kNan = std::nan("");
const double kInfinity = HUGE_VAL;

TEST(SensitivityTest, TypesRefuseWhatTheyAreNot) {
  for (const double bad : {kNan, kInfinity, -kInfinity, -1e-300}) {
    ExpectUsage([&] { Epsilon{bad}; });
  }
  EXPECT_EQ(Epsilon(0).value(), 0);
  for (const double bad : {kNan, kInfinity, 0.0, 1.0, -0.5, 1.5}) {
    ExpectUsage([&] { Delta{bad}; });
  }
  EXPECT_EQ(Delta(5e-324).value(), 5e-324);
  for (const double bad : {kNan, kInfinity, 0.0, -1.0}) {
    ExpectUsage([&] { L2Sensitivity{bad}; });
    ExpectUsage([&] { GridL1Sensitivity{bad}; });
  }
}

TEST(SensitivityTest, GridIncludesTheErrorOfEachNorm) {
  EXPECT_EQ(ToGrid(L2Sensitivity(1.5), 10, 16, 0.5).value(), 1536 + 4);
  EXPECT_EQ(ToGrid(L1Sensitivity(1.5), 10, 16, 0.5).value(), 1536 + 16);
  EXPECT_EQ(ToGrid(LinfSensitivity(1.5), 10, 16, 0.5).value(), 1536 + 1);
  EXPECT_EQ(ToGrid(L2Sensitivity(1.5), 0, 16, 0).value(), 1.5);
  // What does not fit a double goes up.
  EXPECT_EQ(ToGrid(L2Sensitivity(0x1p60), 0, 1, 0.25).value(), std::nextafter(0x1p60, 0x1p61));
  for (const double bad : {kNan, kInfinity, -0.5}) {
    ExpectUsage([&] { ToGrid(L2Sensitivity(1), 10, 1, bad); });
  }
  ExpectUsage([] { ToGrid(L2Sensitivity(1), -1, 1, 0); });
  ExpectUsage([] { ToGrid(L2Sensitivity(1), 126, 1, 0); });
  ExpectUsage([] { ToGrid(L2Sensitivity(1), 10, 0, 0); });
}

TEST(SensitivityTest, OfASumIsTheBoundOrTwice) {
  EXPECT_EQ(SumSensitivity(L2Sensitivity(3), Adjacency::kAddRemove).value(), 3);
  EXPECT_EQ(SumSensitivity(L2Sensitivity(3), Adjacency::kReplace).value(), 6);
  EXPECT_EQ(SumSensitivity(L1Sensitivity(3), Adjacency::kReplace).value(), 6);
}

TEST(GridVarianceTest, SquaresDoublesExactly) {
  EXPECT_EQ(VarianceOfStddev(1.5), (GridVariance{9, 1, -2}));
  EXPECT_EQ(VarianceOfStddev(0x1p40), (GridVariance{1, 1, 80}));
  const uint64_t odd = (uint64_t{1} << 53) - 1;
  EXPECT_EQ(VarianceOfStddev(static_cast<double>(odd)),
            (GridVariance{static_cast<UInt128>(odd) * odd, 1, 0}));
  for (const double stddev : {0.1, 3.0, 1e10, 0x1.123456789abcdp70}) {
    const GridVariance variance = VarianceOfStddev(stddev);
    EXPECT_EQ(StddevLowerBound(variance), stddev);
    EXPECT_EQ(StddevUpperBound(variance), stddev);
  }
}

TEST(GridVarianceTest, DividesAndMultipliesExactly) {
  const GridVariance variance = VarianceOfStddev(3);
  EXPECT_EQ(Divide(variance, 6), (GridVariance{3, 1, -1}));
  EXPECT_EQ(Multiply(Divide(variance, 7), 7), variance);
  EXPECT_EQ(Multiply(variance, 4), VarianceOfStddev(6));
  EXPECT_LT(StddevLowerBound(Divide(variance, 7)), StddevUpperBound(Divide(variance, 7)));
  ExpectUsage([&] { Divide(variance, 0); });
  ExpectUsage([&] { Multiply(variance, 0); });
  const UInt128 large = ~UInt128{0} - 158;  // a prime
  ExpectUsage([&] { Multiply({large, 1, -128}, 3); });
  ExpectUsage([&] { Divide({1, large, 128}, 3); });
}

TEST(GridVarianceTest, RefusesScalesOutOfRange) {
  for (const double bad : {kNan, kInfinity, 0.0, -2.0, 0x1p-31, 0x1p101, 1e308, 5e-324}) {
    ExpectUsage([&] { VarianceOfStddev(bad); });
  }
  ExpectUsage([] { CheckVariance({0, 1, 0}); });
  ExpectUsage([] { CheckVariance({1, 0, 0}); });
  ExpectUsage([] { CheckVariance({1, 1, 100000}); });
  ExpectUsage([] { CheckVariance({1, 1, std::numeric_limits<int>::min()}); });
  CheckVariance({1, 1, 200});
  CheckVariance({1, 1, -60});
}

// --- clipping ------------------------------------------------------------------------------------

// Whether |k|_p <= 2^f bound, in exact integers; bound = mantissa 2^exponent.
bool WithinBound(const std::vector<Int128>& row, const ClipBound& bound) {
  mpz_t sum, term, limit;
  mpz_inits(sum, term, limit, static_cast<mpz_ptr>(nullptr));
  for (const Int128 value : row) {
    const UInt128 magnitude =
        value < 0 ? -static_cast<UInt128>(value) : static_cast<UInt128>(value);
    mpz_set_ui(term, static_cast<unsigned long>(magnitude >> 64));
    mpz_mul_2exp(term, term, 64);
    mpz_add_ui(term, term, static_cast<unsigned long>(magnitude));
    if (bound.norm == Norm::kL2) mpz_mul(term, term, term);
    if (bound.norm == Norm::kLinf) {
      if (mpz_cmp(term, sum) > 0) mpz_set(sum, term);
    } else {
      mpz_add(sum, sum, term);
    }
  }
  int exponent = 0;
  const double fraction = std::frexp(bound.bound, &exponent);
  mpz_set_d(limit, std::ldexp(fraction, 53));
  exponent += bound.fraction_bits - 53;
  // sum <= (limit 2^exponent)^power, with the negative exponent moved to the left.
  const int power = bound.norm == Norm::kL2 ? 2 : 1;
  mpz_pow_ui(limit, limit, static_cast<unsigned long>(power));
  exponent *= power;
  mpz_mul_2exp(exponent < 0 ? sum : limit, exponent < 0 ? sum : limit,
               static_cast<mp_bitcnt_t>(std::abs(exponent)));
  const bool within = mpz_cmp(sum, limit) <= 0;
  mpz_clears(sum, term, limit, static_cast<mpz_ptr>(nullptr));
  return within;
}

double Uniform(Tape& tape) { return static_cast<double>(tape.Word() >> 11) * 0x1p-53; }

// Rows that are hard: huge, tiny, mixed, on the bound, with equal coordinates.
std::vector<double> HardRow(Tape& tape, size_t dimension, double bound) {
  std::vector<double> row(dimension);
  const uint64_t kind = tape.Word() % 5;
  for (double& value : row) {
    const double sign = tape.Word() % 2 == 0 ? 1 : -1;
    const double random = Uniform(tape);
    switch (kind) {
      case 0:
        value = sign * random * bound;
        break;
      case 1:
        value = sign * std::ldexp(random + 0.5, static_cast<int>(tape.Word() % 2000) - 1000);
        break;
      case 2:
        value = sign * bound / std::sqrt(static_cast<double>(dimension)) * (1 + random * 1e-15);
        break;
      case 3:
        value = sign * bound / static_cast<double>(dimension) * (1 - 0x1p-16 * random);
        break;
      default:
        value = sign * (random < 0.1 ? std::numeric_limits<double>::max() : 5e-324);
    }
  }
  return row;
}

TEST(ClippingTest, IntegerRowsLieWithinTheBound) {
  Tape tape(41);
  for (int trial = 0; trial < 30000; ++trial) {
    const Norm norm = std::array{Norm::kL1, Norm::kL2, Norm::kLinf}[tape.Word() % 3];
    const size_t dimension = 1 + tape.Word() % 12;
    const int fraction_bits = static_cast<int>(tape.Word() % 60);
    // From the smallest bound that the theorem covers.
    const double spread = norm == Norm::kL1   ? static_cast<double>(dimension)
                          : norm == Norm::kL2 ? std::sqrt(static_cast<double>(dimension))
                                              : 1.0;
    const double smallest = std::ldexp(spread, 17 - fraction_bits);
    const ClipBound bound = {norm, smallest * (1 + 1e-15 + (trial % 2) * Uniform(tape) * 1000),
                             fraction_bits};
    const std::vector<double> row = HardRow(tape, dimension, bound.bound);
    std::vector<Int128> out(dimension);
    ClipToGrid(row, bound, out);
    ASSERT_TRUE(WithinBound(out, bound)) << trial;
  }
}

TEST(ClippingTest, LeavesShortRowsAndShortensLongOnes) {
  const ClipBound bound = {Norm::kL2, 5.0, 20};
  std::vector<Int128> out(2);
  ClipToGrid(std::vector<double>{1.5, -2.0}, bound, out);
  EXPECT_EQ(out, (std::vector<Int128>{3 << 19, -(2 << 20)}));
  ClipToGrid(std::vector<double>{30.0, -40.0}, bound, out);
  const double margin = 1 - kClipMargin;
  EXPECT_EQ(out, (std::vector<Int128>{static_cast<Int128>(std::rint(0x3p20 * margin)),
                                      -static_cast<Int128>(std::rint(0x4p20 * margin))}));
  ClipToGrid(std::vector<double>{3e300, 4e300}, bound, out);
  EXPECT_EQ(out[1], static_cast<Int128>(std::rint(0x4p20 * margin)));
  ClipToGrid(std::vector<double>{0.0, 0.0}, bound, out);
  EXPECT_EQ(out, (std::vector<Int128>{0, 0}));
}

TEST(ClippingTest, L1ScalesAndLinfClamps) {
  std::vector<Int128> out(2);
  ClipToGrid(std::vector<double>{30.0, 10.0}, {Norm::kL1, 4.0, 20}, out);
  const double margin = 1 - kClipMargin;
  EXPECT_EQ(out[0], static_cast<Int128>(std::rint(0x3p20 * margin)));
  EXPECT_EQ(out[1], static_cast<Int128>(std::rint(0x1p20 * margin)));
  ClipToGrid(std::vector<double>{30.0, 1.0}, {Norm::kLinf, 4.0, 20}, out);
  EXPECT_EQ(out[0], static_cast<Int128>(std::rint(0x4p20 * margin)));
  EXPECT_EQ(out[1], 1 << 20);
}

TEST(ClippingTest, RefusesBadRowsAndBounds) {
  std::vector<Int128> out(2);
  for (const double bad : {kNan, kInfinity, -kInfinity}) {
    ExpectError(ErrorCode::kBadData, [&] {
      ClipToGrid(std::vector<double>{1.0, bad}, {Norm::kL2, 1.0, 30}, out);
    });
  }
  const std::vector<double> row = {1.0, 2.0};
  for (const double bad : {kNan, kInfinity, 0.0, -1.0}) {
    ExpectUsage([&] { ClipToGrid(row, {Norm::kL2, bad, 30}, out); });
  }
  ExpectUsage([&] { ClipToGrid(row, {Norm::kL2, 1.0, 16}, out); });  // too coarse for the theorem
  ExpectUsage([&] { ClipToGrid(row, {Norm::kL2, 1.0, -1}, out); });
  ExpectUsage([&] { ClipToGrid(row, {Norm::kL2, 1.0, 101}, out); });
  ExpectUsage([&] { ClipToGrid(row, {Norm::kL2, 0x1p100, 30}, out); });
  std::vector<Int128> short_out(1);
  ExpectError(ErrorCode::kInternal, [&] { ClipToGrid(row, {Norm::kL2, 1.0, 30}, short_out); });
}

// --- moments -------------------------------------------------------------------------------------

std::vector<double> MomentsOf(const std::vector<double>& z, bool count) {
  std::vector<double> out(z);
  if (count) out.push_back(1);
  for (size_t i = 0; i < z.size(); ++i) {
    for (size_t j = i; j < z.size(); ++j) out.push_back(z[i] * z[j]);
  }
  return out;
}

double Norm2(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value * value;
  return std::sqrt(sum);
}

double Distance(const std::vector<double>& a, const std::vector<double>& b) {
  std::vector<double> difference(a.size());
  for (size_t i = 0; i < a.size(); ++i) difference[i] = a[i] - b[i];
  return Norm2(difference);
}

// Points on a grid of the ball of radius C, its surface included.
std::vector<std::vector<double>> BallPoints(size_t dimension, double bound, int steps) {
  std::vector<std::vector<double>> points;
  if (dimension == 1) {
    for (int i = -steps; i <= steps; ++i) points.push_back({bound * i / steps});
    return points;
  }
  for (int ring = 0; ring <= 2; ++ring) {
    const double radius = bound * (1 - 0.25 * ring);
    for (int i = 0; i < 4 * steps; ++i) {
      const double angle = 2 * M_PI * i / (4 * steps);
      if (dimension == 2) {
        points.push_back({radius * std::cos(angle), radius * std::sin(angle)});
        continue;
      }
      for (const double height : {-1.0, -0.5, 0.0, 0.5, 1.0}) {
        const double flat = radius * std::sqrt(1 - height * height);
        points.push_back({flat * std::cos(angle), flat * std::sin(angle), radius * height});
      }
    }
  }
  return points;
}

// R67: over all pairs the bound holds, and the largest distance comes within the spacing of the
// points.
TEST(MomentsSensitivityTest, IsTheLargestDistance) {
  for (const size_t dimension : {size_t{1}, size_t{2}, size_t{3}}) {
    const int steps = dimension == 1 ? 400 : dimension == 2 ? 90 : 15;
    for (const double bound : {0.1, 0.5, std::sqrt(0.5), 0.8, 1.0, 1.5, 1.7, 2.0, 5.0}) {
      SCOPED_TRACE(::testing::Message() << dimension << " " << bound);
      double replaced = 0;
      double added = 0;
      double counted = 0;
      std::vector<std::vector<double>> moments;
      for (const auto& z : BallPoints(dimension, bound, steps)) {
        moments.push_back(MomentsOf(z, false));
        added = std::max(added, Norm2(moments.back()));
        counted = std::max(counted, Norm2(MomentsOf(z, true)));
      }
      for (const auto& a : moments) {
        for (const auto& b : moments) replaced = std::max(replaced, Distance(a, b));
      }
      const auto claimed = [&](bool count, Adjacency adjacency) {
        return MomentsSensitivity({dimension, count}, bound, adjacency).value();
      };
      const double slack = 1 + 1e-14;  // of the distances computed here
      const double near = dimension == 3 ? 0.985 : 0.9999;
      EXPECT_LE(replaced, claimed(false, Adjacency::kReplace) * slack);
      EXPECT_GE(replaced, claimed(false, Adjacency::kReplace) * near);
      EXPECT_EQ(claimed(true, Adjacency::kReplace), claimed(false, Adjacency::kReplace));
      EXPECT_LE(added, claimed(false, Adjacency::kAddRemove) * slack);
      EXPECT_GE(added, claimed(false, Adjacency::kAddRemove) * near);
      EXPECT_LE(counted, claimed(true, Adjacency::kAddRemove) * slack);
      EXPECT_GE(counted, claimed(true, Adjacency::kAddRemove) * near);
    }
  }
}

// The pair that attains it, in two dimensions and embedded in five.
TEST(MomentsSensitivityTest, IsAttained) {
  for (const size_t dimension : {size_t{2}, size_t{5}}) {
    for (const double bound : {0.75, 1.0, 3.0, 10.0}) {
      // x^2 + y^2 = C^2, x y = 1/4.
      const double square = bound * bound;
      const double x = std::sqrt((square + std::sqrt(square * square - 0.25)) / 2);
      const double y = 0.25 / x;
      std::vector<double> z(dimension, 0.0);
      std::vector<double> w(dimension, 0.0);
      z[0] = x;
      z[1] = y;
      w[0] = -y;
      w[1] = -x;
      const double claimed =
          MomentsSensitivity({dimension, false}, bound, Adjacency::kReplace).value();
      EXPECT_NEAR(Distance(MomentsOf(z, false), MomentsOf(w, false)) / claimed, 1, 1e-13);
    }
  }
}

// All pairs of data sets with up to three rows over clipped integer rows: the sum on the grid.
TEST(MomentsSensitivityTest, HoldsForSumsOfClippedIntegerRows) {
  const ClipBound bound = {Norm::kL2, 1.0, 18};
  std::vector<std::vector<double>> rows;
  for (const auto& raw :
       std::vector<std::vector<double>>{{0, 0}, {3, 0.1}, {-0.2, -3}, {0.7, 0.7}, {0.05, -0.3}}) {
    std::vector<Int128> integers(2);
    ClipToGrid(raw, bound, integers);
    std::vector<double> z;
    for (const Int128 value : integers) z.push_back(static_cast<double>(value) * 0x1p-18);
    rows.push_back(MomentsOf(z, true));
  }
  const auto sum = [&](const std::vector<size_t>& data) {
    std::vector<double> total(rows[0].size(), 0.0);
    for (const size_t row : data) {
      for (size_t i = 0; i < total.size(); ++i) total[i] += rows[row][i];
    }
    return total;
  };
  const double add = MomentsSensitivity({2, true}, 1.0, Adjacency::kAddRemove).value();
  const double replace = MomentsSensitivity({2, true}, 1.0, Adjacency::kReplace).value();
  for (size_t a = 0; a < 5; ++a) {
    for (size_t b = 0; b < 5; ++b) {
      for (size_t c = 0; c < 5; ++c) {
        EXPECT_LE(Distance(sum({a, b, c}), sum({a, b})), add);
        for (size_t d = 0; d < 5; ++d) EXPECT_LE(Distance(sum({a, b, c}), sum({a, b, d})), replace);
      }
    }
  }
}

TEST(MomentsSensitivityTest, RefusesNonsense) {
  for (const double bad : {kNan, kInfinity, 0.0, -1.0}) {
    ExpectUsage([&] { MomentsSensitivity({2, false}, bad, Adjacency::kReplace); });
  }
  ExpectUsage([] { MomentsSensitivity({0, false}, 1, Adjacency::kReplace); });
}

}  // namespace
}  // namespace partita::privacy::sensitivity_test
