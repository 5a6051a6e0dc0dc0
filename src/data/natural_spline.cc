#include "data/natural_spline.h"

#include <Eigen/QR>
#include <algorithm>
#include <array>

namespace partita::data {

namespace {

constexpr size_t kOrder = 4;  // cubic

// The `order` B-splines that are not zero at x, and the index of the first of them, on a knot
// vector whose ends are repeated kOrder times.
struct LocalBasis {
  size_t first = 0;
  std::array<double, kOrder> values{};
};

// de Boor, A Practical Guide to Splines (2001), chapter X, BSPLVB. x lies within the knots.
LocalBasis BasisAt(const std::vector<double>& knots, size_t order, double x) {
  const size_t last_span = knots.size() - kOrder - 1;
  const auto above = std::upper_bound(knots.begin(), knots.end(), x);
  const size_t span = std::min(static_cast<size_t>(above - knots.begin()) - 1, last_span);
  LocalBasis basis{span + 1 - order, {1}};
  for (size_t degree = 1; degree < order; ++degree) {
    double carried = 0;
    for (size_t i = 0; i < degree; ++i) {
      const double right = knots[span + i + 1], left = knots[span + 1 + i - degree];
      const double part = basis.values[i] / (right - left);
      basis.values[i] = carried + (right - x) * part;
      carried = (x - left) * part;
    }
    basis.values[degree] = carried;
  }
  return basis;
}

double SplineAt(const std::vector<double>& knots, size_t order,
                const std::vector<double>& coefficients, double x) {
  const LocalBasis basis = BasisAt(knots, order, x);
  double sum = 0;
  for (size_t i = 0; i < order; ++i) sum += basis.values[i] * coefficients[basis.first + i];
  return sum;
}

// Coefficients of the derivative as a spline of one order less; the first has no support and is 0.
std::vector<double> Derivative(const std::vector<double>& knots, size_t order,
                               const std::vector<double>& coefficients) {
  std::vector<double> derivative(coefficients.size(), 0.0);
  for (size_t i = 1; i < coefficients.size(); ++i) {
    const double width = knots[i + order - 1] - knots[i];
    if (width > 0) {
      derivative[i] =
          static_cast<double>(order - 1) * (coefficients[i] - coefficients[i - 1]) / width;
    }
  }
  return derivative;
}

// Second derivatives at both boundary knots (columns) of all B-splines but the first (rows).
Eigen::MatrixXd BoundaryCurvature(const std::vector<double>& knots, size_t num_splines) {
  Eigen::MatrixXd curvature(num_splines - 1, 2);
  for (size_t i = 1; i < num_splines; ++i) {
    std::vector<double> unit(num_splines, 0.0);
    unit[i] = 1;
    const auto second = Derivative(knots, kOrder - 1, Derivative(knots, kOrder, unit));
    const auto row = static_cast<Eigen::Index>(i - 1);
    curvature(row, 0) = SplineAt(knots, kOrder - 2, second, knots.front());
    curvature(row, 1) = SplineAt(knots, kOrder - 2, second, knots.back());
  }
  return curvature;
}

}  // namespace

NaturalSpline::NaturalSpline(const std::vector<double>& knots, double lower, double upper)
    : knots_(kOrder, lower) {
  knots_.insert(knots_.end(), knots.begin(), knots.end());
  knots_.insert(knots_.end(), kOrder, upper);
  const size_t num_splines = knots.size() + kOrder;
  const Eigen::HouseholderQR<Eigen::MatrixXd> qr(BoundaryCurvature(knots_, num_splines));
  const Eigen::MatrixXd q = qr.householderQ();
  for (Eigen::Index j = 2; j < q.cols(); ++j) {
    Column column;
    column.coefficients.push_back(0);  // ns drops the first B-spline: no intercept
    for (Eigen::Index i = 0; i < q.rows(); ++i) column.coefficients.push_back(q(i, j));
    const auto slope = Derivative(knots_, kOrder, column.coefficients);
    column.slope_lower = SplineAt(knots_, kOrder - 1, slope, lower);
    column.slope_upper = SplineAt(knots_, kOrder - 1, slope, upper);
    columns_.push_back(std::move(column));
  }
}

double NaturalSpline::Value(size_t column, double x) const {
  const Column& c = columns_[column];
  const double lower = knots_.front(), upper = knots_.back();
  // At a boundary knot the first, respectively last, B-spline is 1 and the others are 0.
  if (x < lower) return c.coefficients.front() + c.slope_lower * (x - lower);
  if (x > upper) return c.coefficients.back() + c.slope_upper * (x - upper);
  return SplineAt(knots_, kOrder, c.coefficients, x);
}

std::pair<double, double> NaturalSpline::Range(size_t column, double from, double to) const {
  const auto& coefficients = columns_[column].coefficients;
  const auto [low, high] = std::minmax_element(coefficients.begin(), coefficients.end());
  const double at_from = Value(column, from), at_to = Value(column, to);
  return {std::min({*low, at_from, at_to}), std::max({*high, at_from, at_to})};
}

}  // namespace partita::data
