#include "methods/mle/published/secure_matmul.h"

#include <Eigen/QR>
#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "methods/mle/published/numbers.h"

namespace partita::methods::mle::published {
namespace {

using Doubles = Matrix<double>;

// Random orthonormal columns that are orthogonal to those of x.
Doubles NullColumns(const Eigen::MatrixXd& x, Eigen::Index count, crypto::RandomSource& random) {
  Eigen::MatrixXd all(x.rows(), x.cols() + count);
  all.leftCols(x.cols()) = x;
  // Any continuous distribution spans the space; this one is uniform.
  all.rightCols(count) = (DrawMask<double>(x.rows(), count, random).array() - kPaperMaskLow) /
                             (kPaperMaskHigh - kPaperMaskLow) -
                         0.5;
  const Eigen::HouseholderQR<Eigen::MatrixXd> qr(all);
  Eigen::MatrixXd basis = Eigen::MatrixXd::Identity(x.rows(), all.cols());
  basis.applyOnTheLeft(qr.householderQ());
  return basis.rightCols(count);
}

}  // namespace

MatmulLeakage PlanMatmul(Eigen::Index rows, Eigen::Index first_columns,
                         Eigen::Index second_columns) {
  if (rows <= first_columns) {
    throw Error(ErrorCode::kBadInput, "the matrix product needs more rows than columns");
  }
  const double share =
      static_cast<double>(second_columns) / static_cast<double>(first_columns + second_columns);
  const auto balanced = static_cast<Eigen::Index>(std::lround(share * static_cast<double>(rows)));
  return {rows, first_columns, second_columns,
          std::clamp<Eigen::Index>(balanced, 1, rows - first_columns)};
}

Eigen::MatrixXd MultiplyAsFirst(net::Channel& channel, net::PartyIndex second,
                                const MatmulLeakage& plan, const Eigen::MatrixXd& own,
                                crypto::RandomSource& random, MatmulSight* sight) {
  const Doubles z = NullColumns(own, plan.null_columns, random);
  channel.Exchange({{To(second, z)}}, {});
  Doubles w(plan.rows, plan.second_columns);
  channel.Exchange({}, {{From(second, w)}});
  if (sight != nullptr) *sight = {z, w};
  return own.transpose() * w;
}

void MultiplyAsSecond(net::Channel& channel, net::PartyIndex first, const MatmulLeakage& plan,
                      const Eigen::MatrixXd& own) {
  Doubles z(plan.rows, plan.null_columns);
  channel.Exchange({}, {{From(first, z)}});
  const Doubles w = own - z * (z.transpose() * own);
  channel.Exchange({{To(first, w)}}, {});
}

}  // namespace partita::methods::mle::published
