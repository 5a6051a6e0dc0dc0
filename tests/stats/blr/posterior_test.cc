// The exact posterior against the textbook on raw rows.
#include "stats/blr/posterior.h"

#include <gtest/gtest.h>

#include <Eigen/Dense>
#include <cmath>

#include "base/error.h"
#include "stats/blr/variates.h"
#include "tests/stats/blr/random.h"

namespace partita::stats::blr::posterior_test {
namespace {

using Eigen::MatrixXd;
using Eigen::VectorXd;

struct Rows {
  MatrixXd x;
  VectorXd y;
  std::vector<double> flat;
};

Rows DrawRows(size_t count, double mean, double target_mean) {
  TestRandom source(5);
  Variates variates(source);
  Rows rows{MatrixXd(count, 2), VectorXd(count), {}};
  for (Eigen::Index r = 0; r < rows.x.rows(); ++r) {
    rows.x(r, 0) = mean + variates.Normal();
    rows.x(r, 1) = 0.5 * rows.x(r, 0) + variates.Normal();
    rows.y(r) = target_mean + 0.7 * rows.x(r, 0) - 0.2 * rows.x(r, 1) + variates.Normal();
    rows.flat.insert(rows.flat.end(), {rows.x(r, 0), rows.x(r, 1), rows.y(r)});
  }
  return rows;
}

TEST(PosteriorTest, IsTheTextbooksInRawUnits) {
  const Rows rows = DrawRows(300, 0, 0);
  Design design;
  design.features = {{"a", 10, 0}, {"b", 14, 0}};
  design.target = {"y", 12, 0};
  const Statistics statistics = FromEntries(design, SumEntries(design, rows.flat), 300);
  const PlainPosterior posterior =
      FitPlain(statistics, ScaledPrior(design, 0.3, 2.5, 1.7), Repair::kNone);
  const CoefficientMap map = ToRawUnits(design);
  const VectorXd mean = map.linear * posterior.mean + map.shift;
  const MatrixXd covariance = map.linear * posterior.covariance * map.linear.transpose();
  const MatrixXd precision = rows.x.transpose() * rows.x / 1.7 + MatrixXd::Identity(2, 2) / 2.5;
  const VectorXd expected =
      precision.ldlt().solve(rows.x.transpose() * rows.y / 1.7 + VectorXd::Constant(2, 0.3 / 2.5));
  // Rounding of 300 rows to 2^-24 relative to a standard deviation of 1/10 of the bound.
  EXPECT_LT((mean - expected).cwiseAbs().maxCoeff(), 1e-5);
  EXPECT_LT((covariance - precision.inverse()).cwiseAbs().maxCoeff(), 1e-7);
  EXPECT_NEAR(posterior.noise_variance * 144, 1.7, 1e-12);
}

TEST(PosteriorTest, InterceptTakesUpMeans) {
  const Rows rows = DrawRows(400, 3, 8);
  Design design;
  design.features = {{"a", 6, 2}, {"b", 8, 0.5}};
  design.target = {"y", 9, 7};
  design.intercept = true;
  const Statistics statistics = FromEntries(design, SumEntries(design, rows.flat), 400);
  EXPECT_EQ(statistics.gram(0, 0), 400);
  const PlainPosterior posterior =
      FitPlain(statistics, {VectorXd::Zero(3), VectorXd::Constant(3, 1e8), {}}, Repair::kNone);
  const CoefficientMap map = ToRawUnits(design);
  const VectorXd mean = map.linear * posterior.mean + map.shift;
  MatrixXd x(400, 3);
  x << VectorXd::Ones(400), rows.x;
  const VectorXd least_squares = x.colPivHouseholderQr().solve(rows.y);
  EXPECT_LT((mean - least_squares).cwiseAbs().maxCoeff(), 1e-5);
  const double residual = (rows.y - x * least_squares).squaredNorm() / 400;
  EXPECT_NEAR(posterior.noise_variance * 81, residual, 1e-5);
  // Predictions agree, whatever the units.
  const std::vector<double> point = {2.5, 1.0};
  const double scaled = ScaledFeatures(design, point).dot(posterior.mean);
  EXPECT_NEAR(design.target.centre + design.target.bound * scaled,
              least_squares(0) + 2.5 * least_squares(1) + least_squares(2), 1e-5);
}

TEST(PosteriorTest, RepairsAnIndefiniteMatrix) {
  MatrixXd gram(2, 2);
  gram << 1, 3, 3, 1;  // eigenvalues 4 and -2
  EXPECT_EQ(RepairGram(gram, Repair::kNone), gram);
  MatrixXd clipped(2, 2), absolute(2, 2);
  clipped << 2, 2, 2, 2;
  absolute << 3, 1, 1, 3;
  EXPECT_LT((RepairGram(gram, Repair::kClip) - clipped).norm(), 1e-14);
  EXPECT_LT((RepairGram(gram, Repair::kAbsolute) - absolute).norm(), 1e-14);

  const Statistics statistics{gram, VectorXd::Ones(2), 5, 10};
  const PlainPrior prior{VectorXd::Zero(2), VectorXd::Ones(2), 1.0};
  EXPECT_THROW(FitPlain(statistics, prior, Repair::kNone), Error);
  EXPECT_GT(FitPlain(statistics, prior, Repair::kClip).covariance(0, 0), 0);
  EXPECT_THROW(FitPlain(statistics, {VectorXd::Zero(2), VectorXd::Zero(2), 1.0}, Repair::kClip),
               Error);
}

TEST(PosteriorTest, NormalIntervals) {
  const Interval interval = NormalInterval(1, 2, 0.95);
  EXPECT_NEAR(interval.lower, 1 - 2 * 1.959963984540054, 1e-12);
  EXPECT_NEAR(interval.upper, 1 + 2 * 1.959963984540054, 1e-12);
}

}  // namespace
}  // namespace partita::stats::blr::posterior_test
