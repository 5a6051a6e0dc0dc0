// Fits in the clear: the first point of parts of the rows, divergence, likelihoods, and inference.
// Fits against R: tests/methods/glm/reference_test.cc.
#include "stats/glm/fit.h"

#include <gtest/gtest.h>

#include <Eigen/Cholesky>
#include <cmath>
#include <random>
#include <stdexcept>

#include "stats/glm/inference.h"

namespace partita::stats::glm::fit_test {
namespace {

Rows DrawRows(const Law& law, Eigen::Index n, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> uniform;
  Rows rows{Eigen::MatrixXd::Ones(n, 3), Eigen::VectorXd(n), Eigen::VectorXd::Zero(n)};
  for (Eigen::Index i = 0; i < n; ++i) {
    rows.x(i, 1) = 2 * uniform(random) - 1;
    rows.x(i, 2) = uniform(random) < 0.4 ? 1 : 0;
    const double eta = 0.3 + rows.x(i, 1) - 0.7 * rows.x(i, 2);
    switch (law.family) {
      case Family::kGaussian:
        rows.y[i] = std::normal_distribution<double>(eta, 0.5)(random);
        break;
      case Family::kBinomial:
        rows.y[i] = uniform(random) < 1 / (1 + std::exp(-eta)) ? 1 : 0;
        break;
      case Family::kPoisson:
        rows.y[i] = std::poisson_distribution<int>(std::exp(eta))(random);
        break;
      case Family::kGamma:
        rows.y[i] = std::max(0.01, std::gamma_distribution<double>(2, std::exp(eta) / 2)(random));
        break;
      case Family::kNegativeBinomial:
      case Family::kOrdinal:
      case Family::kMultinomial:
        throw std::logic_error("they are drawn in tests of their own");
    }
  }
  return rows;
}

// Of one equation and one coefficient for each column.
bool IsPlain(const Law& law) {
  return law.family != Family::kNegativeBinomial && law.family != Family::kOrdinal &&
         law.family != Family::kMultinomial;
}

std::vector<Law> Laws() {
  std::vector<Law> laws;
  for (const std::string& name : FamilyNames()) {
    const Law law = LawByName(name);
    if (!IsPlain(law)) continue;
    if (!law.quasi && (law.family == Family::kBinomial || !law.binary)) laws.push_back(law);
  }
  for (const Link link : {Link::kProbit, Link::kCloglog}) {
    laws.push_back(LawByName("binomial"));
    laws.back().link = link;
  }
  return laws;
}

Limits LimitsFor(const Law& law, const Rows& rows) {
  return LimitsOf(law, rows.y.minCoeff(), rows.y.maxCoeff());
}

Rows PartOf(const Rows& rows, Eigen::Index first, Eigen::Index n) {
  return {rows.x.middleRows(first, n), rows.y.segment(first, n), rows.offset.segment(first, n)};
}

// At the maximum the score is zero.
TEST(GlmFit, FindsTheMaximum) {
  for (const Law& law : Laws()) {
    SCOPED_TRACE(std::string(FamilyName(law)) + " " + std::string(LinkName(law.link)));
    const Rows rows = DrawRows(law, 500, 1);
    const Limits limits = LimitsFor(law, rows);
    const Maximum maximum = Maximise(law, rows, limits);
    EXPECT_TRUE(maximum.converged);
    const PointSums sums = SumsAt(law, rows, maximum.point, limits);
    EXPECT_LT(sums.score.norm(), 1e-5 * sums.information.norm());
    EXPECT_EQ(sums.outside, 0u);
  }
}

// Score and information are derivatives of the deviance: U = -D'/2, and E I = D''/2, which are equal
// for canonical links.
TEST(GlmFit, ScoreIsTheDerivativeOfTheDeviance) {
  for (const Law& law : Laws()) {
    SCOPED_TRACE(std::string(FamilyName(law)) + " " + std::string(LinkName(law.link)));
    const Rows rows = DrawRows(law, 300, 2);
    const Limits limits = LimitsFor(law, rows);
    const Eigen::Vector3d at(0.2, 0.5, -0.3);
    const PointSums sums = SumsAt(law, rows, at, limits);
    constexpr double kStep = 1e-4;
    for (Eigen::Index j = 0; j < 3; ++j) {
      Eigen::Vector3d above = at, below = at;
      above[j] += kStep;
      below[j] -= kStep;
      const PointSums up = SumsAt(law, rows, above, limits);
      const PointSums down = SumsAt(law, rows, below, limits);
      EXPECT_NEAR(-(up.deviance - down.deviance) / (4 * kStep), sums.score[j], 1e-4);
      if (law.family == Family::kGamma || law.link == Link::kProbit || law.link == Link::kCloglog)
        continue;
      const Eigen::VectorXd column = (down.score - up.score) / (2 * kStep);
      EXPECT_LT((column - sums.information.col(j)).norm(), 1e-4);
    }
  }
}

// Three parts, one of them of 12 rows, one empty: within two standard errors of the pooled maximum.
TEST(GlmFit, FirstPointsOfPartsAreClose) {
  for (const Law& law : Laws()) {
    SCOPED_TRACE(std::string(FamilyName(law)) + " " + std::string(LinkName(law.link)));
    const Rows rows = DrawRows(law, 400, 3);
    const Limits limits = LimitsFor(law, rows);
    Eigen::MatrixXd information = Eigen::MatrixXd::Zero(3, 3);
    Eigen::VectorXd weighted = Eigen::VectorXd::Zero(3);
    for (const auto& [first, n] : std::vector<std::pair<Eigen::Index, Eigen::Index>>{
             {0, 200}, {200, 12}, {212, 188}, {400, 0}}) {
      const FirstSums own = FirstSumsOf(law, PartOf(rows, first, n), limits);
      information += own.information;
      weighted += own.weighted;
    }
    const Eigen::VectorXd point = information.ldlt().solve(weighted);
    const Fit fit = FitRows(law, rows, limits, true);
    for (Eigen::Index j = 0; j < 3; ++j) {
      EXPECT_LT(std::abs(point[j] - fit.maximum.point[j]), 2 * fit.standard_errors[j]) << j;
    }
  }
}

// Ones where x is positive and nowhere else: there is no maximum, and the ridge gives one.
TEST(GlmFit, SeparationDoesNotConverge) {
  const Law law = LawOf(Family::kBinomial);
  Rows rows = DrawRows(law, 200, 4);
  for (Eigen::Index i = 0; i < rows.y.size(); ++i) rows.y[i] = rows.x(i, 1) > 0 ? 1 : 0;
  const Limits limits = LimitsOf(law, 0, 1);
  const Maximum maximum = Maximise(law, rows, limits);
  EXPECT_GT(SumsAt(law, rows, maximum.point, limits).outside, 0u);
  EXPECT_FALSE(maximum.converged);
  const Maximum ridged = Maximise(law, rows, limits, Eigen::VectorXd::Ones(rows.x.cols()));
  EXPECT_TRUE(ridged.converged);
  EXPECT_LT(ridged.point.norm(), 20);
}

TEST(GlmFit, InfersAsR) {
  // R: 2 * pnorm(-1.5), qnorm(0.975); 2 * pt(-1.5, 7), qt(0.95, 7).
  const Inference normal = Infer(3, 2, std::nullopt, 0.95);
  EXPECT_DOUBLE_EQ(normal.statistic, 1.5);
  EXPECT_NEAR(normal.p_value, 0.133614402537716, 1e-14);
  EXPECT_NEAR(normal.lower, 3 - 2 * 1.95996398454005, 1e-12);
  EXPECT_NEAR(normal.upper, 3 + 2 * 1.95996398454005, 1e-12);
  const Inference student = Infer(-3, 2, 7, 0.9);
  EXPECT_NEAR(student.p_value, 0.17729848698997, 1e-12);
  EXPECT_NEAR(student.upper, -3 + 2 * 1.89457860509001, 1e-9);
}

TEST(GlmFit, NamesFamilies) {
  for (const std::string& name : FamilyNames()) EXPECT_EQ(FamilyName(LawByName(name)), name);
  EXPECT_EQ(LinkName(LawOf(Family::kGamma).link), "log");
  EXPECT_FALSE(HasRatios(LawOf(Family::kGaussian)));
}

}  // namespace
}  // namespace partita::stats::glm::fit_test
