// Quantiles of numbers from histograms on public cells, on shares.
//
// Ideal function   (every holder's histogram) -> for every quantile q the cell that holds it, the
//                  first one where q n values are no higher (type 1 of Hyndman & Fan, The American
//                  Statistician 1996); 0 instead where it is withheld.
// Method           Histograms are added and cumulated; every cell's count is compared with q n at
//                  once, 1000 of one against thousandths of the other, and the sum of the bits is
//                  the number of the cell. The differences of neighbouring bits mark it; with them
//                  the products of the counts of each cell and its neighbours (layout.h) are taken.
// Withheld         Where the cell and its neighbours hold fewer than min_cell values, also without
//                  each holder's own, unless there are none then: a group may lie at one holder
//                  (small_cells.h). The first cell stands for a quantile of no values at all.
// Exact            No rounding, failure probability 0.
// Cost             compare.h IsNegative and ToRing of cells x arms x quantiles of each number; one
//                  kGram for each number and arm; small_cells.h; a product.
#pragma once

#include <vector>

#include "mpc/engine.h"

namespace partita::methods::describe {

// Of one number: each holder's cells x arms.
struct NumberHistograms {
  std::vector<mpc::Shared> by_holder;
  size_t neighbours = 0;
};

struct QuantileTask {
  std::vector<uint32_t> quantiles;  // thousandths
  uint64_t max_rows = 0, min_cell = 0;
};

// The number of the cell, counted from 1: by number, then arm, then quantile, in a column.
mpc::Shared QuantileCells(mpc::Engine& engine, const std::vector<NumberHistograms>& numbers,
                          const QuantileTask& task);

}  // namespace partita::methods::describe
