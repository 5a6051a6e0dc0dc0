#include "methods/classify/newton_sums.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/error.h"
#include "methods/classify/descent.h"
#include "privacy/sampling/clipping.h"
#include "privacy/sampling/discrete_gaussian.h"
#include "privacy/sampling/release_statement.h"

namespace partita::methods::classify {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;
using stats::erm::LabelledRows;
using stats::erm::NewtonSums;

// Products of so many rows are below 2^53 in every order of adding.
constexpr Index kBlockRows = 512;
static_assert((kBlockRows << (2 * kNewtonRowBits)) <= Index{1} << 53);
// Of squares and of products of two columns, in units of 2^-51.
constexpr int kDiagonal = 128, kOffDiagonal = 181;
static_assert(kOffDiagonal * kOffDiagonal < 2 * kDiagonal * kDiagonal);

size_t VectorSize(size_t dimension) { return dimension + dimension * (dimension + 1) / 2; }

// q of some rows, one in each column.
MatrixXd CurvatureRows(const LabelledRows& rows, Index first, Index count, const VectorXd& w) {
  const Index d = w.size();
  MatrixXd whole(d, count);
  std::vector<double> v(static_cast<size_t>(d));
  std::vector<Int128> q(v.size());
  for (Index i = 0; i < count; ++i) {
    const auto x = rows.x.row(first + i);
    const double weight = stats::erm::LossCurvature({}, rows.y(first + i) * x.dot(w));
    for (Index j = 0; j < d; ++j) v[static_cast<size_t>(j)] = 2 * std::sqrt(weight) * x(j);
    privacy::ClipToGrid(v, {privacy::Norm::kL2, 1, kNewtonRowBits}, q);
    for (Index j = 0; j < d; ++j) whole(j, i) = static_cast<double>(q[static_cast<size_t>(j)]);
  }
  return whole;
}

// The upper triangle row by row: visit(place in the opened vector, i, j).
template <typename Visit>
void ForUpperTriangle(Index d, const Visit& visit) {
  auto at = static_cast<size_t>(d);
  for (Index i = 0; i < d; ++i) {
    for (Index j = i; j < d; ++j) visit(at++, i, j);
  }
}

}  // namespace

privacy::GridL2Sensitivity NewtonSensitivity(privacy::Adjacency adjacency) {
  const double root = std::sqrt(adjacency == privacy::Adjacency::kReplace ? 6.0 : 2.0);
  return privacy::GridL2Sensitivity(std::ldexp(std::nextafter(root, 3), kNewtonBits));
}

NoisedSum DesignNewton(const NewtonTask& task, double epsilon, double delta) {
  if (task.dimension == 0 || task.dimension > kMaxNewtonDimension || task.party_rows == 0 ||
      task.known_shares >= task.parties) {
    throw Error(ErrorCode::kUsage,
                fmt::format("intervals need rows, one to {} columns, and a noise share that the "
                            "adversary does not know",
                            kMaxNewtonDimension));
  }
  NoisedSum sum;
  sum.release = "curvature";
  sum.dimension = VectorSize(task.dimension);
  sum.fraction_bits = kNewtonBits;
  sum.party_bound = static_cast<double>(task.party_rows);
  sum.noise = privacy::ShareNoise(
      privacy::CalibrateDiscreteGaussian(NewtonSensitivity(task.adjacency), sum.dimension,
                                         privacy::Epsilon(epsilon), privacy::Delta(delta)),
      {task.parties, task.known_shares}, sum.dimension);
  sum.to = task.to;
  return sum;
}

std::vector<Int128> NewtonOnGrid(const LabelledRows& rows, const VectorXd& w) {
  const Index d = w.size();
  const auto dimension = static_cast<size_t>(d);
  DescentTask whole;
  whole.dimension = dimension;
  whole.fraction_bits = kNewtonBits;
  std::vector<Index> all(static_cast<size_t>(rows.x.rows()));
  std::iota(all.begin(), all.end(), Index{0});
  std::vector<Int128> sums = GradientOnGrid(rows, all, whole, w);
  sums.resize(VectorSize(dimension));
  for (Index first = 0; first < rows.x.rows(); first += kBlockRows) {
    const MatrixXd q = CurvatureRows(rows, first, std::min(kBlockRows, rows.x.rows() - first), w);
    const MatrixXd products = q * q.transpose();
    ForUpperTriangle(d, [&](size_t at, Index i, Index j) {
      sums[at] += static_cast<Int128>(products(i, j)) * (i == j ? kDiagonal : kOffDiagonal);
    });
  }
  return sums;
}

NewtonSums NewtonSumsOf(std::span<const Int128> opened, size_t dimension, double noise_stddev) {
  const auto d = static_cast<Index>(dimension);
  NewtonSums sums;
  sums.gradient.resize(d);
  for (Index j = 0; j < d; ++j) {
    sums.gradient(j) = mpc::DecodeFixed(opened[static_cast<size_t>(j)], kNewtonBits);
  }
  sums.hessian.resize(d, d);
  ForUpperTriangle(d, [&](size_t at, Index i, Index j) {
    const double weight = i == j ? kCurvatureWeight : kCurvatureWeight * kOffDiagonal / kDiagonal;
    sums.hessian(i, j) = sums.hessian(j, i) = mpc::DecodeFixed(opened[at], kNewtonBits) / weight;
  });
  sums.gradient_stddev = noise_stddev;
  sums.hessian_stddev = noise_stddev / kCurvatureWeight;
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
    const std::vector<Int128> sums = NewtonOnGrid(*rows, w);
    for (size_t j = 0; j < own.size(); ++j) own[j] += sums[j];
  }
  const std::vector<Int128> opened = OpenNoisedSum(engine, sum, own);
  if (opened.empty()) return {};
  return NewtonSumsOf(opened, task.dimension, TotalStddev(sum));
}

privacy::Statement StateNewton(const NewtonTask& task, const NoisedSum& sum,
                               const Audience& audience) {
  privacy::Statement statement = privacy::StateRelease(
      {audience.parties, sum.noise, audience.engine, task.adjacency,
       NewtonSensitivity(task.adjacency), NewtonSensitivity(privacy::Adjacency::kReplace),
       privacy::Delta(audience.delta)});
  statement.mechanism = fmt::format(
      "Gradient and curvature of the loss at the released coefficients, for intervals. {}",
      statement.mechanism);
  privacy::CheckStatement(statement);
  return statement;
}

}  // namespace partita::methods::classify
