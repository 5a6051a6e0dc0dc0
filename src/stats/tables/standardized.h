// Standardized differences of two groups, in absolute value.
//
// Sources   P. C. Austin, "Using the standardized difference to compare the prevalence of a binary
//           variable between two groups", Communications in Statistics 2009; D. Yang, J. E. Dalton,
//           "A unified approach to measuring the effect size between two groups using SAS", SAS
//           Global Forum 2012 (several values); as R's tableone has them.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "stats/tables/groups.h"

namespace partita::stats::tables {

// |difference of means| over the root of the mean of the variances. Empty where neither varies.
std::optional<double> StandardizedDifference(const GroupMoments& first, const GroupMoments& second);

// Mahalanobis' distance of the shares of the values, with the mean of both covariances; with two
// values |p - q| over the root of the mean of p (1 - p) and q (1 - q). Empty where a group has no
// rows, or where no value is shared.
std::optional<double> StandardizedDifference(const std::vector<uint64_t>& first,
                                             const std::vector<uint64_t>& second);

}  // namespace partita::stats::tables
