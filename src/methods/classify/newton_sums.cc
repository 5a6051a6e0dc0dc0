#include "methods/classify/newton_sums.h"

#include <fmt/format.h>

#include <cmath>

#include "base/error.h"
#include "privacy/sampling/discrete_gaussian.h"
#include "privacy/sampling/release_statement.h"

namespace partita::methods::classify {
namespace {

using Eigen::Index;
using Eigen::VectorXd;
using stats::erm::LabelledRows;
using stats::erm::NewtonSums;

size_t VectorSize(size_t dimension) { return dimension + dimension * (dimension + 1) / 2; }

}  // namespace

privacy::GridL2Sensitivity NewtonSensitivity(const NewtonTask& task, privacy::Adjacency adjacency) {
  const double square = task.curvature_weight * task.curvature_weight;
  const double moved = adjacency == privacy::Adjacency::kReplace ? std::sqrt(4 + square / 8)
                                                                 : std::sqrt(1 + square / 16);
  return privacy::ToGrid(privacy::L2Sensitivity(moved * (1 + 1e-12)), task.fraction_bits,
                         VectorSize(task.dimension), 0.5);
}

NoisedSum DesignNewton(const NewtonTask& task, double epsilon, double delta) {
  if (task.dimension == 0 || task.party_rows == 0 || !(task.curvature_weight > 0) ||
      task.known_shares >= task.parties) {
    throw Error(ErrorCode::kUsage,
                "intervals need columns, rows, a weight above 0, and a noise share that the "
                "adversary does not know");
  }
  NoisedSum sum;
  sum.release = "curvature";
  sum.dimension = VectorSize(task.dimension);
  sum.fraction_bits = task.fraction_bits;
  sum.party_bound =
      static_cast<double>(task.party_rows) * std::max(1.0, task.curvature_weight / 2) + 1;
  sum.noise = privacy::ShareNoise(
      privacy::CalibrateDiscreteGaussian(NewtonSensitivity(task, task.adjacency), sum.dimension,
                                         privacy::Epsilon(epsilon), privacy::Delta(delta)),
      {task.parties, task.known_shares}, sum.dimension);
  sum.to = task.to;
  return sum;
}

VectorXd NewtonVector(const NewtonSums& sums, double curvature_weight) {
  const Index d = sums.gradient.size();
  VectorXd vector(static_cast<Index>(VectorSize(static_cast<size_t>(d))));
  vector.head(d) = sums.gradient;
  Index at = d;
  for (Index i = 0; i < d; ++i) {
    for (Index j = i; j < d; ++j) {
      vector(at++) = curvature_weight * (i == j ? 1 : std::sqrt(2.0)) * sums.hessian(i, j);
    }
  }
  return vector;
}

NewtonSums NewtonSumsOf(const VectorXd& vector, size_t dimension, double curvature_weight,
                        double noise_stddev) {
  const auto d = static_cast<Index>(dimension);
  NewtonSums sums;
  sums.gradient = vector.head(d);
  sums.hessian.resize(d, d);
  Index at = d;
  for (Index i = 0; i < d; ++i) {
    for (Index j = i; j < d; ++j) {
      sums.hessian(i, j) = sums.hessian(j, i) =
          vector(at++) / (curvature_weight * (i == j ? 1 : std::sqrt(2.0)));
    }
  }
  sums.gradient_stddev = noise_stddev;
  sums.hessian_stddev = noise_stddev / curvature_weight;
  return sums;
}

NewtonSums RunNewton(mpc::Engine& engine, const NewtonTask& task, const NoisedSum& sum,
                     const std::optional<LabelledRows>& rows, const VectorXd& w,
                     crypto::RandomSource& random) {
  engine.BeginPhase("intervals");
  std::vector<Int128> own;
  if (rows) {
    stats::erm::CheckRows(*rows);
    if (static_cast<uint64_t>(rows->x.rows()) > task.party_rows || rows->x.cols() != w.size() ||
        rows->x.rowwise().norm().maxCoeff() > 1) {
      throw Error(ErrorCode::kBadData,
                  "the table has more rows or other columns than declared, or a row longer than 1");
    }
    own.resize(sum.dimension);
    privacy::DiscreteGaussian(sum.noise.share_variance).Sample(random, own);
    const VectorXd vector = NewtonVector(stats::erm::SumsAt(*rows, w), task.curvature_weight);
    for (size_t j = 0; j < own.size(); ++j) {
      own[j] += mpc::EncodeFixed(vector(static_cast<Index>(j)), task.fraction_bits);
    }
  }
  const std::vector<Int128> opened = OpenNoisedSum(engine, sum, own);
  if (opened.empty()) return {};
  VectorXd vector(static_cast<Index>(opened.size()));
  for (size_t j = 0; j < opened.size(); ++j) {
    vector(static_cast<Index>(j)) = mpc::DecodeFixed(opened[j], task.fraction_bits);
  }
  return NewtonSumsOf(vector, task.dimension, task.curvature_weight, TotalStddev(sum));
}

privacy::Statement StateNewton(const NewtonTask& task, const NoisedSum& sum,
                               const Audience& audience) {
  privacy::Statement statement = privacy::StateRelease(
      {audience.parties, sum.noise, audience.engine, task.adjacency,
       NewtonSensitivity(task, task.adjacency),
       NewtonSensitivity(task, privacy::Adjacency::kReplace), privacy::Delta(audience.delta)});
  statement.mechanism = fmt::format(
      "Gradient and curvature of the loss at the released coefficients, for intervals. {}",
      statement.mechanism);
  privacy::CheckStatement(statement);
  return statement;
}

}  // namespace partita::methods::classify
