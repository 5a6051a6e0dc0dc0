// Tests of terms on shares with covariances whose diagonals are far from 1, and that changed since the
// point before, against the same in the clear.
#include "methods/glm/wald.h"

#include <gtest/gtest.h>

#include <Eigen/LU>
#include <algorithm>
#include <cmath>
#include <optional>

#include "methods/glm/protocol.h"
#include "mpc/functions/information_inverse.h"
#include "mpc/functions/inverse.h"
#include "stats/glm/wald.h"
#include "tests/mpc/evaluate.h"

namespace partita::methods::glm::wald_test {
namespace {

using mpc::Engine;
using mpc::Shared;
using mpc::testing::Setting;
using mpc::testing::TestInput;

constexpr int kInverseBits = 40, kInformationBits = 60, kDispersionBits = 30, kUnitBits = 7;
const std::vector<size_t> kTerm = {1, 2, 3};

TestInput InputOf(const Eigen::MatrixXd& matrix, double bound, int fraction_bits) {
  TestInput input{{{static_cast<size_t>(matrix.rows()), static_cast<size_t>(matrix.cols())}, {}},
                  bound,
                  fraction_bits};
  for (Eigen::Index i = 0; i < matrix.rows(); ++i) {
    for (Eigen::Index j = 0; j < matrix.cols(); ++j)
      input.values.values.push_back(mpc::EncodeFixed(matrix(i, j), fraction_bits));
  }
  return input;
}

Task TaskOfOneTerm(stats::glm::Family family) {
  Task task;
  task.spec.law = stats::glm::LawOf(family);
  task.spec.columns.resize(4);
  task.spec.parameters.resize(4);
  task.spec.terms = {{"x", kTerm}};
  task.units.row_bits = kUnitBits;
  return task;
}

// Correlated columns of these informations.
Eigen::MatrixXd InverseOf(const Eigen::Vector4d& informations, double correlation = 0.6) {
  Eigen::MatrixXd matrix = Eigen::MatrixXd::Constant(4, 4, correlation);
  matrix.diagonal().setOnes();
  const Eigen::Vector4d roots = informations.cwiseSqrt();
  return Eigen::MatrixXd(roots.asDiagonal() * matrix * roots.asDiagonal()).inverse();
}

// Informations that have grown to 64, 16 and 2 and shrunk to 2^-7, and a point before that.
const Eigen::Vector4d kLast(2, 64, 16, 0x1p-7), kBefore(1, 20, 30, 0x1p-5);

struct Case {
  stats::glm::Family family = stats::glm::Family::kBinomial;
  Eigen::MatrixXd before = InverseOf(kBefore, 0.4), last = InverseOf(kLast);
  Eigen::Vector4d first_informations{0.9, 0.01, 0x1p-9, 0.3};  // diag(J) at the first point
  Eigen::Vector4d ratios{30, 2.5, -2.3, 1.3};                  // b over its standard error
  Eigen::Vector4d is_true = Eigen::Vector4d::Ones();
  double dispersion = 1;
  std::optional<Eigen::MatrixXd> shown = {};  // in the place of the last covariance

  // d.
  Eigen::Vector4d scale() const {
    return first_informations.unaryExpr(
        [](double j) { return std::exp2(-0.5 * (std::floor(std::log2(j)) + 1)); });
  }
  Eigen::MatrixXd covariance() const {
    return std::ldexp(dispersion, -kUnitBits) * Eigen::MatrixXd(scale().asDiagonal()) * last *
           Eigen::MatrixXd(scale().asDiagonal());
  }
  Eigen::VectorXd estimates() const {
    return ratios.cwiseProduct(covariance().diagonal().cwiseSqrt());
  }
};

double StatisticOf(const Setting& setting, const Case& of) {
  const Task task = TaskOfOneTerm(of.family);
  Eigen::MatrixXd dispersion(1, 1);
  dispersion(0, 0) = of.dispersion;
  const std::vector<mpc::testing::Opened> opened = mpc::testing::Evaluate(
      setting,
      {InputOf(of.before, 0x1p20, kInverseBits),
       InputOf(of.shown.value_or(of.last), 0x1p20, kInverseBits),
       InputOf(of.first_informations, 1, kInformationBits), InputOf(of.is_true, 1, 0),
       InputOf(dispersion, 4, kDispersionBits)},
      [&](Engine& engine, const std::vector<Shared>& inputs) -> std::vector<Shared> {
        mpc::SolvedStep before, solved;
        before.covariance = inputs[0];
        before.sizes = mpc::InformationSizes(engine, inputs[2]);
        solved.covariance = inputs[1];
        solved.is_true = inputs[3];
        solved.dispersion = inputs[4];
        const TermGuesses guesses = GuessTerms(engine, task, before, of.estimates());
        return {WaldStatistics(engine, task, solved, guesses)};
      });
  return opened.front()[0];
}

void ExpectStatistic(const Case& of, double relative) {
  const auto expected = stats::glm::WaldStatistic(of.estimates(), of.covariance(), kTerm);
  ASSERT_TRUE(expected.has_value());
  for (const Setting& setting : mpc::testing::kSettings) {
    SCOPED_TRACE(setting.kind);
    EXPECT_NEAR(StatisticOf(setting, of), *expected, relative * *expected);
  }
}

void ExpectNone(const Case& of) {
  for (const Setting& setting : {Setting{"dealer", 2}, Setting{"replicated", 3}}) {
    SCOPED_TRACE(setting.kind);
    EXPECT_EQ(StatisticOf(setting, of), kNoStatistic);
  }
}

TEST(GlmWald, InformationsMayHaveChanged) { ExpectStatistic({}, 1e-6); }

TEST(GlmWald, StatisticsMayBeLarge) {
  Case of;
  of.ratios = {0, 900, -10, 5};
  ExpectStatistic(of, 1e-6);
}

TEST(GlmWald, TheDispersionDivides) {
  Case of;
  of.family = stats::glm::Family::kGaussian;
  of.dispersion = 1.7;
  ExpectStatistic(of, 1e-6);
  // On the grid of dispersions, of which it is few units.
  of.dispersion = 0x1p-20;
  ExpectStatistic(of, 1e-6);
}

// Below that it may be rounding alone.
TEST(GlmWald, NoDispersionIsNoTest) {
  Case of;
  of.family = stats::glm::Family::kGaussian;
  of.dispersion = 0x1p-30;
  ExpectNone(of);
}

// Whatever stands in its place.
TEST(GlmWald, AColumnThatIsNotTrueHasNoTest) {
  Case of;
  of.shown = of.last;
  of.shown->row(2).setConstant(-0x1p19);
  of.is_true[2] = 0;
  ExpectNone(of);
}

TEST(GlmWald, AColumnThatIsNotTrueHasNoTestWhateverItLooksLike) {
  Case of;
  of.is_true[2] = 0;
  ExpectNone(of);
}

TEST(GlmWald, ASingularCovarianceHasNoTest) {
  Case of;
  Eigen::MatrixXd factors(4, 2);
  factors << 1, 0.2, 0.5, -1, 2, 0.3, 0.7, 0.7;
  of.before = of.last = factors * factors.transpose();
  ExpectNone(of);
}

TEST(GlmWald, ACovarianceThatChangedTooMuchHasNoTest) {
  Case of;
  of.last = 0x1p7 * of.before;
  ExpectNone(of);
  of.last = 0x1p-10 * of.before;
  ExpectNone(of);
}

TEST(GlmWald, WhatIsTooLargeHasNoTest) {
  Case of;
  of.ratios[1] = 0x1p20;
  ExpectNone(of);
  of.family = stats::glm::Family::kGaussian;
  ExpectNone(of);
}

// Formulas of wald.h for a term of three columns.
TEST(GlmWald, RoundsAreThoseStated) {
  const Task task = TaskOfOneTerm(stats::glm::Family::kBinomial);
  for (const Setting& setting : mpc::testing::kSettings) {
    if (setting.kind != "dealer") continue;
    SCOPED_TRACE(setting.kind);
    const size_t d = setting.d(), c = setting.c();
    mpc::SolvedStep solved;
    solved.covariance = mpc::testing::Planned({4, 4}, kInverseBits, 0x1p20);
    solved.is_true = mpc::testing::Planned({4, 1}, 0, 1);
    solved.sizes = {mpc::testing::Planned({4 * 29, 1}, 0, 1), {4, 1}, -28, 0};
    const Eigen::VectorXd estimates = Eigen::VectorXd::Ones(4);
    const auto first = static_cast<size_t>(mpc::StepsFor(1.001 * 3, 3 * 0x1p-22, 0x1p-22));
    const auto later = static_cast<size_t>(mpc::StepsFor(32, 1.0 / 32, 0x1p-30));
    // Sizes; e e' and K; from nothing, F, corrected.
    const size_t sizes = 2 * d + mpc::testing::CeilLog2(70) + 2;
    const size_t guess = sizes + 2 * c + (d + c * first + 1) + (d + c);
    mpc::testing::ExpectRounds(
        setting, guess, [&](Engine& engine) { GuessTerms(engine, task, solved, estimates); });
    TermGuesses guesses;
    guesses.scales = {mpc::testing::Planned({3, 3}, 38, 0x1p16)};
    guesses.inverses = {mpc::testing::Planned({3, 3}, kInverseBits, 0x1p20)};
    guesses.ratios = mpc::testing::Planned({3, 1}, 30, 0x1p17);
    guesses.within = mpc::testing::Planned({3, 1}, 0, 1);
    // K and from the last one; the check and its count, or the statistic and its comparison; two products.
    const size_t check = (2 * d + 7) + (2 * d + mpc::testing::CeilLog2(7));
    const size_t statistic = (d + c) + 2 * c + (2 * d + 7);
    const size_t rest = std::max(check, statistic) + 2;
    mpc::testing::ExpectRounds(setting, c + c * (1 + later) + 1 + rest, [&](Engine& engine) {
      WaldStatistics(engine, task, solved, guesses);
    });
  }
}

}  // namespace
}  // namespace partita::methods::glm::wald_test
