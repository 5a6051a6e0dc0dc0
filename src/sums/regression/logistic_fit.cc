#include "sums/regression/logistic_fit.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/math/distributions/normal.hpp>
#include <cmath>

#include "base/error.h"

namespace partita::sums::regression {

using Eigen::Index;
using Eigen::VectorXd;

LogisticRows TakeLogisticRows(const Spec& spec, const stats::blr::Design& design,
                              const Rows& rows) {
  const data::ColumnSchema& outcome = spec.outcome();
  if (outcome.type != data::ColumnType::kInteger || outcome.lower != 0 || outcome.upper != 1) {
    throw Error(
        ErrorCode::kBadInput,
        fmt::format("'{}' is no outcome of a logistic regression: it is not 0 or 1", outcome.name),
        "describe it with type = \"integer\", lower = 0 and upper = 1");
  }
  const size_t width = design.features.size() + 1;
  const auto count = static_cast<Index>(rows.count);
  LogisticRows taken{Eigen::MatrixXd(count, static_cast<Index>(design.num_coefficients())),
                     VectorXd(count)};
  for (Index r = 0; r < count; ++r) {
    const std::span<const double> values = rows.row(static_cast<size_t>(r), width);
    taken.labels(r) = values.back();
    if (values.back() != 0 && values.back() != 1) {
      throw Error(ErrorCode::kBadData,
                  fmt::format("'{}' of row {} is neither 0 nor 1", outcome.name, r + 1),
                  "code the outcome as 0 and 1");
    }
    taken.x.row(r) = stats::blr::ScaledFeatures(design, values.first(width - 1))
                         .cwiseMax(-1)
                         .cwiseMin(1)
                         .transpose();
  }
  return taken;
}

std::vector<LogisticCoefficient> LogisticCoefficients(const Spec& spec,
                                                      const stats::blr::Design& design,
                                                      const LogisticPosterior& posterior) {
  // Log odds have no unit that the outcome's bounds would change.
  stats::blr::Design unscaled = design;
  unscaled.target = {design.target.name, 1, 0};
  const stats::blr::CoefficientMap map = stats::blr::ToRawUnits(unscaled);
  const VectorXd mean = map.linear * posterior.mean + map.shift;
  const VectorXd stddev = (map.linear.cwiseAbs2() * posterior.stddev.cwiseAbs2()).cwiseSqrt();
  const double quantile = boost::math::quantile(boost::math::normal(), 0.5 + 0.5 * spec.level);
  std::vector<LogisticCoefficient> coefficients;
  for (Index j = 0; j < mean.size(); ++j) {
    LogisticCoefficient coefficient;
    const auto feature = static_cast<size_t>(j) - (design.intercept ? 1 : 0);
    coefficient.name = design.intercept && j == 0 ? "(Intercept)" : design.features[feature].name;
    coefficient.mean = mean(j);
    coefficient.stddev = stddev(j);
    coefficient.lower = mean(j) - quantile * stddev(j);
    coefficient.upper = mean(j) + quantile * stddev(j);
    coefficients.push_back(std::move(coefficient));
  }
  return coefficients;
}

}  // namespace partita::sums::regression
