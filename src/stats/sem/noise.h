// What noise in the released moments does to the estimates that are fitted to them.
//
// The estimate is an implicit function of the statistics T (count, sum z, upper triangle of
// sum z z'; z = (y - centre) / half_width): the score s(x; T) is linear in T (linear_statistics.h)
// and zero at the estimate, on the tangent space Z of the constraints. With J the total OBSERVED
// information, so to first order, for T with independent noise of variance v in every entry,
//     dx = H G dT,   H = Z (Z' J Z)^-1 Z',   G = ds/dT,   cov(dx) = v H G G' H.
// Without a mean structure the score depends on T through n S = sum z z' - sum z (sum z)' / n, and
// G contains that derivative; with a noised count also ds/dn. The noise is independent of the
// sampling of the rows, so that cov(estimates) = vcov + cov(dx).
//
// First order only: where the noise is large (inflation above 2 or so) standard errors are rough.
#pragma once

#include <Eigen/Core>
#include <vector>

#include "stats/sem/fit.h"
#include "stats/sem/linear_statistics.h"
#include "stats/sem/moments.h"
#include "stats/sem/parameter_table.h"

namespace partita::stats {

// Independent in every group and every entry of T.
struct MomentNoise {
  StatisticsScale scale;
  double variance = 0;        // of each entry of sum z and of the upper triangle of sum z z'
  bool noised_count = false;  // the count of every group has that noise too
};

// Replaces vcov and the standard errors, tests and intervals of `fit` by those that contain the
// noise. fit: of the same table, moments and options. Adds a warning if the observed information is
// not positive definite.
void AddNoise(const ParameterTable& table, const std::vector<GroupMoments>& moments,
              const MomentNoise& noise, const SemFitOptions& options, SemFit& fit);

// Moments to plan with before there are data: the correlations that the model implies at its start
// values (loadings of 0.7 in standard units, no regressions, the user's start() values), the given
// standard deviations and means, num_rows in all, equally many in each group.
std::vector<GroupMoments> PlanningMoments(const ParameterTable& table, const Eigen::VectorXd& mean,
                                          const Eigen::VectorXd& sd, double num_rows);

}  // namespace partita::stats
