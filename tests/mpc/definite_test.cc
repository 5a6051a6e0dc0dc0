// Factors, inverses and determinants of positive definite matrices on both engines, against the
// same in long double, from well conditioned to collinear.
#include "mpc/functions/definite.h"

#include <gtest/gtest.h>

#include <Eigen/Cholesky>
#include <Eigen/Eigenvalues>
#include <Eigen/LU>
#include <algorithm>
#include <cmath>
#include <random>

#include "base/error.h"
#include "mpc/compare.h"
#include "tests/mpc/evaluate.h"

namespace partita::mpc::testing::definite_test {
namespace {

using Matrix = Eigen::Matrix<long double, Eigen::Dynamic, Eigen::Dynamic>;
using List = std::vector<Shared>;
constexpr int kF = 40;

long double ConditionOf(const Matrix& matrix) {
  const Eigen::SelfAdjointEigenSolver<Matrix> solver(matrix, Eigen::EigenvaluesOnly);
  return solver.eigenvalues().maxCoeff() / solver.eigenvalues().minCoeff();
}

// A correlation matrix with three strong factors, of about this condition number: the share of
// unique variance is found by bisection.
Matrix Correlation(size_t size, long double condition, unsigned seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal;
  Matrix loadings(size, 3);
  for (auto& value : loadings.reshaped()) value = normal(random);
  const Matrix common = loadings * loadings.transpose();
  auto with = [&](long double unique) {
    const Matrix sum = common + unique * Matrix::Identity(common.rows(), common.cols());
    const Matrix scale = sum.diagonal().cwiseSqrt().cwiseInverse().asDiagonal();
    return Matrix(scale * sum * scale);
  };
  long double low = 1e-12L, high = 1e3L;
  for (int i = 0; i < 60; ++i) {
    const long double middle = std::sqrt(low * high);
    (ConditionOf(with(middle)) > condition ? low : high) = middle;
  }
  return with(high);
}

TestInput InputOf(const Matrix& matrix, double bound, int fraction_bits = kF) {
  TestInput input{{{static_cast<size_t>(matrix.rows()), static_cast<size_t>(matrix.cols())}, {}},
                  bound,
                  fraction_bits};
  for (Eigen::Index i = 0; i < matrix.rows(); ++i) {
    for (Eigen::Index j = 0; j < matrix.cols(); ++j) {
      input.values.values.push_back(EncodeFixed(static_cast<double>(matrix(i, j)), fraction_bits));
    }
  }
  return input;
}

Matrix FromGrid(Shape shape, const std::vector<Int128>& integers, int fraction_bits) {
  Matrix matrix(shape.rows, shape.cols);
  for (size_t i = 0; i < integers.size(); ++i) {
    matrix(static_cast<Eigen::Index>(i / shape.cols), static_cast<Eigen::Index>(i % shape.cols)) =
        std::ldexp(static_cast<long double>(integers[i]), -fraction_bits);
  }
  return matrix;
}
Matrix FromGrid(const TestInput& input) {
  return FromGrid(input.values.shape, input.values.values, input.fraction_bits);
}
Matrix FromGrid(const Opened& opened) {
  return FromGrid(opened.shape, opened.integers, opened.fraction_bits);
}

TEST(DefiniteTest, InverseOfCorrelationsOfTwentyVariables) {
  const struct {
    long double condition;
    double relative;
  } cases[] = {{10, 1e-9}, {1e4L, 1e-7}, {1e6L, 1e-5}};
  for (const Setting& setting : {kSettings[0], kSettings[2]}) {
    for (const auto& [condition, relative] : cases) {
      SCOPED_TRACE(setting.kind + " condition " + std::to_string(static_cast<double>(condition)));
      const TestInput input = InputOf(Correlation(20, condition, 1), 1);
      const Matrix exact = FromGrid(input);
      const auto opened = Evaluate(setting, {input}, [](Engine& engine, const List& values) {
        const DefiniteMatrix list[] = {{values[0]}};
        const DefiniteInverse result = InvertDefinite(engine, list, kF)[0];
        const Pivots pivots[] = {{result.pivots}};
        const Shared determinant = LogDeterminant(engine, pivots, kF)[0];
        return List{result.inverse, determinant, result.collinear};
      });
      const Matrix inverse = exact.inverse();
      const Matrix difference = FromGrid(opened[0]) - inverse;
      EXPECT_LE(difference.norm(), relative * inverse.norm());
      EXPECT_LE(difference.cwiseAbs().maxCoeff(), relative * inverse.cwiseAbs().maxCoeff());
      const Matrix transposed = FromGrid(opened[0]).transpose();
      EXPECT_LE((FromGrid(opened[0]) - transposed).cwiseAbs().maxCoeff(), 0x1p-40);  // the last cut
      const long double log_determinant = exact.ldlt().vectorD().array().log().sum();
      EXPECT_NEAR(opened[1][0], static_cast<double>(log_determinant),
                  relative * static_cast<double>(std::abs(log_determinant)));
      for (Int128 flag : opened[2].integers) EXPECT_EQ(flag, 0);
    }
  }
}

TEST(DefiniteTest, FactorsOfSeveralMatrices) {
  for (const Setting& setting : kSettings) {
    const TestInput inputs[] = {InputOf(Correlation(7, 100, 2), 1),
                                InputOf(Matrix(50 * Correlation(12, 1e5L, 3)), 60),
                                InputOf(Matrix::Constant(1, 1, 0.25L), 1)};
    const auto opened = Evaluate(
        setting, {inputs[0], inputs[1], inputs[2]}, [](Engine& engine, const List& values) {
          const DefiniteMatrix list[] = {{values[0]}, {values[1], 50 * 0x1p-20}, {values[2], 0.01}};
          List results;
          for (const DefiniteFactor& factor : FactorDefinite(engine, list)) {
            results.insert(results.end(), {factor.lower, factor.pivots, factor.collinear});
          }
          return results;
        });
    for (size_t k = 0; k < 3; ++k) {
      const Matrix exact = FromGrid(inputs[k]), lower = FromGrid(opened[3 * k]);
      const Matrix pivots = FromGrid(opened[3 * k + 1]);
      EXPECT_TRUE(lower.isLowerTriangular(0));
      EXPECT_TRUE(lower.diagonal().isOnes(0));
      const Matrix product = lower * pivots.col(0).asDiagonal() * lower.transpose();
      EXPECT_LE((product - exact).cwiseAbs().maxCoeff(),
                static_cast<double>(exact.rows()) * 0x1p-42 * inputs[k].bound);
      // Against the factor itself, through the plain algorithm.
      Matrix rest = exact;
      for (Eigen::Index j = 0; j < exact.rows(); ++j) {
        EXPECT_NEAR(static_cast<double>(pivots(j, 0) / rest(j, j)), 1, 1e-6);
        rest -= Matrix(rest.col(j) * rest.row(j) / rest(j, j));
      }
      for (Int128 flag : opened[3 * k + 2].integers) EXPECT_EQ(flag, 0);
    }
  }
}

// Variable 2 is the sum of variables 0 and 1 but for a share of 1e-9, variable 4 a copy of 3.
Matrix Collinear() {
  Matrix base = Correlation(6, 20, 4);
  Matrix mix = Matrix::Identity(6, 6);
  mix.row(2) << 1, 1, 1e-9L, 0, 0, 0;
  mix.row(4) << 0, 0, 0, 1, 0, 0;
  const Matrix sum = mix * base * mix.transpose();
  const Matrix scale = sum.diagonal().cwiseSqrt().cwiseInverse().asDiagonal();
  return scale * sum * scale;
}

TEST(DefiniteTest, CollinearVariablesAreNamedAndLeftOut) {
  for (const Setting& setting : kSettings) {
    const TestInput input = InputOf(Collinear(), 1);
    const auto opened = Evaluate(setting, {input}, [](Engine& engine, const List& values) {
      const DefiniteMatrix list[] = {{values[0]}};
      const DefiniteFactor factor = FactorDefinite(engine, list)[0];
      const DefiniteInverse inverse = InvertDefinite(engine, list, kF)[0];
      return List{factor.collinear, inverse.inverse, inverse.collinear};
    });
    const Int128 expected[] = {0, 0, 1, 0, 1, 0};
    const Matrix exact = FromGrid(input), got = FromGrid(opened[1]);
    const std::vector<Eigen::Index> kept = {0, 1, 3, 5};
    const Matrix inverse = exact(kept, kept).inverse();
    for (size_t i = 0; i < 6; ++i) {
      EXPECT_EQ(opened[0].integers[i], expected[i]);
      EXPECT_EQ(opened[2].integers[i], expected[i]);
      if (expected[i] == 1) {
        EXPECT_TRUE(got.row(static_cast<Eigen::Index>(i)).isZero(0));
      }
    }
    EXPECT_LE((got(kept, kept) - inverse).cwiseAbs().maxCoeff(), 1e-8);
  }
}

// Beyond what can be told from collinear, some variable is always reported.
TEST(DefiniteTest, IllConditionedMatricesAreReported) {
  for (const Setting& setting : {kSettings[0], kSettings[2]}) {
    for (long double condition : {1e8L, 1e10L}) {
      const TestInput input = InputOf(Correlation(20, condition, 1), 1, 60);
      const auto opened = Evaluate(setting, {input}, [](Engine& engine, const List& values) {
        const DefiniteMatrix list[] = {{values[0]}};
        return List{FactorDefinite(engine, list)[0].collinear,
                    InvertDefinite(engine, list, kF)[0].collinear};
      });
      for (const Opened& flags : opened) {
        EXPECT_NE(std::count(flags.integers.begin(), flags.integers.end(), 1), 0);
      }
    }
  }
}

// Pivots in a given order do not tell everything: in Kahan's matrix all of them are far from zero,
// and yet some variable is nearly a combination of the others.
TEST(DefiniteTest, VarianceInflationIsReportedWhereNoPivotIsSmall) {
  constexpr Eigen::Index kSize = 8;
  const long double cosine = 0.6L, sine = std::sqrt(1 - cosine * cosine);
  Matrix root = Matrix::Identity(kSize, kSize);
  for (Eigen::Index i = 0; i < kSize; ++i) {
    for (Eigen::Index j = i + 1; j < kSize; ++j) root(i, j) = -cosine;
  }
  for (Eigen::Index i = 0; i < kSize; ++i) root.row(i) *= std::pow(sine, i);
  const Matrix sum = root.transpose() * root;
  const Matrix scale = sum.diagonal().cwiseSqrt().cwiseInverse().asDiagonal();
  const TestInput input = InputOf(Matrix(scale * sum * scale), 1);
  const Matrix exact = FromGrid(input);
  Matrix rest = exact;
  long double smallest = 1;
  for (Eigen::Index j = 0; j < kSize; ++j) {
    smallest = std::min(smallest, rest(j, j));
    rest -= Matrix(rest.col(j) * rest.row(j) / rest(j, j));
  }
  const auto tolerance = static_cast<double>(smallest / 2);
  ASSERT_GT(exact.inverse().diagonal().maxCoeff(), 1 / tolerance);
  for (const Setting& setting : {kSettings[0], kSettings[2]}) {
    const auto opened = Evaluate(setting, {input}, [&](Engine& engine, const List& values) {
      const DefiniteMatrix list[] = {{values[0], tolerance}};
      return List{FactorDefinite(engine, list)[0].collinear,
                  InvertDefinite(engine, list, kF)[0].collinear};
    });
    const Matrix inverse = exact.inverse();
    for (size_t i = 0; i < kSize; ++i) {
      const auto index = static_cast<Eigen::Index>(i);
      EXPECT_EQ(opened[0].integers[i], 0);
      EXPECT_EQ(opened[1].integers[i], inverse(index, index) > 1 / tolerance ? 1 : 0);
    }
  }
}

// A matrix that is not what it was declared to be fails the check of its inverse: here it is not
// symmetric, and all of its pivots are fine.
TEST(DefiniteTest, AWrongInverseIsReported) {
  for (const Setting& setting : kSettings) {
    Matrix matrix = Correlation(5, 10, 1);
    matrix(1, 3) += 0.01L;
    const auto opened =
        Evaluate(setting, {InputOf(matrix, 1)}, [](Engine& engine, const List& values) {
          const DefiniteMatrix list[] = {{values[0]}};
          return List{InvertDefinite(engine, list, kF)[0].collinear};
        });
    EXPECT_NE(std::count(opened[0].integers.begin(), opened[0].integers.end(), 1), 0);
  }
}

TEST(DefiniteTest, SixtyVariables) {
  const TestInput input = InputOf(Correlation(60, 1e4L, 5), 1);
  const auto opened = Evaluate(kSettings[0], {input}, [](Engine& engine, const List& values) {
    const DefiniteMatrix list[] = {{values[0]}};
    const DefiniteInverse result = InvertDefinite(engine, list, kF)[0];
    return List{result.inverse, result.collinear};
  });
  const Matrix inverse = FromGrid(input).inverse();
  EXPECT_LE((FromGrid(opened[0]) - inverse).norm(), 1e-7 * inverse.norm());
  EXPECT_EQ(std::count(opened[1].integers.begin(), opened[1].integers.end(), 0), 60);
}

TEST(DefiniteTest, SolutionsOfLinearSystems) {
  const TestInput input = InputOf(Correlation(8, 1000, 6), 1);
  std::mt19937_64 random(3);
  const TestInput right = {RandomMatrix(random, {8, 3}, int64_t{1} << kF), 1, kF};
  const Matrix exact = FromGrid(input).ldlt().solve(FromGrid(right));
  const auto largest = static_cast<double>(exact.cwiseAbs().maxCoeff()) * 1.5;
  for (const Setting& setting : kSettings) {
    const auto opened = Evaluate(setting, {input, right}, [&](Engine& engine, const List& values) {
      const DefiniteMatrix list[] = {{values[0]}};
      const LinearSystem system[] = {
          {InvertDefinite(engine, list, 45)[0].inverse, values[1], largest}};
      return Solve(engine, system, kF);
    });
    EXPECT_LE((FromGrid(opened[0]) - exact).cwiseAbs().maxCoeff(), largest * 1e-8);
  }
}

TEST(DefiniteTest, RoundsOfTwentyVariables) {
  for (const Setting& setting : kSettings) {
    const size_t d = setting.d(), c = setting.c();
    const DefiniteMatrix list[] = {{Planned({20, 20}, 40, 1)}};
    const size_t step = 2 * d + 6 + 5 * c;
    const auto factor = [&](Engine& e) { FactorDefinite(e, list); };
    ExpectRounds(setting, 20 * step - c, factor);
    if (setting.kind != "ot") {
      EXPECT_LT(PlannedRounds(setting, factor), 600u);
    }
    // The check: a cut, a product, comparisons of 127 bits, and [count of up to 21 = 0] of 6 or 7
    // bits as a ring element.
    const size_t check = d + 1 + (d + 7) + d + (d + 3) + d;
    ExpectRounds(setting, 20 * step + check, [&](Engine& e) { InvertDefinite(e, list, 40); });
  }
}

TEST(DefiniteTest, RefusesWhatItCannotDo) {
  PlanEngine plan("dealer", 2);
  const DefiniteMatrix bad[] = {{Planned({3, 4}, 40, 1)},          {Planned({0, 0}, 40, 1)},
                                {Planned({3, 3}, 40, 1), 0x1p-23}, {Planned({3, 3}, 40, 1), 1},
                                {Planned({3, 3}, 40, 1), -1},      {Planned({3, 3}, 40, 100)},
                                {Planned({3, 3}, 90, 1)}};
  for (const DefiniteMatrix& matrix : bad) {
    EXPECT_THROW(FactorDefinite(plan, {&matrix, 1}), Error);
    EXPECT_THROW(InvertDefinite(plan, {&matrix, 1}, 40), Error);
  }
}

}  // namespace
}  // namespace partita::mpc::testing::definite_test
