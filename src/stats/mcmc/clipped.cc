#include "stats/mcmc/clipped.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "stats/mcmc/grid_sums.h"

namespace partita::stats::mcmc {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

constexpr int kBitsBelow = 31;  // of the grid, below the limit
constexpr double kRoom = 1 - 0x1p-16;

class Clipped : public LocalTarget {
 public:
  Clipped(TargetPtr rows, const VectorXd& reference, double limit)
      : rows_(std::move(rows)), limit_(limit * kRoom) {
    if (reference.size() != static_cast<Index>(rows_->dimension()) || !std::isnormal(limit) ||
        limit < 0) {
      throw Error(ErrorCode::kUsage, "clipping needs a limit above 0 and a point of reference",
                  "give the reference as many values as there are parameters");
    }
    grid_bits_ = kBitsBelow - std::ilogb(limit);
    at_reference_ = rows_->ByRow(reference);
  }
  size_t dimension() const override { return rows_->dimension(); }
  VectorXd LogLikelihood(const MatrixXd& thetas) const override {
    return Parts(thetas).rowwise().sum();
  }
  Eigen::MatrixX2d Parts(const MatrixXd& thetas) const override {
    return PartsOf(GridSums(ByRow(thetas), grid_bits_), grid_bits_);
  }
  MatrixXd ByRow(const MatrixXd& thetas) const override {
    MatrixXd values = rows_->ByRow(thetas).colwise() - at_reference_;
    // What is no number counts as the least: a fixed function of row and theta, so that nothing a
    // row does at any proposal, nor at the point of reference, ends the chain.
    for (double& value : values.reshaped())
      value = std::isnan(value) ? -limit_ : std::clamp(value, -limit_, limit_);
    return values;
  }

 private:
  TargetPtr rows_;
  double limit_;
  int grid_bits_ = 0;
  VectorXd at_reference_;
};

}  // namespace

TargetPtr ClippedTarget(TargetPtr rows, const VectorXd& reference, double limit) {
  return std::make_unique<Clipped>(std::move(rows), reference, limit);
}

double ClippedSensitivity(double limit, privacy::Adjacency adjacency) {
  return (adjacency == privacy::Adjacency::kReplace ? 4 : 2) * limit;
}

}  // namespace partita::stats::mcmc
