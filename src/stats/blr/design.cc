#include "stats/blr/design.h"

#include <fmt/format.h>

#include <cmath>

#include "base/error.h"

namespace partita::stats::blr {
namespace {

void CheckColumn(const Column& column) {
  if (std::isfinite(column.bound) && column.bound > 0 && std::isfinite(column.centre)) return;
  throw Error(
      ErrorCode::kBadInput,
      fmt::format("column {} has the bound {} around {}", column.name, column.bound, column.centre),
      "give a positive bound and a finite centre");
}

}  // namespace

void CheckDesign(const Design& design) {
  for (const Column& column : design.features) CheckColumn(column);
  CheckColumn(design.target);
  if (design.num_coefficients() == 0) {
    throw Error(ErrorCode::kBadInput, "a regression has neither a feature nor an intercept",
                "name at least one");
  }
  if (!std::isfinite(design.row_norm) || design.row_norm < 0) {
    throw Error(ErrorCode::kBadInput,
                fmt::format("a row cannot be shortened to the norm {}", design.row_norm),
                "give a positive norm, or 0 for none");
  }
}

CoefficientMap ToRawUnits(const Design& design) {
  const auto p = static_cast<Eigen::Index>(design.num_coefficients());
  CoefficientMap map{Eigen::MatrixXd::Zero(p, p), Eigen::VectorXd::Zero(p)};
  const Eigen::Index first = design.intercept ? 1 : 0;
  for (Eigen::Index j = 0; j < p - first; ++j) {
    const Column& column = design.features[static_cast<size_t>(j)];
    const double slope = design.target.bound / column.bound;
    map.linear(first + j, first + j) = slope;
    if (design.intercept) map.linear(0, first + j) = -slope * column.centre;
  }
  if (design.intercept) {
    map.linear(0, 0) = design.target.bound;
    map.shift(0) = design.target.centre;
  }
  return map;
}

Eigen::VectorXd ScaledFeatures(const Design& design, std::span<const double> features) {
  if (features.size() != design.features.size()) {
    throw Error(ErrorCode::kBadInput,
                fmt::format("a row has {} features, the regression {}", features.size(),
                            design.features.size()),
                "give one value per feature");
  }
  Eigen::VectorXd scaled(static_cast<Eigen::Index>(design.num_coefficients()));
  Eigen::Index next = 0;
  if (design.intercept) scaled(next++) = 1;
  for (size_t j = 0; j < features.size(); ++j) {
    const Column& column = design.features[j];
    scaled(next++) = (features[j] - column.centre) / column.bound;
  }
  return scaled;
}

}  // namespace partita::stats::blr
