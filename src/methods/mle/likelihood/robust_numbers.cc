#include "methods/mle/likelihood/robust_numbers.h"

#include <algorithm>
#include <cmath>

#include "mpc/fixed_point.h"
#include "stats/sem/objective.h"

namespace partita::methods::mle {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;
using mpc::IntMatrix;
using mpc::PartyIndex;
using mpc::PrivateMatrix;

PrivateMatrix PrivateNumbers(PartyIndex owner, mpc::Shape shape, int bits, double bound,
                             const VectorXd& values) {
  PrivateMatrix matrix{owner, shape, bits, bound, nullptr};
  if (values.size() == 0) return matrix;
  std::vector<Int128> integers;
  for (const double value : values) integers.push_back(mpc::EncodeFixed(value, bits));
  matrix.read = [integers = std::move(integers), cols = shape.cols](size_t first, size_t count,
                                                                    Int128* out) {
    std::copy_n(integers.begin() + static_cast<std::ptrdiff_t>(first * cols), count * cols, out);
  };
  return matrix;
}

VectorXd DecodeOpened(const IntMatrix& opened, int bits) {
  VectorXd out(static_cast<Index>(opened.values.size()));
  for (Index i = 0; i < out.size(); ++i) {
    out[i] = mpc::DecodeFixed(opened.values[static_cast<size_t>(i)], bits);
  }
  return out;
}

MatrixXd FromUpper(const VectorXd& upper, Index n) {
  MatrixXd out(n, n);
  Index at = 0;
  for (Index i = 0; i < n; ++i) {
    for (Index j = i; j < n; ++j) out(i, j) = out(j, i) = upper[at++];
  }
  return out;
}

VectorXd ScoreUnits(const stats::ScorePoint& point, const stats::StatisticsScale& scale) {
  const VectorXd deviation = scale.half_width / 3;
  const stats::GroupMoments assumed{1, scale.centre, deviation.cwiseAbs2().asDiagonal()};
  const std::vector<stats::GroupSample> samples =
      stats::ScaleMoments(std::vector<stats::GroupMoments>(point.model.groups.size(), assumed),
                          point.model.variable_unit.head(point.model.num_observed));
  const MatrixXd information = stats::ExpectedInformation({point.model, samples}, point.x);
  return information.diagonal().unaryExpr([](double d) { return d > 0 ? std::sqrt(d) : 1.0; });
}

}  // namespace partita::methods::mle
