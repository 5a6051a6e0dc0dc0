// What a fitted mixture says about rows, and rows that it makes up.
#pragma once

#include <Eigen/Core>
#include <span>
#include <vector>

#include "stats/blr/variates.h"
#include "stats/mixture/rows.h"
#include "stats/mixture/variational.h"

namespace partita::stats::mixture {

// log p(x_n | theta) of every row (nats; densities of Beta features are those of the scaled value).
Eigen::ArrayXd LogDensityOfRows(const Layout& layout, const Rows& rows,
                                const Eigen::ArrayXXd& theta);

// Mean over rows of log p(x_n | mean of q).
double PlugInLogDensity(const Layout& layout, const Rows& rows, const VariationalState& state);

// Mean over rows of the log of the average over `draws` of p(x_n | theta), theta ~ q.
double PredictiveLogDensity(const Layout& layout, const Rows& rows, const VariationalState& state,
                            size_t draws, blr::Variates& variates);

// Weights pi at the mean of q, decreasing.
std::vector<double> SortedWeights(const VariationalState& state);
inline constexpr double kActiveWeight = 0.02;
// How many weights are above kActiveWeight.
size_t ActiveComponents(const VariationalState& state);

// theta ~ q: one posterior draw.
Eigen::ArrayXXd DrawTheta(const VariationalState& state, blr::Variates& variates);

// `count` rows of the mixture at theta, values[f][n] as MakeRows takes them. Values of Beta
// features are kept inside (0, 1).
std::vector<std::vector<double>> DrawRows(const Layout& layout, const Eigen::ArrayXXd& theta,
                                          size_t count, blr::Variates& variates);

}  // namespace partita::stats::mixture
