#include "stats/mcmc/lipschitz.h"

#include <cmath>

#include "base/error.h"
#include "base/int128.h"

namespace partita::stats::mcmc {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

constexpr int kGridBits = 40;
constexpr Index kMostRows = Index{1} << 18;

class Lipschitz final : public LocalTarget {
 public:
  Lipschitz(TargetPtr rows, const VectorXd& start, const VectorXd& reach)
      : rows_(std::move(rows)), start_(start), reach_(reach) {
    if (start.size() != static_cast<Index>(rows_->dimension()) || start.size() != reach.size()) {
      throw Error(ErrorCode::kUsage, "a chain and its bounds have different numbers of parameters");
    }
    const MatrixXd at_start = rows_->ByRow(start);
    if (at_start.rows() > kMostRows) {
      throw Error(ErrorCode::kRefused,
                  "a table of more than 262144 rows is too long for this bound",
                  "divide the table, or use 'clip' on fewer rows");
    }
    at_start_ = Sums(at_start).front();
  }

  size_t dimension() const override { return rows_->dimension(); }

  VectorXd LogLikelihood(const MatrixXd& thetas) const override {
    const std::vector<Int128> sums = Sums(rows_->ByRow(thetas));
    const VectorXd distances = ReachOf(thetas.colwise() - start_, reach_);
    VectorXd values(thetas.cols());
    for (Index c = 0; c < thetas.cols(); ++c) {
      const Int128 difference = sums[static_cast<size_t>(c)] - at_start_;
      values(c) = distances(c) > kFarthest
                      ? -HUGE_VAL
                      : std::ldexp(static_cast<double>(difference), -kGridBits);
    }
    return values;
  }

 private:
  static std::vector<Int128> Sums(const MatrixXd& rows) {
    std::vector<Int128> sums(static_cast<size_t>(rows.cols()));
    for (Index c = 0; c < rows.cols(); ++c) {
      for (Index i = 0; i < rows.rows(); ++i) {
        // Far away a value may leave the range of the grid; the state is impossible there.
        const double value = std::max(rows(i, c), -0x1p20);
        sums[static_cast<size_t>(c)] += std::llrint(std::ldexp(value, kGridBits));
      }
    }
    return sums;
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
  const double moved = longest * (1 + 0x1p-40) + kLipschitzRounding;
  return adjacency == privacy::Adjacency::kReplace ? 2 * moved : moved;
}

}  // namespace partita::stats::mcmc
