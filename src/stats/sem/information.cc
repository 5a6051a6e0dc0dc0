#include "stats/sem/information.h"

#include <Eigen/Cholesky>
#include <Eigen/Eigenvalues>
#include <cmath>
#include <limits>

namespace partita::stats {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

// Eigenvalues of an information matrix with unit diagonal below this are no information: products
// of 1e-16 rounding with condition numbers of ordinary models stay far below, and an estimate with
// less would have no correct digit.
constexpr double kFlatEigenvalue = 1e-11;

// diag^-1/2, 0 where there is nothing.
VectorXd InverseRoots(const MatrixXd& matrix) {
  return matrix.diagonal().unaryExpr([](double d) { return d > 0 ? 1 / std::sqrt(d) : 0.0; });
}

struct Eigen1 {
  VectorXd scale;
  VectorXd values;
  MatrixXd vectors;
};

Eigen1 ScaledEigen(const MatrixXd& matrix) {
  const VectorXd scale = InverseRoots(matrix);
  const MatrixXd scaled = scale.asDiagonal() * matrix * scale.asDiagonal();
  const Eigen::SelfAdjointEigenSolver<MatrixXd> solver(scaled);
  return {scale, solver.eigenvalues(), solver.eigenvectors()};
}

// 1 / value, 0 for the flat ones.
VectorXd InvertValues(const VectorXd& values) {
  return values.unaryExpr([](double v) { return v > kFlatEigenvalue ? 1 / v : 0.0; });
}

// A flat direction in x in units of each parameter's own precision, largest component +1.
VectorXd InPrecisionUnits(const VectorXd& direction, const VectorXd& precision) {
  VectorXd scaled = direction.cwiseProduct(precision);
  Index largest = 0;
  const double size = scaled.cwiseAbs().maxCoeff(&largest);
  if (size > 0) scaled /= scaled[largest];
  return scaled;
}

void ForbidFlat(const std::vector<VectorXd>& flat, MatrixXd& covariance) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (const VectorXd& direction : flat) {
    for (Index k = 0; k < direction.size(); ++k) {
      if (std::abs(direction[k]) < 1e-6) continue;
      covariance.row(k).setConstant(nan);
      covariance.col(k).setConstant(nan);
    }
  }
}

}  // namespace

VectorXd SolveSemidefinite(const MatrixXd& matrix, const VectorXd& right) {
  if (matrix.rows() == 0) return right;
  const VectorXd scale = InverseRoots(matrix);
  const MatrixXd scaled = scale.asDiagonal() * matrix * scale.asDiagonal();
  const Eigen::LLT<MatrixXd> llt(scaled);
  if (llt.info() == Eigen::Success &&
      llt.matrixLLT().diagonal().minCoeff() > std::sqrt(kFlatEigenvalue)) {
    return scale.cwiseProduct(llt.solve(scale.cwiseProduct(right)));
  }
  const Eigen1 e = ScaledEigen(matrix);
  const VectorXd rotated = e.vectors.transpose() * e.scale.cwiseProduct(right);
  return e.scale.cwiseProduct(e.vectors * InvertValues(e.values).cwiseProduct(rotated));
}

double SmallestScaledEigenvalue(const MatrixXd& matrix, const MatrixXd& scale) {
  if (matrix.rows() == 0) return std::numeric_limits<double>::infinity();
  const VectorXd roots = InverseRoots(scale);
  const Eigen::SelfAdjointEigenSolver<MatrixXd> solver(
      roots.asDiagonal() * matrix * roots.asDiagonal(), Eigen::EigenvaluesOnly);
  return solver.eigenvalues()[0];
}

ParameterCovariance InvertInformation(const MatrixXd& information, const Tangent& tangent,
                                      double num_rows) {
  ParameterCovariance out;
  const MatrixXd projected = tangent.basis.transpose() * information * tangent.basis;
  if (projected.rows() == 0) {
    out.covariance = MatrixXd::Zero(information.rows(), information.rows());
    return out;
  }
  const Eigen1 e = ScaledEigen(projected);
  const VectorXd precision = information.diagonal().cwiseMax(0).cwiseSqrt();
  for (Index i = 0; i < e.values.size(); ++i) {
    if (e.values[i] > kFlatEigenvalue) continue;
    out.positive_definite = false;
    // A parameter without any information has scale 0: its direction is the basis vector itself.
    VectorXd inner = e.scale.cwiseProduct(e.vectors.col(i));
    if (inner.isZero(0)) inner = e.vectors.col(i);
    const VectorXd direction = tangent.basis * inner;
    VectorXd scaled = InPrecisionUnits(direction, precision);
    out.flat_directions.push_back(scaled.isZero(0) ? direction : scaled);
  }
  const MatrixXd root = tangent.basis * (e.scale.asDiagonal() * e.vectors);
  out.covariance = root * (InvertValues(e.values) / num_rows).asDiagonal() * root.transpose();
  ForbidFlat(out.flat_directions, out.covariance);
  return out;
}

}  // namespace partita::stats
