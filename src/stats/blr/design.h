// What everybody knows before a differentially private linear regression: the columns, their
// assumed bounds and the number of rows.
//
// Units. Statistics are sums over SCALED rows z = ([1,] (x_j - centre_j) / bound_j, (y - centre) /
// bound): features first, the target last, every coordinate clipped to [-1, 1]. Bounds and centres
// are public (methods.md, R-o): from a dictionary, from mock data, or from a charged release
// (projection.h). Adjacency is replacement of one row, so that n is public.
#pragma once

#include <Eigen/Core>
#include <span>
#include <string>
#include <vector>

namespace partita::stats::blr {

struct Column {
  std::string name;
  double bound = 1;   // |value - centre| <= bound is assumed and enforced by clipping
  double centre = 0;  // a public guess; need not be the mean if there is an intercept
};

struct Design {
  std::vector<Column> features;
  Column target;
  // Adds a column of ones: then the sums of x and y are released, too, with noise, and neither
  // columns nor target need a mean of zero.
  bool intercept = false;
  // The scaled row ([1] apart) is shortened to this L2 norm as well; 0: it is not.
  double row_norm = 0;

  size_t num_coefficients() const { return features.size() + intercept; }
  // Of the scaled row, with the ones and the target.
  size_t row_size() const { return num_coefficients() + 1; }
};

// Throws kBadInput unless there is a feature or an intercept, every bound is positive and finite,
// every centre finite, and the norm not negative.
void CheckDesign(const Design& design);

// Coefficients in the units of the columns: beta_j = scaled_j bound_y / bound_j, and the intercept
// moved by the centres.
struct CoefficientMap {
  Eigen::MatrixXd linear;  // raw = linear * scaled + shift
  Eigen::VectorXd shift;
};
CoefficientMap ToRawUnits(const Design& design);

// The scaled features of a row of raw ones, a leading one included if there is an intercept; not
// clipped.
Eigen::VectorXd ScaledFeatures(const Design& design, std::span<const double> features);

}  // namespace partita::stats::blr
