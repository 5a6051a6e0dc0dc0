// Densities, scores and clipped sums against definitions: densities from their formulas, gradients
// by central differences of log densities, norms and sums from explicit gradients of single rows.
#include "stats/mixture/gradient.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <numbers>

#include "crypto/prg.h"
#include "stats/blr/variates.h"
#include "stats/mixture/predictive.h"
#include "tests/data/expect_error.h"

namespace partita::stats::mixture::gradient_test {
namespace {

using Eigen::ArrayXd;
using Eigen::ArrayXXd;
using Eigen::Index;

constexpr double kNoClip = std::numeric_limits<double>::infinity();

Layout EveryFamily() {
  return MakeLayout({{"level", Family::kCategorical, 3, 1, 0},
                     {"flag", Family::kBernoulli, 0, 1, 1},
                     {"share", Family::kBeta, 0, 1, 0},
                     {"size", Family::kGaussian, 0, 1, 1},
                     {"count", Family::kPoisson, 0, 4, 2}});
}

std::vector<std::vector<double>> SomeValues() {
  return {{0, 2, 1, 2}, {1, 0, 0, 1}, {0.2, 0.9, 0.5, 1e-6}, {-0.3, 1.1, 0, 0.4}, {0, 7, 3, 20}};
}

ArrayXXd SomeTheta(const Layout& layout, Index components, uint8_t seed) {
  crypto::Prg prg(crypto::Key(std::array<uint8_t, 32>{seed}));
  blr::Variates variates(prg);
  ArrayXXd theta(components, static_cast<Index>(1 + layout.num_columns));
  for (Index i = 0; i < theta.size(); ++i) theta.data()[i] = variates.Normal();
  return theta;
}

double Logistic(double z) { return 1 / (1 + std::exp(-z)); }
double Softplus(double z) { return std::log1p(std::exp(z)); }

// log F_k of row n from textbook densities.
double TextbookLogDensity(const ArrayXXd& theta, Index k, size_t n) {
  const auto values = SomeValues();
  const auto z = [&](Index j) { return theta(k, 1 + j); };
  const double total = std::exp(z(0)) + std::exp(z(1)) + std::exp(z(2));
  double sum = z(static_cast<Index>(values[0][n])) - std::log(total);
  sum += std::log(values[1][n] == 1 ? Logistic(z(3)) : 1 - Logistic(z(3)));
  const double a = Softplus(z(4)), b = Softplus(z(5)), x = values[2][n];
  sum += (a - 1) * std::log(x) + (b - 1) * std::log(1 - x) - std::lgamma(a) - std::lgamma(b) +
         std::lgamma(a + b);
  const double tau = Softplus(z(7)), e = values[3][n] - z(6);
  sum += 0.5 * std::log(tau / (2 * std::numbers::pi)) - 0.5 * tau * e * e;
  const double rate = 4 * Softplus(z(8)), count = values[4][n];
  return sum + count * std::log(rate) - rate - std::lgamma(count + 1);
}

// The gradient of row n by central differences.
ArrayXXd RowGradient(const Layout& layout, const Rows& rows, const ArrayXXd& theta, Index n) {
  constexpr double kStep = 1e-6;
  ArrayXXd gradient(theta.rows(), theta.cols());
  for (Index i = 0; i < theta.size(); ++i) {
    ArrayXXd up = theta, down = theta;
    up.data()[i] += kStep;
    down.data()[i] -= kStep;
    gradient.data()[i] =
        (LogDensityOfRows(layout, rows, up)(n) - LogDensityOfRows(layout, rows, down)(n)) /
        (2 * kStep);
  }
  return gradient;
}

TEST(MixtureGradientTest, DensitiesAreThoseOfTextbooks) {
  const Layout layout = EveryFamily();
  const Rows rows = MakeRows(layout, SomeValues());
  const ArrayXXd theta = SomeTheta(layout, 3, 1);
  const Components components = MakeComponents(layout, theta.rightCols(theta.cols() - 1));
  const ArrayXXd densities = LogDensities(layout, components, rows, AllRows(4));
  for (Index n = 0; n < 4; ++n) {
    double mixture = 0;
    for (Index k = 0; k < 3; ++k) {
      const double expected = TextbookLogDensity(theta, k, static_cast<size_t>(n));
      EXPECT_NEAR(densities(k, n), expected, 1e-11 * std::abs(expected));
      mixture += std::exp(theta(k, 0)) / theta.col(0).exp().sum() * std::exp(expected);
    }
    EXPECT_NEAR(LogDensityOfRows(layout, rows, theta)(n), std::log(mixture), 1e-10);
  }
}

// Every clip norm: none, one that clips some rows, one that clips all.
TEST(MixtureGradientTest, SumsAreSumsOfClippedRowGradients) {
  const Layout layout = EveryFamily();
  const Rows rows = MakeRows(layout, SomeValues());
  for (const Index components : {1, 3}) {
    const ArrayXXd theta = SomeTheta(layout, components, 2);
    std::vector<ArrayXXd> gradients;
    for (Index n = 0; n < 4; ++n) gradients.push_back(RowGradient(layout, rows, theta, n));
    for (const double clip : {kNoClip, 5.0, 0.25}) {
      ClippedRows parts;
      const ArrayXXd sum = ClippedGradientSum(layout, rows, AllRows(4), theta, clip, &parts);
      ArrayXXd expected = ArrayXXd::Zero(theta.rows(), theta.cols());
      for (Index n = 0; n < 4; ++n) {
        const ArrayXXd& gradient = gradients[static_cast<size_t>(n)];
        const double norm = gradient.matrix().norm();
        EXPECT_NEAR(parts.norm(n), norm, 1e-6 * norm);
        expected += gradient * std::min(1.0, clip / norm);
      }
      EXPECT_LT((sum - expected).abs().maxCoeff(), 1e-6 * (1 + expected.abs().maxCoeff()));
    }
  }
}

// The order of rows and a row that is selected twice.
TEST(MixtureGradientTest, SelectedRowsAreSummed) {
  const Layout layout = EveryFamily();
  const Rows rows = MakeRows(layout, SomeValues());
  const ArrayXXd theta = SomeTheta(layout, 2, 3);
  const auto sum = [&](std::vector<uint32_t> selected) {
    return ClippedGradientSum(layout, rows, selected, theta, 1);
  };
  const ArrayXXd both = sum({3, 1, 3});
  EXPECT_LT((both - sum({1}) - 2 * sum({3})).abs().maxCoeff(), 1e-13);
  EXPECT_EQ(sum({}).abs().maxCoeff(), 0);
}

TEST(MixtureGradientTest, StatisticsAreTheFixedOperand) {
  const Layout layout = EveryFamily();
  const Rows rows = MakeRows(layout, SomeValues());
  const std::vector<uint32_t> selected = {2, 0};
  const ArrayXXd t = Statistics(layout, rows, selected);
  ArrayXXd expected(2, 9);
  expected << 0, 1, 0, 0, std::log(0.5), std::log(0.5), 0, 0, 0.75,  //
      1, 0, 0, 1, std::log(0.2), std::log(0.8), -0.3, 0.09, 0;
  EXPECT_LT((t - expected).abs().maxCoeff(), 1e-15);
  ArrayXXd weights(3, 2);
  weights << 0.1, 0.2, 0.3, 0.4, -1, 2;
  const ArrayXXd product = weights.matrix() * t.matrix();
  EXPECT_LT((WeightedStatistics(layout, rows, selected, weights) - product).abs().maxCoeff(),
            1e-14);
}

TEST(MixtureGradientTest, PriorGradientsAreDerivatives) {
  const Layout layout = EveryFamily();
  const ArrayXXd theta = SomeTheta(layout, 2, 4);
  const ArrayXXd gradient = LogPriorGradient(layout, theta);
  for (Index i = 0; i < theta.size(); ++i) {
    ArrayXXd up = theta, down = theta;
    up.data()[i] += 1e-5;
    down.data()[i] -= 1e-5;
    const double slope = (LogPrior(layout, up) - LogPrior(layout, down)) / 2e-5;
    EXPECT_NEAR(gradient.data()[i], slope, 1e-8);
  }
}

// Densities far apart and parameters at the ends of their range stay finite.
TEST(MixtureGradientTest, ExtremeParametersStayFinite) {
  const Layout layout = EveryFamily();
  const Rows rows = MakeRows(layout, SomeValues());
  for (const double size : {40.0, 300.0}) {
    const ArrayXXd theta = size * SomeTheta(layout, 4, 5);
    ClippedRows parts;
    const ArrayXXd sum = ClippedGradientSum(layout, rows, AllRows(4), theta, 1, &parts);
    EXPECT_TRUE(sum.allFinite());
    EXPECT_LE(sum.matrix().norm(), 4 * (1 + 1e-12));
    EXPECT_TRUE(parts.log_density.allFinite());
  }
}

TEST(MixtureGradientTest, BadValuesAreNamed) {
  const Layout layout = EveryFamily();
  const auto with = [&](size_t f, double value) {
    auto values = SomeValues();
    values[f][2] = value;
    return [=] { MakeRows(layout, values); };
  };
  const double nan = std::nan("");
  for (size_t f = 0; f < 5; ++f)
    ExpectError(ErrorCode::kBadData, "row 3: the value is not a number", "", with(f, nan));
  ExpectError(ErrorCode::kBadData, "column 'level', row 3: the value is not one of the levels", "",
              with(0, 3));
  ExpectError(ErrorCode::kBadData, "column 'level', row 3", "", with(0, 0.5));
  ExpectError(ErrorCode::kBadData, "column 'flag', row 3: the value is not 0 or 1", "", with(1, 2));
  ExpectError(ErrorCode::kBadData, "strictly between 0 and 1", "", with(2, 1));
  ExpectError(ErrorCode::kBadData, "column 'count', row 3: the value is not a count", "",
              with(4, -1));
  auto uneven = SomeValues();
  uneven[3].pop_back();
  ExpectError(ErrorCode::kBadData, "column 'size' has 3 rows", "",
              [&] { MakeRows(layout, uneven); });
}

TEST(MixtureGradientTest, NumbersThatAreNoneAreNamedByTheirRow) {
  const Layout layout = EveryFamily();
  Rows rows = MakeRows(layout, SomeValues());
  ArrayXXd theta = SomeTheta(layout, 2, 6);
  rows.features[3].first[1] = std::nan("");
  ExpectError(ErrorCode::kBadData, "density of row 2 is not a number", "", [&] {
    ClippedGradientSum(layout, rows, std::vector<uint32_t>{0, 1}, theta, 1);
  });
  theta(0, 2) = std::nan("");
  ExpectError(ErrorCode::kBadInput, "a parameter of the mixture model is not finite", "",
              [&] { LogDensityOfRows(layout, rows, theta); });
}

TEST(MixtureGradientTest, BadModelsAreRefused) {
  ExpectError(ErrorCode::kBadInput, "no feature", "", [] { MakeLayout({}); });
  ExpectError(ErrorCode::kBadInput, "column 'x' has 1 level", "", [] {
    MakeLayout({{"x", Family::kCategorical, 1, 1, 0}});
  });
  ExpectError(ErrorCode::kBadInput, "twice", "", [] {
    MakeLayout({{"x", Family::kBeta, 0, 1, 0}, {"x", Family::kBernoulli, 0, 1, 1}});
  });
  ExpectError(ErrorCode::kBadInput, "scale of column 'x'", "", [] {
    MakeLayout({{"x", Family::kPoisson, 0, 0, 0}});
  });
  ExpectError(ErrorCode::kUsage, "party 3 holds no feature", "",
              [] { PartyLayout(EveryFamily(), 3); });
}

TEST(MixtureGradientTest, PartiesHoldTheirColumns) {
  const Layout layout = EveryFamily();
  EXPECT_EQ(PartyColumns(layout, 0), (std::vector<size_t>{0, 1, 2, 4, 5}));
  EXPECT_EQ(PartyColumns(layout, 1), (std::vector<size_t>{3, 6, 7}));
  EXPECT_EQ(PartyColumns(layout, 2), (std::vector<size_t>{8}));
  const ArrayXXd theta = SomeTheta(layout, 2, 7);
  EXPECT_EQ(PartyParameters(layout, 1, theta)(1, 2), theta(1, 8));
}

}  // namespace
}  // namespace partita::stats::mixture::gradient_test
