// Softmax, logistic function, quotients, norms, clipping and the column of a row's largest entry,
// on all engines, against the same in long double: errors, rounds, edges of the domains.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "base/error.h"
#include "mpc/compare.h"
#include "mpc/functions/division.h"
#include "mpc/functions/extremes.h"
#include "mpc/functions/norm.h"
#include "mpc/functions/reciprocal.h"
#include "mpc/functions/sigmoid.h"
#include "mpc/functions/softmax.h"
#include "tests/mpc/evaluate.h"

namespace partita::mpc::testing::composed_functions_test {
namespace {

using List = std::vector<Shared>;
constexpr int kF = 40;

long double Exact(const TestInput& input, size_t i) {
  return std::ldexp(static_cast<long double>(input.values.values[i]), -input.fraction_bits);
}

// Uniform reals, with rows of equal entries, of the extremes and of one that stands out.
TestInput Rows(size_t rows, size_t cols, double bound, int fraction_bits = kF) {
  std::mt19937_64 random(rows * 100 + cols);
  std::uniform_real_distribution<double> uniform(-bound, bound);
  TestInput input{{{rows, cols}, {}}, bound, fraction_bits};
  for (size_t i = 0; i < rows * cols; ++i) {
    const size_t row = i / cols, col = i % cols;
    double x = uniform(random);
    if (row == 0) x = -bound;
    if (row == 1) x = bound;
    if (row == 2) x = col == cols / 2 ? bound : -bound;
    if (row == 3) x = col == cols / 2 ? -bound : bound;
    input.values.values.push_back(EncodeFixed(x, fraction_bits));
  }
  return input;
}

TEST(ComposedFunctionsTest, SoftmaxAndLogSumExp) {
  for (const Setting& setting : kSettings) {
    for (double bound : {4.0, 10.0, 11.0, 300.0}) {
      for (size_t cols : {1, 2, 20, 33}) {
        if (setting.thinning() > 1 && cols > 20) continue;
        SCOPED_TRACE(setting.kind + " " + std::to_string(bound) + " " + std::to_string(cols));
        const TestInput x = Rows(12, cols, bound);
        const auto opened = Evaluate(setting, {x}, [](Engine& engine, const List& values) {
          return List{RowSoftmax(engine, values, kF)[0], RowLogSumExp(engine, values)[0]};
        });
        for (size_t row = 0; row < 12; ++row) {
          long double largest = -1e9L, sum = 0;
          for (size_t c = 0; c < cols; ++c) largest = std::max(largest, Exact(x, row * cols + c));
          for (size_t c = 0; c < cols; ++c) sum += std::exp(Exact(x, row * cols + c) - largest);
          EXPECT_NEAR(opened[1][row], static_cast<double>(largest + std::log(sum)),
                      0x1p-40 + 0x1p-38 + bound * 0x1p-52);
          for (size_t c = 0; c < cols; ++c) {
            const auto exact =
                static_cast<double>(std::exp(Exact(x, row * cols + c) - largest) / sum);
            EXPECT_NEAR(opened[0][row * cols + c], exact,
                        0x1p-40 + 0x1p-42 + exact * std::exp2(-37.5));
          }
        }
      }
    }
  }
}

TEST(ComposedFunctionsTest, SoftmaxOfAList) {
  for (const Setting& setting : kSettings) {
    const TestInput inputs[] = {Rows(5, 3, 2), Rows(4, 7, 500), Rows(1, 1, 20)};
    const auto opened =
        Evaluate(setting, {inputs[0], inputs[1], inputs[2]},
                 [](Engine& engine, const List& values) { return RowSoftmax(engine, values, kF); });
    for (size_t k = 0; k < 3; ++k) {
      const Shape shape = inputs[k].values.shape;
      for (size_t row = 0; row < shape.rows; ++row) {
        long double sum = 0;
        for (size_t c = 0; c < shape.cols; ++c)
          sum += std::exp(Exact(inputs[k], row * shape.cols + c));
        for (size_t c = 0; c < shape.cols; ++c) {
          const size_t i = row * shape.cols + c;
          const auto exact = static_cast<double>(std::exp(Exact(inputs[k], i)) / sum);
          EXPECT_NEAR(opened[k][i], exact, 0x1p-39 + exact * std::exp2(-37.5));
        }
      }
    }
  }
}

TEST(ComposedFunctionsTest, SoftmaxTakesTheRoundsStated) {
  const auto rounds = [](const Setting& setting, size_t cols) {
    return PlannedRounds(setting, [&](Engine& engine) {
      const Shared value = Planned({100, cols}, kF, 50);
      RowSoftmax(engine, {&value, 1}, kF);
    });
  };
  // A cut, the largest, exponentials, a reciprocal without leading bits, a product.
  EXPECT_EQ(rounds(kSettings[0], 20), 1u + 11 + 14 + 15 + 2);
  EXPECT_EQ(rounds(kSettings[2], 20), 46u);
  EXPECT_EQ(rounds(kSettings[0], 2000), 1u + 11 + 11 + 8 + 17 + 27 + 2);
}

TEST(ComposedFunctionsTest, Sigmoids) {
  std::vector<double> all_points = {0, 1e-12, -1e-12, 1, -1, 28, -28, 40, -40, 1000, -1000};
  std::mt19937_64 random(8);
  std::uniform_real_distribution<double> uniform(-45, 45);
  for (int i = 0; i < 500; ++i) all_points.push_back(uniform(random));
  for (const Setting& setting : kSettings) {
    const std::vector<double> points(all_points.begin(),
                                     all_points.begin() + 11 + 500 / setting.thinning());
    for (int bits : {40, 20, 56}) {
      const TestInput x = Column(points, 1000);
      const auto opened = Evaluate(setting, {x}, [&](Engine& engine, const List& values) {
        return Sigmoid(engine, values, bits);
      });
      for (size_t i = 0; i < points.size(); ++i) {
        EXPECT_NEAR(opened[0][i], static_cast<double>(1 / (1 + std::exp(-Exact(x, i)))),
                    std::ldexp(1.0, -bits) + 0x1p-40)
            << points[i];
      }
    }
    const Shared value[] = {Planned({3, 2}, 40, 1000)};
    const size_t d = setting.d();
    const size_t w = BitsFor(value[0]);
    const size_t u_bits = BitsFor({{1, 1}, 8, 1000 * std::log2(std::exp(1.0)) + 58, nullptr});
    ExpectRounds(setting,
                 2 * d + 1 + CeilLog2(w - 1) + 7 * d + 4 + CeilLog2(u_bits - 1) + 6 * (1 + d),
                 [&](Engine& engine) { Sigmoid(engine, value, 40); });
  }
}

TEST(ComposedFunctionsTest, Quotients) {
  const struct {
    double numerator, smallest, denominator, largest;
  } cases[] = {{50, 0.05, 50, 1000}, {1, 1, 1.5, 1},          {1e6, 1, 1e6, 1e6},
               {1, 0x1p-40, 1, 16},  {100, 100, 0x1p37, 1.0}, {0.001, 0.5, 1, 0.002}};
  for (const Setting& setting : kSettings) {
    for (const auto& one : cases) {
      const double numerator = one.numerator, denominator = one.denominator;
      const double smallest = one.smallest, largest = one.largest;
      SCOPED_TRACE(setting.kind + " " + std::to_string(numerator) + " " + std::to_string(smallest));
      std::mt19937_64 random(2);
      std::uniform_real_distribution<double> unit(-1, 1);
      std::vector<double> a, b;
      for (int i = 0; i < 300 / setting.thinning(); ++i) {
        const double u = 0.5 + 0.5 * unit(random);
        // Below smallest (1 + 2^-30) the grid might decide; 0 gives 0.
        b.push_back(i == 0   ? 0
                    : i == 1 ? smallest
                    : i == 2 ? denominator
                             : smallest * std::pow(denominator / smallest, u));
        const double limit = std::min(numerator, largest * b.back());
        a.push_back(i == 3 ? 0 : i == 4 ? limit : i == 5 ? -limit : limit * unit(random));
      }
      const TestInput x = Column(a, numerator), y = Column(b, denominator);
      const auto opened = Evaluate(setting, {x, y}, [&](Engine& engine, const List& values) {
        const Quotient quotient[] = {{values[0], {values[1], smallest}, largest * (1 + 0x1p-20)}};
        return Divide(engine, quotient, kF);
      });
      EXPECT_LE(std::abs(opened[0][0]), 0x1p-40);
      for (size_t i = 1; i < a.size(); ++i) {
        const auto exact = static_cast<double>(Exact(x, i) / Exact(y, i));
        EXPECT_NEAR(opened[0][i], exact, 0x1p-39 + std::abs(exact) * 0x1p-44)
            << a[i] << " / " << b[i];
      }
    }
    const Quotient value[] = {{Planned({7, 3}, 40, 50), {Planned({7, 3}, 40, 50), 0.05}, 1000}};
    const size_t d = setting.d(), w = BitsFor(value[0].numerator);
    const size_t m = w - 1 - static_cast<size_t>(std::ilogb(0.05) + 40);
    ExpectRounds(setting, 2 * d + 1 + CeilLog2(w - 1) + CeilLog2(m) + 7 * (1 + d),
                 [&](Engine& engine) { Divide(engine, value, 40); });
  }
  PlanEngine plan("dealer", 2);
  for (double largest : {0.0, -1.0, 0x1p40, std::nan("")}) {
    const Quotient value[] = {
        {Planned({1, 1}, 40, 1), {Planned({1, 1}, 40, 0x1p40), 0x1p-40}, largest}};
    EXPECT_THROW(Divide(plan, value, 40), Error) << largest;
  }
}

TEST(ComposedFunctionsTest, Norms) {
  for (const Setting& setting : kSettings) {
    for (size_t cols : {1, 4, 50}) {
      TestInput x = Rows(30, cols, 8);
      for (size_t c = 0; c < cols; ++c) x.values.values[4 * cols + c] = 0;  // below the smallest
      const auto opened = Evaluate(setting, {x}, [](Engine& engine, const List& values) {
        const RowsWithNorm list[] = {{values[0], 0x1p-20}};
        return RowNorm(engine, list, kF);
      });
      for (size_t row = 0; row < 30; ++row) {
        long double sum = 0;
        for (size_t c = 0; c < cols; ++c)
          sum += Exact(x, row * cols + c) * Exact(x, row * cols + c);
        const auto exact = static_cast<double>(std::sqrt(sum));
        EXPECT_NEAR(opened[0][row], exact, 0x1p-40 + 0x1p-43 + exact * 0x1p-40);
      }
    }
  }
}

// The norm is at most C exactly, over rows that are short, just as long, a little longer and far
// longer than C, and short rows stay as they are.
TEST(ComposedFunctionsTest, ClippedRowsNeverExceedTheNorm) {
  for (const Setting& setting : kSettings) {
    for (double norm : {1.0, 0.75, 13.7, 0x1p-8, 3000.0}) {
      for (size_t cols : {1, 3, 40}) {
        if (setting.thinning() > 1 && cols > 3) continue;
        SCOPED_TRACE(setting.kind + " " + std::to_string(norm) + " " + std::to_string(cols));
        std::mt19937_64 random(5);
        std::normal_distribution<double> normal;
        const double factors[] = {0, 1e-6, 0.5, 1 - 0x1p-15, 1 - 0x1p-16, 1, 1 + 1e-9, 2, 30};
        TestInput x{{{std::size(factors) * 3, cols}, {}}, 31 * norm, kF};
        for (size_t row = 0; row < x.values.shape.rows; ++row) {
          std::vector<double> direction(cols);
          double length = 0;
          for (double& v : direction) length = std::hypot(length, v = normal(random));
          for (double v : direction) {
            x.values.values.push_back(EncodeFixed(v / length * norm * factors[row / 3], kF));
          }
        }
        const auto opened = Evaluate(setting, {x}, [&](Engine& engine, const List& values) {
          const RowsWithNorm list[] = {{values[0], norm}};
          return ClipRows(engine, list);
        });
        ASSERT_EQ(opened[0].fraction_bits, kF);
        const long double unit = std::ldexp(1.0L, std::ilogb(norm) + 1 - 20);
        const long double to = std::floor(norm * (1 - 0x1p-16L) / unit) * unit;
        for (size_t row = 0; row < x.values.shape.rows; ++row) {
          long double before = 0, after = 0;
          for (size_t c = 0; c < cols; ++c) {
            const size_t i = row * cols + c;
            before += Exact(x, i) * Exact(x, i);
            const long double v = std::ldexp(static_cast<long double>(opened[0].integers[i]), -kF);
            after += v * v;
          }
          EXPECT_LE(std::sqrt(after), static_cast<long double>(norm));
          const long double factor = std::min(1.0L, to / std::sqrt(before));
          for (size_t c = 0; c < cols; ++c) {
            const auto exact = static_cast<double>(factor * Exact(x, row * cols + c));
            EXPECT_NEAR(opened[0][row * cols + c], exact, 0x1p-40 + std::abs(exact) * 0x1p-39);
          }
        }
      }
    }
  }
}

TEST(ComposedFunctionsTest, NormsThatDoNotFitAreRefused) {
  PlanEngine plan("dealer", 2);
  for (double norm : {0.0, -1.0, std::nan(""), 0x1p-24, 0x1p24, 1e300}) {
    const RowsWithNorm list[] = {{Planned({4, 9}, 40, 1), norm}};
    EXPECT_THROW(ClipRows(plan, list), Error) << norm;
  }
  const RowsWithNorm wide[] = {{Planned({4, 9}, 40, 0x1p37), 1}};
  EXPECT_THROW(ClipRows(plan, wide), Error);
  EXPECT_THROW(RowNorm(plan, wide, 40), Error);
}

TEST(ComposedFunctionsTest, ClippingTakesTheRoundsStated) {
  for (const Setting& setting : kSettings) {
    const size_t d = setting.d(), c = setting.c();
    const RowsWithNorm list[] = {{Planned({100, 50}, 40, 4), 1}};
    const double norm = 0.5 - 0x1p-17, longest = std::sqrt(50.0) * 4 / 2;
    const int bits = 41 + static_cast<int>(std::ceil(std::log2(longest)));
    const Shared square = Planned({100, 1}, 48, 50 * 4.0 + 0x1p-48);  // |x|^2 / 4
    const PositiveValue root[] = {{square, norm * norm}};
    const size_t of_root =
        PlannedRounds(setting, [&](Engine& engine) { InverseRoot(engine, root, bits); });
    const size_t w = BitsFor(Planned({1, 1}, 48, 50 * 4.0 + 0.25));
    ExpectRounds(setting, of_root + 3 * d + c + 2 + CeilLog2(w - 1),
                 [&](Engine& engine) { ClipRows(engine, list); });
  }
}

TEST(ComposedFunctionsTest, ColumnOfTheFirstLargestEntry) {
  std::mt19937_64 random(4);
  for (const Setting& setting : kSettings) {
    for (size_t cols : {1, 2, 3, 5, 8, 20, 21}) {
      const IntMatrix x = RandomMatrix(random, {40, cols}, 3);  // many are equal
      const auto opened =
          Evaluate(setting, {{x, 3, 0}, {x, 3, 0}}, [](Engine& engine, const List& values) {
            const List list = {values[0], engine.Slice(values[1], 0, 0, {40, 1})};
            const auto all = RowArgMax(engine, list);
            return List{all[0].value, all[0].column, all[1].value, all[1].column};
          });
      for (size_t row = 0; row < 40; ++row) {
        const auto begin = x.values.begin() + static_cast<ptrdiff_t>(row * cols);
        const auto largest = std::max_element(begin, begin + static_cast<ptrdiff_t>(cols));
        EXPECT_EQ(opened[0].integers[row], *largest);
        EXPECT_EQ(opened[1].integers[row], largest - begin);
        EXPECT_EQ(opened[2].integers[row], *begin);
        EXPECT_EQ(opened[3].integers[row], 0);
      }
    }
  }
  PlanEngine plan("dealer", 2);
  const Shared none[] = {Planned({3, 0}, 0, 1)};
  EXPECT_THROW(RowArgMax(plan, none), Error);
  EXPECT_THROW(RowSoftmax(plan, none, 40), Error);
}

// Mantissa and power of two apart: x = c 2^(e + 1) with both open.
TEST(ComposedFunctionsTest, FunctionsOfTheMantissa) {
  const std::vector<double> points = {0x1p-30, 1e-6, 0.3, 0.5, 1, 1.5, 1000, 0x1p30};
  for (const Setting& setting : kSettings) {
    const TestInput x = Column(points, 0x1p30);
    const auto opened = Evaluate(setting, {x}, [](Engine& engine, const List& values) {
      const PositiveValue list[] = {{values[0], 0x1p-30}};
      const OfMantissa reciprocal = ReciprocalParts(engine, list)[0];
      auto exponent = [](int e) { return e + 1.0; };
      return List{reciprocal.value, WeightOfExponent(engine, reciprocal.argument, exponent, 0)};
    });
    for (size_t i = 0; i < points.size(); ++i) {
      const double power = opened[1][i], value = static_cast<double>(Exact(x, i));
      EXPECT_EQ(power, std::ilogb(value) + 1);
      const double mantissa = std::ldexp(value, -static_cast<int>(power));
      EXPECT_NEAR(opened[0][i] * mantissa, 1, 0x1p-50);
    }
  }
}

}  // namespace
}  // namespace partita::mpc::testing::composed_functions_test
