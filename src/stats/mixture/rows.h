// Rows of one holder as the mixture model sees them: their fixed statistics T(x), computed once.
// Private to their owner. Errors name feature and row, and are for the owner only.
#pragma once

#include <Eigen/Core>
#include <cstdint>
#include <span>
#include <vector>

#include "stats/mixture/features.h"

namespace partita::stats::mixture {

// One feature of all rows. Categorical: the level, which stands for its one-hot statistics. Others:
// T_1, T_2 (empty if there is none), and log h(x), empty if it is zero.
struct FeatureRows {
  std::vector<int32_t> codes;
  std::vector<double> first, second;
  std::vector<double> log_base;
};

struct Rows {
  size_t num_rows = 0;
  std::vector<FeatureRows> features;  // as in the layout
};

// values[f][n]: feature f of row n; a level is its index. Throws kBadData for a value that is not
// a number or not one that the family can have, for lengths that differ; kUsage if there is no
// column for each feature.
Rows MakeRows(const Layout& layout, const std::vector<std::vector<double>>& values);

// N x J: T(x) of the selected rows.
Eigen::ArrayXXd Statistics(const Layout& layout, const Rows& rows,
                           std::span<const uint32_t> selected);

// 0, 1, ..., count - 1: all rows.
std::vector<uint32_t> AllRows(size_t count);

// The rows of one party's features.
Rows PartyRows(const Layout& layout, size_t party, const Rows& rows);

}  // namespace partita::stats::mixture
