// Noisy tables that agree with each other: the least-squares estimate of all one-way and two-way
// tables from noisy ones with independent noise, of one variance within a table, in closed form.
//
// Tables of a table of rows are sums of orthogonal parts: the number of rows, an effect of each
// attribute (sums to 0) and an interaction of each pair (rows and columns sum to 0). An interaction
// is measured by its own table only. The effect of a is measured by the one-way table with variance
// sigma^2 per cell and by the margin of each pair (a, b) with levels(b) sigma^2, the number of rows
// by each table's sum with cells sigma^2: weighted means, also where sigma differs by table. Public
// arithmetic on what opened.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "stats/marginals/tables.h"

namespace partita::stats::marginals {

struct ConsistentTables {
  double rows = 0;            // the public number, or the estimate
  std::vector<double> cells;  // may be negative
};

// rows: their number where it is public. weights: of the tables, one-way tables' positive. Throws
// kUsage for another
// number of cells.
ConsistentTables MakeConsistent(const TableSet& set, std::span<const double> noisy,
                                std::optional<double> rows, const TableWeights& weights = {});

// The nearest table (Euclidean) without negative cells and with the sum `total` >= 0 (Duchi et al.,
// ICML 2008, Algorithm 1).
void ProjectToTotal(std::span<double> cells, double total);

}  // namespace partita::stats::marginals
