// The log-rank test in the clear, as R's survdiff computes it.
//
// Source  N. Mantel, "Evaluation of survival data and two new rank order statistics", Cancer
//         Chemotherapy Reports 1966; R. Peto, J. Peto, JRSS A 1972.
#pragma once

#include <Eigen/Core>
#include <cstdint>
#include <vector>

#include "stats/survival/curve.h"

namespace partita::stats::survival {

struct LogRank {
  std::vector<uint64_t> rows, observed;  // by group
  Eigen::VectorXd expected;
  Eigen::MatrixXd variance;  // of observed - expected
  double chi_square = 0;     // 0 if fewer than two groups have rows
  int df = 0;                // groups that have rows, less one
};
LogRank LogRankOf(const std::vector<std::vector<Observation>>& groups);

// Of a chi-square statistic; 1 for df = 0.
double ChiSquareTail(double statistic, int df);

}  // namespace partita::stats::survival
