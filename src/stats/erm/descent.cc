#include "stats/erm/descent.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/error.h"
#include "privacy/accounting/normal.h"

namespace partita::stats::erm {

using Eigen::Index;
using Eigen::VectorXd;

double PsgdStep(const PsgdOptions& options, size_t t) {
  const double penalty = options.lambda + options.slack;
  const double first = (MaxCurvature(options.loss) + penalty) / penalty;
  return 1 / (penalty * (static_cast<double>(t) + first));
}

VectorXd Psgd(std::span<const LabelledRows> parties, const PsgdOptions& options,
              const PartyNoise& noise, const Observer& see) {
  double rows = 0;
  for (const LabelledRows& party : parties) {
    CheckRows(party);
    rows += static_cast<double>(party.x.rows());
  }
  VectorXd w = VectorXd::Zero(parties.front().x.cols());
  for (size_t t = 0; t < options.iterations; ++t) {
    VectorXd sum = VectorXd::Zero(w.size());
    for (size_t k = 0; k < parties.size(); ++k) {
      sum += SumOfGradients(parties[k], options.loss, w) + noise(k, t);
    }
    w -= PsgdStep(options, t) * (sum / rows + (options.lambda + options.slack) * w);
    if (see) see(t + 1, w);
  }
  return w;
}

VectorXd SumOfClippedGradients(const LabelledRows& rows, std::span<const Index> batch,
                               const Loss& loss, const VectorXd& w, double clip_norm) {
  VectorXd sum = VectorXd::Zero(w.size());
  for (const Index i : batch) {
    const auto x = rows.x.row(i);
    const double slope = LossSlope(loss, rows.y(i) * x.dot(w)) * rows.y(i);
    const double norm = std::abs(slope) * x.norm();
    sum += slope * (norm > clip_norm ? clip_norm / norm : 1) * x.transpose();
  }
  return sum;
}

VectorXd NoisyDescent(const LabelledRows& rows, const DescentOptions& options,
                      const SumNoise& noise) {
  CheckRows(rows);
  std::vector<Index> all(static_cast<size_t>(rows.x.rows()));
  std::iota(all.begin(), all.end(), Index{0});
  VectorXd w = VectorXd::Zero(rows.x.cols());
  for (size_t t = 0; t < options.iterations; ++t) {
    const VectorXd sum =
        SumOfClippedGradients(rows, all, options.loss, w, options.clip_norm) + noise(t);
    w -= options.step * (sum / static_cast<double>(rows.x.rows()) + options.lambda * w);
  }
  return w;
}

double DescentNoise(double sensitivity, size_t iterations, double epsilon, double delta) {
  return sensitivity * std::sqrt(static_cast<double>(iterations)) /
         privacy::GaussianMu(epsilon, delta);
}

MinibatchSteps::MinibatchSteps(const MinibatchOptions& options, size_t rows, size_t dimension)
    : options_(options),
      expected_batch_(options.rate * static_cast<double>(rows)),
      w_(VectorXd::Zero(static_cast<Index>(dimension))),
      mean_(w_),
      square_(w_),
      average_(w_) {
  if (!(options.rate > 0 && options.rate <= 1) || options.iterations == 0) {
    throw Error(ErrorCode::kUsage, "the sampling rate must be in (0, 1], with some iterations");
  }
}

void MinibatchSteps::Step(const VectorXd& noisy_sum) {
  constexpr double kFirst = 0.9, kSecond = 0.999, kSmall = 1e-8;
  const VectorXd gradient = noisy_sum / expected_batch_ + options_.lambda * w_;
  if (options_.optimiser == Optimiser::kSgd) {
    w_ -= options_.step * gradient;
  } else {
    const auto t = static_cast<double>(done_ + 1);
    mean_ = kFirst * mean_ + (1 - kFirst) * gradient;
    square_ = kSecond * square_ + (1 - kSecond) * gradient.cwiseAbs2();
    const VectorXd scale = (square_ / (1 - std::pow(kSecond, t))).cwiseSqrt().array() + kSmall;
    w_ -= options_.step / (1 - std::pow(kFirst, t)) * mean_.cwiseQuotient(scale);
  }
  if (2 * done_ >= options_.iterations) {
    average_ += w_;
    ++averaged_;
  }
  ++done_;
}

VectorXd MinibatchSteps::Result() const {
  return averaged_ == 0 ? w_ : average_ / static_cast<double>(averaged_);
}

}  // namespace partita::stats::erm
