// Medians of curves on shares, with the bounds of their intervals: the first cells in which the
// curve, and the lower and the upper bound of its interval (R's conf.type = "log"), are at 1/2 or
// below.
//
// Method    All cells at once. With D = log S - log(1/2), V the variance of log S and z the quantile
//           of the normal law: the curve where D <= 0, the lower bound where D <= 0 or D^2 <= z^2 V,
//           the upper one where D <= 0 and D^2 >= z^2 V. The curve is 0 where nobody is left after
//           the events of a cell; it has no interval there, as in R. S within 2^-25 above 1/2
//           counts as 1/2.
// Withheld  Where the events of the group in this cell and its neighbours, over 1/16 of the cells, are
//           fewer than min_cell, over all holders or over all but one. Whether the group passes is for
//           the caller to multiply by.
// Cost      Six comparisons for every cell and group, a product, small_cells.h of three tables for
//           each group.
// Revealed  Nothing.
#pragma once

#include "methods/survival/curves.h"

namespace partita::methods::survival {

inline constexpr size_t kMediansOfGroup = 3;  // the median, the lower bound, the upper bound

// Cells on either side that the events are counted in with one.
size_t Neighbours(size_t cells);

// groups x kMediansOfGroup: cells counted from 1; 0: none, or withheld.
mpc::Shared MedianCells(mpc::Engine& engine, const Task& task, const RiskSets& sets,
                        const CurveValues& values, uint64_t min_cell);

}  // namespace partita::methods::survival
