// Inverses of informations, first and later ones, against the same in long double; and which of
// their columns are told to be true.
#include "mpc/functions/information_inverse.h"

#include <gtest/gtest.h>

#include <Eigen/LU>
#include <cmath>
#include <random>

#include "mpc/functions/arithmetic.h"
#include "mpc/functions/inverse.h"
#include "tests/mpc/evaluate.h"

namespace partita::mpc::testing::information_inverse_test {
namespace {

using Matrix = Eigen::MatrixXd;
using List = std::vector<Shared>;

constexpr int kInputBits = 60;

TestInput InputOf(const Matrix& matrix) {
  TestInput input{{{static_cast<size_t>(matrix.rows()), static_cast<size_t>(matrix.cols())}, {}},
                  1,
                  kInputBits};
  for (Eigen::Index i = 0; i < matrix.rows(); ++i) {
    for (Eigen::Index j = 0; j < matrix.cols(); ++j)
      input.values.values.push_back(EncodeFixed(matrix(i, j), kInputBits));
  }
  return input;
}

Matrix FromOpened(const Opened& opened) {
  Matrix matrix(opened.shape.rows, opened.shape.cols);
  for (size_t i = 0; i < opened.integers.size(); ++i) {
    const size_t cols = opened.shape.cols;
    matrix(static_cast<Eigen::Index>(i / cols), static_cast<Eigen::Index>(i % cols)) = opened[i];
  }
  return matrix;
}

// Columns of a design of 200 rows in [-1, 1]: an intercept and numbers that are correlated.
Matrix Design(Eigen::Index p, unsigned seed) {
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> uniform(-1, 1);
  Matrix x(200, p);
  for (Eigen::Index n = 0; n < x.rows(); ++n) {
    const double common = uniform(random);
    for (Eigen::Index j = 0; j < p; ++j)
      x(n, j) = j == 0 ? 1 : 0.8 * common + 0.2 * uniform(random);
  }
  return x;
}

// Of weights in [0.02, 0.25], over 2^8.
Matrix Information(const Matrix& x, unsigned seed) {
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> uniform(0.02, 0.25);
  Eigen::VectorXd weights(x.rows());
  for (double& w : weights) w = uniform(random);
  return x.transpose() * weights.asDiagonal() * x / 256;
}

Shared Scaled(Engine& engine, const Shared& information, const Shared& scale) {
  Shared rows, both;
  ProductRound first(engine), second(engine);
  first.AddCut(information, scale, 0x1p14, 58, rows);
  first.Run();
  second.AddCut(engine.Transpose(rows), scale, 0x1p28, kScaledInformationBits, both);
  second.Run();
  return both;
}

Shared DiagonalOfMatrix(Engine& engine, const Shared& matrix) {
  std::vector<Shared> entries;
  for (size_t i = 0; i < matrix.shape.rows; ++i)
    entries.push_back(engine.Slice(matrix, i, i, {1, 1}));
  return engine.Concatenate(entries, true);
}

// The rows of X whose columns are true, else zeros.
Shared TrueRows(Engine& engine, const Shared& inverse, const Shared& is_true) {
  Shared rows;
  ProductRound round(engine);
  round.Add(inverse, is_true, kMostInflation, rows);
  round.Run();
  return rows;
}

// Of two informations: the scale, both inverses as far as true, which of their columns are, which
// columns of the first are independent of those before.
List InverseAndLater(Engine& engine, const List& informations) {
  const Shared scale =
      InformationScale(engine, InformationSizes(engine, DiagonalOfMatrix(engine, informations[0])));
  const Shared scaled = Scaled(engine, informations[0], scale);
  const UncheckedInverse first = InvertInformation(engine, scaled, nullptr);
  const Shared inverse = CorrectedInverse(engine, first);
  const Shared later_scaled = Scaled(engine, informations[1], scale);
  const UncheckedInverse later = InvertInformation(engine, later_scaled, &inverse);
  const Shared first_true = TrueColumns(engine, scaled, first);
  const Shared later_true = TrueColumns(engine, later_scaled, later);
  return {scale,      TrueRows(engine, inverse, first_true),
          first_true, TrueRows(engine, CorrectedInverse(engine, later), later_true),
          later_true, IndependentOfThoseBefore(engine, scaled)};
}

std::vector<double> Entries(const Opened& opened) {
  std::vector<double> entries;
  for (size_t i = 0; i < opened.integers.size(); ++i) entries.push_back(opened[i]);
  return entries;
}

void ExpectInverse(const Opened& opened, const Matrix& information, const Eigen::VectorXd& scale) {
  const Matrix got = FromOpened(opened);
  const Matrix scaled = scale.asDiagonal() * information * scale.asDiagonal();
  const Matrix expected = scaled.inverse();
  EXPECT_LT((got - expected).norm(), expected.norm() * 0x1p-22);
}

TEST(InformationInverseTest, FirstAndLater) {
  for (const Setting& setting : kSettings) {
    SCOPED_TRACE(setting.kind);
    const size_t p = setting.kind == "ot" ? 3 : 6;
    const Matrix x = Design(static_cast<Eigen::Index>(p), 1);
    // The later one's weights are up to 12 times larger or smaller than the first one's.
    const Matrix first = Information(x, 2), later = Information(x, 3);
    const std::vector<Opened> opened =
        Evaluate(setting, {InputOf(first), InputOf(later)}, InverseAndLater);
    const Eigen::VectorXd scale = FromOpened(opened[0]);
    for (size_t j = 0; j < p; ++j) {
      const double of_diagonal = first(static_cast<Eigen::Index>(j), static_cast<Eigen::Index>(j)) *
                                 opened[0][j] * opened[0][j];
      EXPECT_GE(of_diagonal, 0.5 - 1e-9);
      EXPECT_LT(of_diagonal, 1 + 1e-9);
    }
    ExpectInverse(opened[1], first, scale);
    ExpectInverse(opened[3], later, scale);
    for (const size_t flags : {2, 4, 5})
      EXPECT_EQ(Entries(opened[flags]), std::vector<double>(p, 1)) << flags;
  }
}

// Column 3 is the sum of two before it; column 1 is nothing at all.
TEST(InformationInverseTest, TellsColumnsThatOthersExplain) {
  for (const Setting& setting : {kSettings[0], kSettings[2]}) {
    Matrix x = Design(5, 4);
    x.col(3) = (x.col(0) + x.col(2)) / 2;
    const Matrix information = Information(x, 5);
    std::vector<Opened> opened =
        Evaluate(setting, {InputOf(information), InputOf(information)}, InverseAndLater);
    EXPECT_EQ(Entries(opened[2]), (std::vector<double>{0, 1, 0, 0, 1}));
    EXPECT_EQ(Entries(opened[5]), (std::vector<double>{1, 1, 1, 0, 1}));
    x = Design(5, 4);
    x.col(1).setZero();
    const Matrix without = Information(x, 5);
    opened = Evaluate(setting, {InputOf(without), InputOf(without)}, InverseAndLater);
    EXPECT_EQ(opened[0][1], 0);
    EXPECT_EQ(Entries(opened[2]), (std::vector<double>{1, 0, 1, 1, 1}));
    EXPECT_EQ(Entries(opened[4]), (std::vector<double>{1, 0, 1, 1, 1}));
    EXPECT_EQ(Entries(opened[5]), (std::vector<double>{1, 0, 1, 1, 1}));
  }
}

// On both sides of a variance inflation of 2^20.
TEST(InformationInverseTest, LimitOfInflation) {
  for (const double apart : {0x1p-9, 0x1p-11}) {
    Matrix x = Design(3, 6);
    std::mt19937_64 random(7);
    std::uniform_real_distribution<double> uniform(-1, 1);
    for (Eigen::Index n = 0; n < x.rows(); ++n)
      x(n, 2) = (1 - apart) * x(n, 1) + apart * uniform(random);
    const Matrix information = Information(x, 8);
    const std::vector<Opened> opened =
        Evaluate(kSettings[0], {InputOf(information), InputOf(information)}, InverseAndLater);
    const double is_true = apart == 0x1p-9 ? 1 : 0;
    EXPECT_EQ(Entries(opened[2]), (std::vector<double>{1, is_true, is_true})) << apart;
    EXPECT_EQ(Entries(opened[5]), (std::vector<double>{1, 1, is_true})) << apart;
  }
}

// An information that has grown beyond what a last inverse is a guess for, and one that shrunk: no
// column passes for true.
TEST(InformationInverseTest, FarFromTheLast) {
  const Matrix x = Design(4, 9);
  const Matrix information = Information(x, 10);
  for (const double factor : {0x1p-9, 200.0}) {
    const double of_first = factor > 1 ? 1 / factor : 1;
    const std::vector<Opened> opened = Evaluate(
        kSettings[0], {InputOf(of_first * information), InputOf(of_first * factor * information)},
        InverseAndLater);
    EXPECT_EQ(Entries(opened[2]), std::vector<double>(4, 1));
    EXPECT_EQ(Entries(opened[4]), std::vector<double>(4, 0)) << factor;
  }
}

TEST(InformationInverseTest, StatedRounds) {
  for (const Setting& setting : kSettings) {
    SCOPED_TRACE(setting.kind);
    const double p = 9;
    const size_t d = setting.d(), c = setting.c();
    const Shared scaled = Planned({9, 9}, kScaledInformationBits, 0x1p28);
    const Shared last = Planned({9, 9}, kInformationInverseBits, kMostInflation);
    const UncheckedInverse inverse = {last, Planned({9, 9}, 86, 0x1p34)};
    const auto first_steps = static_cast<size_t>(StepsFor(1.001 * p, p * 0x1p-22));
    const auto later_steps = static_cast<size_t>(StepsFor(32, 1.0 / 32, 0x1p-30));
    const size_t check = 4 * d + 7 + CeilLog2(7);
    ExpectRounds(setting, 2 * d + CeilLog2(61) + 2, [](Engine& engine) {
      InformationSizes(engine, Planned({9, 1}, 60, 1));
    });
    ExpectRounds(setting, d + c * first_steps + 1,
                 [&](Engine& engine) { InvertInformation(engine, scaled, nullptr); });
    ExpectRounds(setting, c * (1 + later_steps) + 1,
                 [&](Engine& engine) { InvertInformation(engine, scaled, &last); });
    ExpectRounds(setting, d + c, [&](Engine& engine) { CorrectedInverse(engine, inverse); });
    ExpectRounds(setting, check, [&](Engine& engine) { TrueColumns(engine, scaled, inverse); });
    ExpectRounds(setting, d + c * first_steps + 1 + check,
                 [&](Engine& engine) { IndependentOfThoseBefore(engine, scaled); });
  }
}

}  // namespace
}  // namespace partita::mpc::testing::information_inverse_test
