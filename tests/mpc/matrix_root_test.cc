// Inverse roots without pivots, against the same in long double, from well conditioned to singular.
#include "mpc/functions/matrix_root.h"

#include <gtest/gtest.h>

#include <Eigen/Eigenvalues>
#include <Eigen/QR>
#include <cmath>
#include <random>

#include "base/error.h"
#include "mpc/functions/arithmetic.h"
#include "tests/mpc/evaluate.h"

namespace partita::mpc::testing::matrix_root_test {
namespace {

using Matrix = Eigen::Matrix<long double, Eigen::Dynamic, Eigen::Dynamic>;
using List = std::vector<Shared>;
constexpr int kF = 40;

// Q diag(eigenvalues) Q' with a random orthogonal Q.
Matrix WithEigenvalues(const std::vector<long double>& eigenvalues, unsigned seed) {
  const auto size = static_cast<Eigen::Index>(eigenvalues.size());
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal;
  Matrix gauss(size, size);
  for (auto& value : gauss.reshaped()) value = normal(random);
  const Matrix q = Eigen::HouseholderQR<Matrix>(gauss).householderQ();
  Matrix diagonal = Matrix::Zero(size, size);
  for (Eigen::Index i = 0; i < size; ++i) diagonal(i, i) = eigenvalues[static_cast<size_t>(i)];
  const Matrix product = q * diagonal * q.transpose();
  return (product + product.transpose()) / 2;
}

// From 1 down to 1 / condition, evenly on the scale of logarithms.
std::vector<long double> Spectrum(size_t size, long double condition) {
  std::vector<long double> values(size, 1);
  for (size_t i = 1; i < size; ++i)
    values[i] =
        std::pow(condition, -static_cast<long double>(i) / static_cast<long double>(size - 1));
  return values;
}

TestInput InputOf(const Matrix& matrix, double bound, int fraction_bits) {
  TestInput input{{{static_cast<size_t>(matrix.rows()), static_cast<size_t>(matrix.cols())}, {}},
                  bound,
                  fraction_bits};
  for (Eigen::Index i = 0; i < matrix.rows(); ++i) {
    for (Eigen::Index j = 0; j < matrix.cols(); ++j)
      input.values.values.push_back(EncodeFixed(static_cast<double>(matrix(i, j)), fraction_bits));
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

long double Norm(const Matrix& matrix) {
  const Matrix symmetric = (matrix + matrix.transpose()) / 2;
  const Eigen::SelfAdjointEigenSolver<Matrix> solver(symmetric, Eigen::EigenvaluesOnly);
  return solver.eigenvalues().cwiseAbs().maxCoeff();
}

// X B and D of one matrix, B = I.
std::vector<Opened> RootOf(const Setting& setting, const TestInput& input, double largest,
                           double smallest) {
  return Evaluate(setting, {input}, [&](Engine& engine, const List& values) {
    const size_t size = values[0].shape.rows;
    PublicMatrix identity{{{size, size}, std::vector<Int128>(size * size)}, kF};
    for (size_t i = 0; i < size; ++i) identity.values.values[i * size + i] = Int128{1} << kF;
    const RootedMatrix rooted{values[0], largest, smallest, WithBound(engine.Public(identity), 1)};
    const auto result = InverseRootTimes(engine, std::span(&rooted, 1), kF);
    return List{result[0].product, result[0].residual};
  });
}

long double Frobenius(const Opened& opened) { return FromGrid(opened).norm(); }

// |X A X - I|: what the cuts do to A relative to its smallest eigenvalue, the polynomial, and the
// cuts of X.
void ExpectRoot(const std::vector<Opened>& opened, const Matrix& exact, double largest,
                double smallest) {
  const auto p = static_cast<long double>(exact.rows());
  const Matrix root = FromGrid(opened[0]);
  const Matrix rest = root * exact * root - Matrix::Identity(exact.rows(), exact.cols());
  EXPECT_LE(Norm(rest), p * 0x1p-41L * largest / smallest + 0x1p-28L +
                            p * std::sqrt(static_cast<long double>(largest)) * 0x1p-37L);
  EXPECT_LE(Frobenius(opened[1]), std::sqrt(p) * ResidualOf(largest, smallest));
}

TEST(MatrixRootTest, OfMatricesOfAnyConditionOnEveryEngine) {
  for (const Setting& setting : kSettings) {
    for (const size_t size : {size_t{1}, size_t{2}, size_t{9}}) {
      for (const long double condition : {1.0L, 1e3L, 1e6L}) {
        SCOPED_TRACE(setting.kind + ", " + std::to_string(size) + " variables, condition " +
                     std::to_string(static_cast<double>(condition)));
        const Matrix matrix = 50 * WithEigenvalues(Spectrum(size, condition), 1);
        const TestInput input = InputOf(matrix, 50, kF);
        const double smallest = size == 1 ? 50 : static_cast<double>(49.9L / condition);
        ExpectRoot(RootOf(setting, input, 50.01, smallest), FromGrid(input), 50.01, smallest);
      }
    }
  }
}

TEST(MatrixRootTest, OfLargeMatrices) {
  for (const size_t size : {size_t{20}, size_t{54}}) {
    const Matrix matrix = 30 * WithEigenvalues(Spectrum(size, 1e5L), 2);
    const TestInput input = InputOf(matrix, 30, kF);
    ExpectRoot(RootOf(kSettings[0], input, 30.01, 29.9e-5), FromGrid(input), 30.01, 29.9e-5);
  }
}

// Eigenvalues below what was stated, 0, and what rounding makes of 0: bounded (which Evaluate
// checks), and D says that something is missing; right on the other eigenvectors.
TEST(MatrixRootTest, OfSingularMatricesIsBoundedAndSeen) {
  for (const Setting& setting : kSettings) {
    for (const long double small : {0.0L, -1e-4L / 64, 1e-6L}) {
      SCOPED_TRACE(setting.kind + ", " + std::to_string(static_cast<double>(small)));
      const Matrix matrix = WithEigenvalues({1, 0.5L, 1e-2L, small}, 3);
      const auto opened = RootOf(setting, InputOf(matrix, 1, kF), 1, 1e-4);
      EXPECT_GT(Frobenius(opened[1]), 100 * ResidualOf(1, 1e-4));
      const Eigen::SelfAdjointEigenSolver<Matrix> exact(matrix);
      const Matrix root = FromGrid(opened[0]);
      for (Eigen::Index i = 1; i < 4; ++i) {
        const Matrix vector = exact.eigenvectors().col(i);
        const long double value = std::sqrt(exact.eigenvalues()(i));
        EXPECT_LE((root * vector - vector / value).norm(), 1e-7L / value) << i;
      }
    }
  }
}

TEST(MatrixRootTest, TimesARightSide) {
  for (const Setting& setting : kSettings) {
    SCOPED_TRACE(setting.kind);
    const Matrix one = WithEigenvalues(Spectrum(4, 100), 4);
    const Matrix two = 40 * WithEigenvalues(Spectrum(6, 1e4L), 5);
    const Matrix right = Matrix::Random(4, 2), wide = Matrix::Random(6, 7);
    const auto opened = Evaluate(
        setting,
        {InputOf(one, 1, kF), InputOf(two, 40, kF), InputOf(right, 1, kF), InputOf(wide, 1, kF)},
        [](Engine& engine, const List& values) {
          const RootedMatrix list[] = {{values[0], 1.01, 0.0099, WithBound(values[2], 2)},
                                       {values[1], 40.1, 39.9e-4, WithBound(values[3], 3)}};
          const auto results = InverseRootTimes(engine, list, kF);
          return List{results[0].product, results[1].product};
        });
    const auto expected = [](const Matrix& matrix, const Matrix& of) {
      return Matrix(Eigen::SelfAdjointEigenSolver<Matrix>(matrix).operatorInverseSqrt() * of);
    };
    EXPECT_LE((FromGrid(opened[0]) - expected(one, right)).norm(), 1e-8L);
    EXPECT_LE((FromGrid(opened[1]) - expected(two, wide)).norm(), 1e-7L);
  }
}

TEST(MatrixRootTest, RoundsAreStated) {
  EXPECT_EQ(RootSteps(1, 0x1p-20), 11);
  EXPECT_EQ(RootSteps(12, 0x1p-9), 9);
  for (const Setting& setting : {kSettings[0], kSettings[2]}) {
    for (const double ratio : {1.5, 0x1p10, 0x1p20, 0x1p24}) {
      const auto steps = static_cast<size_t>(RootSteps(20, 20 / ratio));
      const size_t rounds = PlannedRounds(setting, [&](Engine& engine) {
        const RootedMatrix list[] = {
            {Planned({20, 20}, kF, 20), 20, 20 / ratio, Planned({20, 3}, kF, 1)},
            {Planned({3, 3}, kF, 20), 20, 15, Planned({3, 1}, kF, 1)}};
        InverseRootTimes(engine, list, kF);
      });
      const size_t most = std::max(steps, size_t(RootSteps(20, 15)));
      EXPECT_EQ(rounds, (2 * most - 1) * setting.c()) << setting.kind << ' ' << ratio;
    }
  }
}

TEST(MatrixRootTest, RefusesWhatHasNoRoot) {
  const auto root = [](Shape shape, double largest, double smallest, Shape right) {
    PlannedRounds(kSettings[0], [&](Engine& engine) {
      const RootedMatrix rooted{Planned(shape, kF, 1), largest, smallest, Planned(right, kF, 1)};
      InverseRootTimes(engine, std::span(&rooted, 1), kF);
    });
  };
  EXPECT_NO_THROW(root({3, 3}, 1, 0x1p-24, {3, 1}));
  EXPECT_THROW(root({3, 3}, 1, 0x1p-25, {3, 1}), Error);
  EXPECT_THROW(root({3, 3}, 1, 0, {3, 1}), Error);
  EXPECT_THROW(root({3, 3}, 1, 2, {3, 1}), Error);
  EXPECT_THROW(root({3, 3}, NAN, 1, {3, 1}), Error);
  EXPECT_THROW(root({3, 2}, 1, 0.5, {3, 1}), Error);
  EXPECT_THROW(root({3, 3}, 1, 0.5, {2, 1}), Error);
}

}  // namespace
}  // namespace partita::mpc::testing::matrix_root_test
