// Which share of the rows each of several generators gives: weights, not negative and of sum 1,
// with the least
// |Y2 - sum w_j fit_j|^2 (stacking; Wolpert 1992, Breiman 1996), of tables Y2 that no fit has seen.
#pragma once

#include <span>
#include <vector>

#include "stats/marginals/generator.h"

namespace partita::stats::marginals {

// fits: shares of all tables, by generator, one or more. Weights below kLeastShareOfRows are left
// out. The best generator alone
// is preferred unless several lessen the distance (in variances of the noise) by more than twice
// the number of the
// others: weights are fitted to the noise of Y2, too (Akaike 1974).
inline constexpr double kLeastShareOfRows = 0.02;
std::vector<double> BlendWeights(const TableSet& set, const NoisyTables& tables, double rows,
                                 std::span<const std::vector<double>> fits);

// sum w_j fits_j.
std::vector<double> Blended(std::span<const double> weights,
                            std::span<const std::vector<double>> fits);

}  // namespace partita::stats::marginals
