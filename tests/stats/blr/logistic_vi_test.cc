// Private variational inference for logistic regression against the same model without privacy.
#include "stats/blr/logistic_vi.h"

#include <gtest/gtest.h>

#include <Eigen/Dense>
#include <cmath>

#include "base/error.h"
#include "privacy/sampling/calibrate.h"
#include "stats/blr/variates.h"
#include "tests/stats/blr/random.h"

namespace partita::stats::blr::logistic_vi_test {
namespace {

using Eigen::MatrixXd;
using Eigen::VectorXd;

struct Data {
  MatrixXd x;
  VectorXd y;
};

Data DrawData(Eigen::Index n, const VectorXd& beta) {
  TestRandom source(9);
  Variates variates(source);
  Data data{MatrixXd(n, beta.size()), VectorXd(n)};
  for (double& value : data.x.reshaped()) value = variates.Normal() / std::sqrt(3.0);
  for (Eigen::Index r = 0; r < n; ++r)
    data.y(r) = variates.Uniform() < 1 / (1 + std::exp(-data.x.row(r).dot(beta)));
  return data;
}

// The posterior mode and its curvature, by Newton's method.
std::pair<VectorXd, VectorXd> Laplace(const Data& data, double prior_variance) {
  VectorXd beta = VectorXd::Zero(data.x.cols());
  MatrixXd information;
  for (int k = 0; k < 30; ++k) {
    const VectorXd p = (1 / (1 + (-(data.x * beta)).array().exp())).matrix();
    information =
        data.x.transpose() * p.cwiseProduct(VectorXd::Ones(p.size()) - p).asDiagonal() * data.x;
    information.diagonal().array() += 1 / prior_variance;
    beta += information.ldlt().solve(data.x.transpose() * (data.y - p) - beta / prior_variance);
  }
  return {beta, information.inverse().diagonal().cwiseSqrt()};
}

TEST(LogisticViTest, FindsThePosteriorWithinItsNoise) {
  const VectorXd beta = Eigen::Vector3d(1.5, -1, 0.5);
  const Data data = DrawData(20000, beta);
  const auto [mode, stddev] = Laplace(data, 1);
  LogisticViOptions options;
  options.batch_size = 1000;
  options.epochs = 20;
  options.clip_norm = 3;
  options.step = 0.03;
  TestRandom random(4);
  options.epsilon = 50;
  const LogisticPosterior weak = FitLogisticVi(data.x, data.y, options, random);
  // The optimiser's steps of 0.03 stay visible; posterior deviations are about 0.03.
  EXPECT_LT((weak.mean - mode).cwiseAbs().maxCoeff(), 0.12);
  for (Eigen::Index j = 0; j < 3; ++j) EXPECT_NEAR(std::log(weak.stddev(j) / stddev(j)), 0, 1.0);
  options.epsilon = 1;
  const LogisticPosterior strong = FitLogisticVi(data.x, data.y, options, random);
  EXPECT_GT(strong.noise_stddev, 5 * weak.noise_stddev);
  EXPECT_LT((strong.mean - mode).cwiseAbs().maxCoeff(), 0.5);
}

TEST(LogisticViTest, NoiseIsThatOfAllEpochsTogether) {
  LogisticViOptions options;
  options.clip_norm = 2;
  options.epochs = 9;
  options.epsilon = 0.7;
  const double stddev = LogisticNoiseStddev(options);
  // Nine releases of sensitivity 4 are one of 12.
  EXPECT_LE(privacy::GaussianDelta(privacy::L2Sensitivity(12), stddev, privacy::Epsilon(0.7)).upper,
            options.delta);
  EXPECT_GT(
      privacy::GaussianDelta(privacy::L2Sensitivity(12), stddev * 0.999, privacy::Epsilon(0.7))
          .lower,
      options.delta);
}

TEST(LogisticViTest, NoClientMovesTheSumFurtherThanItsNorm) {
  TestRandom source(6);
  Variates variates(source);
  for (int k = 0; k < 2000; ++k) {
    VectorXd x(4), beta(4);
    for (double& value : x) value = std::exp(4 * variates.Normal());
    for (double& value : beta) value = 3 * variates.Normal();
    std::vector<Int128> out(4);
    ClippedLogisticGradient(x, k % 2, beta, 1.5, out);
    double square = 0;
    for (const Int128 value : out)
      square += std::pow(std::ldexp(static_cast<double>(value), -24), 2);
    EXPECT_LE(square, 1.5 * 1.5);
  }
  std::vector<Int128> out(1);
  const VectorXd one = VectorXd::Ones(1);
  EXPECT_THROW(ClippedLogisticGradient(one, 0.5, one, 1, out), Error);
  EXPECT_THROW(ClippedLogisticGradient(one * std::nan(""), 1, one, 1, out), Error);
}

TEST(LogisticViTest, RefusesBatchesThatDoNotFit) {
  TestRandom random(1);
  const Data data = DrawData(100, Eigen::Vector3d(1, 0, 0));
  LogisticViOptions options;
  options.batch_size = 33;
  EXPECT_THROW(FitLogisticVi(data.x, data.y, options, random), Error);
  options.batch_size = 50;
  options.epsilon = -1;
  EXPECT_THROW(FitLogisticVi(data.x, data.y, options, random), Error);
}

}  // namespace
}  // namespace partita::stats::blr::logistic_vi_test
