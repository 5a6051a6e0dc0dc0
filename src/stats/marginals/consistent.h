// Noisy tables that agree with each other: the least-squares estimate of all one-way and two-way
// tables from noisy ones with independent noise, of one variance within a table, in closed form.
//
// Tables of a table of rows are sums of orthogonal parts: the number of rows, an effect of each
// attribute (sums to 0), an interaction of each pair (rows and columns sum to 0), and of each named
// triple. A part is measured by every table that has its attributes, with the variance of that table's
// margin, sigma^2 cells(table) / cells(part) per cell: the estimate is the mean of these margins'
// parts with weights inverse to that, also where sigma differs by table. Public arithmetic on what
// opened.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "stats/marginals/tables.h"

namespace partita::stats::marginals {

struct ConsistentTables {
  double rows = 0;            // the public number, or the estimate
  std::vector<double> cells;  // may be negative
};

// Takes the means along every axis off: what is left is the interaction of all of them. Row-major, the
// last axis fastest.
void CenterCells(std::span<const uint32_t> levels, std::span<double> cells);

// rows: their number where it is public. weights: of the tables, one-way tables' positive. Throws
// kUsage for another
// number of cells.
ConsistentTables MakeConsistent(const TableSet& set, std::span<const double> noisy,
                                std::optional<double> rows, const TableWeights& weights = {});

// The nearest table (Euclidean) without negative cells and with the sum `total` >= 0 (Duchi et al.,
// ICML 2008, Algorithm 1).
void ProjectToTotal(std::span<double> cells, double total);

}  // namespace partita::stats::marginals
