#include "stats/erm/unit_ball.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"

namespace partita::stats::erm {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

double Centre(const ColumnBounds& bounds) { return (bounds.lower + bounds.upper) / 2; }
double HalfWidth(const ColumnBounds& bounds) { return (bounds.upper - bounds.lower) / 2; }

void Check(const UnitBallScaling& scaling, Index columns) {
  if (static_cast<Index>(scaling.bounds.size()) != columns) {
    throw Error(ErrorCode::kUsage, fmt::format("there are bounds for {} of {} columns",
                                               scaling.bounds.size(), columns));
  }
  for (const ColumnBounds& bounds : scaling.bounds) {
    if (!(bounds.lower < bounds.upper) || !std::isfinite(HalfWidth(bounds))) {
      throw Error(ErrorCode::kUsage, "a column's lower bound is not below its upper one",
                  "give bounds from what is publicly known of the variable");
    }
  }
  const double longest = std::sqrt(static_cast<double>(columns + (scaling.intercept ? 1 : 0)));
  if (!(scaling.norm > 0 && scaling.norm <= longest * (1 + 1e-12))) {
    throw Error(ErrorCode::kUsage,
                fmt::format("the norm must be above 0 and at most {:.4g}", longest));
  }
}

}  // namespace

ScaledRows ScaleToUnitBall(const MatrixXd& x, const UnitBallScaling& scaling) {
  Check(scaling, x.cols());
  const Index d = x.cols();
  ScaledRows scaled;
  scaled.x.resize(x.rows(), d + (scaling.intercept ? 1 : 0));
  for (Index i = 0; i < x.rows(); ++i) {
    for (Index j = 0; j < d; ++j) {
      const ColumnBounds& bounds = scaling.bounds[static_cast<size_t>(j)];
      const double value = (x(i, j) - Centre(bounds)) / HalfWidth(bounds);
      if (!std::isfinite(value)) {
        throw Error(ErrorCode::kBadData,
                    fmt::format("row {}, column {}: not a number", i + 1, j + 1));
      }
      scaled.clipped_values += std::abs(value) > 1 ? 1 : 0;
      scaled.x(i, j) = std::clamp(value, -1.0, 1.0);
    }
    if (scaling.intercept) scaled.x(i, d) = 1;
    const double norm = scaled.x.row(i).norm();
    scaled.clipped_rows += norm > scaling.norm ? 1 : 0;
    // A last shrinking keeps the norm at most 1 in spite of rounding, in whatever order up to 1000
    // squares are added.
    scaled.x.row(i) *= (1 - 0x1p-40) / std::max(norm, scaling.norm);
  }
  return scaled;
}

VectorXd OriginalUnits(const VectorXd& w, const UnitBallScaling& scaling) {
  const Index d = static_cast<Index>(scaling.bounds.size());
  VectorXd original = VectorXd::Zero(d + 1);
  for (Index j = 0; j < d; ++j) {
    const ColumnBounds& bounds = scaling.bounds[static_cast<size_t>(j)];
    original(j) = w(j) / (HalfWidth(bounds) * scaling.norm);
    original(d) -= original(j) * Centre(bounds);
  }
  if (scaling.intercept) original(d) += w(d) / scaling.norm;
  return original;
}

}  // namespace partita::stats::erm
