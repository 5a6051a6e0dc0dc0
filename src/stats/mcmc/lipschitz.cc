#include "stats/mcmc/lipschitz.h"

#include <cmath>

#include "base/error.h"
#include "stats/mcmc/grid_sums.h"

namespace partita::stats::mcmc {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

constexpr int kGridBits = 40;
// Of the values of two differences of up to kMostSummedRows rows, relative to L, and of lengths.
constexpr double kRelativeRounding = 0x1p-20;

class Lipschitz final : public LocalTarget {
 public:
  Lipschitz(TargetPtr rows, const VectorXd& start, const VectorXd& reach)
      : rows_(std::move(rows)), start_(start), reach_(reach) {
    if (start.size() != static_cast<Index>(rows_->dimension()) || start.size() != reach.size()) {
      throw Error(ErrorCode::kUsage, "a chain and its bounds have different numbers of parameters");
    }
    at_start_ = Sums(rows_->ByRow(start)).front();
  }

  size_t dimension() const override { return rows_->dimension(); }

  VectorXd LogLikelihood(const MatrixXd& thetas) const override {
    return Parts(thetas).rowwise().sum();
  }

  Eigen::MatrixX2d Parts(const MatrixXd& thetas) const override {
    std::vector<Int128> sums = Sums(rows_->ByRow(thetas));
    for (Int128& sum : sums) sum -= at_start_;
    Eigen::MatrixX2d parts = PartsOf(sums, kGridBits);
    const VectorXd distances = ReachOf(thetas.colwise() - start_, reach_);
    for (Index c = 0; c < thetas.cols(); ++c) {
      if (distances(c) > kFarthest) parts.row(c) << -HUGE_VAL, 0;
    }
    return parts;
  }

 private:
  // Far away a value may leave the range of the grid; the state is impossible there.
  static std::vector<Int128> Sums(const MatrixXd& rows) {
    return GridSums(rows.cwiseMax(-0x1p20), kGridBits);
  }

  TargetPtr rows_;
  VectorXd start_, reach_;
  Int128 at_start_ = 0;
};

}  // namespace

VectorXd ReachOf(const MatrixXd& steps, const VectorXd& reach) {
  return (steps.cwiseAbs().transpose() * reach).eval();
}

void Shorten(const VectorXd& reach, double longest, MatrixXd& steps) {
  const VectorXd lengths = ReachOf(steps, reach);
  for (Index c = 0; c < steps.cols(); ++c) {
    if (lengths(c) > longest) steps.col(c) *= longest / lengths(c);
  }
}

TargetPtr LipschitzTarget(TargetPtr rows, const VectorXd& start, const VectorXd& reach) {
  return std::make_unique<Lipschitz>(std::move(rows), start, reach);
}

double LipschitzSensitivity(double longest, privacy::Adjacency adjacency) {
  const double moved = longest * (1 + kRelativeRounding) + kLipschitzRounding;
  return adjacency == privacy::Adjacency::kReplace ? 2 * moved : moved;
}

}  // namespace partita::stats::mcmc
