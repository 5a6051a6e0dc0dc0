// A logistic regression by sums of gradients: the rows that clients hold, and the coefficients in
// the units of the columns.
#pragma once

#include <Eigen/Core>
#include <string>
#include <vector>

#include "sums/regression/logistic.h"
#include "sums/regression/rows.h"
#include "sums/regression/spec.h"

namespace partita::sums::regression {

// x: rows by coefficients, scaled and clipped to [-1, 1], a leading column of ones if there is an
// intercept. labels: 0 or 1.
struct LogisticRows {
  Eigen::MatrixXd x;
  Eigen::VectorXd labels;
};
// Throws kBadInput unless the outcome is an integer from 0 to 1, kBadData for another value in it.
LogisticRows TakeLogisticRows(const Spec& spec, const stats::blr::Design& design, const Rows& rows);

// Of the log odds, in the units of the columns.
struct LogisticCoefficient {
  std::string name;
  double mean = 0, stddev = 0;
  double lower = 0, upper = 0;  // of the approximation's interval at spec.level
};
// The approximation is a normal one without correlations, fitted as if the gradients were exact:
// its intervals leave the privacy noise out.
std::vector<LogisticCoefficient> LogisticCoefficients(const Spec& spec,
                                                      const stats::blr::Design& design,
                                                      const LogisticPosterior& posterior);

}  // namespace partita::sums::regression
