// Medians of curves on shares, with the bounds of their intervals: the first cells in which the
// curve, and the lower and the upper bound of its interval (R's conf.type = "log"), are at 1/2 or
// below.
//
// Method    All cells at once. With D = log S - log(1/2), V the variance of log S and z the quantile
//           of the normal law: the curve where D <= 0, the lower bound where D <= 0 or D^2 <= z^2 V,
//           the upper one where D <= 0 and D^2 >= z^2 V. The curve is 0 where nobody is left after
//           the events of a cell; it has no interval there, as in R. S within 2^-25 above 1/2
//           counts as 1/2.
// Places    A cell opens itself if the group has min_cell events in it and its neighbours, over 1/16
//           of the cells. Else what opens is a part of an interval between report times in which it
//           lies: an eighth, a quarter, a half or the whole of it, the smallest that has min_cell
//           events of the group. Parts do not reach over report times, so that what the curve says
//           there leaves none that is smaller. min_cell is asked over all holders and over all but
//           each one. Whether the group passes is for the caller to multiply by.
// Cost      Six comparisons for every cell and group, a product, small_cells.h of a table for each
//           median and level, two products.
// Revealed  Nothing.
#pragma once

#include "methods/survival/curves.h"

namespace partita::methods::survival {

inline constexpr size_t kMediansOfGroup = 3;  // the median, the lower bound, the upper bound

// One way to say where a median is; by cell. All of it is public.
struct MedianLevel {
  std::vector<size_t> first, last;  // cells whose events are counted
  std::vector<uint64_t> place;      // what opens, from 1
};
// The finest first: the cell itself, then parts of intervals.
std::vector<MedianLevel> MedianLevels(const Spec& spec);

// A median is in one of these cells.
struct MedianPlace {
  size_t first = 0, last = 0;
};
// By the number that opens less 1.
std::vector<MedianPlace> MedianPlaces(const Spec& spec);

// groups x kMediansOfGroup: places; 0: none, or withheld.
mpc::Shared PlacesOfMedians(mpc::Engine& engine, const Task& task, const RiskSets& sets,
                            const CurveValues& values, uint64_t min_cell);

}  // namespace partita::methods::survival
