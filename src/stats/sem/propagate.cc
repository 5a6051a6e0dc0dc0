#include "stats/sem/propagate.h"

#include <Eigen/LU>
#include <limits>

#include "base/error.h"

namespace partita::stats {
namespace {

constexpr double kSingularLoop = 1e-13;  // reciprocal condition number of I - A

}  // namespace

Propagated Propagate(const RamGroup& group, const Eigen::VectorXd& x) {
  const RamMatrices filled = FillMatrices(group, x);
  const Eigen::Index v = filled.regression.rows();
  Propagated out;
  if (filled.regression.isZero(0)) {
    out.effects = Eigen::MatrixXd::Identity(v, v);
    out.covariance = filled.covariance;
    out.mean = filled.mean;
    return out;
  }
  const Eigen::PartialPivLU<Eigen::MatrixXd> lu(Eigen::MatrixXd::Identity(v, v) -
                                                filled.regression);
  // A feedback loop of strength one: rounding must not make a huge Sigma of it.
  if (!(lu.rcond() > kSingularLoop)) {
    constexpr double infinity = std::numeric_limits<double>::infinity();
    out.covariance = Eigen::MatrixXd::Constant(v, v, infinity);
    out.mean = Eigen::VectorXd::Constant(v, infinity);
    return out;
  }
  out.effects = lu.inverse();
  out.covariance.noalias() = out.effects * filled.covariance * out.effects.transpose();
  out.mean.noalias() = out.effects * filled.mean;
  return out;
}

CellDirection DirectionOf(const RamCell& cell, const Propagated& all) {
  const Eigen::Index v = all.effects.rows();
  switch (cell.matrix) {
    case RamMatrix::kRegression:
      return {cell.row, v + cell.column, 1, all.mean[cell.column]};
    case RamMatrix::kCovariance:
      return {cell.row, cell.column, cell.row == cell.column ? 0.5 : 1.0, 0};
    case RamMatrix::kMean:
      return {cell.row, cell.row, 0, 1};
  }
  throw Error(ErrorCode::kInternal, "unknown RAM matrix");
}

Eigen::MatrixXd DirectionColumns(const Propagated& all, Eigen::Index num_observed) {
  const Eigen::Index v = all.effects.rows();
  Eigen::MatrixXd z(num_observed, 2 * v);
  z.leftCols(v) = all.effects.topRows(num_observed);
  z.rightCols(v) = all.covariance.topRows(num_observed);
  return z;
}

}  // namespace partita::stats
