// Rows into the unit ball by PUBLIC constants (R-o): what every privacy proof of this folder needs.
#pragma once

#include <Eigen/Core>
#include <cstddef>
#include <vector>

namespace partita::stats::erm {

// Of one predictor, from the study file, never from the data.
struct ColumnBounds {
  double lower = -1, upper = 1;
};

struct UnitBallScaling {
  std::vector<ColumnBounds> bounds;  // one per column
  // Of a row after every column went to [-1, 1]: rows that are longer are shortened to it. At most
  // sqrt(d), with which none is; smaller keeps more signal above the noise and shortens some.
  double norm = 1;
  bool intercept = false;  // a last column of 1, also within the norm
};

struct ScaledRows {
  Eigen::MatrixXd x;          // rows of norm at most 1
  size_t clipped_values = 0;  // outside their bounds
  size_t clipped_rows = 0;    // longer than the norm
};

// x: N by d. Throws kUsage for bounds that are empty or a norm outside (0, sqrt(d)], kBadData for
// values that are not numbers. The counts are the owner's to see.
ScaledRows ScaleToUnitBall(const Eigen::MatrixXd& x, const UnitBallScaling& scaling);

// Coefficients in the units of the columns, from those of the scaled rows: d entries and then the
// intercept.
Eigen::VectorXd OriginalUnits(const Eigen::VectorXd& w, const UnitBallScaling& scaling);

}  // namespace partita::stats::erm
