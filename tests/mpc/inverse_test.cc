// Inverses without pivots, against the same in long double, from well conditioned to singular.
#include "mpc/functions/inverse.h"

#include <gtest/gtest.h>

#include <Eigen/Eigenvalues>
#include <Eigen/LU>
#include <Eigen/QR>
#include <cmath>
#include <random>

#include "base/error.h"
#include "mpc/plan_engine.h"
#include "tests/mpc/evaluate.h"

namespace partita::mpc::testing::inverse_test {
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

void ExpectSymmetric(const Opened& opened) {
  const size_t p = opened.shape.rows;
  for (size_t i = 0; i < p; ++i) {
    for (size_t j = 0; j < i; ++j)
      EXPECT_EQ(opened.integers[i * p + j], opened.integers[j * p + i]) << i << ' ' << j;
  }
}

// What the header promises, for a matrix whose eigenvalues are at least `smallest`.
void ExpectInverse(const Opened& opened, const Matrix& exact, double largest, double smallest,
                   int fraction_bits) {
  const auto p = static_cast<long double>(exact.rows());
  const Matrix inverse = exact.inverse();
  const long double grown = p * 0x1p-44L * largest / smallest;
  EXPECT_LE(Norm(FromGrid(opened) - inverse),
            Norm(inverse) * (p * 0x1p-44L + grown * grown + 0x1p-44L) +
                p * std::ldexp(1.0L, 1 - fraction_bits));
  ExpectSymmetric(opened);
}

TEST(InverseTest, OfMatricesOfAnyConditionOnEveryEngine) {
  for (const Setting& setting : kSettings) {
    for (const size_t size : {size_t{1}, size_t{2}, size_t{9}}) {
      for (const long double condition : {1.0L, 1e3L, 1e6L}) {
        SCOPED_TRACE(setting.kind + ", " + std::to_string(size) + " variables, condition " +
                     std::to_string(static_cast<double>(condition)));
        const Matrix matrix = WithEigenvalues(Spectrum(size, condition), 1);
        const TestInput input = InputOf(matrix, 1, 58);
        const double smallest = size == 1 ? 1 : static_cast<double>(0.99L / condition);
        const auto opened = Evaluate(setting, {input}, [&](Engine& engine, const List& values) {
          const PositiveMatrix list[] = {{values[0], 1.001, smallest}};
          return InvertPositive(engine, list, kF);
        });
        ExpectInverse(opened[0], FromGrid(input), 1.001, smallest, kF);
      }
    }
  }
}

TEST(InverseTest, OfLargeMatrices) {
  for (const Setting& setting : {kSettings[0], kSettings[2]}) {
    for (const auto& [size, condition] :
         {std::pair{size_t{20}, 1e4L}, {size_t{20}, 7e5L}, {size_t{54}, 1e4L}}) {
      SCOPED_TRACE(setting.kind + ", " + std::to_string(size) + " variables");
      // In units of their own, as a correlation matrix whose eigenvalues add up to its size.
      const auto p = static_cast<double>(size);
      const Matrix matrix = p * WithEigenvalues(Spectrum(size, condition), 2);
      const TestInput input = InputOf(matrix, p, 50);
      const double smallest = static_cast<double>(0.99L * p / condition);
      const auto opened = Evaluate(setting, {input}, [&](Engine& engine, const List& values) {
        const PositiveMatrix list[] = {{values[0], p, smallest}};
        return InvertPositive(engine, list, kF);
      });
      ExpectInverse(opened[0], FromGrid(input), p, smallest, kF);
    }
  }
}

// Eigenvalues below what was stated, and 0: the inverse is positive definite and within its bound
// (which Evaluate checks), and right on the other eigenvectors.
TEST(InverseTest, OfSingularMatricesIsPositiveDefiniteAndBounded) {
  for (const Setting& setting : kSettings) {
    SCOPED_TRACE(setting.kind);
    const Matrix matrix = WithEigenvalues({1, 0.5L, 1e-2L, 1e-9L, 0}, 3);
    const TestInput input = InputOf(matrix, 1, 58);
    const auto opened = Evaluate(setting, {input}, [](Engine& engine, const List& values) {
      const PositiveMatrix list[] = {{values[0], 1, 1e-4}};
      return InvertPositive(engine, list, kF);
    });
    const Matrix got = FromGrid(opened[0]);
    const Eigen::SelfAdjointEigenSolver<Matrix> own(Matrix((got + got.transpose()) / 2));
    EXPECT_GT(own.eigenvalues().minCoeff(), 0.9L);
    EXPECT_LE(own.eigenvalues().maxCoeff(), 48 / 1e-4L);
    EXPECT_LE(opened[0].bound, 48 / 1e-4);
    const Eigen::SelfAdjointEigenSolver<Matrix> exact(FromGrid(input));
    for (Eigen::Index i = 2; i < 5; ++i) {
      const Matrix vector = exact.eigenvectors().col(i);
      EXPECT_LE((got * vector - vector / exact.eigenvalues()[i]).norm(), 2e-6L);
    }
  }
}

// As far below zero as the header allows, and of as few fraction bits as there are.
TEST(InverseTest, OfMatricesThatRoundingMadeIndefiniteIsPositiveDefinite) {
  constexpr double kSmallest = 0x1p-12;
  for (const Setting& setting : kSettings) {
    SCOPED_TRACE(setting.kind);
    const Matrix matrix = WithEigenvalues({1, 0.5L, 1e-2L, -0.9L * kSmallest / 64}, 6);
    const TestInput input = InputOf(matrix, 1, 26);
    const auto opened = Evaluate(setting, {input}, [](Engine& engine, const List& values) {
      const PositiveMatrix list[] = {{values[0], 1, kSmallest}};
      return InvertPositive(engine, list, kF);
    });
    const Eigen::SelfAdjointEigenSolver<Matrix> own(FromGrid(opened[0]));
    EXPECT_GT(own.eigenvalues().minCoeff(), 0.9L);
    EXPECT_LE(own.eigenvalues().maxCoeff(), 48 / kSmallest);
  }
}

// Eigenvalues of I - A X, which are those of the symmetric I - R X R with R the root of A.
void ExpectResidual(const Opened& opened, const Matrix& matrix, long double residual) {
  const Matrix root = Eigen::SelfAdjointEigenSolver<Matrix>(matrix).operatorSqrt();
  const Matrix identity = Matrix::Identity(matrix.rows(), matrix.cols());
  EXPECT_LE(Norm(identity - root * FromGrid(opened) * root), residual);
  ExpectSymmetric(opened);
}

TEST(InverseTest, RoughOnesAreWithinTheirResidual) {
  for (const Setting& setting : {kSettings[0], kSettings[2], kSettings[4]}) {
    for (const size_t size : {size_t{1}, size_t{2}, size_t{9}, size_t{21}, size_t{54}}) {
      if (setting.kind == "shamir" && size > 9) continue;
      SCOPED_TRACE(setting.kind + ", " + std::to_string(size) + " variables");
      // At both ends, and where the polynomial is farthest off in between.
      const auto p = static_cast<double>(size);
      std::vector<long double> eigenvalues = Spectrum(size, 0x1p16L);
      if (size > 2) eigenvalues[1] = 1;
      const Matrix matrix = p * WithEigenvalues(eigenvalues, 7);
      const TestInput input = InputOf(matrix, p, 44);
      const double smallest = 0.999 * p * (size == 1 ? 1 : 0x1p-16);
      for (const double residual : {0x1p-8, 0x1p-3}) {
        const auto opened = Evaluate(setting, {input}, [&](Engine& engine, const List& values) {
          const PositiveMatrix list[] = {{values[0], 1.001 * p, smallest}};
          return InvertRoughly(engine, list, residual, kF);
        });
        ExpectResidual(opened[0], FromGrid(input), residual + 0x1p-20);
      }
    }
  }
}

// As a step does it: smallest I before, so that neither a singular matrix nor rounding hurts.
TEST(InverseTest, RoughOnesOfDampedMatricesAreBounded) {
  constexpr double kSmallest = 0x1p-14;
  for (const Setting& setting : {kSettings[0], kSettings[2]}) {
    SCOPED_TRACE(setting.kind);
    const Matrix matrix =
        WithEigenvalues({1, 0.1L, 0, -kSmallest / 2}, 8) + kSmallest * Matrix::Identity(4, 4);
    const auto opened =
        Evaluate(setting, {InputOf(matrix, 1.5, kF)}, [](Engine& engine, const List& values) {
          const PositiveMatrix list[] = {{values[0], 1 + kSmallest, kSmallest}};
          return InvertRoughly(engine, list, 0x1p-8, kF);
        });
    const Eigen::SelfAdjointEigenSolver<Matrix> own(FromGrid(opened[0]));
    EXPECT_GT(own.eigenvalues().minCoeff(), 0.9L);
    EXPECT_LE(own.eigenvalues().maxCoeff(), 2.1L / kSmallest);
    EXPECT_LE(opened[0].bound, 8 / kSmallest);
  }
}

TEST(InverseTest, SeveralMatricesShareTheirRounds) {
  for (const Setting& setting : kSettings) {
    SCOPED_TRACE(setting.kind);
    const Matrix one = WithEigenvalues(Spectrum(4, 100), 4);
    const Matrix two = 30 * WithEigenvalues(Spectrum(7, 1e5L), 5);
    const TestInput inputs[] = {InputOf(one, 1, kF), InputOf(two, 30, 50)};
    const auto opened =
        Evaluate(setting, {inputs[0], inputs[1]}, [](Engine& engine, const List& values) {
          const PositiveMatrix list[] = {{values[0], 1, 0.0099}, {values[1], 30, 29e-5}};
          return InvertPositive(engine, list, kF);
        });
    ExpectInverse(opened[0], FromGrid(inputs[0]), 1, 0.0099, kF);
    ExpectInverse(opened[1], FromGrid(inputs[1]), 30, 29e-5, kF);
    const auto rough =
        Evaluate(setting, {inputs[0], inputs[1]}, [](Engine& engine, const List& values) {
          const PositiveMatrix list[] = {{values[0], 1, 0.0099}, {values[1], 30, 29e-5}};
          return InvertRoughly(engine, list, 0x1p-10, kF);
        });
    ExpectResidual(rough[0], FromGrid(inputs[0]), 0x1p-10 + 0x1p-20);
    ExpectResidual(rough[1], FromGrid(inputs[1]), 0x1p-10 + 0x1p-20);
  }
}

TEST(InverseTest, RoundsAreStated) {
  EXPECT_EQ(StepsFor(20, 20 * 0x1p-18), 13);
  EXPECT_EQ(StepsFor(1, 1), 1);
  EXPECT_EQ(StepsFor(20, 20 * 0x1p-14, 0x1p-8), 9);
  EXPECT_EQ(StepsFor(20, 20 * 0x1p-16, 0x1p-8), 10);
  for (const Setting& setting : {kSettings[0], kSettings[2]}) {
    for (const double ratio : {1.0, 0x1p5, 0x1p10, 0x1p18, 0x1p24}) {
      const auto steps = static_cast<size_t>(StepsFor(20, 20 / ratio));
      const size_t rounds = PlannedRounds(setting, [&](Engine& engine) {
        const PositiveMatrix list[] = {{Planned({20, 20}, 50, 20), 20, 20 / ratio},
                                       {Planned({3, 3}, 50, 20), 20, 20.0 / 4}};
        InvertPositive(engine, list, kF);
      });
      EXPECT_EQ(rounds, setting.d() + (std::max(steps, size_t(StepsFor(4, 1))) + 2) * setting.c())
          << setting.kind << ' ' << ratio;
      const size_t rough = PlannedRounds(setting, [&](Engine& engine) {
        const PositiveMatrix matrix{Planned({20, 20}, 50, 20), 20, 20 / ratio};
        InvertRoughly(engine, std::span(&matrix, 1), 0x1p-8, kF);
      });
      const size_t guessed = PlannedRounds(setting, [&](Engine& engine) {
        const GuessedSystem system{Planned({5, 5}, kF, 1), Planned({5, 5}, kF, 1),
                                   Planned({5, 2}, kF, 1), 20, 20 / ratio};
        SolveFromGuess(engine, std::span(&system, 1), 0x1p-8, kF);
      });
      if (ratio <= 0x1p8) {
        // Few bits are not cut first, unless a coarse start takes more steps: that of 1 / 20 itself.
        for (const int bits : {kF, 55}) {
          const size_t numbers = PlannedRounds(setting, [&](Engine& engine) {
            const NumbersInRange range{Planned({5, 1}, bits, 20), 20, 20 / ratio};
            ReciprocalInRange(engine, std::span(&range, 1), kF);
          });
          const auto range_steps = static_cast<size_t>(StepsFor(20, 20 / ratio, kRangeResidual));
          const size_t first = bits == kF && ratio > 1 ? 0 : setting.d();
          EXPECT_EQ(numbers, first + range_steps * setting.c()) << bits << ' ' << ratio;
        }
      }
      EXPECT_EQ(guessed, (1 + static_cast<size_t>(StepsFor(20, 20 / ratio, 0x1p-8))) * setting.c())
          << setting.kind << ' ' << ratio;
      const auto rough_steps = static_cast<size_t>(StepsFor(20, 20 / ratio, 0x1p-8));
      EXPECT_EQ(rough, setting.d() + (rough_steps == 1 ? setting.d() : rough_steps * setting.c()))
          << setting.kind << ' ' << ratio;
    }
  }
}

// As an imputation does it: a block of a Wishart matrix between roots of what the guess is.
TEST(InverseTest, SolvesFromAGuessOnEveryEngine) {
  for (const Setting& setting : kSettings) {
    for (const size_t size : {size_t{1}, size_t{3}, size_t{8}}) {
      SCOPED_TRACE(setting.kind + ", " + std::to_string(size) + " variables");
      const Matrix guess = WithEigenvalues(Spectrum(size, 1e3L), 11);
      std::vector<long double> noise = Spectrum(size, 900);
      if (size > 2) noise[1] = 0.3L;
      const Eigen::SelfAdjointEigenSolver<Matrix> solver(guess);
      const Matrix root = solver.operatorInverseSqrt();
      const Matrix matrix = root * WithEigenvalues(noise, 12) * root;
      const Matrix right = Matrix::Random(static_cast<Eigen::Index>(size), 4);
      const TestInput inputs[] = {InputOf(matrix, 2000, kF), InputOf(guess, 1, kF),
                                  InputOf(right, 1, kF)};
      const auto opened = Evaluate(
          setting, {inputs[0], inputs[1], inputs[2]}, [](Engine& engine, const List& values) {
            Shared bounded = values[2];
            bounded.bound = 0x1p14;
            const GuessedSystem system{values[0], values[1], bounded, 1.01, 0.99 / 900};
            return SolveFromGuess(engine, std::span(&system, 1), 0x1p-32, kF);
          });
      const Matrix exact = FromGrid(inputs[0]).inverse() * FromGrid(inputs[2]);
      // Cuts of E grow by the ratio, and are skewed by the root of the guess's condition number.
      const long double skew = std::sqrt(1000.0L) * static_cast<long double>(size);
      const long double relative = 0x1p-32L + skew * 900 * 0x1p-44L;
      const Matrix error = FromGrid(opened[0]) - exact;
      EXPECT_LE(error.norm(),
                exact.norm() * relative * skew + static_cast<long double>(size) * 0x1p-36L);
    }
  }
}

// Evenly over the range, both ends included.
TEST(InverseTest, ReciprocalsOfNumbersInARange) {
  for (const Setting& setting : kSettings) {
    for (const auto& [smallest, largest] :
         {std::pair{1.0, 1.0}, {1.0, 20.0}, {0.3, 60.0}, {1000.0, 2000.0}}) {
      for (const int bits : {kF, 50}) {
        SCOPED_TRACE(setting.kind + ", from " + std::to_string(smallest));
        Matrix numbers(100, 1);
        for (Eigen::Index i = 0; i < numbers.rows(); ++i)
          numbers(i, 0) = smallest + (largest - smallest) * static_cast<double>(i) / 99;
        const TestInput input = InputOf(numbers, largest, kF);
        const auto opened = Evaluate(
            setting, {input},
            [&, smallest = smallest, largest = largest](Engine& engine, const List& values) {
              const NumbersInRange range{values[0], largest * (1 + 0x1p-30),
                                         smallest * (1 - 0x1p-30)};
              return ReciprocalInRange(engine, std::span(&range, 1), bits);
            });
        const Matrix exact = FromGrid(input).cwiseInverse(), got = FromGrid(opened[0]);
        for (Eigen::Index i = 0; i < numbers.rows(); ++i) {
          EXPECT_LE(std::abs(got(i, 0) - exact(i, 0)),
                    std::ldexp(1.0L, -bits) + exact(i, 0) * std::exp2(-39.5L));
        }
      }
    }
  }
  for (const auto& [smallest, largest] : {std::pair{0.0, 1.0}, {2.0, 1.0}, {1.0, 257.0}}) {
    PlanEngine plan("dealer", 2);
    const NumbersInRange range{Planned({2, 1}, kF, 1), largest, smallest};
    EXPECT_THROW(ReciprocalInRange(plan, std::span(&range, 1), kF), Error) << smallest;
  }
}

TEST(InverseTest, RefusesWhatItCannotInvert) {
  const auto invert = [](const Shared& matrix, double largest, double smallest) {
    PlannedRounds(kSettings[0], [&](Engine& engine) {
      const PositiveMatrix list[] = {{matrix, largest, smallest}};
      InvertPositive(engine, list, kF);
    });
  };
  const Shared square = Planned({3, 3}, 50, 1);
  EXPECT_NO_THROW(invert(square, 1, 0x1p-24));
  EXPECT_THROW(invert(square, 1, 0x1p-25), Error);
  EXPECT_THROW(invert(square, 1, 0), Error);
  EXPECT_THROW(invert(square, 1, 2), Error);
  EXPECT_THROW(invert(square, NAN, 1), Error);
  EXPECT_THROW(invert(Planned({3, 2}, 50, 1), 1, 0.5), Error);
  const auto roughly = [&](double residual) {
    PlannedRounds(kSettings[0], [&](Engine& engine) {
      const PositiveMatrix matrix{square, 1, 0.5};
      InvertRoughly(engine, std::span(&matrix, 1), residual, kF);
    });
  };
  EXPECT_NO_THROW(roughly(0.5));
  EXPECT_THROW(roughly(1), Error);
  EXPECT_THROW(roughly(0x1p-23), Error);
}

}  // namespace
}  // namespace partita::mpc::testing::inverse_test
