// Full-information maximum likelihood: every row counts with the variables that it has (values
// missing at random, Rubin 1976; Arbuckle 1996).
//
// Rows in which the same variables are observed form a pattern, and the log-likelihood depends on
// the data through n, means and covariances of every pattern only.
#pragma once

#include <Eigen/Core>
#include <vector>

#include "base/progress.h"
#include "stats/sem/fit.h"
#include "stats/sem/moments.h"
#include "stats/sem/parameter_table.h"

namespace partita::stats {

struct PatternMoments {
  std::size_t group = 0;
  std::vector<int> observed;  // indices into ParameterTable::observed, ascending, not empty
  GroupMoments moments;       // of these variables, divisor n
};

// Of the rows of one group, NaN for what is missing; rows without any value do not count. In the
// order in which patterns first occur.
std::vector<PatternMoments> PatternsOf(const Eigen::MatrixXd& rows, std::size_t group);

// n of one group, means and variances of every variable over the rows that have it; no covariances.
// Throws kBadInput for a variable that no row or only equal values have, naming it.
GroupMoments AvailableMoments(const ParameterTable& table,
                              const std::vector<PatternMoments>& patterns, std::size_t group);

// Means and covariances of one group that maximise the likelihood of its patterns under no model:
// EM from the moments of what is there (Dempster, Laird & Rubin 1977), until no entry moves by
// more than 1e-10 standard deviations. Throws kBadInput for a variable that no row or only equal
// values have, naming it; for a covariance that becomes singular; and after 20000 rounds.
GroupMoments SaturatedMoments(const ParameterTable& table,
                              const std::vector<PatternMoments>& patterns, std::size_t group);

// lavaan's missing = "fiml", whose standard errors come from the observed information
// (options.information = kObserved). The fit measures compare with the saturated moments, the
// baseline model has free means and variances. Throws kBadInput as FitSem, and without a mean
// structure, with fixed.x covariates, for a group without rows.
SemFit FitFiml(const ParameterTable& table, const std::vector<PatternMoments>& patterns,
               const SemFitOptions& options, Progress& progress);

}  // namespace partita::stats
