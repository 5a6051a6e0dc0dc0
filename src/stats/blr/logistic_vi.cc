#include "stats/blr/logistic_vi.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/error.h"
#include "privacy/sampling/calibrate.h"
#include "privacy/sampling/clipping.h"
#include "privacy/sampling/discrete_gaussian.h"

namespace partita::stats::blr {
namespace {

using Eigen::Index;
using Eigen::VectorXd;

// Ascent by Adam (Kingma & Ba 2015) with its usual constants.
class Adam {
 public:
  Adam(Index size, double step)
      : step_(step), first_(VectorXd::Zero(size)), second_(VectorXd::Zero(size)) {}

  VectorXd Step(const VectorXd& gradient) {
    ++count_;
    first_ = 0.9 * first_ + 0.1 * gradient;
    second_ = 0.999 * second_ + 0.001 * gradient.cwiseAbs2();
    const VectorXd mean = first_ / (1 - std::pow(0.9, count_));
    const VectorXd square = second_ / (1 - std::pow(0.999, count_));
    return step_ * mean.cwiseQuotient((square.cwiseSqrt().array() + 1e-8).matrix());
  }

 private:
  double step_;
  VectorXd first_, second_;
  int count_ = 0;
};

void Check(size_t clients, const LogisticViOptions& options) {
  CheckBatches(clients, options.epochs, options.batch_size);
  if (!(options.prior_variance > 0) || !(options.step > 0)) {
    throw Error(ErrorCode::kUsage, "a prior variance or a step is not positive",
                "give positive ones");
  }
}

}  // namespace

void CheckBatches(size_t clients, size_t epochs, size_t batch_size) {
  if (clients == 0 || batch_size == 0 || epochs == 0 || clients % batch_size != 0) {
    throw Error(ErrorCode::kUsage, "the clients cannot be dealt into batches of the fixed size",
                "choose a batch size that divides the number of clients, and at least one epoch");
  }
}

void Deal(std::span<size_t> clients, Variates& variates) {
  for (size_t k = clients.size(); k > 1; --k) std::swap(clients[k - 1], clients[variates.Below(k)]);
}

void ClippedLogisticGradient(const VectorXd& x, double label, const VectorXd& beta,
                             double clip_norm, std::span<Int128> out) {
  if (label != 0 && label != 1) {
    throw Error(ErrorCode::kBadData, "a label is neither 0 nor 1", "code the target as 0 and 1");
  }
  const double residual = label - 1 / (1 + std::exp(-x.dot(beta)));
  const VectorXd gradient = residual * x;
  privacy::ClipToGrid({gradient.data(), static_cast<size_t>(gradient.size())},
                      {privacy::Norm::kL2, clip_norm, kGradientBits}, out);
}

double LogisticNoiseStddev(const LogisticViOptions& options) {
  const double reach = 2 * options.clip_norm * std::sqrt(static_cast<double>(options.epochs));
  return privacy::AnalyticGaussianStddev(privacy::L2Sensitivity(reach * (1 + 0x1p-50)),
                                         privacy::Epsilon(options.epsilon),
                                         privacy::Delta(options.delta));
}

LogisticPosterior FitLogisticVi(size_t clients, size_t features, const LogisticViOptions& options,
                                const GradientSum& gradient_sum, crypto::RandomSource& source) {
  Check(clients, options);
  const auto d = static_cast<Index>(features);
  Variates variates(source);
  // The posterior deviation if every client gave the largest information that clipping lets
  // through: public, and from below the gradients of log stddev are tame.
  const double information =
      1 / options.prior_variance + static_cast<double>(clients) * options.clip_norm *
                                       options.clip_norm / (4 * static_cast<double>(d));
  LogisticPosterior q{VectorXd::Zero(d), VectorXd::Constant(d, 1 / std::sqrt(information)), 0};
  VectorXd log_stddev = q.stddev.array().log();
  Adam adam(2 * d, options.step);
  VectorXd mean_sum = VectorXd::Zero(d), log_stddev_sum = VectorXd::Zero(d);
  size_t averaged = 0;
  std::vector<size_t> order(clients);
  std::iota(order.begin(), order.end(), size_t{0});
  const double scale = static_cast<double>(clients) / static_cast<double>(options.batch_size);
  for (size_t epoch = 0; epoch < options.epochs; ++epoch) {
    Deal(order, variates);
    for (size_t begin = 0; begin < clients; begin += options.batch_size) {
      VectorXd z(d);
      for (double& value : z) value = variates.Normal();
      q.stddev = log_stddev.array().exp();
      const VectorXd beta = q.mean + q.stddev.cwiseProduct(z);
      const NoisyGradient noisy =
          gradient_sum(beta, std::span(order).subspan(begin, options.batch_size));
      if (noisy.sum.size() != features) {
        throw Error(ErrorCode::kInternal, "a sum of gradients has another length than the model");
      }
      q.noise_stddev = noisy.noise_stddev;
      VectorXd gradient(2 * d);
      for (Index j = 0; j < d; ++j) {
        const double data =
            scale *
                std::ldexp(static_cast<double>(noisy.sum[static_cast<size_t>(j)]), -kGradientBits) -
            beta(j) / options.prior_variance;
        gradient(j) = data;
        // The entropy of q adds 1.
        gradient(d + j) = data * z(j) * q.stddev(j) + 1;
      }
      const VectorXd step = adam.Step(gradient);
      q.mean += step.head(d);
      log_stddev = (log_stddev + step.tail(d)).cwiseMax(-10).cwiseMin(3);
      // The second half is averaged.
      if (2 * (epoch + 1) <= options.epochs) continue;
      mean_sum += q.mean;
      log_stddev_sum += log_stddev;
      ++averaged;
    }
  }
  q.mean = mean_sum / static_cast<double>(averaged);
  q.stddev = (log_stddev_sum / static_cast<double>(averaged)).array().exp();
  return q;
}

LogisticPosterior FitLogisticVi(const Eigen::MatrixXd& x, const VectorXd& labels,
                                const LogisticViOptions& options, crypto::RandomSource& source) {
  if (labels.size() != x.rows()) {
    throw Error(ErrorCode::kUsage, "there are as many labels as rows", "give one label per row");
  }
  Check(static_cast<size_t>(x.rows()), options);
  const auto features = static_cast<size_t>(x.cols());
  const privacy::GridVariance required =
      privacy::VarianceOfStddev(std::ldexp(LogisticNoiseStddev(options), kGradientBits));
  const privacy::DistributedNoise shares = privacy::ShareNoise(required, options.sharing, features);
  const privacy::GridVariance released =
      privacy::Multiply(shares.share_variance, options.sharing.parties);
  const privacy::DiscreteGaussian noise(released);
  const double stddev = std::ldexp(privacy::StddevUpperBound(released), -kGradientBits);
  std::vector<Int128> one(features);
  const GradientSum sum = [&](const VectorXd& beta, std::span<const size_t> clients) {
    NoisyGradient noisy{std::vector<Int128>(features), stddev};
    noise.Sample(source, noisy.sum);
    for (const size_t client : clients) {
      const auto row = static_cast<Index>(client);
      ClippedLogisticGradient(x.row(row).transpose(), labels(row), beta, options.clip_norm, one);
      for (size_t j = 0; j < features; ++j) noisy.sum[j] += one[j];
    }
    return noisy;
  };
  return FitLogisticVi(static_cast<size_t>(x.rows()), features, options, sum, source);
}

}  // namespace partita::stats::blr
