// The basis of natural cubic splines that R's splines::ns(x, knots =, Boundary.knots =) makes
// (without intercept): cubic between the boundary knots, linear outside of them.
//
// B-splines of order 4 by the recursion of Cox and de Boor; the two conditions "second derivative 0
// at the boundary knots" are removed by the orthogonal factor of their QR decomposition, as in R
// (Hastie, "Generalized additive models", in Chambers & Hastie, Statistical Models in S, 1992).
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

namespace partita::data {

class NaturalSpline {
 public:
  // lower < knots, ascending < upper, one knot at least.
  NaturalSpline(const std::vector<double>& knots, double lower, double upper);

  size_t num_columns() const { return columns_.size(); }  // number of knots + 1
  double Value(size_t column, double x) const;

  // An interval that contains every value of the column for x in [from, to]. Between the boundary
  // knots B-splines are non-negative and sum to 1, so values lie within the convex hull of the
  // coefficients; outside a line is extreme at its end.
  std::pair<double, double> Range(size_t column, double from, double to) const;

 private:
  struct Column {
    std::vector<double> coefficients;  // of all B-splines
    double slope_lower = 0, slope_upper = 0;
  };

  std::vector<double> knots_;  // boundary knots four times each
  std::vector<Column> columns_;
};

}  // namespace partita::data
