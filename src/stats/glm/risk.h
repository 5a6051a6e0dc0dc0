// How well predicted probabilities of a binomial model fit: rows, events and expected events by groups with
// public cut points (calibration), and the area under the receiver operating characteristic from counts in
// narrow bins (discrimination).
//
// The area is the probability that a row with an event has a higher prediction than one without, ties by half
// (D. Bamber, J. Mathematical Psychology 12 (1975)). Pairs within a bin count by half, so the area is within
// half of the share of such pairs of that of the predictions themselves.
#pragma once

#include <cstddef>
#include <span>

#include "stats/glm/sums.h"

namespace partita::stats::glm {

// Bins of the log-odds, a sixteenth wide, from -8 to 8; beyond, the first and the last.
inline constexpr size_t kRiskBins = 256;

struct RiskTable {
  // By group: predictions from a cut point (inclusive) to the next one; cut points + 1.
  Eigen::VectorXd others, events, expected;
  // By bin: rows without and with an event.
  Eigen::VectorXd bin_others, bin_events;
};

// law: binomial. cuts: rising, between 0 and 1.
RiskTable RiskTableAt(const Law& law, const Rows& rows, const Eigen::VectorXd& point,
                      const Limits& limits, std::span<const double> cuts);

struct BinnedArea {
  double area = 0, error = 0;  // of the predictions' own: at most that far
};
// Of the sum of tables. Not where there is no row with, or none without, an event.
BinnedArea AreaOf(const Eigen::VectorXd& bin_others, const Eigen::VectorXd& bin_events);

}  // namespace partita::stats::glm
