// Sums over rows of which a row is no more than its own value, however many others there are: rows
// are rounded to a grid and added up as integers.
//
// The rounding of a sum of doubles can depend on one row by the more the larger the sum is, so that
// a bound of what one row moves would hold for tables up to some length only, and refusing longer
// ones would tell their length, which may be secret (neighbours that differ by a row more or less).
#pragma once

#include <Eigen/Core>
#include <vector>

#include "base/int128.h"
#include "stats/mcmc/targets.h"

namespace partita::stats::mcmc {

// What sums are exact for; a table file has fewer (data/csv_reader.h).
inline constexpr double kMostSummedRows = 0x1p30;

// Column by column, in units of 2^-bits. Values beyond +-2^(62 - bits) must not occur.
std::vector<Int128> GridSums(const Eigen::MatrixXd& by_row, int bits);
// Each as two doubles (LocalTarget::Parts), exact below 2^93 units.
Eigen::MatrixX2d PartsOf(const std::vector<Int128>& sums, int bits);

}  // namespace partita::stats::mcmc
