#include "stats/glm/negative_binomial.h"

#include <algorithm>
#include <boost/math/special_functions/digamma.hpp>
#include <boost/math/special_functions/trigamma.hpp>
#include <cmath>

#include "stats/glm/likelihood.h"

namespace partita::stats::glm {
namespace {

// Derivatives of a row's log-likelihood by log(theta): the first, and less the second.
struct ThetaTerms {
  double score = 0, information = 0;
};

ThetaTerms ThetaTermsAt(double theta, double y, double mu) {
  using boost::math::digamma;
  using boost::math::trigamma;
  const double all = mu + theta;
  const double by_theta =
      digamma(theta + y) - digamma(theta) - std::log1p(mu / theta) + 1 - (y + theta) / all;
  const double curvature =
      trigamma(theta) - trigamma(theta + y) - 1 / theta + 2 / all - (y + theta) / (all * all);
  return {theta * by_theta, theta * theta * curvature - theta * by_theta};
}

double PredictorOf(const Rows& rows, const Eigen::VectorXd& eta, Eigen::Index i,
                   const Limits& limits) {
  return std::clamp(eta[i] + rows.offset[i], limits.lower, limits.upper);
}

}  // namespace

Law AtPoint(const Law& law, const Rows& rows, const Eigen::VectorXd& point) {
  Law at = law;
  const Eigen::Index p = rows.x.cols();
  if (law.family == Family::kNegativeBinomial)
    at.theta = std::exp(std::clamp(point[p], kLeastLogTheta, kMostLogTheta));
  return at;
}

PointSums NegativeBinomialSums(const Law& law, const Rows& rows, const Eigen::VectorXd& point,
                               const Limits& limits) {
  const Eigen::Index p = rows.x.cols();
  const Law at = AtPoint(law, rows, point);
  const Eigen::VectorXd coefficients = point.head(p);
  const PointSums of_columns = SumsAt(at, rows, coefficients, limits);
  PointSums sums = of_columns;
  sums.score = Eigen::VectorXd::Zero(p + 1);
  sums.information = Eigen::MatrixXd::Zero(p + 1, p + 1);
  sums.score.head(p) = of_columns.score;
  sums.information.topLeftCorner(p, p) = of_columns.information;
  const Eigen::VectorXd eta = rows.x * coefficients;
  for (Eigen::Index i = 0; i < rows.y.size(); ++i) {
    const double mu = std::exp(PredictorOf(rows, eta, i, limits));
    const ThetaTerms terms = ThetaTermsAt(at.theta, rows.y[i], mu);
    sums.score[p] += rows.weight(i) * terms.score;
    sums.information(p, p) += rows.weight(i) * terms.information;
  }
  sums.deviance -= 2 * OwnConstant(at, rows);
  if (point[p] < kLeastLogTheta || point[p] > kMostLogTheta)
    sums.outside = static_cast<uint64_t>(rows.y.size());
  return sums;
}

Eigen::VectorXd NegativeBinomialStart(const Rows& rows, const Limits& limits,
                                      const Eigen::VectorXd& coefficients) {
  const Eigen::VectorXd eta = rows.x * coefficients;
  double all = 0, spread = 0;
  for (Eigen::Index i = 0; i < rows.y.size(); ++i) {
    const double relative = rows.y[i] / std::exp(PredictorOf(rows, eta, i, limits)) - 1;
    all += rows.weight(i);
    spread += rows.weight(i) * relative * relative;
  }
  Eigen::VectorXd start(coefficients.size() + 1);
  start << coefficients, std::clamp(std::log(all / std::max(spread, 1e-6 * all)), -2.0, 4.0);
  return start;
}

}  // namespace partita::stats::glm
