// What is said of a fit of Cox's model beside its coefficients, in the clear: how well the predictors
// order the events, and the hazard that they multiply.
//
// Source  F. E. Harrell et al., JAMA 1982; N. Breslow, Biometrics 1974, and by Efron as R's survival
//         (T. Therneau).
#pragma once

#include <cstdint>
#include <vector>

#include "stats/survival/cox.h"

namespace partita::stats::survival {

// Pairs of a row with the event at a time and one at risk then that leaves later, or at that time
// without the event: whose predictor is the larger. Within strata. R's concordance of a fit.
struct Concordance {
  uint64_t concordant = 0, discordant = 0, tied = 0;  // the event's is larger, smaller, the same

  uint64_t pairs() const { return concordant + discordant + tied; }
  // 0 where there are no pairs.
  double value() const;
};
Concordance ConcordanceOf(const CoxRows& rows, const std::vector<double>& predictors);

// The hazard up to a time, of a row with covariates 0; R's basehaz with centered = FALSE.
double CumulatedHazard(const CoxRows& rows, const Eigen::VectorXd& point, Ties ties, int stratum,
                       double time);

}  // namespace partita::stats::survival
