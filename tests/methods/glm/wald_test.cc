// Tests of terms on shares with covariances whose diagonals are far from 1, and that changed since the
// point before, against the same in the clear.
#include "methods/glm/wald.h"

#include <gtest/gtest.h>

#include <Eigen/LU>
#include <algorithm>
#include <cmath>
#include <numeric>
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
  Errors errors = Errors::kModel;
  int covariance_bits = kInverseBits;

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
  Task task = TaskOfOneTerm(of.family);
  task.spec.errors = of.errors;
  Eigen::MatrixXd dispersion(1, 1);
  dispersion(0, 0) = of.dispersion;
  const std::vector<mpc::testing::Opened> opened = mpc::testing::Evaluate(
      setting,
      {InputOf(of.before, 0x1p20, of.covariance_bits),
       InputOf(of.shown.value_or(of.last), 0x1p20, of.covariance_bits),
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

// ---- a level that is far rarer than the others

// Three levels beside a reference level of this share; the information of a row is 0.9.
Eigen::Vector3d SharesBeside(double reference) {
  return Eigen::Vector3d(0.5, 0.3, 0.2) * (1 - reference);
}

// V at that information, in the scaling of the first point.
Eigen::MatrixXd CovarianceOfLevels(const Case& of, double reference) {
  const Eigen::Vector3d shares = SharesBeside(reference);
  Eigen::MatrixXd information = Eigen::MatrixXd::Zero(4, 4);
  information(0, 0) = 1;
  information.block<1, 3>(0, 1) = shares.transpose();
  information.block<3, 1>(1, 0) = shares;
  information.block<3, 3>(1, 1) = shares.asDiagonal();
  const Eigen::Vector4d d = of.scale();
  return (0.9 * Eigen::MatrixXd(d.asDiagonal() * information * d.asDiagonal())).inverse();
}

// The levels' estimates lie this far from the reference, far beyond what they differ by. As of an
// analysis of variance W is the information times the variance between levels, the reference at 0.
void ExpectRareReference(double reference, double relative) {
  SCOPED_TRACE(reference);
  const Eigen::Vector3d shares = SharesBeside(reference);
  Case of;
  of.first_informations << 0.9, 0.9 * shares;
  of.before = CovarianceOfLevels(of, 1.5 * reference);
  of.last = CovarianceOfLevels(of, reference);
  const Eigen::Vector4d errors = of.covariance().diagonal().cwiseSqrt();
  const Eigen::Vector3d levels = Eigen::Vector3d(0.2, -0.11, 0.31).array() + 1.5 * errors[1];
  of.ratios << 1, levels.cwiseQuotient(errors.tail<3>());
  const double mean = shares.dot(levels);
  const double between =
      shares.dot((levels.array() - mean).square().matrix()) + reference * mean * mean;
  const double expected = std::ldexp(0.9 * between, kUnitBits);
  EXPECT_NEAR(stats::glm::WaldStatistic(of.estimates(), of.covariance(), kTerm).value(), expected,
              1e-8 * expected);
  for (const Setting& setting : mpc::testing::kSettings) {
    SCOPED_TRACE(setting.kind);
    EXPECT_NEAR(StatisticOf(setting, of), expected, relative * expected);
  }
}

// Variances of the levels are 2^10, 2^14, 2^16, 2^17.5 times what they would be without the others.
TEST(GlmWald, ALevelMayBeRare) {
  ExpectRareReference(0x1p-10, 1e-6);
  ExpectRareReference(0x1p-14, 1e-6);
  ExpectRareReference(0x1p-16, 1e-5);
  ExpectRareReference(std::exp2(-17.5), 1e-5);
}

// Variances down to 2^-23, as of residuals that are 2^-11 of their bounds; below 2^-24 none.
TEST(GlmWald, RobustErrorsMayBeSmall) {
  Case of;
  of.errors = Errors::kRobust;
  of.covariance_bits = 60;
  of.before *= 0x1p-18;
  of.last *= 0x1p-18;
  ExpectStatistic(of, 1e-6);
  of.before *= 0x1p-6;
  of.last *= 0x1p-6;
  ExpectNone(of);
}

// Bounds carry secrecy on `shamir`: whatever does not fit its field is refused by the plan.
TEST(GlmWald, AFactorOfFortyLevelsFitsEveryEngine) {
  constexpr size_t kColumns = 40;
  for (const Errors errors : {Errors::kModel, Errors::kRobust}) {
    Task task = TaskOfOneTerm(stats::glm::Family::kGaussian);
    task.spec.errors = errors;
    task.spec.columns.resize(kColumns);
    task.spec.parameters.resize(kColumns);
    task.spec.terms.front().columns.resize(kColumns - 1);
    std::iota(task.spec.terms.front().columns.begin(), task.spec.terms.front().columns.end(), 1);
    const Eigen::VectorXd estimates = Eigen::VectorXd::Ones(kColumns);
    for (const Setting& setting : mpc::testing::kSettings) {
      SCOPED_TRACE(setting.kind);
      size_t rounds = 0;
      EXPECT_NO_THROW(
          rounds = mpc::testing::PlannedRounds(setting, [&](Engine& engine) {
            mpc::SolvedStep solved;
            // As InvertInformation and SandwichOf leave it.
            solved.covariance =
                errors == Errors::kModel
                    ? mpc::testing::Planned({kColumns, kColumns}, kInverseBits, 0x1p20)
                    : mpc::testing::Planned({kColumns, kColumns}, 82, 0x1p40);
            solved.is_true = mpc::testing::Planned({kColumns, 1}, 0, 1);
            solved.dispersion = mpc::testing::Planned({1, 1}, kDispersionBits, 4);
            solved.sizes = {mpc::testing::Planned({kColumns * 29, 1}, 0, 1), {kColumns, 1}, -28, 0};
            WaldStatistics(engine, task, solved, GuessTerms(engine, task, solved, estimates));
          }));
      EXPECT_GT(rounds, 0u);
    }
  }
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
    const size_t guess = sizes + 1 + c + (d + c * first + 1) + (d + c);
    mpc::testing::ExpectRounds(
        setting, guess, [&](Engine& engine) { GuessTerms(engine, task, solved, estimates); });
    TermGuesses guesses;
    guesses.scales = {mpc::testing::Planned({3, 3}, 20, 0x1p24)};
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
