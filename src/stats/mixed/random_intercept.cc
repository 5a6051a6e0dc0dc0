#include "stats/mixed/random_intercept.h"

#include <Eigen/Cholesky>
#include <cmath>
#include <map>
#include <numbers>

namespace partita::stats::mixed {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

// Of log2 lambda: what is searched, so many candidates a factor of 2^(1/4) apart, then halvings.
constexpr int kLeastLog = -30, kMostLog = 30, kStepsOfOctave = 4, kHalvings = 50;

LambdaSums SumsOfAll(std::span<const RowSums> sites, double lambda) {
  LambdaSums sums = SumsAt(sites.front(), lambda);
  for (const RowSums& site : sites.subspan(1)) sums += SumsAt(site, lambda);
  return sums;
}

}  // namespace

RowSums SumRows(const MatrixXd& x, const VectorXd& y, std::span<const uint32_t> clusters) {
  RowSums sums;
  sums.xx = x.transpose() * x;
  sums.xy = x.transpose() * y;
  sums.yy = y.squaredNorm();
  sums.rows = static_cast<double>(x.rows());
  std::map<uint32_t, ClusterSums> by_cluster;
  for (Index i = 0; i < x.rows(); ++i) {
    ClusterSums& cluster = by_cluster[clusters[static_cast<size_t>(i)]];
    if (cluster.rows == 0) cluster.x.setZero(x.cols());
    ++cluster.rows;
    cluster.x += x.row(i).transpose();
    cluster.y += y[i];
  }
  for (auto& [number, cluster] : by_cluster) sums.clusters.push_back(std::move(cluster));
  return sums;
}

LambdaSums& LambdaSums::operator+=(const LambdaSums& other) {
  xx += other.xx;
  xy += other.xy;
  yy += other.yy;
  rows += other.rows;
  log_determinant += other.log_determinant;
  xx_falls += other.xx_falls;
  xy_falls += other.xy_falls;
  yy_falls += other.yy_falls;
  determinant_rises += other.determinant_rises;
  return *this;
}

LambdaSums SumsAt(const RowSums& sums, double lambda) {
  const Index p = sums.xx.rows();
  LambdaSums at{sums.xx, sums.xy, sums.yy, sums.rows, 0, MatrixXd::Zero(p, p), VectorXd::Zero(p)};
  for (const ClusterSums& cluster : sums.clusters) {
    const double determinant = 1 + cluster.rows * lambda;
    const double c = lambda / determinant, slope = 1 / (determinant * determinant);
    const MatrixXd square = cluster.x * cluster.x.transpose();
    at.xx -= c * square;
    at.xy -= c * cluster.y * cluster.x;
    at.yy -= c * cluster.y * cluster.y;
    at.log_determinant += std::log(determinant);
    at.xx_falls += slope * square;
    at.xy_falls += slope * cluster.y * cluster.x;
    at.yy_falls += slope * cluster.y * cluster.y;
    at.determinant_rises += cluster.rows / determinant;
  }
  return at;
}

Profile ProfileAt(const LambdaSums& sums, double lambda, Criterion criterion) {
  const bool reml = criterion == Criterion::kReml;
  const Index p = sums.xx.rows();
  const Eigen::LLT<MatrixXd> factor(sums.xx);
  const MatrixXd inverse = factor.solve(MatrixXd::Identity(p, p));
  Profile profile;
  profile.estimates = factor.solve(sums.xy);
  const VectorXd& b = profile.estimates;
  const double rss = sums.yy - b.dot(sums.xy);
  const double freedom = sums.rows - (reml ? static_cast<double>(p) : 0);
  profile.sigma_squared = rss / freedom;
  profile.tau_squared = lambda * profile.sigma_squared;
  profile.covariance = profile.sigma_squared * inverse;
  profile.standard_errors = profile.covariance.diagonal().cwiseSqrt();
  profile.criterion =
      freedom * (1 + std::log(2 * std::numbers::pi * profile.sigma_squared)) + sums.log_determinant;
  // Of RSS, with b at its minimum: sum of (t - s'b)^2 over squared determinants.
  const double rss_falls = sums.yy_falls - 2 * b.dot(sums.xy_falls) + b.dot(sums.xx_falls * b);
  profile.slope = sums.determinant_rises - rss_falls / profile.sigma_squared;
  if (reml) {
    const MatrixXd lower = factor.matrixL();
    profile.criterion += 2 * lower.diagonal().array().log().sum();
    profile.slope -= (inverse * sums.xx_falls).trace();
  }
  return profile;
}

Profile Fit(std::span<const RowSums> sites, Criterion criterion) {
  const auto at = [&](double lambda) {
    return ProfileAt(SumsOfAll(sites, lambda), lambda, criterion);
  };
  const auto of_log = [&](double log2_lambda) { return at(std::exp2(log2_lambda)); };
  double below = kLeastLog, above = kLeastLog;
  if (of_log(below).slope >= 0) return at(0);
  while (above < kMostLog && of_log(above).slope < 0) {
    below = above;
    above += 1.0 / kStepsOfOctave;
  }
  for (int h = 0; h < kHalvings; ++h) {
    const double middle = (below + above) / 2;
    (of_log(middle).slope < 0 ? below : above) = middle;
  }
  return of_log((below + above) / 2);
}

double IntraclassCorrelation(const Profile& profile) {
  return profile.tau_squared / (profile.tau_squared + profile.sigma_squared);
}

double Aic(const Profile& profile) {
  return profile.criterion + 2 * (static_cast<double>(profile.estimates.size()) + 2);
}

}  // namespace partita::stats::mixed
