#include "methods/classify/local_aggregation.h"

#include <fmt/format.h>

#include <cmath>

#include "base/error.h"
#include "privacy/sampling/discrete_gaussian.h"
#include "privacy/sampling/discrete_gaussian_mechanism.h"
#include "stats/erm/gradient_rounding.h"

namespace partita::methods::classify {
namespace {

using Eigen::Index;
using Eigen::VectorXd;
using stats::erm::LabelledRows;

constexpr double kGradientNorm = 1e-11;  // that the local minimisers reach

void CheckTask(const AggregationTask& task) {
  if (!(task.lambda > 0) || task.dimension == 0 || task.smallest_rows == 0 ||
      task.largest_rows < task.smallest_rows || task.known_shares >= task.parties) {
    throw Error(ErrorCode::kUsage,
                "an average of local fits needs a penalty above 0, columns, rows at every party, "
                "and a noise share that the adversary does not know");
  }
}

}  // namespace

double LargestFit(const AggregationTask& task) {
  return std::sqrt(2 * stats::erm::LossValue(task.loss, 0) / task.lambda) * (1 + 0x1p-20);
}

privacy::GridL2Sensitivity SumSensitivity(const AggregationTask& task) {
  CheckTask(task);
  const double gradient =
      kGradientNorm + stats::erm::GradientRounding(task.loss, task.lambda, task.largest_rows,
                                                   task.dimension, LargestFit(task));
  const double fit = stats::erm::AggregationSensitivity(1, task.smallest_rows, task.lambda) +
                     2 * gradient / task.lambda;
  // The factor pays for rows whose computed norm is 1 and for the norm of the computed gradient, of
  // d / 2 + 3 roundings each: below 2^-40 up to 16000 columns.
  return privacy::ToGrid(privacy::L2Sensitivity(fit * (1 + 0x1p-38)), task.fraction_bits,
                         task.dimension, 0.5);
}

NoisedSum DesignAggregation(const AggregationTask& task, double epsilon, double delta) {
  const privacy::GridVariance variance = privacy::CalibrateDiscreteGaussian(
      SumSensitivity(task), task.dimension, privacy::Epsilon(epsilon), privacy::Delta(delta));
  NoisedSum sum;
  sum.release = "average";
  sum.dimension = task.dimension;
  sum.fraction_bits = task.fraction_bits;
  sum.party_bound = LargestFit(task) + 1;
  sum.noise = privacy::ShareNoise(variance, {task.parties, task.known_shares}, task.dimension);
  sum.to = task.to;
  return sum;
}

VectorXd RunAggregation(mpc::Engine& engine, const AggregationTask& task, const NoisedSum& sum,
                        const std::optional<LabelledRows>& rows, crypto::RandomSource& random) {
  CheckTask(task);
  engine.BeginPhase("aggregation");
  std::vector<Int128> own;
  if (rows) {
    stats::erm::CheckRows(*rows);
    const auto count = static_cast<uint64_t>(rows->x.rows());
    if (count < task.smallest_rows || count > task.largest_rows ||
        rows->x.cols() != static_cast<Index>(task.dimension) ||
        rows->x.rowwise().norm().maxCoeff() > 1) {
      throw Error(ErrorCode::kBadData,
                  "the table has fewer or more rows or other columns than declared, or a row "
                  "longer than 1");
    }
    // Drawn before the fit, so that its time tells nothing about the fit.
    own.resize(task.dimension);
    privacy::DiscreteGaussian(sum.noise.share_variance).Sample(random, own);
    stats::erm::Objective objective;
    objective.loss = task.loss;
    objective.lambda = task.lambda;
    const VectorXd w = stats::erm::Minimize(*rows, objective, {kGradientNorm, 200}).w;
    if (!(w.norm() <= LargestFit(task))) {
      throw Error(ErrorCode::kNotConverged, "the own coefficients are longer than a minimum's");
    }
    for (size_t j = 0; j < task.dimension; ++j) {
      own[j] += mpc::EncodeFixed(w(static_cast<Index>(j)), task.fraction_bits);
    }
  }
  const std::vector<Int128> opened = OpenNoisedSum(engine, sum, own);
  VectorXd average(static_cast<Index>(opened.size()));
  for (size_t j = 0; j < opened.size(); ++j) {
    average(static_cast<Index>(j)) =
        mpc::DecodeFixed(opened[j], task.fraction_bits) / static_cast<double>(task.parties);
  }
  return average;
}

}  // namespace partita::methods::classify
