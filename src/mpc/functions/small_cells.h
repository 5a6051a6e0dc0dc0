// Whether cells of tables of counts point at few persons: tables of counts that several holders have
// in the clear, each of its own rows.
//
// Ideal function   (every holder's number of rows in each cell) -> for every table one shared bit:
//                  whether each of its cells is at least the minimum, or also where asked for 0,
//                  over all holders, and with two holders or more also over all but each one, who
//                  can subtract its own rows.
// Method           A cell fails where it is below the minimum and, where none passes, not below 1,
//                  the exclusive or of two secure comparisons; the failures are made ring elements
//                  and added up by table, and the sums are compared with 1.
// Cost             M cells, (holders + 1) times as many with two holders or more: compare.h
//                  IsNegative of M values, 2 M where none passes, within the most rows that there
//                  can be and 1; ToRing of M bits; IsNegative of a value for each table. The
//                  minimum changes none of it.
// Revealed         Nothing.
// Timing           constant in shares; not in shapes and bounds (public). Not run by tests/ctime.
#pragma once

#include <cstdint>
#include <vector>

#include "mpc/engine.h"

namespace partita::mpc {

struct CellTables {
  // One holder's counts, one table below the other: cells x 1 without fraction bits, all of one
  // shape. At least one holder.
  std::vector<Shared> by_holder;
  std::vector<size_t> sizes;  // cells of each table
  uint64_t max_rows = 0;      // of all holders together in a cell, at most
};

// tables x 1, one plane. A minimum below 1 counts as 1.
SharedBits NoSmallCells(Engine& engine, const CellTables& tables, uint64_t minimum,
                        bool none_passes);

}  // namespace partita::mpc
